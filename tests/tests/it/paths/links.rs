//! Symbolic links in the output folder: nothing is written through them.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use seamless_cook::{CookError, clean};

use super::{Place, one_level, tree};

fn world() -> String {
    one_level("level", "animated.gltf")
}

/// A place that was cooked, and where there is something to cook again.
fn cooked() -> Place {
    let place = Place::new();
    place.cook(&world()).expect("it cooks");
    let source = place.path("project/animated.gltf");
    let text = fs::read_to_string(&source).expect("the source is there");
    fs::write(source, text.replace("\"Arm\"", "\"Leg\"")).expect("the source is written");
    place
}

/// Makes a link in the output folder, in the place of what is there.
fn link(place: &Place, at: &str, target: &str) {
    let (at, target) = (place.out().join(at), place.path(target));
    match fs::symlink_metadata(&at) {
        Ok(there) if there.is_dir() => fs::remove_dir_all(&at).expect("the folder goes"),
        Ok(_) => fs::remove_file(&at).expect("the file goes"),
        Err(_) => {}
    }
    symlink(target, at).expect("a link is made");
}

#[test]
fn links_to_folders_and_files_of_the_cooker_are_refused() {
    let place = cooked();
    let links = [
        (".cook/lock", "other/canary"),
        (".cook/lock", "other/not_there"),
        (".cook/journal", "other/canary"),
        (".cook/journal.tmp", "other/canary"),
        (".cook/test.state", "other/canary"),
        (".cook/test.tmp", "other/not_there"),
        (".cook/objects", "other"),
        (".cook/staged", "other"),
        (".cook", "other"),
    ];
    for (at, target) in links {
        link(&place, at, target);
        let error = place
            .cook(&world())
            .err()
            .unwrap_or_else(|| panic!("{at} was written to"));
        assert!(
            matches!(&error, CookError::Link { path } if path.ends_with(at)),
            "{at}: {error}"
        );
        let before = tree(place.0.path(), &place.out());
        for all in [false, true] {
            let cleaned = clean(&place.out(), all);
            assert!(matches!(cleaned, Err(CookError::Link { .. })), "{at}: {cleaned:?}");
        }
        assert_eq!(before, tree(place.0.path(), &place.out()), "{at}");
        fs::remove_file(place.out().join(at)).expect("the link goes");
    }
    place.cook(&world()).expect("without the links it goes on");
}

fn folders_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder is there").flatten();
    entries.map(|entry| entry.path()).collect()
}

#[test]
fn a_folder_of_the_cache_that_is_a_link_is_refused() {
    let place = cooked();
    let folder = folders_below(&place.out().join(".cook/objects")).remove(0);
    fs::remove_dir_all(&folder).expect("it goes");
    symlink(place.path("other"), &folder).expect("a link is made");
    let error = place.cook(&world()).expect_err("it would write elsewhere");
    assert!(matches!(&error, CookError::Link { path } if *path == folder), "{error}");
}

#[test]
fn links_in_the_place_of_files_are_replaced() {
    for at in ["level.pkg", "test.seamless", ".cook/staged/level.pkg"] {
        let place = cooked();
        link(&place, at, "other/canary");
        place.cook(&world()).unwrap_or_else(|error| panic!("{at}: {error}"));
        for file in ["level.pkg", "test.seamless"] {
            let there = fs::symlink_metadata(place.out().join(file)).expect("it is there");
            assert!(there.is_file(), "{at}: {file} is no link any more");
        }
    }
}

/// Files of the cache that are links, or about to be written through one.
#[test]
fn links_in_the_place_of_cached_files_are_replaced() {
    let place = cooked();
    let objects: Vec<_> = folders_below(&place.out().join(".cook/objects"))
        .iter()
        .flat_map(|folder| folders_below(folder))
        .collect();
    assert!(objects.len() > 2);
    for object in objects {
        fs::remove_file(&object).expect("it goes");
        symlink(place.path("other/canary"), &object).expect("a link is made");
        symlink(place.path("other/canary"), object.with_extension("tmp")).expect("a link is made");
    }
    fs::remove_file(place.out().join("level.pkg")).expect("it goes");
    fs::remove_file(place.out().join(".cook/test.state")).expect("it goes");
    place.cook(&world()).unwrap_or_else(|error| panic!("{error}"));
    assert!(place.out().join("level.pkg").is_file());
}

#[test]
fn a_folder_in_the_place_of_a_package_is_an_error() {
    let place = Place::new();
    fs::create_dir_all(place.out().join("level.pkg/inner")).expect("a folder is made");
    let error = place.cook(&world()).expect_err("it cannot be written");
    assert!(
        matches!(&error, CookError::Write { path, .. } if path.ends_with("level.pkg")),
        "{error}"
    );
}

/// The output folder itself may be a link: its author says so.
#[test]
fn an_output_folder_that_is_a_link_is_where_it_leads() {
    let place = Place::new();
    fs::create_dir(place.path("elsewhere")).expect("a folder is made");
    let out = place.path("project/linked");
    symlink(place.path("elsewhere"), &out).expect("a link is made");
    let file = place.path("project/test.world.ron");
    fs::write(&file, world()).expect("the world file is written");
    let before = tree(place.0.path(), &place.path("elsewhere"));
    seamless_cook::CookApp::new()
        .cook(&file, &out, &Default::default(), &())
        .expect("it cooks");
    assert_eq!(before, tree(place.0.path(), &place.path("elsewhere")));
    assert!(place.path("elsewhere/level.pkg").is_file());
}
