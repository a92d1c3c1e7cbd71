use bevy_reflect::FromReflect;
use proptest::prelude::*;

use super::*;

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

#[test]
fn a_name_is_one_tag() {
    assert_eq!(tag("Test.Same"), tag("Test.Same"));
    assert_eq!(tag("Test.Same").index(), tag("Test.Same").index());
    assert_ne!(tag("Test.Same"), tag("Test.same"));
}

#[test]
fn a_tag_knows_what_it_is_a_kind_of() {
    let fire = tag("Test.Hit.Fire");
    let names: Vec<&str> = fire.lineage().map(GameplayTag::name).collect();
    assert_eq!(names, ["Test.Hit.Fire", "Test.Hit", "Test"]);
    assert!(fire.is_a(fire) && fire.is_a(tag("Test")));
    assert!(!tag("Test").is_a(fire) && !tag("Test.Hi").is_a(tag("Test.Hit")) && !fire.is_a(tag("Test.Hi")));
}

#[test]
fn what_is_no_tag_says_why() {
    for empty in ["", ".", "A.", ".A", "A..B"] {
        assert!(
            matches!(GameplayTag::new(empty), Err(TagError::EmptyPart { .. })),
            "{empty}"
        );
    }
    assert_eq!(
        GameplayTag::new("Cue Hit"),
        Err(TagError::Character {
            name: "Cue Hit".to_owned(),
            found: ' '
        })
    );
    assert!(matches!(
        GameplayTag::new(&"a".repeat(257)),
        Err(TagError::TooLong { .. })
    ));
    assert!(matches!(
        GameplayTag::new(&["a"; 17].join(".")),
        Err(TagError::TooLong { .. })
    ));
}

#[test]
fn to_ask_for_a_tag_makes_none() {
    assert_eq!(GameplayTag::find("Test.Nobody.Made.This"), None);
    assert_eq!(GameplayTag::find("Test.Nobody"), None);
}

#[test]
fn files_hold_names() {
    let tags: TagSet = [tag("Test.B"), tag("Test.A"), tag("Test.B")].into_iter().collect();
    let text = ron::to_string(&tags).unwrap();
    assert_eq!(text, r#"["Test.A","Test.B"]"#);
    assert_eq!(
        ron::from_str::<TagSet>(r#"["Test.B","Test.A","Test.A"]"#).unwrap(),
        tags
    );
    assert!(ron::from_str::<TagSet>(r#"["Test..B"]"#).is_err());
    assert_eq!(GameplayTag::from_reflect(&tag("Test.A")), Some(tag("Test.A")));
}

proptest! {
    /// A set against a plain list.
    #[test]
    fn a_set_is_a_sorted_list(names in prop::collection::vec("[ab](\\.[ab]){0,3}", 0..12), asked in "[ab](\\.[ab]){0,3}") {
        let mut set = TagSet::new();
        for name in &names {
            set.insert(tag(name));
        }
        let asked = tag(&asked);
        prop_assert_eq!(set.has_exact(asked), names.iter().any(|name| *name == asked.name()));
        let is_kind = |name: &String| *name == asked.name() || name.starts_with(&format!("{asked}."));
        prop_assert_eq!(set.has(asked), names.iter().any(is_kind));
        prop_assert!(set.iter().map(GameplayTag::name).is_sorted());
        let was_there = set.has_exact(asked);
        prop_assert_eq!(set.remove(asked), was_there);
        prop_assert!(!set.has_exact(asked));
    }
}
