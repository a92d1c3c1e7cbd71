//! Which entries run, and in which order; the turns that the history of a type can take.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use uuid::Uuid;

use super::*;

#[derive(Reflect, Clone, Debug, PartialEq, Default)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Coin {
    value: u32,
}

type Log = Arc<Mutex<Vec<String>>>;

/// A list whose entries note that they ran.
fn noting(mut list: Migrations, names: impl IntoIterator<Item = String>, log: &Log) -> Migrations {
    for name in names {
        let (log, label) = (log.clone(), list.label().to_owned());
        list = list.entry(&name).patch("game::Coin", move |_| {
            log.lock().expect("nobody panicked").push(format!("{label} {name}"));
            Ok(())
        });
    }
    list
}

fn names(range: core::ops::Range<u32>) -> impl Iterator<Item = String> {
    range.map(|number| number.to_string())
}

#[test]
fn entries_run_oldest_first_list_by_list() {
    let log = Log::default();
    let mut lists = MigrationLists::default();
    let custom = |id: u128, label: &str| Migrations::custom(Uuid::from_u128(id), label);
    // Not in the order in which they run.
    for list in [
        Migrations::game(),
        custom(2, "second"),
        Migrations::engine(),
        custom(1, "first"),
    ] {
        lists.add(noting(list, names(0..2), &log)).expect("no mistake");
    }
    cook(&Coin::default())
        .load::<Coin>(&all(&lists))
        .expect("it can be read");
    let ran = log.lock().expect("nobody panicked");
    let expected = [
        "engine 0", "engine 1", "first 0", "first 1", "second 0", "second 1", "game 0", "game 1",
    ];
    assert_eq!(*ran, expected);
}

/// Saved with version 256, and the build is at 259: exactly three patches run, 257, 258 and 259.
#[test]
fn only_pending_entries_run_and_each_once() {
    let log = Log::default();
    let mut lists = MigrationLists::default();
    lists
        .add(noting(Migrations::game(), names(0..260), &log))
        .expect("no mistake");
    let plan = Plan::new(&lists, &[(VersionId::GAME, 257..260)]);
    cook(&Coin::default()).load::<Coin>(&plan).expect("it can be read");
    assert_eq!(
        *log.lock().expect("nobody panicked"),
        ["game 257", "game 258", "game 259"]
    );
    // A list that is not named has nothing pending, nor has one beyond its end.
    for pending in [
        vec![],
        vec![(VersionId::ENGINE, 0..260)],
        vec![(VersionId::GAME, 260..300)],
    ] {
        assert!(Plan::new(&lists, &pending).steps.is_empty());
    }
}

/// Where nothing is old, nothing is taken apart.
#[test]
fn the_slow_road_is_for_what_needs_it() {
    let registry = registry::<Coin>();
    let cooked = cook(&Coin::default());
    let road = |list: Migrations, is_current| {
        let migrator = Migrator::for_class(&cooked.schema, is_current, &game(list), &registry);
        migrator.expect("the schema can be read").is_some()
    };
    let quiet = || Migrations::game().entry("initial");
    let elsewhere = || {
        quiet()
            .patch("game::Purse", |_| Ok(()))
            .rename_type("game::Purse", "game::Bag")
    };
    assert!(!road(quiet(), true));
    assert!(!road(elsewhere(), true));
    assert!(road(elsewhere(), false), "another layout");
    assert!(road(quiet().patch("game::Coin", |_| Ok(())), true), "a pending patch");
    assert!(road(quiet().patch("u32", |_| Ok(())), true), "a patch of a part");
    // Of a type as it was called meanwhile.
    let renamed = || quiet().rename_type("game::Coin", "game::Penny");
    assert!(road(renamed().entry("two").patch("game::Penny", |_| Ok(())), true));
}

/// A misspelt name inside the value: what the widget's patch of the seed does, counted.
#[test]
fn a_patch_runs_once_for_each_object() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let list = Migrations::game().entry("double").patch("game::Coin", move |coin| {
        counted.fetch_add(1, Ordering::Relaxed);
        let value: u32 = coin.get("value")?;
        coin.set("value", value * 2);
        Ok(())
    });
    let plan = game(list);
    for value in 0..5 {
        let read: Coin = cook(&Coin { value }).load(&plan).expect("it can be read");
        assert_eq!(read.value, value * 2);
    }
    assert_eq!(calls.load(Ordering::Relaxed), 5);
}

/// A property that is deprecated: its value moves into the one that takes its place, and it is gone.
#[test]
fn a_deprecated_property_hands_its_value_on() {
    mod was {
        use super::*;
        #[derive(Reflect, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Lamp {
            pub watts: f32,
        }
    }
    mod is {
        use super::*;
        #[derive(Reflect, Default, Debug)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Lamp {
            pub lumens: f32,
        }
    }
    let list = Migrations::game().entry("lumens").patch("game::Lamp", |lamp| {
        let watts: f32 = lamp.get("watts")?;
        lamp.take("watts")?;
        lamp.set("lumens", watts * 15.0);
        Ok(())
    });
    let read: is::Lamp = cook(&was::Lamp { watts: 2.0 })
        .load(&game(list))
        .expect("it can be read");
    assert_eq!(read.lumens, 30.0);
}

/// A value that an entry brings in is there for the entries behind it, whether or not the type was known before.
#[test]
fn later_entries_see_what_earlier_ones_made() {
    mod was {
        use super::*;
        #[derive(Reflect, Default)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Unit {
            pub rank: u8,
        }
    }
    mod is {
        use super::*;
        #[derive(Reflect, Clone, Default, Debug, PartialEq)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Unit {
            pub rank: u8,
            pub hp: Health,
        }
        #[derive(Reflect, Clone, Default, Debug, PartialEq)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Health {
            pub value: u32,
        }
    }
    let health = |value| is::Health { value };
    let tenfold = |list: Migrations| {
        list.entry("tenfold").patch("game::Life", |hp| {
            let value: u32 = hp.get("value")?;
            hp.set("value", value * 10);
            Ok(())
        })
    };
    let named = |list: Migrations| list.entry("health").rename_type("game::Life", "game::Health");
    let by_default = Migrations::game()
        .entry("hp")
        .default_field("game::Unit", "hp", health(10));
    let by_patch = Migrations::game().entry("hp").patch("game::Unit", move |unit| {
        unit.set("hp", health(10));
        Ok(())
    });
    let rank = 3;
    let expected = is::Unit { rank, hp: health(100) };
    for list in [by_default, by_patch] {
        let read: is::Unit = cook(&was::Unit { rank })
            .load(&game(named(tenfold(list))))
            .expect("it can be read");
        assert_eq!(read, expected);
    }
    // Cooked between the two.
    let after = game(named(tenfold(Migrations::game())));
    let mut between = cook(&is::Unit { rank, hp: health(10) });
    between.schema.description = between.schema.description.replace("game::Health", "game::Life");
    assert_eq!(between.load::<is::Unit>(&after).expect("it can be read"), expected);
}

/// A plugin's list runs before the game's, which spoke of the type before the plugin renamed it.
#[test]
fn an_entry_finds_a_type_that_another_list_renamed_since() {
    #[derive(Reflect, Clone, Debug, PartialEq, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Penny {
        value: u32,
    }
    let mut lists = MigrationLists::default();
    let plugin = Migrations::custom(Uuid::from_u128(1), "plugin")
        .entry("pennies")
        .rename_type("game::Coin", "game::Penny");
    let tenfold = Migrations::game().entry("tenfold").patch("game::Coin", |coin| {
        let value: u32 = coin.get("value")?;
        coin.set("value", value * 10);
        Ok(())
    });
    for list in [plugin, tenfold] {
        lists.add(list).expect("no mistake");
    }
    let read: Penny = cook(&Coin { value: 2 }).load(&all(&lists)).expect("it can be read");
    assert_eq!(read.value, 20);
}
