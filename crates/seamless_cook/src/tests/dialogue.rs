//! Sets of dialogue variants: whole where nothing is said, few of them and others for each level where the world file limits them.

mod again;
mod guards;
mod nested;

use std::collections::{BTreeMap, BTreeSet};

use bevy::prelude::*;
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{BlockingLoads, DialogueVariants, InstanceRequest, SeamlessAssetApp, SeamlessAssetPlugin};

use self::guards::*;
use super::*;
use crate::{PackageInfo, Target, inspect, verify};

fn cook(fixture: &Fixture, world: &str) -> CookReport {
    let report = fixture.cook_with(&cooker(), world, &CookOptions::default());
    report.unwrap_or_else(|error| panic!("{error}: {:#?}", error.content_errors()))
}

fn package(fixture: &Fixture, file: &str) -> PackageInfo {
    inspect(&fixture.out().join(file)).expect("the package is sound")
}

/// What the set of a package refers to, if it has one.
fn set_of(fixture: &Fixture, file: &str) -> Option<Vec<String>> {
    let set = package(fixture, file)
        .exports
        .into_iter()
        .find(|export| export.name == SET);
    set.map(|set| set.refs)
}

/// The sounds that are in any package.
fn sounds(fixture: &Fixture) -> BTreeSet<String> {
    let packages = files(&fixture.out()).into_iter().filter(|file| file.ends_with(".pkg"));
    let exports = packages.flat_map(|file| package(fixture, &file).exports);
    let sounds = exports.filter(|export| export.class == Whistle::type_path());
    sounds.map(|sound| sound.name).collect()
}

#[test]
fn without_limits_levels_share_the_whole_set() {
    let fixture = guards(2);
    fixture.write("cook.ron", SHARE);
    let report = cook(&fixture, &world(&[('a', ""), ('b', "")]));
    assert_eq!(set_of(&fixture, "shared_0.pkg").expect("it is shared").len(), 8);
    assert_eq!(set_of(&fixture, "a.pkg"), None);
    assert_eq!(report.dialogue, []);
}

#[test]
fn each_level_has_few_variants_and_the_world_has_all() {
    let fixture = guards(4);
    let report = cook(&fixture, &world(&FOUR));
    let mut seen = BTreeSet::new();
    for (level, told) in FOUR.iter().map(|(level, _)| level.to_string()).zip(&report.dialogue) {
        assert_eq!(
            (told.level.as_str(), told.set.as_str(), told.variants),
            (level.as_str(), SET, 8)
        );
        let own = set_of(&fixture, &format!("{level}.pkg")).expect("the level has its own set");
        assert_eq!(own.len(), 2);
        assert_eq!(told.sounds.iter().collect::<BTreeSet<_>>(), own.iter().collect());
        seen.extend(own);
    }
    assert_eq!(
        (report.dialogue.len(), seen.len()),
        (4, 8),
        "no two levels have one in common"
    );
    assert_eq!(sounds(&fixture).len(), 8);
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

#[test]
fn sounds_that_no_level_got_are_in_no_package() {
    let fixture = guards(2);
    cook(&fixture, &world(&[('a', "max_variants: 2"), ('b', "max_variants: 1")]));
    assert_eq!(sounds(&fixture).len(), 3);
    // A level without a limit has all, and the others have what they had.
    let names = |fixture: &Fixture, file: &str| -> Vec<String> {
        // Without the package that they are in.
        let names = set_of(fixture, file).into_iter().flatten();
        names
            .map(|sound| sound.rsplit('#').next().unwrap_or_default().to_owned())
            .collect()
    };
    let before = ["a.pkg", "b.pkg"].map(|file| names(&fixture, file));
    let other = guards(3);
    cook(
        &other,
        &world(&[('a', "max_variants: 2"), ('b', "max_variants: 1"), ('c', "")]),
    );
    assert_eq!(before, ["a.pkg", "b.pkg"].map(|file| names(&other, file)));
    assert_eq!(
        set_of(&other, "c.pkg").expect("the only one that has it whole").len(),
        8
    );
}

#[test]
fn a_limit_that_is_large_enough_changes_nothing() {
    let fixture = guards(2);
    let report = cook(
        &fixture,
        &world(&[('a', "max_variants: 8"), ('b', "max_variants: 100")]),
    );
    assert_eq!(report.dialogue, []);
    let limited = super::incremental::output(&fixture.out());
    let other = guards(2);
    cook(&other, &world(&[('a', ""), ('b', "")]));
    let free = super::incremental::output(&other.out());
    assert_eq!(limited, free);
}

#[test]
fn some_sets_have_limits_of_their_own() {
    let fixture = guards(2);
    let limits =
        r#"max_variants: 5, dialogue: [(sets: "guard/*", max_variants: 3), (sets: "king/*", max_variants: 1)]"#;
    let report = cook(&fixture, &world(&[('a', limits), ('b', "max_variants: 5")]));
    assert_eq!(set_of(&fixture, "a.pkg").map(|set| set.len()), Some(3));
    assert_eq!(set_of(&fixture, "b.pkg").map(|set| set.len()), Some(5));
    assert_error(
        &report.warnings,
        "test.world.ron",
        "level `a`, dialogue `king/*`",
        "fits no set",
    );
    assert_eq!(report.warnings.len(), 1, "{:#?}", report.warnings);
}

#[test]
fn what_lies_between_a_level_and_its_set_is_the_levels_own() {
    let fixture = guards(2);
    fixture.write("cook.ron", SHARE).write("bob.person", "Bob");
    for level in ['a', 'b', 'c'] {
        let is = (Is::type_path(), r#"(Path("bob.person"))"#);
        fixture.write(&format!("{level}.scn.ron"), scene(&[is]));
    }
    cook(
        &fixture,
        &world(&[('a', "max_variants: 2"), ('b', "max_variants: 3"), ('c', "")]),
    );
    let person = |file: &str| {
        package(&fixture, file)
            .exports
            .into_iter()
            .find(|export| export.name == "bob.person")
    };
    for (file, count) in [("a.pkg", 2), ("b.pkg", 3), ("c.pkg", 8)] {
        assert_eq!(person(file).expect("each level has its own").refs, [SET]);
        assert_eq!(set_of(&fixture, file).map(|set| set.len()), Some(count), "{file}");
    }
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

#[derive(Resource, Reflect)]
#[reflect(Resource)]
struct Anthem(Handle<DialogueVariants<Whistle>>);

#[test]
fn resources_of_a_level_refer_to_its_own_set() {
    let fixture = guards(1);
    let anthem = format!("\"{}\": (Path(\"{SET}\"))", Anthem::type_path());
    fixture.write("a.scn.ron", format!("(resources: {{{anthem}}}, entities: {{}})"));
    let levels = world(&FOUR[..1]);
    let world = format!("{}, resources: Persistent)", levels.strip_suffix(')').unwrap());
    cook(&fixture, &world);
    let mut exports = package(&fixture, "a.pkg").exports.into_iter();
    let resource = exports
        .find(|export| export.name.starts_with("Resource:"))
        .expect("it is there");
    assert_eq!(
        (resource.refs, set_of(&fixture, "a.pkg").map(|set| set.len())),
        (vec![SET.to_owned()], Some(2))
    );
}

#[test]
fn levels_from_one_source_have_different_variants() {
    let fixture = guards(1);
    let level = |name| format!("(name: \"{name}\", source: \"a.scn.ron\", max_variants: 4)");
    cook(&fixture, &format!("(levels: [{}, {}])", level("east"), level("west")));
    let sets = ["east.pkg", "west.pkg"].map(|file| set_of(&fixture, file).expect("it has its own"));
    assert_eq!(sets.iter().flatten().collect::<BTreeSet<_>>().len(), 8);
}

#[test]
fn seek_free_levels_hold_copies_of_their_own_variants() {
    let fixture = guards(2);
    fixture.write("cook.ron", SHARE);
    let limits = "max_variants: 6, seek_free: true";
    let report = cook(&fixture, &world(&[('a', limits), ('b', limits)]));
    for (level, file) in ["a.pkg", "b.pkg"].iter().enumerate() {
        let exports = package(&fixture, file).exports.into_iter();
        let sounds = exports.filter(|export| export.class == Whistle::type_path());
        assert_eq!(sounds.count(), 6, "{file}");
        assert!(report.levels[level].dependencies.is_empty());
    }
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

#[test]
fn startup_content_has_its_sets_whole() {
    let fixture = guards(2);
    let levels = world(&FOUR[..2]);
    let world = format!(
        "{}, startup: [\"guard/hello.dialogue.ron\"])",
        levels.strip_suffix(')').unwrap()
    );
    let report = cook(&fixture, &world);
    assert_eq!(set_of(&fixture, "startup.pkg").map(|set| set.len()), Some(8));
    assert_eq!((set_of(&fixture, "a.pkg"), report.dialogue), (None, Vec::new()));
}

#[test]
fn servers_have_no_sets_and_no_levels_of_their_own_for_them() {
    let fixture = guards(2);
    let options = CookOptions {
        target: Target::named("server").unwrap(),
        ..CookOptions::default()
    };
    let report = fixture.cook_with(&cooker(), &world(&FOUR[..2]), &options).unwrap();
    assert_eq!((set_of(&fixture, "a.pkg"), sounds(&fixture).len()), (None, 0));
    assert_eq!(report.dialogue, []);
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

#[test]
fn limits_of_what_the_target_does_not_need_are_no_mistakes() {
    let fixture = guards(1);
    let world = world(&[('a', r#"dialogue: [(sets: "guard/*", max_variants: 8)]"#)]);
    for target in ["server", "editor", "all"] {
        let options = CookOptions {
            target: Target::named(target).unwrap(),
            ..CookOptions::default()
        };
        let report = fixture.cook_with(&cooker(), &world, &options).unwrap();
        assert_eq!(report.warnings, [], "{target}");
    }
}

#[test]
fn limits_of_startup_content_tell_that_it_is_whole() {
    let fixture = guards(1);
    let levels = world(&[('a', r#"dialogue: [(sets: "guard/*", max_variants: 2)]"#)]);
    let world = format!(
        "{}, startup: [\"guard/hello.dialogue.ron\"])",
        levels.strip_suffix(')').unwrap()
    );
    let report = cook(&fixture, &world);
    let limit = "level `a`, dialogue `guard/*`";
    assert_error(
        &report.warnings,
        "test.world.ron",
        limit,
        "startup content, which has it whole",
    );
    assert_eq!(report.warnings.len(), 1, "{:#?}", report.warnings);
}

#[test]
fn variants_that_come_with_no_level_are_told() {
    let fixture = guards(2);
    let levels = [('a', "max_variants: 3"), ('b', "max_variants: 2")];
    let report = cook(&fixture, &world(&levels));
    assert_error(&report.warnings, SET, "", "3 of 8 variants come with no level");
    let heard: Vec<&String> = report.dialogue.iter().flat_map(|told| &told.sounds).collect();
    let warning = &report.warnings[0].message;
    let named = (0..8).map(|number| format!("guard/{number}.whistle"));
    assert!(
        named
            .into_iter()
            .all(|sound| heard.contains(&&sound) != warning.contains(&sound)),
        "{warning}"
    );
    // Others may have them: of a part of the world nothing can be told.
    let options = CookOptions {
        maps: vec!["a".into()],
        ..CookOptions::default()
    };
    let report = fixture.cook_with(&cooker(), &world(&levels), &options).unwrap();
    assert_eq!(report.warnings, []);
    // Who has no limit has them all.
    assert_eq!(
        cook(&fixture, &world(&[('a', "max_variants: 3"), ('b', "")])).warnings,
        []
    );
}

#[test]
fn of_many_variants_that_come_with_no_level_some_are_named() {
    let fixture = guards(1);
    write_set(&fixture, 20);
    let report = cook(&fixture, &world(&[('a', "max_variants: 1")]));
    let message = &report.warnings[0].message;
    assert!(
        message.starts_with("19 of 20") && message.contains("and 11 more;"),
        "{message}"
    );
    assert_eq!(message.matches(".whistle").count(), 8);
}

#[test]
fn limits_that_leave_nothing_or_are_about_nothing_are_errors() {
    let fixture = guards(3);
    let limits = [
        ('a', "max_variants: 0"),
        ('b', r#"dialogue: [(sets: "guard/*", max_variants: 0)]"#),
        ('c', r#"dialogue: [(sets: "", max_variants: 1)]"#),
    ];
    let errors = fixture.errors_with(&cooker(), &world(&limits), &CookOptions::default());
    assert_eq!(errors.len(), 3, "{errors:#?}");
    assert_error(&errors, "test.world.ron", "level `a`", "leaves nothing to say");
    assert_error(&errors, "test.world.ron", "level `b`", "leaves nothing to say");
    assert_error(&errors, "test.world.ron", "level `c`", "for no `sets`");
    let many = |count: usize| format!("dialogue: [{}]", r#"(sets: "*", max_variants: 8), "#.repeat(count));
    let most = crate::dialogue::MOST_LIMITS;
    let errors = fixture.errors_with(&cooker(), &world(&[('a', &many(most + 1))]), &CookOptions::default());
    assert_error(
        &errors,
        "test.world.ron",
        "level `a`",
        "1025 entries; 1024 are possible",
    );
    cook(&fixture, &world(&[('a', &many(most))]));
}

/// Stores sets otherwise than the codec of `seamless_asset`.
struct OwnCodec;

impl AssetCodec for OwnCodec {
    type Asset = DialogueVariants<Whistle>;
    const VERSION: u32 = 7;

    fn encode(set: &Self::Asset, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        for variant in set.variants() {
            context.reference(&variant.sound.clone().untyped());
        }
        Ok(EncodedAsset::default())
    }

    fn decode(_: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Self::Asset, DecodeError> {
        Err(DecodeError::Malformed("not asked".into()))
    }
}

#[test]
fn sets_with_a_codec_of_the_games_own_cannot_be_limited() {
    let fixture = guards(1);
    let app = cooker().with(|app| {
        app.add_asset_codec::<OwnCodec>();
    });
    let errors = fixture.errors_with(&app, &world(&FOUR[..1]), &CookOptions::default());
    assert_error(&errors, SET, "", "cannot be limited");
    let report = fixture.cook_with(&app, &world(&[('a', "")]), &CookOptions::default());
    assert_eq!(report.expect("it is cooked whole").dialogue, []);
}

#[test]
fn rules_do_not_move_what_is_one_levels_own() {
    let fixture = guards(3);
    fixture.write("cook.ron", SHARE.replace("Share", "Persistent"));
    let report = cook(
        &fixture,
        &world(&[
            ('a', "max_variants: 2"),
            ('b', "max_variants: 6"),
            ('c', "always_loaded: true"),
        ]),
    );
    for (file, count) in [("a.pkg", 2), ("b.pkg", 6), ("shared_persistent.pkg", 8)] {
        assert_eq!(set_of(&fixture, file).map(|set| set.len()), Some(count), "{file}");
    }
    assert_error(
        &report.warnings,
        "cook.ron",
        "rule `*`",
        &format!("has no effect on `{SET}`"),
    );
    assert_eq!(report.warnings.len(), 1, "{:#?}", report.warnings);
    let levels = [('a', ""), ('b', ""), ('c', "always_loaded: true")];
    assert_eq!(
        cook(&fixture, &world(&levels)).warnings,
        [],
        "without limits the rule is followed"
    );
    assert!(verify(&fixture.out(), None).unwrap().faults.is_empty());
}

/// The variants of the guards that are there, by the guard's name.
fn heard(app: &mut App) -> BTreeMap<String, Vec<(String, f32)>> {
    let world = app.world_mut();
    let mut guards = world.query::<(&Name, &Greets)>();
    let sets = world.resource::<Assets<DialogueVariants<Whistle>>>();
    let whistles = world.resource::<Assets<Whistle>>();
    let variants = |greets: &Greets| {
        let variants = sets.get(&greets.0).expect("the set is there").variants().iter();
        let sound = |handle| String::from_utf8(whistles.get(handle).expect("the sound is there").0.clone()).unwrap();
        variants
            .map(|variant| (sound(&variant.sound), variant.weight))
            .collect()
    };
    guards
        .iter(world)
        .map(|(name, greets)| (name.to_string(), variants(greets)))
        .collect()
}

#[test]
fn each_level_speaks_with_its_own_variants() {
    let fixture = guards(4);
    let report = cook(&fixture, &world(&FOUR));
    let mut app = App::new();
    let assets = AssetPlugin {
        file_path: fixture.out().display().to_string(),
        ..AssetPlugin::default()
    };
    app.add_plugins((MinimalPlugins, assets, TransformPlugin));
    add_types(&mut app);
    app.add_plugins(SeamlessAssetPlugin::default());
    app.finish();
    app.cleanup();
    for level in ['a', 'b', 'c', 'd'] {
        let request = InstanceRequest {
            name: level.to_string(),
            package: format!("{level}.pkg").into(),
            ..default()
        };
        app.world_mut().load_level_blocking(request).expect("it loads");
    }
    app.update();
    let heard = heard(&mut app);
    let all: BTreeSet<&str> = heard.values().flatten().map(|(sound, _)| sound.as_str()).collect();
    assert_eq!((heard.len(), all.len()), (4, 8));
    assert!(heard.values().all(|variants| variants.len() == 2));
    for (sound, weight) in heard.values().flatten() {
        let expected = if sound.contains("the 0th") { 0.5 } else { 1.0 };
        assert_eq!(*weight, expected, "a variant keeps its weight");
    }
    for told in &report.dialogue {
        let said = &heard[&format!("Guard {}", told.level)];
        let said: BTreeSet<String> = said.iter().map(|(sound, _)| sound.clone()).collect();
        let read = |sound: &String| std::fs::read_to_string(fixture.path(sound)).unwrap();
        assert_eq!(said, told.sounds.iter().map(read).collect(), "level `{}`", told.level);
    }
}
