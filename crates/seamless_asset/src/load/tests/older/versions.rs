//! Packages say which migrations they have seen: those are not run again, and a package of another history is refused.

use seamless_package::{VersionId, VersionList};

use super::*;

#[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
#[reflect(Component)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Coin {
    value: u32,
}

/// The game's list as far as `entries` go; "in cents" is a migration.
fn list(entries: &[&str]) -> Migrations {
    entries.iter().fold(Migrations::game(), |list, entry| {
        let list = list.entry(entry);
        if *entry != "in cents" {
            return list;
        }
        list.patch("game::Coin", |coin| {
            let value: u32 = coin.get("value")?;
            coin.set("value", value * 100);
            Ok(())
        })
    })
}

fn build(dir: &Dir, entries: &[&str]) -> App {
    app_with(dir, |app| {
        app.register_type::<Coin>();
        app.add_migrations(list(entries));
    })
}

/// A level of three coins of value 7, as a build with these entries saves it.
fn saved_by(dir: &Dir, entries: &[&str], name: &str) {
    let app = build(dir, entries);
    let mut writer = new_package(&app, name);
    let (_, rows) = rows(3);
    let coins = column(&[Coin { value: 7 }, Coin { value: 7 }, Coin { value: 7 }], &rows);
    level_in(&mut writer, &app, name, 3, &[coins]);
    put(dir, name, writer.finish().unwrap());
}

/// The layout is the same in all of them, so nothing but the list says what was done.
#[test]
#[cfg(feature = "migrations")]
fn a_migration_runs_on_what_was_saved_before_it() {
    let dir = Dir::default();
    saved_by(&dir, &["initial"], "old.pkg");
    saved_by(&dir, &["initial", "in cents"], "new.pkg");
    let mut app = build(&dir, &["initial", "in cents", "more"]);
    come(&mut app, "old.pkg", &[]);
    come(&mut app, "new.pkg", &[]);
    let values: Vec<u32> = all::<Coin>(&mut app).iter().map(|coin| coin.value).collect();
    assert_eq!(values, [7, 7, 7, 700, 700, 700]);
}

#[test]
fn what_was_saved_at_the_latest_loads_as_it_is() {
    let dir = Dir::default();
    saved_by(&dir, &["initial", "in cents"], "a.pkg");
    let mut app = build(&dir, &["initial", "in cents"]);
    come(&mut app, "a.pkg", &[]);
    assert_eq!(all::<Coin>(&mut app), vec![Coin { value: 7 }; 3]);
}

#[test]
fn packages_of_another_history_are_refused_by_name() {
    type Case = (
        &'static [&'static str],
        &'static [&'static str],
        &'static [&'static str],
    );
    let cases: [Case; 4] = [
        (
            &["initial", "two", "three"],
            &["initial"],
            &["`game`", "3 entries", "`two`", "newer"],
        ),
        // Merged in front of one's own.
        (
            &["initial", "mine"],
            &["initial", "theirs", "mine"],
            &["`game`", "entry 2", "`mine`", "`theirs`"],
        ),
        (
            &["initial", "a", "b"],
            &["initial", "b", "a"],
            &["entry 2", "`a`", "`b`"],
        ),
        (
            &["initial", "visiblity"],
            &["initial", "visibility"],
            &["`visiblity`", "`visibility`", "renamed"],
        ),
    ];
    for (saved, built, parts) in cases {
        let dir = Dir::default();
        saved_by(&dir, saved, "a.pkg");
        let mut app = build(&dir, built);
        let (kind, error) = refusal(&mut app, "a.pkg");
        assert!(matches!(kind, LoadErrorKind::Version(_)), "{error}");
        for part in parts {
            assert!(error.contains(part), "{part}: {error}");
        }
        assert_eq!(level_coins(&mut app), 0);
    }
}

fn level_coins(app: &mut App) -> usize {
    all::<Coin>(app).len()
}

#[test]
fn a_list_that_nobody_knows_is_refused() {
    let dir = Dir::default();
    let mut app = build(&dir, &["initial"]);
    let mut writer = PackageWriter::new("a.pkg");
    let id = VersionId(uuid::Uuid::from_u128(7).into_bytes());
    let plugin = VersionList::new(id, "weather plugin", ["rain"]).unwrap();
    let codecs = app.world().resource::<Codecs>().clone();
    let mut lists = codecs.read().migrations().versions().to_vec();
    lists.push(plugin);
    writer.versions(&lists).unwrap();
    level_in(&mut writer, &app, "a.pkg", 1, &[]);
    put(&dir, "a.pkg", writer.finish().unwrap());
    let (_, error) = refusal(&mut app, "a.pkg");
    for part in ["a.pkg", "`weather plugin`", "add the plugin"] {
        assert!(error.contains(part), "{error}");
    }
}

/// A shipping build takes what is at the latest, and nothing else.
#[test]
#[cfg(not(feature = "migrations"))]
fn without_migrations_an_older_package_is_refused() {
    let dir = Dir::default();
    saved_by(&dir, &["initial"], "a.pkg");
    let mut app = build(&dir, &["initial", "in cents"]);
    let (kind, error) = refusal(&mut app, "a.pkg");
    assert!(matches!(kind, LoadErrorKind::NotLatest { .. }), "{error}");
    for part in [
        "a.pkg",
        "`game`",
        "1 of 2",
        "`migrations` is off",
        "cook the package again",
    ] {
        assert!(error.contains(part), "{error}");
    }
}
