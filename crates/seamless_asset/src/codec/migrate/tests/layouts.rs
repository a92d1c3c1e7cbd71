//! Layouts that changed, without any migration.

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;
use bevy_platform::collections::{HashMap, HashSet};
use bevy_reflect::std_traits::ReflectDefault;

use super::*;

mod was {
    use super::*;

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Widget {
        pub gone: String,
        pub size: u8,
        pub at: Vec3,
        pub state: State,
        pub parts: Vec<Part>,
        pub table: HashMap<String, Part>,
        pub names: HashSet<String>,
        pub maybe: Option<Part>,
        pub pair: (u8, Part),
        pub row: [Part; 2],
        pub friend: Option<Entity>,
        pub sound: Handle<Sound>,
        pub lost: Gone,
    }

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Gone {
        pub a: Vec<(u32, String)>,
    }

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Part(pub u16, pub f32);

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum State {
        Idle,
        Goes(Vec3, u8),
        Says { what: String, how: Part },
    }
}

mod is {
    use super::*;

    /// Fields in another order, one gone, two new ones.
    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Widget {
        pub sound: Handle<Sound>,
        pub size: u32,
        pub title: String,
        pub at: Vec3,
        pub maybe: Option<Part>,
        pub state: State,
        pub friend: Option<Entity>,
        pub parts: Vec<Part>,
        pub names: HashSet<String>,
        pub table: HashMap<String, Part>,
        pub pair: (u64, Part),
        pub row: [Part; 2],
        pub limit: Limit,
    }

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Limit(pub u32);

    impl Default for Limit {
        fn default() -> Self {
            Self(7)
        }
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Part(pub u32, pub f64);

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum State {
        Says {
            how: Part,
            what: String,
            #[reflect(default)]
            loud: bool,
        },
        #[default]
        Idle,
        Goes(Vec3, i16),
    }
}

fn widget(state: was::State, sound: Handle<Sound>) -> was::Widget {
    let part = |number: u16| was::Part(number, 0.5);
    was::Widget {
        gone: "nobody reads it".into(),
        size: 200,
        at: Vec3::X,
        state,
        parts: vec![part(1), part(2)],
        table: [("a".to_owned(), part(3))].into_iter().collect(),
        names: ["n".to_owned()].into_iter().collect(),
        maybe: Some(part(4)),
        pair: (9, part(5)),
        row: [part(6), part(7)],
        friend: Entity::from_raw_u32(3),
        sound,
        lost: was::Gone {
            a: vec![(1, "x".into())],
        },
    }
}

#[test]
fn a_value_becomes_that_of_today_in_every_part() {
    let sound: Handle<Sound> = bevy_asset::uuid_handle!("b2f2b1a6-58f4-4f66-8a8c-0d5c2f1b7a11");
    let part = |number: u32| is::Part(number, 0.5);
    let states = [
        (was::State::Idle, is::State::Idle),
        (was::State::Goes(Vec3::Y, 7), is::State::Goes(Vec3::Y, 7)),
        (
            was::State::Says {
                what: "so".into(),
                how: was::Part(8, 0.5),
            },
            is::State::Says {
                how: part(8),
                what: "so".into(),
                loud: false,
            },
        ),
    ];
    for (was, state) in states {
        let read: is::Widget = load(&widget(was, sound.clone())).expect("it can be read");
        let expected = is::Widget {
            sound: sound.clone(),
            size: 200,
            title: String::new(),
            at: Vec3::X,
            maybe: Some(part(4)),
            state,
            friend: Entity::from_raw_u32(3),
            parts: vec![part(1), part(2)],
            names: ["n".to_owned()].into_iter().collect(),
            table: [("a".to_owned(), part(3))].into_iter().collect(),
            pair: (9, part(5)),
            row: [part(6), part(7)],
            limit: is::Limit(7),
        };
        assert_eq!(read, expected);
    }
}

#[test]
fn a_new_field_without_a_default_is_named() {
    coins! {
        pub struct Coin { pub value: u8 }
        pub struct Coin { #[reflect(default)] pub fine: u8, pub year: u16, pub value: u8 }
    }
    let error = error_of(load::<is::Coin>(&was::Coin { value: 1 }));
    let expected = MigrateError::MissingField {
        type_path: "game::Coin".into(),
        field: "year".into(),
    };
    assert_eq!(error, expected);
    for part in ["#[reflect(Default)]", "default_field"] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn a_type_without_from_reflect_is_its_default_with_the_fields_that_are_there() {
    coins! {
        #[reflect(from_reflect = false)]
        pub struct Coin { pub value: u8 }
        #[reflect(from_reflect = false, Default)]
        pub struct Coin { pub year: u16, pub value: u8 }
    }
    let read: is::Coin = load(&was::Coin { value: 3 }).expect("it can be read");
    assert_eq!(read, is::Coin { year: 0, value: 3 });
}

#[test]
fn a_field_that_is_skipped_today_has_its_default() {
    coins! {
        pub struct Coin { pub value: u8, pub cache: u8 }
        pub struct Coin { #[reflect(skip_serializing)] pub cache: u8, pub value: u8 }
    }
    let read: is::Coin = load(&was::Coin { value: 3, cache: 9 }).expect("it can be read");
    assert_eq!(read, is::Coin { value: 3, cache: 0 });
    // And the other way round: what was skipped is not in the bytes.
    let error = error_of(load::<was::Coin>(&is::Coin { value: 3, cache: 9 }));
    assert!(matches!(error, MigrateError::MissingField { field, .. } if field == "cache"));
}

#[test]
fn numbers_widen_and_nothing_else_fits() {
    macro_rules! fits {
        ($($from:ty => $to:ty),*) => { $({
            coins! {
                pub struct Coin { pub value: $from }
                pub struct Coin { pub value: $to }
            }
            for value in [<$from>::MIN, <$from>::MAX] {
                let read: is::Coin = load(&was::Coin { value }).expect("it can be read");
                // As text, for there is no comparison between types.
                assert_eq!(read.value.to_string(), <$to>::try_from(value).expect("it fits").to_string());
            }
        })* };
    }
    macro_rules! differs {
        ($($from:ty => $to:ty),*) => { $({
            coins! {
                pub struct Coin { pub value: $from }
                pub struct Coin { pub value: $to }
            }
            let error = error_of(load::<is::Coin>(&was::Coin::default()));
            assert_eq!(error, MigrateError::FieldChanged {
                type_path: "game::Coin".into(),
                field: "value".into(),
                was: <$from>::type_path().into(),
                is: <$to>::type_path().into(),
            });
        })* };
    }
    fits!(
        u8 => u16, u8 => i32, u8 => usize, u16 => u32, u16 => i64, u32 => u64, u32 => i128, u64 => u128, u32 => usize,
        u64 => usize, usize => u64, i8 => i16, i32 => i64, i64 => i128, i32 => isize, isize => i64
    );
    fits!(f32 => f64, u32 => f64, i16 => f32);
    differs!(
        u16 => u8, u64 => f64, i64 => f64, f64 => f32, i8 => u8, u8 => i8, u32 => i32, u8 => bool, u32 => char,
        u8 => String, String => u8, f32 => u32
    );
}

#[test]
fn what_does_not_fit_names_field_and_types() {
    let was_is = |error| match error {
        MigrateError::FieldChanged { field, was, is, .. } => (field, was, is),
        other => panic!("another error: {other}"),
    };
    macro_rules! differ {
        ($($from:ty, $to:ty => $was:literal, $is:literal;)*) => { $({
            coins! {
                pub struct Coin { pub value: $from }
                pub struct Coin { pub value: $to }
            }
            let (field, was, is) = was_is(error_of(load::<is::Coin>(&was::Coin::default())));
            assert_eq!((&*field, &*was), ("value", $was));
            assert!(is.contains($is), "{is}");
        })* };
    }
    differ! {
        Vec<u8>, [u8; 2] => "a list", "[u8; 2]";
        [u8; 2], [u8; 3] => "an array", "[u8; 3]";
        Vec<u8>, Option<u8> => "a list", "Option<u8>";
        Handle<Sound>, u32 => "an asset handle", "u32";
        u32, Handle<Sound> => "u32", "Handle<";
        bevy_platform::collections::HashSet<u8>, Vec<u8> => "a set", "Vec<u8>";
        bevy_platform::collections::HashMap<u8, u8>, Vec<u8> => "a map", "Vec<u8>";
        (u8,), Vec<u8> => "(u8,)", "Vec<u8>";
    }
}

#[test]
fn another_struct_in_the_same_place_is_no_match() {
    mod was {
        use super::*;
        #[derive(Reflect, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Purse {
            pub coin: Penny,
        }
        #[derive(Reflect, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Penny {
            pub value: u8,
        }
    }
    mod is {
        use super::*;
        #[derive(Reflect, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Purse {
            pub coin: Pound,
        }
        #[derive(Reflect, Default, Debug)]
        #[reflect(Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Pound {
            pub value: u8,
        }
    }
    let error = error_of(load::<is::Purse>(&was::Purse::default()));
    assert!(
        error
            .to_string()
            .contains("`coin` of `game::Purse` was game::Penny and is game::Pound"),
        "{error}"
    );
    let plan = game(
        Migrations::game()
            .entry("pounds")
            .rename_type("game::Penny", "game::Pound"),
    );
    let old = was::Purse {
        coin: was::Penny { value: 3 },
    };
    assert_eq!(
        cook(&old).load::<is::Purse>(&plan).expect("it can be read").coin.value,
        3
    );
}

/// All of its fields would be defaults.
#[test]
fn a_struct_that_became_a_tuple_is_no_match() {
    coins! {
        pub struct Coin { pub value: u8 }
        #[reflect(Default)]
        pub struct Coin(pub u8);
    }
    let error = error_of(load::<is::Coin>(&was::Coin { value: 1 }));
    assert!(matches!(error, MigrateError::MissingField { field, .. } if field == "0"));
    let plan = game(
        Migrations::game()
            .entry("no name")
            .rename_field("game::Coin", "value", "0"),
    );
    let read: is::Coin = cook(&was::Coin { value: 1 }).load(&plan).expect("it can be read");
    assert_eq!(read, is::Coin(1));
}

#[test]
fn a_variant_that_is_gone_is_named() {
    coins! {
        pub enum Coin { #[default] Head, Tail }
        pub enum Coin { #[default] Tail }
    }
    let error = error_of(load::<is::Coin>(&was::Coin::Head));
    let expected = MigrateError::VariantGone {
        type_path: "game::Coin".into(),
        variant: "Head".into(),
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("rename_variant"), "{error}");
    assert_eq!(
        load::<is::Coin>(&was::Coin::Tail).expect("it can be read"),
        is::Coin::Tail
    );
}
