//! Tests that do not run, because something that they need is not there, say so. See [`skipped`].

use std::io::Write;

/// Says on stderr why a test is skipped. Not by `eprintln!`: the test runner keeps that back in tests that pass.
pub fn skipped(why: &str) {
    // There is nowhere else to say it.
    let _ = writeln!(std::io::stderr().lock(), "skipped: {why}");
}

/// The same where an environment variable may say that what is missing has to be there, as in CI.
///
/// # Panics
/// When `variable` is `1`.
pub fn skipped_unless_required(variable: &str, why: &str) {
    let is_required = std::env::var(variable).is_ok_and(|value| value == "1");
    assert!(!is_required, "{why}, and {variable}=1");
    skipped(why);
}
