//! Tests that do not run, because something that they need is not there, say so. See [`skipped`].

use std::io::Write;

/// Says on stderr why a test is skipped. Not by `eprintln!`: the test runner keeps that back in tests that pass.
pub fn skipped(why: &str) {
    // There is nowhere else to say it.
    let _ = writeln!(std::io::stderr().lock(), "skipped: {why}");
}
