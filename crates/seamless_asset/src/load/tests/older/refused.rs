//! What is refused with and without migrations.

use bevy_ecs::reflect::ReflectComponent;

use seamless_package::{VersionId, VersionList};

use super::*;
#[cfg(feature = "migrations")]
use crate::codec::MigrateError;
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

mod colours {
    use super::*;

    /// Makes a module with a component `game::Tint`, whose numbers are a colour of the given type.
    macro_rules! tint {
        ($module:ident, $colour:ident) => {
            pub mod $module {
                use super::*;
                #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
                #[reflect(Component)]
                #[reflect(no_auto_register)]
                #[type_path = "game"]
                pub struct Tint(pub $colour);
                #[derive(Reflect, Clone, Debug, PartialEq, PartialOrd)]
                #[reflect(no_auto_register)]
                #[type_path = "game"]
                pub struct $colour {
                    pub red: f32,
                    pub green: f32,
                }
            }
        };
    }
    tint!(was, Linear);
    tint!(is, Gamma);
}

/// Every number would be there, under the same name, and mean something else.
#[test]
fn the_same_numbers_in_another_type_are_another_layout() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<colours::is::Tint>();
    let (_, rows) = rows(1);
    let (red, green) = (0.25, 0.5);
    let tint = column(&[colours::was::Tint(colours::was::Linear { red, green })], &rows);
    assert_eq!(tint.schema.encoding, Encoding::Plain as u8);
    put(&dir, "a.pkg", level(&app, "a.pkg", 1, &[tint]));
    let (kind, error) = refusal(&mut app, "a.pkg");
    #[cfg(not(feature = "migrations"))]
    assert!(
        matches!(kind, LoadErrorKind::Decode(DecodeError::SchemaChanged { .. })),
        "{error}"
    );
    #[cfg(feature = "migrations")]
    {
        let LoadErrorKind::Decode(DecodeError::Migrate(MigrateError::FieldChanged { was, is, .. })) = kind else {
            panic!("{error}");
        };
        assert_eq!((was.as_str(), is.as_str()), ("game::Linear", "game::Gamma"));
        app.add_migrations(
            Migrations::game()
                .entry("gamma")
                .rename_type("game::Linear", "game::Gamma"),
        );
        put(
            &dir,
            "b.pkg",
            dir.get_asset(Path::new("a.pkg")).unwrap().value().to_vec(),
        );
        come(&mut app, "b.pkg", &[]);
        assert_eq!(
            all::<colours::is::Tint>(&mut app),
            [colours::is::Tint(colours::is::Gamma { red, green })]
        );
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
    assert!(
        error.contains("in version 77") && error.contains("newer build"),
        "{error}"
    );
    let (_, error) = refusal(&mut app, "unknown.pkg");
    assert!(error.contains("encoding 99 is unknown"), "{error}");
}

/// With or without the feature: the names are there, and mistakes are found.
#[test]
fn lists_keep_their_names_and_mistakes_are_told() {
    let game = || Migrations::game().entry("initial").entry("two");
    let mut app = App::new();
    // `.ci/shipping` looks for these words.
    app.add_migrations(game().patch("game::Coin", |_| Err("a patch that no shipping build holds".into())));
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
    assert_eq!(names("game"), ["initial", "two"]);

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
        // A game may not add to the history of bevy_seamless, nor a plugin to the game's.
        (
            Migrations::custom(uuid::Uuid::from_bytes(VersionId::ENGINE.0), "plugin").entry("mine"),
            MigrationsError::Reserved { list: list() },
        ),
        (
            Migrations::custom(uuid::Uuid::from_bytes(VersionId::GAME.0), "plugin").entry("mine"),
            MigrationsError::Reserved { list: list() },
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

/// Left out in silence, it would make older objects current ones, and run on current ones later.
#[test]
#[should_panic(expected = "the migrations of `game` have the id of those of `game`")]
fn a_list_that_cannot_be_added_stops_the_app() {
    App::new()
        .add_migrations(Migrations::game().entry("initial"))
        .add_migrations(Migrations::game().entry("of another plugin"));
}

#[test]
#[should_panic(expected = "are both named `two`")]
fn a_list_with_a_mistake_stops_the_app() {
    App::new().add_migrations(Migrations::game().entry("two").entry("two"));
}
