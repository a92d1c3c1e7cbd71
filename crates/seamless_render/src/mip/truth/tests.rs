use super::*;

#[test]
fn what_the_last_device_draws_does_not_come() {
    let truth = MipTruth::default();
    truth.lock().drawn_for = Some(Asker::Game);
    let last = truth.device();
    truth.start_over(true);
    assert_eq!(
        truth.lock().drawn_for,
        Some(Asker::Game),
        "it is drawn by the new device"
    );
    truth.start_over(false);
    assert_eq!(truth.lock().drawn_for, None, "another may be asked for");
    truth.lock().drawn_for = Some(Asker::Prediction);
    truth.done(last, None);
    assert_eq!(
        truth.lock().drawn_for,
        Some(Asker::Prediction),
        "that was an older picture"
    );
    truth.done(truth.device(), None);
    assert_eq!(truth.lock().drawn_for, None);
}
