//! What is refused with and without migrations.

use bevy_ecs::reflect::ReflectComponent;

use seamless_package::{VersionId, VersionList};

use super::*;
use crate::{
    codec::MigrationsError,
    level_data::{LEVEL_CLASS, LEVEL_EXPORT},
};

mod was {
    use super::*;
    #[derive(Component, Reflect)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Coin {
        pub value: u32,
        pub year: u16,
    }
}

mod is {
    use super::*;
    #[derive(Component, Reflect)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Coin {
        pub value: u32,
        pub years: Vec<u8>,
    }
}

/// A layout that is not today's: by its stored schema the new field has no default; without migrations the class is refused by
/// name at once.
#[test]
fn another_layout_is_refused_by_name() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Coin>();
    let (_, rows) = rows(1);
    let coin = was::Coin { value: 1, year: 2 };
    put(&dir, "a.pkg", level(&app, "a.pkg", 1, &[column(&[coin], &rows)]));
    let (kind, error) = refusal(&mut app, "a.pkg");
    if cfg!(feature = "migrations") {
        assert!(
            error.contains("`game::Coin` has a field `years` that older objects lack"),
            "{error}"
        );
        return;
    }
    assert!(matches!(kind, LoadErrorKind::Decode(DecodeError::SchemaChanged { .. })));
    for part in [
        "a.pkg",
        "`game::Coin`",
        "was: Reflect version 1, struct game::Coin .year u16",
        "is: Reflect version 1, struct game::Coin .years alloc::vec::Vec<u8>",
        "no migrations",
        "cook the package again",
    ] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn an_older_level_table_or_an_unknown_encoding_is_refused() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let with_class = |name: &str, class: &Schema| {
        let mut writer = new_package(&app, name);
        let class = writer.class(class).unwrap();
        writer.export(new_export(LEVEL_EXPORT, class, vec![], vec![])).unwrap();
        writer.finish().unwrap()
    };
    put(
        &dir,
        "table.pkg",
        with_class("table.pkg", &schema(LEVEL_CLASS, Encoding::Level, 77, "level table")),
    );
    let mut unknown = schema("game::Coin", Encoding::Reflect, 1, "");
    unknown.encoding = 99;
    put(&dir, "unknown.pkg", with_class("unknown.pkg", &unknown));
    let (_, error) = refusal(&mut app, "table.pkg");
    assert!(error.contains("was: version 77"), "{error}");
    let (_, error) = refusal(&mut app, "unknown.pkg");
    assert!(error.contains("encoding 99 is unknown"), "{error}");
}

/// With or without the feature: the names are there, and mistakes are found.
#[test]
fn lists_keep_their_names_and_mistakes_are_told() {
    let game = || Migrations::game().entry("initial").entry("two");
    let mut app = App::new();
    app.add_migrations(game().patch("game::Coin", |coin| coin.take("value").map(drop)));
    app.add_migrations(game().entry("lost"));
    let codecs = app.world().resource::<Codecs>().clone();
    let names = |label: &str| -> Vec<String> {
        let codecs = codecs.read();
        let list = codecs
            .migrations()
            .iter()
            .find(|list| list.label() == label)
            .expect("it was added");
        list.names().map(str::to_owned).collect()
    };
    assert_eq!(names("engine"), ["initial"]);
    assert_eq!(
        names("game"),
        ["initial", "two"],
        "a second list of one owner is not added"
    );

    let error = |list: Migrations| codecs.write().add_migrations(list).expect_err("it has a mistake");
    let custom = |label: &str| Migrations::custom(uuid::Uuid::from_u128(1), label);
    let list = || "plugin".to_owned();
    let names = |label: &str, names: &[&str]| {
        let id = VersionId(uuid::Uuid::from_u128(1).into_bytes());
        let error = VersionList::new(id, label, names.iter().copied()).expect_err("it has a mistake");
        MigrationsError::List(error)
    };
    let cases = [
        (custom("plugin").entry("a").entry("a"), names("plugin", &["a", "a"])),
        (custom("plugin").entry("a").entry(""), names("plugin", &["a", ""])),
        (custom("plugin").entry("a\0"), names("plugin", &["a\0"])),
        (custom(""), names("", &[])),
        (
            custom("plugin").drop_type("game::Coin"),
            MigrationsError::NoEntry { list: list() },
        ),
        (
            game(),
            MigrationsError::DuplicateList {
                list: "game".into(),
                other: "game".into(),
            },
        ),
    ];
    for (list, expected) in cases {
        assert_eq!(error(list), expected);
    }
    assert_eq!(codecs.write().add_migrations(custom("plugin").entry("a")), Ok(()));
}
