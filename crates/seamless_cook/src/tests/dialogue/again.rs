//! Cooking again, where variants are limited.

use super::*;
use crate::tests::incremental::output;
use crate::{CookWork, clean};

/// What a cook of what is there now makes in an empty folder.
fn full(fixture: &Fixture, world: &str, options: &CookOptions) -> BTreeMap<String, Vec<u8>> {
    let fresh = fixture.path("fresh");
    if fresh.exists() {
        std::fs::remove_dir_all(&fresh).unwrap();
    }
    fixture.write("test.world.ron", world);
    let file = fixture.path("test.world.ron");
    cooker().cook(&file, &fresh, options, &()).unwrap();
    output(&fresh)
}

/// Cooks what has changed, and compares with a full cook.
#[track_caller]
fn check_with(what: &str, fixture: &Fixture, world: &str, options: &CookOptions) -> CookWork {
    let report = fixture.cook_with(&cooker(), world, options).unwrap();
    let again = fixture.cook_with(&cooker(), world, options).unwrap();
    assert_eq!(again.work, CookWork::default(), "{what}");
    assert_eq!(report.dialogue, again.dialogue, "{what}");
    assert_eq!(output(&fixture.out()), full(fixture, world, options), "{what}");
    report.work
}

#[track_caller]
fn check(what: &str, fixture: &Fixture, world: &str) -> CookWork {
    check_with(what, fixture, world, &CookOptions::default())
}

#[test]
fn cooked_again_is_cooked_anew() {
    let fixture = guards(5);
    let check = |what: &str, levels: &[(char, &str)]| check(what, &fixture, &world(levels));
    check("all", &FOUR);
    let mut levels = FOUR.to_vec();
    levels.push(('e', "max_variants: 2"));
    assert_eq!(check("one more level", &levels).encoded, 1);
    levels.remove(1);
    assert_eq!(check("one level less", &levels).sources_loaded, 0);
    levels[0].1 = "max_variants: 5";
    assert_eq!(check("another limit", &levels).sources_loaded, 0);
    levels[2].1 = "";
    check("no limit", &levels);
    fixture.write("guard/3.whistle", "something else");
    assert_eq!(check("another sound", &levels).encoded, 1);
    write_set(&fixture, 7);
    check("one variant less", &levels);
    write_set(&fixture, 9);
    check("two variants more", &levels);
    fixture.write("a.scn.ron", scene(&[(Name::type_path(), "\"Nobody\"")]));
    check("a level without the set", &levels);
}

#[test]
fn weights_rules_and_what_lies_between_are_seen_again() {
    let fixture = guards(3);
    let check = |what: &str, levels: &[(char, &str)]| check(what, &fixture, &world(levels));
    let mut levels = FOUR[..3].to_vec();
    check("all", &levels);
    // Whoever has the variant has its weight.
    let set = std::fs::read_to_string(fixture.path(SET)).unwrap();
    fixture.write(SET, set.replace("weight: 0.5", "weight: 0.25"));
    assert_eq!(check("another weight", &levels).encoded, 1);
    levels[1].1 = "max_variants: 2, seek_free: true";
    assert_eq!(check("seek-free", &levels).encoded, 0);
    fixture.write("bob.person", "Bob");
    let is = (Is::type_path(), r#"(Path("bob.person"))"#);
    fixture.write("a.scn.ron", scene(&[is]));
    check("an asset between", &levels);
    levels[1].1 = "max_variants: 2";
    assert_eq!(check("not seek-free", &levels).encoded, 0);
    fixture.write("bob.person", "Robert");
    assert_eq!(check("another asset between", &levels).encoded, 1);
    fixture.write("cook.ron", SHARE);
    assert_eq!(check("a rule", &levels).encoded, 0);
}

#[test]
fn other_targets_and_parts_leave_nothing_behind() {
    let fixture = guards(4);
    fixture.write("cook.ron", SHARE);
    let world = world(&FOUR);
    check("all", &fixture, &world);
    let server = CookOptions {
        target: Target::named("server").unwrap(),
        ..CookOptions::default()
    };
    check_with("the server", &fixture, &world, &server);
    check("and back", &fixture, &world);
    let part = CookOptions {
        maps: vec!["a".into(), "c".into()],
        ..CookOptions::default()
    };
    let report = fixture.cook_with(&cooker(), &world, &part).unwrap();
    let levels: BTreeSet<&str> = report.dialogue.iter().map(|told| told.level.as_str()).collect();
    assert_eq!(levels, BTreeSet::from(["a", "c"]));
    check("the whole", &fixture, &world);
}

#[test]
fn what_a_clean_leaves_is_enough() {
    let fixture = guards(4);
    fixture.write("cook.ron", SHARE);
    check("all", &fixture, &world(&FOUR));
    let limits = FOUR.map(|(level, _)| (level, "max_variants: 3"));
    check("other limits", &fixture, &world(&limits));
    assert_eq!(
        clean(&fixture.out(), false).unwrap().removed,
        0,
        "limits make nothing that is kept"
    );
    check("cleaned", &fixture, &world(&limits));
    std::fs::remove_file(fixture.out().join("a.pkg")).unwrap();
    let work = check("a package is gone", &fixture, &world(&limits));
    assert_eq!((work.encoded, work.packages_written), (0, 1));
}
