//! Version lists, and each wrong turn that a team has taken with version numbers.

use super::*;

/// A package that was saved with these entries of the game's list.
fn saved(entries: &[&str]) -> Package {
    saved_with(&[versions(VersionId::GAME, "game", entries)])
}

fn saved_with(lists: &[VersionList]) -> Package {
    let mut writer = PackageWriter::new("levels/a.pkg");
    writer.versions(lists).unwrap();
    verify(&writer.finish().unwrap()).unwrap()
}

fn game(entries: &[&str]) -> VersionList {
    versions(VersionId::GAME, "game", entries)
}

fn open(package: &Package, build: &VersionList) -> Result<std::ops::Range<usize>, VersionMismatch> {
    pending(package.versions(build.id()), build)
}

fn diverged(label: &str, index: usize, package: &str, build: &str) -> VersionMismatch {
    VersionMismatch::Diverged {
        label: label.to_owned(),
        index,
        package: package.to_owned(),
        build: build.to_owned(),
    }
}

#[test]
fn a_package_at_256_runs_exactly_257_to_259() {
    let names: Vec<String> = (1..=259).map(|number| format!("change {number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let package = saved(&names[..256]);
    assert_eq!(package.versions(VersionId::GAME).unwrap().number(), 256);
    let pending = open(&package, &game(&names)).unwrap();
    // By position from 0; by number, as people count, 257..=259.
    assert_eq!(pending, 256..259);
    assert_eq!(names[pending], ["change 257", "change 258", "change 259"]);
    assert_eq!(open(&saved(&names), &game(&names)).unwrap(), 259..259);
    assert_eq!(open(&saved(&[]), &game(&names)).unwrap(), 0..259);
}

#[test]
fn a_list_that_the_package_does_not_have_runs_wholly() {
    let package = saved_with(&[]);
    assert_eq!(open(&package, &game(&["a", "b"])).unwrap(), 0..2);
}

#[test]
fn another_programmers_entry_merged_before_mine_is_caught() {
    // I saved content with my entry at the end. Then the other programmer's was merged in front of it.
    let mine = saved(&["base", "mine"]);
    let merged = game(&["base", "theirs", "mine"]);
    let error = open(&mine, &merged).unwrap_err();
    assert_eq!(error, diverged("game", 1, "mine", "theirs"));
    // Whoever already had the other entry has content that still fits: only mine is left to run on it.
    assert_eq!(open(&saved(&["base", "theirs"]), &merged).unwrap(), 2..3);
}

#[test]
fn content_checked_in_beside_a_number_that_changed_is_caught() {
    // Both programmers took number 2, each with a change of their own. The numbers agree, the names do not.
    let content = saved(&["base", "mine"]);
    let build = game(&["base", "theirs"]);
    assert_eq!(content.versions(VersionId::GAME).unwrap().number(), build.number());
    let error = open(&content, &build).unwrap_err();
    assert_eq!(error, diverged("game", 1, "mine", "theirs"));
}

#[test]
fn a_spot_integration_and_a_later_full_integration_are_caught() {
    // One change of the engine was taken over early; the full integration then put its neighbours around it.
    let engine = |entries: &[&str]| versions(VersionId::ENGINE, "engine", entries);
    let spot = engine(&["e1", "e2", "e5"]);
    let content = saved_with(&[spot]);
    let full = engine(&["e1", "e2", "e3", "e4", "e5", "e6"]);
    let error = open(&content, &full).unwrap_err();
    assert_eq!(error, diverged("engine", 2, "e5", "e3"));
    // The right way: only what follows the entry that was taken over. But then the engine's own content does not fit.
    let careful = engine(&["e1", "e2", "e5", "e6"]);
    assert_eq!(open(&content, &careful).unwrap(), 3..4);
    let theirs = saved_with(&[engine(&["e1", "e2", "e3", "e4"])]);
    assert_eq!(open(&theirs, &careful).unwrap_err(), diverged("engine", 2, "e3", "e5"));
}

#[test]
fn own_entries_in_the_engines_list_are_caught() {
    let engine = |entries: &[&str]| versions(VersionId::ENGINE, "engine", entries);
    let content = saved_with(&[engine(&["e1", "cool feature"])]);
    // The engine's next version in front of the own entry: no fit for the own content.
    let error = open(&content, &engine(&["e1", "e2", "cool feature"])).unwrap_err();
    assert_eq!(error, diverged("engine", 1, "cool feature", "e2"));
    // Behind it: none for the engine's content.
    let theirs = saved_with(&[engine(&["e1", "e2"])]);
    let error = open(&theirs, &engine(&["e1", "cool feature", "e2"])).unwrap_err();
    assert_eq!(error, diverged("engine", 1, "e2", "cool feature"));
    // In a list of its own the same entry is in nobody's way.
    let build = [engine(&["e1", "e2"]), game(&["cool feature"])];
    let own = saved_with(&[engine(&["e1"]), game(&["cool feature"])]);
    let expected = vec![(VersionId::ENGINE, 1..2), (VersionId::GAME, 1..1)];
    assert_eq!(check_all(&own, &build), Ok(expected));
    let expected = vec![(VersionId::ENGINE, 2..2), (VersionId::GAME, 0..1)];
    assert_eq!(check_all(&theirs, &build), Ok(expected));
}

#[test]
fn an_entry_in_the_middle_and_a_renamed_entry_are_caught() {
    let package = saved(&["a", "b"]);
    let error = open(&package, &game(&["a", "new", "b"])).unwrap_err();
    assert_eq!(error, diverged("game", 1, "b", "new"));
    let error = open(&package, &game(&["a", "visibility", "c"])).unwrap_err();
    assert_eq!(error, diverged("game", 1, "b", "visibility"));
    let text = error.to_string();
    for part in ["`game`", "entry 2", "`b`", "`visibility`", "append-only", "cook"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_package_of_a_newer_build_is_refused() {
    let package = saved(&["a", "b", "c", "d"]);
    let error = open(&package, &game(&["a", "b"])).unwrap_err();
    let expected = VersionMismatch::Newer {
        label: "game".to_owned(),
        package: 4,
        build: 2,
        first: "c".to_owned(),
    };
    assert_eq!(error, expected);
    let text = error.to_string();
    assert!(text.contains("4 entries") && text.contains("newer build"), "{text}");
    // Shorter and different is different, not newer.
    let error = open(&package, &game(&["a", "x"])).unwrap_err();
    assert_eq!(error, diverged("game", 1, "b", "x"));
}

#[test]
fn a_list_without_its_plugin_is_refused() {
    let weather = versions(WEATHER, "weather", &["rain"]);
    let package = saved_with(&[weather.clone(), game(&["a"])]);
    let error = check_all(&package, &[game(&["a"])]).unwrap_err();
    let expected = VersionMismatch::UnknownList {
        label: "weather".to_owned(),
        id: WEATHER,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("add the plugin"), "{error}");
    let expected = vec![(VersionId::GAME, 1..1), (WEATHER, 1..1)];
    assert_eq!(check_all(&package, &[game(&["a"]), weather]), Ok(expected));
    let error = check_all(&package, &[game(&["b"]), versions(WEATHER, "weather", &[])]).unwrap_err();
    assert_eq!(error, diverged("game", 0, "a", "b"));
}

#[test]
fn lists_are_read_as_they_were_written() {
    let package = verify(&golden()).unwrap();
    let mut written = golden_versions();
    written.sort_by_key(VersionList::id);
    let stored: Vec<StoredVersions<'_>> = package.version_lists().collect();
    assert_eq!(stored.len(), written.len());
    for (stored, written) in stored.iter().zip(&written) {
        assert_eq!((stored.id(), stored.label()), (written.id(), written.label()));
        assert!(stored.entries().eq(written.entries()));
        assert_eq!((stored.number(), stored.hash()), (written.number(), written.hash()));
        assert_eq!(package.versions(written.id()).map(|list| list.id()), Some(written.id()));
    }
    assert_eq!(package.versions(VersionId([0; 16])).map(|list| list.id()), None);
    assert_eq!(game(&["a", "b"]).hash(), xxh3_64(b"a\0b\0"));
    assert_eq!(VersionId::GAME.to_string(), "5ea31e55-0000-4000-8000-000000000002");
}

fn find(bytes: &[u8], text: &[u8]) -> usize {
    let mut windows = bytes.windows(text.len());
    windows.position(|window| window == text).unwrap()
}

#[test]
fn a_stored_list_has_no_name_twice_and_nothing_is_left_over() {
    let bytes = golden();
    let summary = summary_of(&bytes);
    let entries = version_at(&bytes, summary.version_list_count as usize);
    // The second list's second entry becomes its first, with the right hash.
    let mut forged = bytes.clone();
    forged.copy_within(entries + 4..entries + 8, entries + 8);
    let hash = xxh3_64(b"doors have keys\0doors have keys\0");
    put(&mut forged, version_at(&bytes, 1), VersionRecord::LAYOUT, "hash", hash);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("two entries have the same name"), "{text}");
    // Of two names that are out of order, one might be there twice.
    let mut forged = bytes.clone();
    let names = summary.names_offset as usize + summary.name_count as usize * 4;
    let keys = names + find(&bytes[names..], b"keys have colors");
    forged[keys] = b'c';
    let hash = xxh3_64(b"doors have keys\0ceys have colors\0");
    put(&mut forged, version_at(&bytes, 1), VersionRecord::LAYOUT, "hash", hash);
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("names are not in ascending order"), "{text}");
    // The second list ends early, again with the right hash; so does the third, which is empty.
    let mut forged = bytes.clone();
    put(
        &mut forged,
        version_at(&bytes, 1),
        VersionRecord::LAYOUT,
        "entry_count",
        1,
    );
    let hash = xxh3_64(b"doors have keys\0");
    put(&mut forged, version_at(&bytes, 1), VersionRecord::LAYOUT, "hash", hash);
    put(
        &mut forged,
        version_at(&bytes, 2),
        VersionRecord::LAYOUT,
        "first_entry",
        2,
    );
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(text.contains("version table: entries are left over"), "{text}");
    let mut forged = bytes.clone();
    forged[entries..entries + 4].copy_from_slice(&999_u32.to_le_bytes());
    reseal_tables(&mut forged, &summary);
    let text = verify(&forged).unwrap_err().to_string();
    assert!(
        text.contains("version list 0: a name is not in the name table"),
        "{text}"
    );
}
