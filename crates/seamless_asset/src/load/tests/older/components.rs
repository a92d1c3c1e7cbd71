//! Columns of components.

use bevy_asset::Handle;
use bevy_ecs::reflect::ReflectComponent;

use super::*;
use crate::codec::{Fields, HandleCodec, MigrateError, RecordCodec};

mod was {
    use super::*;

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Ally {
        pub gone: String,
        #[entities]
        pub friends: Vec<Entity>,
        pub rank: u8,
        pub mesh: Handle<Mesh>,
    }

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Body {
        pub health: u16,
        pub speed: f32,
    }

    #[derive(Component, Reflect)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Score(pub u32);
}

mod is {
    use super::*;

    #[derive(Component, Reflect, Default)]
    #[reflect(Component, Default)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Ally {
        pub rank: u32,
        pub title: String,
        #[entities]
        pub friends: Vec<Entity>,
        pub mesh: Handle<Mesh>,
    }

    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Health {
        pub value: u32,
    }

    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Speed {
        pub value: f32,
    }

    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Score(pub u32);
}

use bevy_reflect::std_traits::ReflectDefault;

fn bodies() -> Vec<was::Body> {
    (0..3)
        .map(|number| was::Body {
            health: 10 * number,
            speed: f32::from(number),
        })
        .collect()
}

fn scores() -> Vec<was::Score> {
    (0..3).map(was::Score).collect()
}

/// A struct that gained and lost fields, in a list of entities too: nothing is registered but the type.
#[test]
fn a_component_that_changed_comes_without_a_cook() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Ally>();
    let (entities, rows) = rows(3);
    let mesh = app.world().resource::<Assets<Mesh>>().reserve_handle();
    let allies: Vec<_> = (0..3)
        .map(|row| was::Ally {
            gone: "x".repeat(row),
            friends: entities[row..].to_vec(),
            rank: row as u8,
            mesh: mesh.clone(),
        })
        .collect();
    put(&dir, "a.pkg", level(&app, "a.pkg", 3, &[column(&allies, &rows)]));
    come(&mut app, "a.pkg", &[]);
    let world = app.world_mut();
    let mut ranks = Vec::new();
    let mut query = world.query::<&is::Ally>();
    for ally in query.iter(world) {
        assert_eq!(ally.friends.len() as u32, 3 - ally.rank);
        let is_alive = |friend: &Entity| {
            world
                .get::<is::Ally>(*friend)
                .is_some_and(|other| other.rank >= ally.rank)
        };
        assert!(ally.friends.iter().all(is_alive), "friends are entities of the level");
        assert!(world.resource::<Assets<Mesh>>().get(&ally.mesh).is_some());
        assert_eq!(ally.title, "");
        ranks.push(ally.rank);
    }
    ranks.sort_unstable();
    assert_eq!(ranks, [0, 1, 2]);
}

#[test]
fn an_entity_outside_the_level_is_refused() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Ally>();
    let (entities, rows) = rows(5);
    let ally = was::Ally {
        gone: String::new(),
        friends: vec![entities[4]],
        rank: 0,
        mesh: Handle::default(),
    };
    put(&dir, "a.pkg", level(&app, "a.pkg", 1, &[column(&[ally], &rows)]));
    let (_, error) = refusal(&mut app, "a.pkg");
    assert!(error.contains("is not in the level"), "{error}");
}

fn split(mut body: Fields) -> Result<Vec<(String, Fields)>, String> {
    let mut health = Fields::new();
    health.put("value", body.take("health")?);
    let mut speed = Fields::new();
    speed.set("value", body.get::<f32>("speed")? * 2.0);
    Ok(vec![("game::Health".into(), health), ("game::Pace".into(), speed)])
}

#[test]
fn one_component_becomes_two_and_another_goes() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Health>()
        .register_type::<is::Speed>()
        .add_migrations(
            Migrations::game()
                .entry("bodies are health and pace")
                .split("game::Body", split)
                .entry("pace is speed")
                .rename_type("game::Pace", "game::Speed")
                .entry("no scores")
                .drop_type("game::Score"),
        );
    let (_, rows) = rows(3);
    let columns = [column(&bodies(), &rows), column(&scores(), &rows)];
    put(&dir, "a.pkg", level(&app, "a.pkg", 3, &columns));
    come(&mut app, "a.pkg", &[]);
    let world = app.world_mut();
    let mut both = world.query::<(&is::Health, &is::Speed)>();
    let mut found: Vec<_> = both
        .iter(world)
        .map(|(health, speed)| (health.value, speed.value))
        .collect();
    found.sort_by_key(|(health, _)| *health);
    assert_eq!(found, [(0, 0.0), (10, 2.0), (20, 4.0)]);
    assert!(
        !world
            .resource::<AppTypeRegistry>()
            .read()
            .contains(core::any::TypeId::of::<is::Score>())
    );
}

#[test]
fn all_rows_must_become_the_same() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Health>().register_type::<is::Speed>();
    app.add_migrations(Migrations::game().entry("some").split("game::Body", |mut body| {
        let is_first = body.get::<u16>("health")? == 0;
        let path = if is_first { "game::Health" } else { "game::Speed" };
        let mut value = Fields::new();
        value.put("value", body.take(if is_first { "health" } else { "speed" })?);
        Ok(vec![(path.into(), value)])
    }));
    let (_, rows) = rows(3);
    put(&dir, "a.pkg", level(&app, "a.pkg", 3, &[column(&bodies(), &rows)]));
    let (kind, error) = refusal(&mut app, "a.pkg");
    assert!(matches!(
        kind,
        LoadErrorKind::Decode(DecodeError::Migrate(MigrateError::Split { .. }))
    ));
    assert!(error.contains("a.pkg#Level.game::Body"), "{error}");
}

#[test]
fn a_part_that_becomes_what_the_entity_has_is_refused() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Score>();
    app.add_migrations(Migrations::game().entry("scores").split("game::Body", |mut body| {
        let mut score = Fields::new();
        score.put("0", body.take("health")?);
        Ok(vec![("game::Score".into(), score)])
    }));
    let (_, rows) = rows(3);
    let columns = [column(&bodies(), &rows), column(&scores(), &rows)];
    put(&dir, "a.pkg", level(&app, "a.pkg", 3, &columns));
    let (_, error) = refusal(&mut app, "a.pkg");
    assert!(error.contains("a component is there twice"), "{error}");
}

/// Nothing about it changed but its values.
#[test]
fn values_are_patched_though_the_layout_is_the_same() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Score>();
    app.add_migrations(Migrations::game().entry("tenfold").patch("game::Score", |score| {
        let value: u32 = score.get("0")?;
        score.set("0", value * 10);
        Ok(())
    }));
    let (_, rows) = rows(3);
    put(&dir, "a.pkg", level(&app, "a.pkg", 3, &[column(&scores(), &rows)]));
    come(&mut app, "a.pkg", &[]);
    assert_eq!(all::<is::Score>(&mut app), [is::Score(0), is::Score(10), is::Score(20)]);
}

/// A record whose second version is wider.
#[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
#[reflect(Component)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Points {
    value: u32,
}

impl Record for Points {
    const VERSION: u32 = 2;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.value.to_le_bytes());
    }

    fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(Self { value: cursor.u32()? })
    }

    /// Of any other version, for it is asked for older ones only.
    fn read_version(_: u32, cursor: &mut Cursor) -> Result<Self, DecodeError> {
        Ok(Self {
            value: cursor.u8()?.into(),
        })
    }
}

fn points(version: u32, data: &[u8]) -> OldColumn {
    let schema = schema("game::Points", Encoding::Record, version, "record");
    OldColumn {
        schema,
        data: data.to_vec(),
        references: vec![],
    }
}

#[test]
fn a_record_reads_its_older_version() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_record::<Points>().register_type::<Points>();
    put(&dir, "one.pkg", level(&app, "one.pkg", 3, &[points(1, &[1, 2, 3])]));
    put(&dir, "three.pkg", level(&app, "three.pkg", 3, &[points(3, &[1, 2, 3])]));
    come(&mut app, "one.pkg", &[]);
    let expected = [1, 2, 3].map(|value| Points { value });
    assert_eq!(all::<Points>(&mut app), expected);
    let (kind, error) = refusal(&mut app, "three.pkg");
    assert!(
        matches!(&kind, LoadErrorKind::Decode(DecodeError::NewerVersion { type_path, was: 3, is: 2 }) if type_path == "game::Points"),
        "{error}"
    );
    assert!(error.contains("run a newer build"), "{error}");
    // Nor do migrations look into it.
    app.add_migrations(Migrations::game().entry("look").patch("game::Points", |_| Ok(())));
    put(&dir, "four.pkg", level(&app, "four.pkg", 3, &[points(4, &[1, 2, 3])]));
    let (kind, error) = refusal(&mut app, "four.pkg");
    assert!(
        matches!(kind, LoadErrorKind::Decode(DecodeError::NewerVersion { was: 4, .. })),
        "{error}"
    );
}

/// What a record holds is of a type that was renamed: the older entry speaks of it by its older name.
#[test]
fn a_record_is_patched_under_the_former_name_of_its_part() {
    #[derive(Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Inner {
        value: u8,
    }
    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    struct Outer {
        inner: Inner,
    }
    impl Record for Outer {
        const VERSION: u32 = 1;
        fn write(&self, out: &mut Vec<u8>) {
            out.push(self.inner.value);
        }
        fn read(cursor: &mut Cursor) -> Result<Self, DecodeError> {
            let value = cursor.u8()?;
            Ok(Self { inner: Inner { value } })
        }
    }
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_record::<Outer>().register_type::<Outer>();
    app.add_migrations(
        Migrations::game()
            .entry("tenfold")
            .patch("game::OldInner", |inner| {
                assert_eq!(inner.type_path(), "game::OldInner");
                let value: u8 = inner.get("value")?;
                inner.set("value", value * 10);
                Ok(())
            })
            .entry("inner")
            .rename_type("game::OldInner", "game::Inner"),
    );
    let stored = OldColumn {
        schema: schema("game::Outer", Encoding::Record, 1, "record"),
        data: vec![1, 2],
        references: vec![],
    };
    put(&dir, "a.pkg", level(&app, "a.pkg", 2, &[stored]));
    come(&mut app, "a.pkg", &[]);
    let values: Vec<u8> = all::<Outer>(&mut app).iter().map(|outer| outer.inner.value).collect();
    assert_eq!(values, [10, 20]);
}

#[test]
fn records_are_patched_in_every_version() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_record::<Points>().register_type::<Points>();
    app.add_migrations(
        Migrations::game()
            .entry("marks are points")
            .rename_type("game::Marks", "game::Points")
            .entry("tenfold")
            .patch("game::Points", |points| {
                let value: u32 = points.get("value")?;
                points.set("value", value * 10);
                Ok(())
            }),
    );
    let latest = RecordCodec::<Points>::new(Role::ALL);
    let types = TypeRegistry::default();
    let values: Vec<&dyn Reflect> = vec![&Points { value: 4 }, &Points { value: 5 }];
    let mut renamed = column_of(&latest, &values, &EntityRows::default(), &types);
    renamed.schema.type_path = "game::Marks".into();
    put(&dir, "old.pkg", level(&app, "old.pkg", 2, &[points(1, &[1, 2])]));
    put(&dir, "renamed.pkg", level(&app, "renamed.pkg", 2, &[renamed]));
    come(&mut app, "old.pkg", &[]);
    come(&mut app, "renamed.pkg", &[]);
    let expected = [10, 20, 40, 50].map(|value| Points { value });
    assert_eq!(all::<Points>(&mut app), expected);
}

#[test]
fn a_record_is_split() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_record::<Points>()
        .register_type::<Points>()
        .register_type::<is::Score>();
    app.add_migrations(Migrations::game().entry("scores").split("game::Points", |mut points| {
        let mut score = Fields::new();
        score.put("0", points.take("value")?);
        Ok(vec![("game::Score".into(), score)])
    }));
    put(
        &dir,
        "a.pkg",
        level(&app, "a.pkg", 2, &[points(2, &[1, 0, 0, 0, 2, 0, 0, 0])]),
    );
    come(&mut app, "a.pkg", &[]);
    assert_eq!(all::<is::Score>(&mut app), [is::Score(1), is::Score(2)]);
}

/// A component with an older codec of its own whose type reflection reads today is refused, and the other way round is read.
#[test]
fn a_record_that_is_none_any_more_is_refused() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<Points>();
    put(&dir, "a.pkg", level(&app, "a.pkg", 2, &[points(1, &[1, 2])]));
    let (kind, error) = refusal(&mut app, "a.pkg");
    assert!(matches!(kind, LoadErrorKind::Decode(DecodeError::SchemaChanged { .. })));
    assert!(
        error.contains("was: Record version 1") && error.contains("is: Plain version 1"),
        "{error}"
    );

    app.add_record::<Points>();
    let (_, rows) = rows(1);
    put(
        &dir,
        "b.pkg",
        level(&app, "b.pkg", 1, &[column(&[Points { value: 9 }], &rows)]),
    );
    come(&mut app, "b.pkg", &[]);
    assert_eq!(all::<Points>(&mut app), [Points { value: 9 }]);
}

#[derive(Component, Reflect, Clone)]
#[reflect(Component)]
#[reflect(no_auto_register)]
#[type_path = "game"]
struct Shown(Handle<Mesh>);

fn shown_codec() -> HandleCodec<Shown, Mesh> {
    HandleCodec::new(Role::ALL, |shown| &shown.0, Shown)
}

#[test]
fn handle_columns_follow_names_and_are_not_looked_into() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_component_codec(shown_codec()).register_type::<Shown>();
    let mesh = app.world().resource::<Assets<Mesh>>().reserve_handle();
    let types = TypeRegistry::default();
    let shown = || {
        let mut column = column_of(&shown_codec(), &[&Shown(mesh.clone())], &EntityRows::default(), &types);
        column.schema = schema("game::Seen", Encoding::Handle, 1, "handle of game::OldMesh");
        column
    };
    put(&dir, "a.pkg", level(&app, "a.pkg", 1, &[shown()]));
    let (kind, _) = refusal(&mut app, "a.pkg");
    assert!(matches!(kind, LoadErrorKind::Decode(DecodeError::UnknownType(path)) if path == "game::Seen"));
    app.add_migrations(
        Migrations::game()
            .entry("shown")
            .rename_type("game::Seen", "game::Shown")
            .rename_type("game::OldMesh", <Mesh as bevy_reflect::TypePath>::type_path()),
    );
    come(&mut app, "a.pkg", &[]);
    let world = app.world_mut();
    let shown = world.query::<&Shown>().single(world).unwrap().0.clone();
    assert!(world.resource::<Assets<Mesh>>().get(&shown).is_some());

    app.add_migrations(
        Migrations::custom(uuid::Uuid::from_u128(7), "plugin")
            .entry("look")
            .patch("game::Seen", |_| Ok(())),
    );
    put(
        &dir,
        "b.pkg",
        dir.get_asset(Path::new("a.pkg")).unwrap().value().to_vec(),
    );
    let (kind, error) = refusal(&mut app, "b.pkg");
    assert!(
        matches!(kind, LoadErrorKind::Decode(DecodeError::NoValues { .. })),
        "{error}"
    );
    assert!(error.contains("decode_values"), "{error}");
}
