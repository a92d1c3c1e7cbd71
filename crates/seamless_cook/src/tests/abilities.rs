//! Effects, abilities and sets are cooked from what their authors write, and a mistake in one is told with its line.

use seamless_asset::STARTUP_EXPORT;
use seamless_package::{Limits, Package};

use super::soft::{one, registry};
use super::*;

const WORLD: &str = r#"(
    levels: [(source: "scenes/a.gltf")],
    startup: ["spells/fire.ability.ron", "classes/mage.abilities.ron"],
)"#;

fn spells(burn: &str) -> Fixture {
    let fixture = two_scenes();
    fixture
        .write(
            "spells/fire.ability.ron",
            r#"(costs: [(attribute: "Attribute.Mana", amount: Constant(5.0))], effects: [(name: "burn", effect: "burn.effect.ron")])"#,
        )
        .write("spells/burn.effect.ron", burn)
        .write(
            "classes/mage.abilities.ron",
            r#"(abilities: [(ability: "../spells/fire.ability.ron", slot: "Slot.Primary")])"#,
        );
    fixture
}

#[test]
fn an_ability_is_cooked_with_the_effects_that_it_names() {
    let fixture = spells(r#"(duration: For(3.0), grants: ["State.Burning"])"#);
    let cooked = fixture.cook_with(&CookApp::new(), WORLD, &CookOptions::default());
    cooked.unwrap();
    let bytes = std::fs::read(fixture.out().join("startup.pkg")).unwrap();
    let package = Package::verify_whole(&bytes, &Limits::default()).unwrap();
    let objects = (0..package.exports().len()).filter(|index| package.class_of(*index).is_some());
    let mut names: Vec<&str> = objects.filter_map(|index| package.export_name(index)).collect();
    names.retain(|name| *name != STARTUP_EXPORT);
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "classes/mage.abilities.ron",
            "spells/burn.effect.ron",
            "spells/fire.ability.ron"
        ]
    );
}

/// What a game looks for without loading anything.
#[test]
fn registries_tell_what_definitions_are_searched_by() {
    let fixture = spells(
        r#"(tags: ["Effect.Fire"], duration: For(3.0), grants: ["State.Burning"], cues: (active: ["Cue.Burning"]))"#,
    );
    fixture.write(
        "spells/fire.ability.ron",
        r#"(tags: ["Ability.Spell.Fire", "Ability.Ranged"], cues: (executed: ["Cue.Cast.Fire"]))"#,
    );
    let world = r#"(levels: [(source: "scenes/a.gltf")], assets: ["spells", "classes"])"#;
    fixture
        .cook_with(&CookApp::new(), world, &CookOptions::default())
        .unwrap();
    let registry = registry(&fixture);
    let told = |path: &str| {
        let tags = one(&registry, path).tags.iter();
        tags.map(|(key, value)| format!("{key} {value}")).collect::<Vec<_>>()
    };
    assert_eq!(
        told("spells/fire.ability.ron"),
        [
            "ability Ability.Ranged",
            "ability Ability.Spell.Fire",
            "ability.cue Cue.Cast.Fire"
        ]
    );
    assert_eq!(
        told("spells/burn.effect.ron"),
        [
            "effect Effect.Fire",
            "effect.cue Cue.Burning",
            "effect.grants State.Burning"
        ]
    );
    assert_eq!(told("classes/mage.abilities.ron"), ["abilities.slot Slot.Primary"]);
}

#[test]
fn a_mistake_is_told_with_file_and_line() {
    let fixture = spells("(\n  duration: For(3.0),\n  colour: 5,\n)");
    let cooked = fixture.cook_with(&CookApp::new(), WORLD, &CookOptions::default());
    let error = format!("{:?}", cooked.unwrap_err());
    for part in ["burn.effect.ron", "line 3", "colour"] {
        assert!(error.contains(part), "{error}");
    }
}
