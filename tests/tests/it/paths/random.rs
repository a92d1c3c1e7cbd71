//! Names put together at random from what is tricky.

use proptest::{prelude::*, test_runner::Config};
use seamless_cook::{CookError, CookOptions, CookReport};
use serde_json::json;

use super::{Place, levels};

/// What means something to one system or another.
const PIECES: [&str; 26] = [
    "..",
    "/",
    "\\",
    ".",
    "C:",
    "\0",
    "con",
    " ",
    "a",
    "é",
    "e\u{301}",
    "∕",
    "~",
    "%2e",
    "%2f",
    "#",
    "animated.gltf",
    "\n",
    "🦀",
    "://",
    "\"",
    "shared_",
    "0",
    "canary",
    "\u{202e}",
    ".pkg",
];

fn tricky() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES.to_vec()), 0..7).prop_map(|pieces| pieces.concat())
}

/// Right, or an error that tells what is wrong; not that something could not be written.
fn is_told(result: Result<CookReport, CookError>) -> Result<(), TestCaseError> {
    match result {
        Ok(report) => prop_assert!(
            report
                .packages
                .iter()
                .all(|package| !package.file.contains(['/', '\\']))
        ),
        Err(error) => prop_assert!(!error.content_errors().is_empty(), "{error}"),
    }
    Ok(())
}

/// A world of such levels: `name` and `source` of each.
fn cook(place: &Place, names: &[String], sources: &[String]) -> Result<(), TestCaseError> {
    is_told(place.cook(&levels(
        names.iter().map(String::as_str).zip(sources.iter().map(String::as_str)),
    )))
}

proptest! {
    #![proptest_config(Config { cases: 6, failure_persistence: None, ..Config::default() })]

    #[test]
    fn whatever_the_names_are_nothing_else_is_written(tricky in prop::collection::vec(tricky(), 4)) {
        let place = Place::new();
        let plain: Vec<String> = (0..tricky.len()).map(|at| format!("level{at}")).collect();
        let scenes = vec!["animated.gltf".to_owned(); tricky.len()];
        for name in &tricky {
            cook(&place, std::slice::from_ref(name), &scenes)?;
            cook(&place, &plain, std::slice::from_ref(name))?;
        }
        is_told(place.cook(&format!("(levels: [(source: \"animated.gltf\")], startup: {tricky:?})")))?;
        let options = CookOptions { maps: tricky.clone(), ..CookOptions::default() };
        is_told(place.cook_as("test.world.ron", &levels([("level", "animated.gltf")]), &options))?;
        let files = tricky.iter().enumerate().map(|(at, name)| match at % 3 {
            0 => place.write_changed(at, |document| document["nodes"][0]["name"] = json!(name)),
            1 => place.write_changed(at, |document| document["buffers"][0]["uri"] = json!(name)),
            _ => place.write_showing(at, name),
        });
        cook(&place, &plain, &files.collect::<Vec<_>>())?;
    }
}
