//! What must hold of the workspace as it is written: who links and names what, where `unsafe` is, how long files are.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The only file that may hold `unsafe`.
const UNSAFE_FILE: &str = "crates/seamless_asset/src/spawn/mod.rs";
/// How many lines a source file may have.
const MAX_LINES: usize = 500;

fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the tests lie in the workspace").to_owned()
}

/// What cargo says of the workspace.
fn cargo(command: &str, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .current_dir(workspace())
        .args([command, "--offline"])
        .args(arguments)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What `cargo tree` says, one package a line.
fn tree(arguments: &[&str]) -> Vec<String> {
    let text = cargo("tree", &[&["--prefix", "none"][..], arguments].concat());
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
    let foreign = |line: &&String| ["bevy", "async", "futures"].iter().any(|name| line.starts_with(*name));
    let foreign: Vec<_> = tree.iter().filter(foreign).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

/// Bytes come in and go out; whoever has them decides how they are read.
#[test]
fn packages_know_no_async_and_no_host() {
    let mut files = 0;
    for (name, text) in sources() {
        if !name.starts_with("crates/seamless_package/src/") || is_test(&name) {
            continue;
        }
        files += 1;
        let code: Vec<&str> = text.lines().map(without_comment).collect();
        let code = code.join("\n");
        let is_async = |word: &&str| *word == "await" || word.starts_with("async") || word.starts_with("futures");
        assert_eq!(words(&code).find(is_async), None, "{name}");
        let is_host = |word: &&str| ["fs", "path", "net"].contains(word);
        assert_eq!(names_in_std(&code).into_iter().find(is_host), None, "{name}");
    }
    assert!(files > 5, "the sources are found");
}

/// Libraries depend on the parts of Bevy that they use; the umbrella crate would bring all of it to every game. What is measured in pictures is no library.
#[test]
fn only_cooker_examples_and_tests_name_the_umbrella_crate() {
    let packages = packages();
    let mut naming: Vec<&str> = packages
        .iter()
        .filter(|package| names_bevy(package))
        .filter_map(|package| package["name"].as_str())
        .collect();
    naming.sort_unstable();
    assert_eq!(
        naming,
        ["seamless_bench", "seamless_cook", "seamless_examples", "seamless_tests"]
    );
}

/// Whether a package depends on `bevy` itself; its tests may.
fn names_bevy(package: &Value) -> bool {
    let mut dependencies = package["dependencies"].as_array().into_iter().flatten();
    dependencies.any(|dependency| dependency["name"] == "bevy" && dependency["kind"] != "dev")
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

/// A fresh machine has no headers of a sound system.
#[test]
fn only_the_feature_audio_needs_a_system_package() {
    let lines = tree(&["-e", "normal,build,dev", "--workspace"]);
    assert!(has_package(&lines, "bevy_seamless"), "{lines:#?}");
    assert!(!has_package(&lines, "bevy_audio") && !has_package(&lines, "alsa-sys"));
    // With the feature, cargo would have to fetch what nobody else here needs; so the manifests are asked.
    let packages = packages();
    let turns_on = |name: &str, what: &str| {
        let package = packages.iter().find(|package| package["name"] == name);
        let features = package.and_then(|package| package["features"]["audio"].as_array());
        features.is_some_and(|features| features.iter().any(|feature| feature == what))
    };
    assert!(turns_on("seamless_asset", "dep:bevy_audio"));
    assert!(turns_on("bevy_seamless", "seamless_asset/audio"));
    assert!(turns_on("seamless_cook", "seamless_asset/audio"));
}

/// The packages of the workspace, as their manifests tell.
fn packages() -> Vec<Value> {
    let metadata = cargo("metadata", &["--no-deps", "--format-version", "1"]);
    let mut metadata: Value = serde_json::from_str(&metadata).expect("it is JSON");
    match metadata["packages"].take() {
        Value::Array(packages) => packages,
        other => panic!("there are no packages: {other}"),
    }
}

/// A game that turns the feature off must not get it back from one of our crates.
#[test]
fn a_shipping_build_has_no_migrations() {
    let migrates = |package: &str, features: &[&str]| {
        let of = ["-e", "normal,features", "-p", package, "--invert", "seamless_asset"];
        let lines = tree(&[&of[..], features].concat());
        assert!(has_package(&lines, "seamless_level"), "{lines:#?}");
        lines
            .iter()
            .any(|line| line.starts_with("seamless_asset feature \"migrations\""))
    };
    assert!(migrates("bevy_seamless", &[]));
    assert!(!migrates("bevy_seamless", &["--no-default-features"]));
    assert!(!migrates(
        "bevy_seamless",
        &["--no-default-features", "--features", "render,gltf"]
    ));
    // The limit of `migrate_latest`, and `.ci/shipping`.
    for package in ["seamless_bench", "seamless_tests"] {
        assert!(migrates(package, &[]) && !migrates(package, &["--no-default-features"]));
    }
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

/// Whether a source file holds tests only.
fn is_test(name: &str) -> bool {
    name.contains("/tests/") || name.ends_with("/tests.rs")
}

fn without_comment(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_between_words(character: char) -> bool {
    !(character.is_alphanumeric() || character == '_')
}

/// Keywords, names and numbers.
fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(is_between_words).filter(|word| !word.is_empty())
}

/// What code names in `std`: the next word, or all words of the braces behind it.
fn names_in_std(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for rest in code.split("std::").skip(1) {
        let end = if rest.starts_with('{') {
            rest.find(';')
        } else {
            rest.find(is_between_words)
        };
        names.extend(words(&rest[..end.unwrap_or(rest.len())]));
    }
    names
}

#[test]
fn names_in_std_are_found() {
    let code =
        "use std::{\n    fs,\n    io::{self, Read},\n};\nuse std::net::TcpStream;\nfn f(a: std::path::PathBuf) {}";
    assert_eq!(names_in_std(code), ["fs", "io", "self", "Read", "net", "path"]);
}

/// Whether a line of code holds the keyword; comments do not count.
fn is_unsafe(line: &str) -> bool {
    words(without_comment(line)).any(|word| word == "unsafe")
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
    let long: Vec<String> = sources()
        .iter()
        .filter(|(name, _)| name.contains("/src/") && !is_test(name))
        .map(|(name, text)| (name, text.lines().count()))
        .filter(|(_, lines)| *lines > MAX_LINES)
        .map(|(name, lines)| format!("{name}: {lines} lines"))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}
