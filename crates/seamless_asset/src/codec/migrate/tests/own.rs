//! Types that serialise themselves.

use bevy_math::{Quat, Vec2};
use bevy_platform::collections::HashMap;
use bevy_reflect::{ReflectDeserialize, ReflectSerialize, std_traits::ReflectDefault};
use serde::{Deserialize, Serialize};

use super::*;

macro_rules! type_pair {
    ($(#[$own:meta])* { $($was:tt)* } { $($is:tt)* } $($purse:ident)?) => {
        mod was {
            #[allow(unused_imports, reason = "not every coin needs all")]
            use super::*;
            #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
            $(#[$own])*
            #[type_path = "game"]
            pub struct Coin { $($was)* }
            $(#[derive(Reflect, Clone, Debug, PartialEq, Default)]
            #[reflect(no_auto_register)]
            #[type_path = "game"]
            pub struct $purse { pub before: u8, pub coin: Coin, pub behind: u8 })?
        }
        mod is {
            use super::*;
            #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
            $(#[$own])*
            #[type_path = "game"]
            pub struct Coin { $($is)* }
            $(#[derive(Reflect, Clone, Debug, PartialEq, Default)]
            #[reflect(no_auto_register)]
            #[type_path = "game"]
            pub struct $purse { pub before: u16, pub coin: Coin, pub behind: u8 })?
        }
    };
}

/// A form of its own.
mod tenfold {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    pub fn serialize<S: Serializer>(value: &u32, serializer: S) -> Result<S::Ok, S::Error> {
        (u64::from(*value) * 10).serialize(serializer)
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
        Ok((u64::deserialize(deserializer)? / 10) as u32)
    }
}

#[test]
fn a_type_that_did_not_change_reads_itself() {
    type_pair! { #[reflect(Serialize, Deserialize)]
        { #[serde(with = "super::tenfold")] pub value: u32, pub turn: Quat }
        { #[serde(with = "super::tenfold")] pub value: u32, pub turn: Quat }
        Purse
    }
    let turn = Quat::from_rotation_x(1.0);
    let old = was::Purse {
        before: 1,
        coin: was::Coin { value: 70, turn },
        behind: 2,
    };
    let read: is::Purse = load(&old).expect("it can be read");
    assert_eq!(
        (read.before, read.coin, read.behind),
        (1, is::Coin { value: 70, turn }, 2)
    );
    // A patch sees its fields.
    let plan = game(Migrations::game().entry("double").patch("game::Coin", |coin| {
        let value: u32 = coin.get("value")?;
        coin.set("value", value * 2);
        Ok(())
    }));
    let read: is::Purse = cook(&old).load(&plan).expect("it can be read");
    assert_eq!((read.coin.value, read.coin.turn), (140, turn));
}

#[test]
fn a_type_that_is_written_as_its_fields_gains_and_loses_some() {
    type_pair! { #[reflect(Serialize, Deserialize, Default)]
        { pub value: u32, pub gone: String, pub at: Vec2 }
        { pub at: Vec2, pub value: u32, pub more: Vec<u8> }
        Purse
    }
    let old = was::Purse {
        before: 1,
        coin: was::Coin {
            value: 7,
            gone: "x".into(),
            at: Vec2::Y,
        },
        behind: 2,
    };
    let read: is::Purse = load(&old).expect("it can be read");
    let coin = is::Coin {
        at: Vec2::Y,
        value: 7,
        more: vec![],
    };
    assert_eq!((read.before, read.coin, read.behind), (1, coin, 2));
}

#[test]
fn a_type_with_a_form_of_its_own_that_changed_is_refused() {
    type_pair! { #[reflect(Serialize, Deserialize, Default)]
        { pub value: u32 }
        { pub value: u32, #[serde(skip)] pub more: u32 }
        Purse
    }
    let error = error_of(load::<is::Purse>(&was::Purse::default()));
    let expected = MigrateError::OwnForm {
        type_path: "game::Purse".into(),
        leaf: "game::Coin".into(),
    };
    assert_eq!(error, expected);
}

/// Its bytes are as many as its fields', and mean something else.
#[test]
fn a_form_that_merely_looks_like_the_fields_is_refused() {
    mod was {
        use super::*;
        #[derive(Reflect, Clone, Default, Serialize, Deserialize)]
        #[reflect(Serialize, Deserialize, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Coin {
            pub a: u8,
            pub b: u8,
        }
    }
    mod is {
        use super::*;
        #[derive(Reflect, Clone, Default, Debug, Serialize, Deserialize)]
        #[serde(from = "(u8, u8, u8)", into = "(u8, u8, u8)")]
        #[reflect(Serialize, Deserialize, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Coin {
            pub a: u8,
            pub b: u8,
            pub c: u8,
        }
        impl From<(u8, u8, u8)> for Coin {
            fn from((b, a, c): (u8, u8, u8)) -> Self {
                Self { a, b, c }
            }
        }
        impl From<Coin> for (u8, u8, u8) {
            fn from(Coin { a, b, c }: Coin) -> Self {
                (b, a, c)
            }
        }
    }
    let error = error_of(load::<is::Coin>(&was::Coin { a: 1, b: 2 }));
    assert!(matches!(error, MigrateError::OwnForm { .. }), "{error}");
}

#[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[reflect(opaque)]
#[reflect(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Sealed(u8, String);

#[test]
fn a_sealed_type_that_is_gone_is_named_unless_it_is_renamed() {
    mod was {
        use super::*;
        #[derive(Reflect, Clone, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Box {
            pub plain: [u8; 3],
            pub sealed: Sealed,
            pub behind: u8,
        }
    }
    mod without {
        use super::*;
        #[derive(Reflect, Clone, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Box {
            pub behind: u8,
        }
    }
    mod renamed {
        use super::*;
        #[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
        #[reflect(opaque)]
        #[reflect(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Closed(pub u8, pub String);
        #[derive(Reflect, Clone, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Box {
            pub behind: u8,
            pub sealed: Closed,
        }
    }
    let old = was::Box {
        plain: [1, 2, 3],
        sealed: Sealed(4, "four".into()),
        behind: 5,
    };
    let error = error_of(load::<without::Box>(&old));
    let expected = MigrateError::Gone {
        type_path: "game::Box".into(),
        leaf: "game::Sealed".into(),
    };
    assert_eq!(error, expected);
    // As long as it is registered, its bytes can be skipped.
    let mut known = registry::<without::Box>();
    known.register::<Sealed>();
    let read = cook(&old)
        .load_with(&Plan::default(), &known)
        .expect("it can be read")
        .expect("it is there");
    assert_eq!(read.downcast_ref::<without::Box>().expect("a box").behind, 5);
    let plan = game(
        Migrations::game()
            .entry("closed")
            .rename_type("game::Sealed", "game::Closed"),
    );
    let read: renamed::Box = cook(&old).load(&plan).expect("it can be read");
    assert_eq!((read.behind, read.sealed), (5, renamed::Closed(4, "four".into())));
}

/// An item whose form is its own, though reflection sees nothing but its field.
#[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Price {
    #[serde(with = "tenfold")]
    value: u32,
}

#[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[reflect(no_auto_register)]
#[type_path = "game"]
enum State {
    #[default]
    None,
    Few(u8),
    Priced {
        price: Price,
    },
}

/// The default has none of it, so it tells nothing.
#[test]
fn a_form_of_its_own_is_found_wherever_it_may_be() {
    macro_rules! refused {
        ($field:ty, $value:expr) => {{
            type_pair! { #[reflect(Serialize, Deserialize, Default)]
                { pub before: u8, pub price: $field }
                { pub before: u8, pub price: $field, pub more: u8 }
            }
            let old = was::Coin {
                before: 1,
                price: $value,
            };
            let error = error_of(load::<is::Coin>(&old));
            assert!(matches!(error, MigrateError::OwnForm { .. }), "{error}");
        }};
    }
    let price = || Price { value: 7 };
    refused!(Option<Price>, Some(price()));
    refused!(Vec<Price>, vec![price()]);
    refused!(Vec<Option<(u8, Price)>>, vec![Some((1, price()))]);
    refused!(HashMap<u8, Price>, [(1, price())].into_iter().collect());
    refused!(State, State::Few(1));
    refused!(State, State::Priced { price: price() });
}

#[derive(Reflect, Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[reflect(no_auto_register)]
#[type_path = "game"]
enum Tree {
    #[default]
    Leaf,
    Few(u8, String),
    Two {
        left: Vec<Tree>,
        turn: Option<Quat>,
    },
}

/// The same with nothing but derives, and with a type that holds itself.
#[test]
fn a_plain_form_is_found_wherever_it_may_be() {
    type_pair! { #[reflect(Serialize, Deserialize, Default)]
        { pub tree: Tree, pub pairs: Vec<(u8, bool)>, pub gone: u8 }
        { pub pairs: Vec<(u8, bool)>, pub tree: Tree, pub more: Option<String> }
    }
    let tree = Tree::Two {
        left: vec![Tree::Leaf, Tree::Few(3, "x".into())],
        turn: Some(Quat::IDENTITY),
    };
    let pairs = vec![(1, true), (2, false)];
    let old = was::Coin {
        tree: tree.clone(),
        pairs: pairs.clone(),
        gone: 9,
    };
    let read: is::Coin = load(&old).expect("it can be read");
    let more = None;
    assert_eq!(read, is::Coin { pairs, tree, more });
}
