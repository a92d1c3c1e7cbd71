//! What registries tell of notifies, when it is looked at, and which are always loaded.

use bevy_reflect::TypePath;
use seamless_asset::{ObjectRegistry, RegistryObject};

use super::*;
use crate::config::tests::{OUTCOMES, config};

/// What a registry tells of a notify.
pub(crate) fn row(path: &str, at: &str, tags: &[(&str, &str)]) -> RegistryObject {
    let (package, object) = at.split_once('#').expect("an object path");
    RegistryObject {
        path: path.into(),
        package: package.into(),
        object: object.into(),
        type_path: CueNotify::type_path().into(),
        bytes: 100,
        tags: tags
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()))
            .collect(),
        ..RegistryObject::default()
    }
}

fn registry(rows: Vec<RegistryObject>) -> ObjectRegistry {
    ObjectRegistry::new("", rows).expect("the rows are good")
}

fn two() -> ObjectRegistries {
    let mut registries = ObjectRegistries::default();
    registries.insert(registry(vec![
        row("cues/core/a.cue.ron", "c.pkg#a", &[("cue", "Library.A")]),
        row(
            "cues/corex/b.cue.ron",
            "c.pkg#b",
            &[
                ("cue", "Library.B"),
                ("cue.cull_distance", "12.5"),
                ("cue.overrides", "true"),
            ],
        ),
        row("cues/core/bad.cue.ron", "c.pkg#bad", &[]),
    ]));
    registries
}

fn names<'a>(cues: impl Iterator<Item = &'a LibraryCue>) -> Vec<&'static str> {
    cues.map(|cue| cue.tag.name()).collect()
}

#[test]
fn what_is_below_a_path_is_always_loaded_while_the_path_is_there() {
    let mut libraries = CueLibraries::default();
    assert!(libraries.scan(&two(), &CueConfig::default(), true));
    assert!(!libraries.scan(&two(), &CueConfig::default(), false), "nothing is new");
    assert_eq!(names(libraries.known()), ["Library.A", "Library.B"]);
    assert_eq!(names(libraries.runtime()), Vec::<&str>::new());
    libraries.add_path("cues/core/");
    assert_eq!(names(libraries.runtime()), ["Library.A"], "corex is another folder");
    libraries.remove_path("cues/core/");
    assert_eq!(libraries.runtime().count(), 0);
    let b = libraries.known().last().expect("two are known");
    assert_eq!((b.cull_distance, b.overrides, b.bytes), (Some(12.5), true, 100));
}

#[test]
fn what_a_registry_does_not_know_any_more_is_forgotten_and_what_was_inserted_stays() {
    let mut libraries = CueLibraries::default();
    libraries.scan(&two(), &CueConfig::default(), true);
    libraries.insert(LibraryCue {
        path: "own.pkg#cue".into(),
        tag: GameplayTag::new("Library.Own").expect("a tag"),
        overrides: false,
        cull_distance: None,
        bytes: 0,
        is_always_loaded: false,
    });
    assert!(libraries.scan(&ObjectRegistries::default(), &CueConfig::default(), false));
    assert_eq!(names(libraries.known()), ["Library.Own"]);
}

#[test]
fn only_what_is_below_the_known_paths_is_looked_for() {
    let mut libraries = CueLibraries::default();
    let known = vec!["cues/corex".to_owned()];
    let config = CueConfig {
        known,
        ..CueConfig::default()
    };
    libraries.scan(&two(), &config, true);
    assert_eq!(names(libraries.known()), ["Library.B"]);
    let none = CueConfig {
        max_notifies: 0,
        ..CueConfig::default()
    };
    let mut libraries = CueLibraries::default();
    libraries.scan(&two(), &none, true);
    assert_eq!(libraries.known().count(), 0, "there is a cap");
}

/// Which look finds something: at the start, in the first frame, once a registry that was on its way is there.
#[test]
fn all_64_combinations_look_when_the_table_says() {
    for (bits, outcome) in OUTCOMES.iter().enumerate() {
        let config = config(bits as u8);
        let mut registries = two();
        // One that never comes.
        registries.add(bevy_asset::Handle::Uuid(
            bevy_asset::uuid::Uuid::from_u128(7),
            core::marker::PhantomData,
        ));
        let mut libraries = CueLibraries::default();
        let at_start = libraries.scan(&registries, &config, true);
        let in_frame = libraries.scan(&registries, &config, false);
        registries.remove(bevy_asset::AssetId::Uuid {
            uuid: bevy_asset::uuid::Uuid::from_u128(7),
        });
        let complete = libraries.scan(&registries, &config, false);
        let expected = match outcome.as_bytes()[0] {
            b's' => (true, false),
            b'b' => (false, true),
            _ => (false, false),
        };
        assert_eq!((at_start, in_frame), expected, "{bits:06b}");
        assert!(complete || at_start || in_frame, "{bits:06b}");
        assert_eq!(libraries.known().count(), 2, "{bits:06b}");
    }
}
