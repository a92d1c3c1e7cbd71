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
    assert_eq!(steps.iter().filter(|step| **step != Step::Nothing).count(), 2);
    let mut patient = ManifestRead::new(AssetId::invalid(), Duration::ZERO);
    let step = patient.step(
        Reading,
        Duration::from_secs(1 << 30),
        &RetryPolicy::default(),
        Duration::ZERO,
    );
    assert_eq!(step, Step::Nothing, "without a timeout nothing hangs");
}
