//! What must hold of the workspace as it is written: who links what, where `unsafe` is, how long files are.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The only file that may hold `unsafe`.
const UNSAFE_FILE: &str = "crates/seamless_asset/src/spawn/mod.rs";
/// How many lines a source file may have.
const MAX_LINES: usize = 500;

fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests lie in the workspace").to_owned()
}

/// What `cargo tree` says, one package a line.
fn tree(arguments: &[&str]) -> Vec<String> {
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace())
        .args(["tree", "--offline", "--prefix", "none"])
        .args(arguments)
        .output()
        .expect("cargo runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

fn has_package(tree: &[String], name: &str) -> bool {
    tree.iter().any(|line| line.split(' ').next() == Some(name))
}

#[test]
fn a_server_links_no_renderer() {
    let server = tree(&["-e", "normal", "-p", "bevy_seamless", "--no-default-features"]);
    assert!(
        has_package(&server, "seamless_asset") && has_package(&server, "bevy_ecs"),
        "{server:?}"
    );
    for renderer in [
        "bevy_render",
        "bevy_pbr",
        "bevy_core_pipeline",
        "wgpu",
        "seamless_render",
        "seamless_cook",
    ] {
        assert!(!has_package(&server, renderer), "a server links {renderer}");
    }
    assert!(
        has_package(&tree(&["-e", "normal", "-p", "bevy_seamless"]), "bevy_render"),
        "a game links it"
    );
}

#[test]
fn packages_know_no_bevy() {
    let tree = tree(&["-e", "normal", "-p", "seamless_package"]);
    assert!(has_package(&tree, "xxhash-rust"), "{tree:?}");
    let bevy: Vec<_> = tree.iter().filter(|line| line.starts_with("bevy")).collect();
    assert!(bevy.is_empty(), "{bevy:?}");
}

#[test]
fn a_game_cannot_write_packages() {
    let features = |of: &str| tree(&["-e", "normal,features", "-p", of, "--invert", "seamless_package"]);
    let writes = |lines: &[String]| {
        lines
            .iter()
            .any(|line| line.starts_with("seamless_package feature \"write\""))
    };
    assert!(!writes(&features("bevy_seamless")), "{:#?}", features("bevy_seamless"));
    assert!(writes(&features("seamless_cook")), "{:#?}", features("seamless_cook"));
}

/// All `.rs` files below `crates`, with their path from the workspace's root.
fn sources() -> Vec<(String, String)> {
    let root = workspace();
    let mut open = vec![root.join("crates")];
    let mut found = Vec::new();
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(&directory).expect("the directory is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let name = path
                    .strip_prefix(&root)
                    .expect("it is below")
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push((name, fs::read_to_string(&path).expect("it is text")));
            }
        }
    }
    found.sort();
    assert!(found.len() > 50, "the sources are found");
    found
}

/// Whether a line of code holds the keyword; comments do not count.
fn is_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or_default();
    code.split(|character: char| !(character.is_alphanumeric() || character == '_'))
        .any(|word| word == "unsafe")
}

#[test]
fn unsafe_is_in_one_file() {
    let sources = sources();
    let with_unsafe: Vec<&str> = sources
        .iter()
        .filter(|(_, text)| text.lines().any(is_unsafe))
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(with_unsafe, [UNSAFE_FILE]);
}

#[test]
fn no_source_file_is_too_long() {
    let is_test = |name: &str| name.contains("/tests/") || name.ends_with("/tests.rs");
    let long: Vec<String> = sources()
        .iter()
        .filter(|(name, _)| name.contains("/src/") && !is_test(name))
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}
