//! What effects' files may say.

use super::*;
use crate::ron_file::{self, DefinitionError, MAX_DEFINITION_BYTES};

fn parse(text: &str) -> Result<Effect, DefinitionError> {
    ron_file::parse(text.as_bytes())
}

/// Line and message of what is wrong.
fn error(text: &str) -> (usize, String) {
    match parse(text) {
        Err(DefinitionError::Syntax { line, message, .. }) => (line, message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_effect_is_read_as_its_documentation_shows_it() {
    let effect = parse(
        r#"(
    tags: ["Effect.Fire"],
    duration: For(3.0),
    period: (every: 0.1, at_once: true),
    modifiers: [(
        attribute: "Attribute.Health",
        operation: Add,
        magnitude: Attribute(of: Source, attribute: "Attribute.Fire", factor: -2.0),
    )],
    stacking: (by: Target, limit: 5, expires: OneStack),
    grants: ["State.Burning"],
    apply_if: (forbid: ["State.Wet"]),
    works_if: (forbid: ["State.Immune"]),
    removes: ["Effect.Frost"],
    cues: (active: ["Cue.Burning"], executed: ["Cue.Hit.Fire"]),
)"#,
    )
    .unwrap();
    assert_eq!(effect.duration, EffectDuration::For(ms(3000)));
    // Ten times a tenth is one.
    assert_eq!(effect.period.unwrap().every * 10, ms(1000));
    assert_eq!(effect.stacking.unwrap(), stacking(5, Expiry::OneStack));
    assert_eq!(parse("()").unwrap(), Effect::default());
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (text, line, part) in [
        ("(\n\n  colour: 3)", 3, "colour"),
        ("(tags: [\n\"a..b\"])", 2, "empty part"),
        ("(duration:\nFor(-1.0))", 2, "-1 is no time"),
        ("(duration:\nFor(1e30))", 2, "is no time"),
        ("(duration: For(NaN))", 1, "is no time"),
        ("(duration: For(1.0), period: (every:\n\n0.0))", 3, "0 is no time"),
        ("(\n period: (every: 1.0))", 2, "give it a duration"),
        ("(grants: [\"State.Test\"])", 1, "an instant effect grants"),
        (
            "(\n\nworks_if: (forbid: [\"State.Test\"]))",
            3,
            "an instant effect has no `works_if`",
        ),
        (
            "(duration: Infinite, stacking: (by: Target, limit: 0))",
            1,
            "a limit of 0 stacks",
        ),
        ("(duration: Infinite, stacking: (by: Target, limit: -1))", 1, ""),
        (
            "(modifiers: [(attribute: \"A\", operation: Add, magnitude: Constant(inf))])",
            1,
            "modifier 1, of `A`: a magnitude is no finite number",
        ),
        (
            "(modifiers: [(attribute: \"A\", operation: Divide, magnitude: Constant(0.0))])",
            1,
            "modifier 1, of `A`: it divides by zero",
        ),
        (
            "(modifiers: [(attribute: \"A\", operation: Add, magnitude: Levels([]))])",
            1,
            "lists no level",
        ),
        (
            "(modifiers: [(attribute: \"A\", operation: Sing, magnitude: Constant(1.0))])",
            1,
            "Sing",
        ),
        (
            "(duration: Infinite, grants: [\"State.A.B\"], works_if: (forbid: [\"State.A\"]))",
            1,
            "with which it does not work",
        ),
        ("(tags: [\"A\"]", 1, ""),
        ("no", 1, ""),
    ] {
        let (found, message) = error(text);
        assert!(
            found == line && message.contains(part),
            "{text}: line {found}: {message}"
        );
    }
}

#[test]
fn a_list_of_tags_has_an_end_before_its_tags_are_made() {
    let names: Vec<String> = (0..300).map(|index| format!("\"Hostile.T{index}\"")).collect();
    let (_, message) = error(&format!("(tags: [{}])", names.join(", ")));
    assert!(message.contains("more than 256 tags"), "{message}");
    assert!(GameplayTag::find("Hostile.T255").is_some() && GameplayTag::find("Hostile.T256").is_none());
}

#[test]
fn there_is_not_too_much_of_anything() {
    let many = |count: usize, one: &str| vec![one; count].join(", ");
    let modifier = "(attribute: \"A\", operation: Add, magnitude: Constant(1.0))";
    assert!(parse(&format!("(modifiers: [{}])", many(MAX_MODIFIERS, modifier))).is_ok());
    let (_, message) = error(&format!("(modifiers: [{}])", many(MAX_MODIFIERS + 1, modifier)));
    assert!(message.contains("65 modifiers"), "{message}");
    let (_, message) = error(&format!("(cues: (executed: [{}]))", many(MAX_CUES + 1, "\"Cue.A\"")));
    assert!(message.contains("17 cues"), "{message}");
    let levels = many(MAX_LEVELS + 1, "1.0");
    let (_, message) = error(&format!(
        "(modifiers: [(attribute: \"A\", operation: Add, magnitude: Levels([{levels}]))])"
    ));
    assert!(message.contains("lists 257"), "{message}");
    let large = "\n".repeat(MAX_DEFINITION_BYTES as usize / 2) + &" ".repeat(MAX_DEFINITION_BYTES as usize);
    let refused = parse(&large).expect_err("it is too large").to_string();
    assert!(refused.contains("line 524289: more than"), "{refused}");
    // Deep nonsense is an error, too.
    error(&"(".repeat(100_000));
}
