//! The example `net_refs`, as its user runs it: two processes that speak over UDP on the loopback.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// The example is built beside the tests.
fn example() -> PathBuf {
    let own = std::env::current_exe().expect("this program has a path");
    let built = own.ancestors().nth(2).expect("it lies in `deps`").join("examples");
    built.join(format!("net_refs{}", std::env::consts::EXE_SUFFIX))
}

fn run(dir: &Path, more: &[&str]) -> (Output, String) {
    let example = example();
    let output = Command::new(&example).arg("--dir").arg(dir).args(more).output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "{}: {error}; build it with `cargo build -p seamless_examples --example net_refs`",
            example.display()
        )
    });
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    (output, text.join("\n"))
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
