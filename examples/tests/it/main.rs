//! Examples as their users run them.

mod gallery;
mod net_refs;

use std::process::{Command, Output};

/// Runs an example to its end; gives all that it has written as well. It is built beside the tests.
fn finish(name: &str, configure: impl FnOnce(&mut Command) -> &mut Command) -> (Output, String) {
    let own = std::env::current_exe().expect("this program has a path");
    let built = own.ancestors().nth(2).expect("it lies in `deps`").join("examples");
    let example = built.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    let output = configure(&mut Command::new(&example)).output();
    let output = output.unwrap_or_else(|error| {
        panic!(
            "{}: {error}; build it with `cargo build -p seamless_examples --example {name}`",
            example.display()
        )
    });
    let text = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned());
    (output, text.join("\n"))
}
