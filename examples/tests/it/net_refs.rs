//! The example `net_refs`, as its user runs it: two processes that speak over UDP on the loopback.

use std::{path::Path, process::Output};

use crate::finish;

fn run(dir: &Path, more: &[&str]) -> (Output, String) {
    finish("net_refs", |command| command.arg("--dir").arg(dir).args(more))
}

#[test]
fn two_processes_speak_of_the_same_objects() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, text) = run(dir.path(), &[]);
    assert!(output.status.success(), "{text}");
    for part in [
        "client: waited",
        "730 references in 62 messages, 10 had to wait, none unresolved",
        "client understood 62 messages",
    ] {
        assert!(text.contains(part), "no `{part}` in:\n{text}");
    }
    let of_each = text
        .split("handshake and all: ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let bytes: f64 = of_each.and_then(|bytes| bytes.parse().ok()).expect("it says so");
    // About 1.5, more where acknowledgements take long; a path has 27.
    assert!(bytes < 6.0, "{bytes} bytes each:\n{text}");
}

#[test]
fn other_content_is_refused_by_both_and_named() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let (output, text) = run(dir.path(), &["--other-content"]);
    assert!(output.status.success(), "{text}");
    for side in ["server", "client"] {
        assert!(
            text.contains(&format!("{side}: refused: package `harbour.pkg` has content")),
            "{text}"
        );
    }
}
