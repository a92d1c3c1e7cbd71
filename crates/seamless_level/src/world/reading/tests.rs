//! What is done about a manifest that does not come.

use core::time::Duration;

use super::{Found::*, *};

const TIMEOUT: Duration = Duration::from_secs(10);
const FAILED: Found = Failed { may_pass: true };

/// Looks once a second, beginning with zero.
fn steps(retry: RetryPolicy, found: &[Found]) -> Vec<Step> {
    let mut read = ManifestRead::new(AssetId::invalid(), Duration::ZERO);
    let seconds = (0..).map(Duration::from_secs);
    found
        .iter()
        .zip(seconds)
        .map(|(found, now)| read.step(*found, now, &retry, TIMEOUT))
        .collect()
}

#[test]
fn what_may_pass_is_read_again_some_times() {
    let retry = RetryPolicy {
        attempts: 2,
        ..RetryPolicy::default()
    };
    let [first, second] = [1, 2].map(|failure| Step::Wait(retry.wait(failure, 0).unwrap()));
    // Each wait is over in a second.
    let found = [Reading, FAILED, FAILED, Reading, FAILED, FAILED, FAILED, FAILED, FAILED];
    let expected = [
        Step::Nothing,
        first,
        Step::ReadAgain,
        Step::Nothing,
        second,
        Step::ReadAgain,
        Step::GiveUp,
        Step::Nothing,
        Step::Nothing,
    ];
    assert_eq!(steps(retry, &found), expected);
}

#[test]
fn what_cannot_pass_or_makes_no_sense_is_given_up_at_once() {
    for found in [Failed { may_pass: false }, Invalid] {
        let steps = steps(RetryPolicy::default(), &[Reading, found, Reading]);
        assert_eq!(steps, [Step::Nothing, Step::GiveUp, Step::Nothing]);
    }
    assert_eq!(steps(RetryPolicy::OFF, &[FAILED]), [Step::GiveUp]);
}

#[test]
fn a_read_that_hangs_is_told_once_and_awaited() {
    let mut found = vec![Nothing; 20];
    found.extend([Reading; 30]);
    found.push(FAILED);
    let steps = steps(RetryPolicy::default(), &found);
    let told = steps.iter().position(|step| *step == Step::TellHanging);
    assert_eq!(told, Some(19 + 10), "what nobody reads does not hang");
    assert!(matches!(steps.last(), Some(Step::Wait(_))), "it ends after all");
    let unread = steps.iter().position(|step| *step == Step::TellUnread);
    assert_eq!(unread, Some(5), "what nobody reads is told, too");
    assert_eq!(steps.iter().filter(|step| **step != Step::Nothing).count(), 3);
    let mut patient = ManifestRead::new(AssetId::invalid(), Duration::ZERO);
    let step = patient.step(
        Reading,
        Duration::from_secs(1 << 30),
        &RetryPolicy::default(),
        Duration::ZERO,
    );
    assert_eq!(step, Step::Nothing, "without a timeout nothing hangs");
}

#[test]
fn that_nobody_reads_it_is_told_once_and_after_a_while_in_a_row() {
    let told = |found: &[Found]| -> Vec<usize> {
        let steps = steps(RetryPolicy::default(), found).into_iter().enumerate();
        let told = steps.filter(|(_, step)| *step == Step::TellUnread);
        told.map(|(second, _)| second).collect()
    };
    assert!(told(&[Nothing; 5]).is_empty());
    assert_eq!(told(&[Nothing; 30]), [5]);
    let mut found = [Nothing; 12];
    found[4] = Reading;
    assert_eq!(told(&found), [10]);
}

#[test]
fn a_handle_that_points_to_nothing_is_given_up_at_once_and_once() {
    let steps = steps(RetryPolicy::default(), &[Nowhere, Nowhere, Nothing]);
    assert_eq!(steps, [Step::TellNowhere, Step::Nothing, Step::Nothing]);
    let mut read = ManifestRead::new(AssetId::default(), Duration::ZERO);
    read.step(Nowhere, Duration::ZERO, &RetryPolicy::default(), TIMEOUT);
    assert!(!read.is_refused(), "what is put there after all counts");
}

#[test]
fn a_world_that_is_made_anew_again_and_again_is_told_once() {
    let mut remade = Remade::default();
    let [world, other] = [1, 2].map(|index| Entity::from_raw_u32(index).unwrap());
    let mut is_news = |world, seconds| remade.is_news(world, Duration::from_secs_f32(seconds));
    let news = [0.0, 1.0, 2.5, 3.0, 3.1, 9.0, 9.1].map(|seconds| is_news(world, seconds));
    assert_eq!(news, [false, false, false, false, true, false, false]);
    assert_eq!(
        [3.1, 3.2, 3.3].map(|seconds| is_news(other, seconds)),
        [false, false, true]
    );
    remade.forget(world);
    let news = [9.2, 9.3, 9.4].map(|seconds| remade.is_news(world, Duration::from_secs_f32(seconds)));
    assert_eq!(news, [false, false, true]);
}
