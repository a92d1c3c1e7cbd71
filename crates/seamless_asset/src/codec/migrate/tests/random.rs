//! Random values of an old type, read into a new one, equal a conversion by hand.

use bevy_math::Vec3;
use bevy_platform::collections::HashMap;
use proptest::prelude::*;

use super::*;

mod was {
    use super::*;

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Actor {
        pub health: u16,
        pub gone: Vec<Item>,
        pub name: String,
        pub items: Vec<Item>,
        pub mood: Mood,
        pub speed: f32,
        pub counts: HashMap<u8, i32>,
    }

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Item {
        pub weight: f32,
        pub label: Option<String>,
        pub old: (u8, bool),
    }

    #[derive(Reflect, Clone, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum Mood {
        Calm,
        Angry(u8),
        At { place: Vec3, item: Item },
    }
}

mod is {
    use super::*;

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Actor {
        pub name: String,
        pub speed: f64,
        pub mood: Mood,
        #[reflect(default)]
        pub added: Vec<Item>,
        pub counts: HashMap<u16, i64>,
        pub items: Vec<Item>,
        pub health: u32,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Item {
        pub label: Option<String>,
        #[reflect(default)]
        pub price: Option<u32>,
        pub weight: f32,
    }

    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub enum Mood {
        At {
            item: Item,
            place: Vec3,
        },
        #[default]
        Calm,
        Angry(u64),
    }
}

impl From<was::Item> for is::Item {
    fn from(old: was::Item) -> Self {
        Self {
            label: old.label,
            price: None,
            weight: old.weight,
        }
    }
}

impl From<was::Mood> for is::Mood {
    fn from(old: was::Mood) -> Self {
        match old {
            was::Mood::Calm => Self::Calm,
            was::Mood::Angry(how) => Self::Angry(how.into()),
            was::Mood::At { place, item } => Self::At {
                item: item.into(),
                place,
            },
        }
    }
}

impl From<was::Actor> for is::Actor {
    fn from(old: was::Actor) -> Self {
        Self {
            name: old.name,
            speed: old.speed.into(),
            mood: old.mood.into(),
            added: Vec::new(),
            counts: old
                .counts
                .into_iter()
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            items: old.items.into_iter().map(Into::into).collect(),
            health: old.health.into(),
        }
    }
}

fn item() -> impl Strategy<Value = was::Item> {
    (-1e3_f32..1e3, proptest::option::of(".{0,6}"), any::<(u8, bool)>()).prop_map(|(weight, label, old)| was::Item {
        weight,
        label,
        old,
    })
}

fn mood() -> impl Strategy<Value = was::Mood> {
    prop_oneof![
        Just(was::Mood::Calm),
        any::<u8>().prop_map(was::Mood::Angry),
        ((-9.0_f32..9.0, -9.0_f32..9.0), item()).prop_map(|((x, y), item)| was::Mood::At {
            place: Vec3::new(x, y, 0.5),
            item,
        }),
    ]
}

fn actor() -> impl Strategy<Value = was::Actor> {
    let items = || proptest::collection::vec(item(), 0..5);
    let counts = proptest::collection::hash_map(any::<u8>(), any::<i32>(), 0..5);
    (any::<u16>(), items(), ".{0,12}", items(), mood(), -1e6_f32..1e6, counts).prop_map(
        |(health, gone, name, items, mood, speed, counts)| was::Actor {
            health,
            gone,
            name,
            items,
            mood,
            speed,
            counts: counts.into_iter().collect(),
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn old_values_become_new_ones(old in actor()) {
        let read: is::Actor = load(&old).expect("it can be read");
        prop_assert_eq!(read, is::Actor::from(old));
    }

    /// With the same type on both sides, nothing changes.
    #[test]
    fn the_stored_schema_reads_what_was_written(old in actor()) {
        let read: was::Actor = load(&old).expect("it can be read");
        prop_assert_eq!(read, old);
    }

    /// Any bytes at all are a value or an error.
    #[test]
    fn any_bytes_are_a_value_or_an_error(old in actor(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut: bool) {
        let mut cooked = cook(&old);
        let at = at.index(cooked.data.len());
        match cut {
            true => cooked.data.truncate(at),
            false => cooked.data[at] = byte,
        }
        let read = cooked.load::<is::Actor>(&Plan::default());
        if cut {
            prop_assert!(read.is_err(), "it is too short");
        }
    }
}
