//! Fields without names, of which there are more or fewer.

use bevy_reflect::std_traits::ReflectDefault;

use super::*;

#[test]
fn tuples_gain_and_lose_their_last() {
    coins! {
        pub struct Coin(pub u8, pub u8);
        #[reflect(Default)]
        pub struct Coin(pub u8, pub u8, pub String);
    }
    let read: is::Coin = load(&was::Coin(1, 2)).expect("it can be read");
    assert_eq!(read, is::Coin(1, 2, String::new()));
    let read: was::Coin = load(&is::Coin(1, 2, "x".into())).expect("it can be read");
    assert_eq!(read, was::Coin(1, 2));
    // A tuple without a name has no default to take it from.
    mod pair {
        use super::*;
        #[derive(Reflect, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Pair(pub (u8,));
    }
    mod triple {
        use super::*;
        #[derive(Reflect, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Pair(pub (u8, u8));
    }
    let error = error_of(load::<triple::Pair>(&pair::Pair((1,))));
    let expected = MigrateError::FieldsByNumber {
        type_path: "(u8, u8)".into(),
        was: 1,
        is: 2,
    };
    assert_eq!(error, expected);
    mod with_text {
        use super::*;
        #[derive(Reflect, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Pair(pub (u8, String));
    }
    let error = error_of(load::<with_text::Pair>(&pair::Pair((1,))));
    assert!(matches!(error, MigrateError::MissingField { field, .. } if field == "1"));
}

/// Hit points, armour and speed: a neighbour's value would fit everywhere.
#[test]
fn a_tuple_that_lost_one_of_its_like_is_refused_until_an_entry_says_which() {
    coins! {
        pub struct Coin(pub f32, pub f32, pub f32);
        #[reflect(Default)]
        pub struct Coin(pub f32, pub f32);
    }
    let error = error_of(load::<is::Coin>(&was::Coin(1.0, 2.0, 3.0)));
    let expected = MigrateError::FieldsByNumber {
        type_path: "game::Coin".into(),
        was: 3,
        is: 2,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("drop_field"), "{error}");
    for (gone, left) in [
        ("0", is::Coin(2.0, 3.0)),
        ("1", is::Coin(1.0, 3.0)),
        ("2", is::Coin(1.0, 2.0)),
    ] {
        let plan = game(Migrations::game().entry("fewer").drop_field("game::Coin", gone));
        let read: is::Coin = cook(&was::Coin(1.0, 2.0, 3.0)).load(&plan).expect("it can be read");
        assert_eq!(read, left);
    }
    // A patch that takes a field leaves its place open.
    let plan = game(
        Migrations::game()
            .entry("fewer")
            .patch("game::Coin", |coin| coin.take("1").map(drop)),
    );
    let error = error_of(cook(&was::Coin(1.0, 2.0, 3.0)).load::<is::Coin>(&plan));
    assert!(matches!(error, MigrateError::FieldsByNumber { .. }), "{error}");
}

#[test]
fn a_tuple_that_gained_one_of_its_like_is_refused_until_an_entry_says_which() {
    coins! {
        pub struct Coin(pub u8, pub u8);
        #[reflect(Default)]
        pub struct Coin(pub f32, pub f32, pub f32);
    }
    let error = error_of(load::<is::Coin>(&was::Coin(1, 2)));
    assert!(
        matches!(error, MigrateError::FieldsByNumber { was: 2, is: 3, .. }),
        "{error}"
    );
    let last = Migrations::game()
        .entry("more")
        .default_field("game::Coin", "2", 9.0_f32);
    let read: is::Coin = cook(&was::Coin(1, 2)).load(&game(last)).expect("it can be read");
    assert_eq!(read, is::Coin(1.0, 2.0, 9.0));
    let middle = Migrations::game()
        .entry("more")
        .rename_field("game::Coin", "1", "2")
        .default_field("game::Coin", "1", 9.0_f32);
    let read: is::Coin = cook(&was::Coin(1, 2)).load(&game(middle)).expect("it can be read");
    assert_eq!(read, is::Coin(1.0, 9.0, 2.0));
}

#[test]
fn a_variant_that_lost_one_of_its_like_is_refused() {
    coins! {
        pub enum Coin { #[default] None, Some(u8, u8, u8), Named(u8) }
        pub enum Coin { #[default] None, Some(u8, u8), Named { #[reflect(default)] value: u8 } }
    }
    let error = error_of(load::<is::Coin>(&was::Coin::Some(1, 2, 3)));
    assert!(
        matches!(&error, MigrateError::FieldsByNumber { type_path, .. } if type_path == "game::Coin::Some"),
        "{error}"
    );
    let plan = game(Migrations::game().entry("fewer").drop_field("game::Coin::Some", "0"));
    let read: is::Coin = cook(&was::Coin::Some(1, 2, 3)).load(&plan).expect("it can be read");
    assert_eq!(read, is::Coin::Some(2, 3));
    // All of its fields would be defaults.
    let error = error_of(load::<is::Coin>(&was::Coin::Named(7)));
    assert!(
        matches!(&error, MigrateError::MissingField { field, .. } if field == "value"),
        "{error}"
    );
}

/// A field that is not stored takes a place, and no value.
#[test]
fn skipped_fields_of_a_tuple_keep_their_place() {
    coins! {
        pub struct Coin(pub u8, #[reflect(skip_serializing)] pub u8, pub u8);
        pub struct Coin(pub u16, #[reflect(skip_serializing)] pub u8, pub u16);
    }
    let read: is::Coin = load(&was::Coin(1, 2, 3)).expect("it can be read");
    assert_eq!(read, is::Coin(1, 0, 3));
}
