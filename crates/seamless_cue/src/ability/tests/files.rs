//! What files of abilities and sets may say, and how Bevy's server loads them.

use bevy_asset::{Asset, AssetServer, Assets, Handle, LoadState};

use super::app::*;
use crate::{
    ron_file::{self, DefinitionError},
    *,
};

/// Loads a file by Bevy's server, after all of these were put there.
fn load<A: Asset>(files: &[(&str, &str)], path: &'static str) -> Result<(bevy_app::App, Handle<A>), String> {
    let (mut app, dir, _) = app();
    for (path, text) in files {
        put(&dir, path, *text);
    }
    let server = app.world().resource::<AssetServer>().clone();
    let handle = server.load::<A>(path);
    let mut result = None;
    run_until(&mut app, |_| {
        result = match server.load_state(&handle) {
            LoadState::Failed(error) => Some(Err(error.to_string())),
            LoadState::Loaded if server.is_loaded_with_dependencies(&handle) => Some(Ok(())),
            _ => None,
        };
        result.is_some()
    });
    result.expect("it has ended").map(|()| (app, handle))
}

const FIREBALL: &str = r#"(
    tags: ["Ability.Spell.Fireball"],
    activate_if: (forbid: ["State.Silenced"]),
    cancels: ["Ability.Stealth"],
    blocks: ["Ability.Spell"],          // while it is active
    grants: ["State.Casting"],          // the same
    interrupted_by: ["State.Stunned"],
    costs: [(attribute: "Attribute.Mana", amount: Scaled(base: 20.0, per_level: 5.0))],
    cooldown: (time: 4.0, tags: ["Cooldown.Fireball"]),
    duration: For(0.8),
    effects: [(name: "burn", effect: "burn.effect.ron")],
    cues: (active: ["Cue.Casting"], executed: ["Cue.Cast.Fire"]),
)"#;

#[test]
fn an_ability_brings_the_effects_that_it_names() {
    let files = [
        ("spells/fireball.ability.ron", FIREBALL),
        ("spells/burn.effect.ron", "(tags: [\"Effect.Fire\"])"),
    ];
    let (app, handle) = load::<Ability>(&files, "spells/fireball.ability.ron").unwrap();
    let ability = app.world().resource::<Assets<Ability>>().get(&handle).unwrap();
    let burn = ability.effect("burn").expect("it is named");
    assert_eq!(ability.effect("freeze"), None);
    let burn = app
        .world()
        .resource::<Assets<Effect>>()
        .get(burn)
        .expect("it is loaded");
    assert!(burn.tags.has(tag("Effect.Fire")));
    assert_eq!(
        ability.duration,
        AbilityDuration::For(core::time::Duration::from_millis(800))
    );
}

#[test]
fn a_set_names_abilities_and_loads_none() {
    let set = r#"(abilities: [
        (ability: "../spells/fireball.ability.ron", slot: "Slot.Primary"),
        (ability: "/world/shared_0.pkg#shield", level: 2.0),
    ])"#;
    let (app, handle) =
        load::<AbilitySet>(&[("classes/mage.abilities.ron", set)], "classes/mage.abilities.ron").unwrap();
    let set = app.world().resource::<Assets<AbilitySet>>().get(&handle).unwrap();
    let found: Vec<_> = set
        .abilities
        .iter()
        .map(|entry| (entry.ability.path(), entry.level, entry.slot))
        .collect();
    let slot = Some(tag("Slot.Primary"));
    assert_eq!(
        found,
        [
            ("spells/fireball.ability.ron", 1.0, slot),
            ("world/shared_0.pkg#shield", 2.0, None)
        ]
    );
}

#[test]
fn an_error_of_a_file_names_line_and_mend() {
    let error = load::<Effect>(&[("a.effect.ron", "(\n\n colour: 5)")], "a.effect.ron")
        .err()
        .unwrap();
    assert!(error.contains("line 3") && error.contains("colour"), "{error}");
}

#[test]
fn tags_are_those_that_the_game_declares() {
    let declared = ("game.tags.ron", "[\"Effect.Fire.Hot\", \"Attribute.Mana\"]");
    let good = ("a.effect.ron", "(tags: [\"Effect.Fire\"])");
    assert!(load::<Effect>(&[declared, good], "a.effect.ron").is_ok());
    let typo = ("a.effect.ron", "(\n tags: [\n\"Effect.Fire.Hott\"])");
    let error = load::<Effect>(&[declared, typo], "a.effect.ron").err().unwrap();
    let expected = "line 3, column";
    let mend = "`Effect.Fire.Hott` is not declared in `game.tags.ron`, `Effect.Fire` is; add it there, or correct it";
    assert!(error.contains(expected) && error.contains(mend), "{error}");
    assert_eq!(GameplayTag::find("Effect.Fire.Hott"), None);
    let cost = "(costs: [(attribute: \"Attribute.mana\", amount: Constant(1.0))])";
    let error = load::<Ability>(&[declared, ("a.ability.ron", cost)], "a.ability.ron")
        .err()
        .unwrap();
    assert!(
        error.contains("line 1") && error.contains(", `Attribute.Mana` is"),
        "{error}"
    );
    let slot = "(abilities: [(ability: \"b.ability.ron\", slot: \"Slot.Undeclared\")])";
    assert!(load::<AbilitySet>(&[declared, ("a.abilities.ron", slot)], "a.abilities.ron").is_err());
    let error = load::<Effect>(&[("game.tags.ron", "[\n\"A..B\"]"), good], "a.effect.ron")
        .err()
        .unwrap();
    assert!(error.contains("`game.tags.ron`: line 2"), "{error}");
}

#[test]
fn a_file_makes_no_more_tags_than_a_definition_needs() {
    let modifier = |list: usize| {
        let names: Vec<String> = (0..250).map(|index| format!("\"Flood.L{list}.T{index}\"")).collect();
        names.join(", ")
    };
    let lists = ["tags", "removes", "blocks", "grants"]
        .iter()
        .zip(0..)
        .map(|(field, list)| format!("{field}: [{}]", modifier(list)));
    let lists: Vec<String> = lists.collect();
    let text = format!(
        "(duration: Infinite, {}, works_if: (require: [{}]))",
        lists.join(", "),
        modifier(4)
    );
    let error = load::<Effect>(&[("a.effect.ron", &text)], "a.effect.ron")
        .err()
        .unwrap();
    assert!(error.contains("more than 1024 tags"), "{error}");
    assert!(GameplayTag::find("Flood.L4.T23").is_some() && GameplayTag::find("Flood.L4.T24").is_none());
}

fn error<T: serde::de::DeserializeOwned + ron_file::Checked>(text: &str) -> (usize, String) {
    match ron_file::parse::<T>(text.as_bytes()) {
        Err(DefinitionError::Syntax { line, message, .. }) => (line, message),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it is read: {text}"),
    }
}

#[test]
fn wrong_abilities_are_told_with_their_line() {
    use super::super::definition::AbilitySource;
    for (text, line, part) in [
        ("(\n cost: 3)", 2, "cost"),
        (
            "(costs: [\n(attribute: \"A\", amount: Given(\"B\"))])",
            2,
            "nobody gives it",
        ),
        (
            "(costs: [(attribute: \"A\", amount: Constant(1.0)), (attribute: \"A\", amount: Constant(1.0))])",
            1,
            "it costs `A` twice",
        ),
        ("(cooldown: (time: 0.0))", 1, "0 is no time"),
        (
            "(effects: [(name: \"a\", effect: \"b\"), (name: \"a\", effect: \"c\")])",
            1,
            "two effects are called \"a\"",
        ),
        ("(duration: Instant, commit: Asked)", 1, "commits at once"),
        ("(activation: Always)", 1, "needs a cooldown"),
        ("(\ngrants: [\"State.Test\"])", 2, "an instant ability grants"),
        ("(cues: (active: [\"Cue.Test\"]))", 1, "no active cues"),
        (
            "(costs: [(attribute: \"A\", amount: Levels([]))])",
            1,
            "the cost of `A`: `Levels` lists no level",
        ),
        (
            "(grants: [\"State.A.B\"], interrupted_by: [\"State.A\"])",
            1,
            "interrupts itself",
        ),
    ] {
        let (found, message) = error::<AbilitySource>(text);
        assert!(
            found == line && message.contains(part),
            "{text}: line {found}: {message}"
        );
    }
}

#[test]
fn wrong_sets_are_told_with_their_line() {
    use super::super::set::SetSource;
    for (text, line, part) in [
        ("()", 1, "abilities"),
        ("(abilities: [\n(ability: \"\")])", 2, "without a path"),
        ("(abilities: [(ability: \"a\", level: NaN)])", 1, "the level of `a`"),
        ("(abilities: [(ability: \"a\", slot: \"\")])", 1, "empty part"),
    ] {
        let (found, message) = error::<SetSource>(text);
        assert!(
            found == line && message.contains(part),
            "{text}: line {found}: {message}"
        );
    }
    let many = vec!["(ability: \"a\")"; MAX_SET + 1].join(", ");
    let (_, message) = error::<SetSource>(&format!("(abilities: [{many}])"));
    assert!(message.contains("257 abilities"), "{message}");
}
