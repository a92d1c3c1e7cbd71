//! Types that were declared immutable, before or after the package was cooked.

use bevy_ecs::reflect::{ReflectComponent, ReflectResource};
use bevy_reflect::Typed;

use super::{objects::encoded, *};
use crate::codec::{Immutable, MigrateError, resource_schema};

mod finished {
    use super::*;

    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component, @Immutable)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Goal(pub u32);

    #[derive(Component, Reflect, Clone, Debug, PartialEq, PartialOrd)]
    #[reflect(Component, @Immutable)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Target(pub u32);
}

/// An immutable component may get another name, and go; it is not changed.
#[test]
fn an_immutable_component_is_renamed_and_not_migrated() {
    let renamed = || {
        Migrations::game()
            .entry("targets")
            .rename_type("game::Goal", "game::Target")
            .entry("more")
    };
    let come_with = |list: Migrations, is_refused: bool| {
        let dir = Dir::default();
        let mut app = app(&dir);
        app.register_type::<finished::Target>().add_migrations(list);
        let (_, rows) = rows(2);
        let goals = column(&[finished::Goal(1), finished::Goal(2)], &rows);
        put(&dir, "a.pkg", level(&app, "a.pkg", 2, &[goals]));
        if is_refused {
            let (kind, error) = refusal(&mut app, "a.pkg");
            assert!(
                matches!(&kind, LoadErrorKind::Decode(DecodeError::Migrate(MigrateError::Immutable { entry, .. })) if entry == "more"),
                "{error}"
            );
        } else {
            come(&mut app, "a.pkg", &[]);
        }
        all::<finished::Target>(&mut app)
    };
    assert_eq!(come_with(renamed(), false), [finished::Target(1), finished::Target(2)]);
    assert_eq!(come_with(renamed().drop_type("game::Target"), false), []);
    assert_eq!(come_with(renamed().patch("game::Target", |_| Ok(())), true), []);
    assert_eq!(come_with(renamed().split("game::Target", |_| Ok(vec![])), true), []);
}

mod promised {
    use super::*;
    #[derive(Resource, Reflect, Debug, PartialEq)]
    #[reflect(Resource, @Immutable)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Weather {
        pub gone: u8,
        pub rain: u8,
    }
}

/// The promise, made later, changes nothing for what was cooked before; what was cooked under it is not changed.
#[test]
fn an_immutable_resource_is_patched_only_if_it_was_none() {
    let wet = || {
        Migrations::game().entry("wet").patch("game::Weather", |weather| {
            weather.set("rain", 100_u8);
            Ok(())
        })
    };
    let resource = |name: &str, app: &App, immutable: bool| {
        let (types, data) = encoded(&promised::Weather { gone: 1, rain: 70 });
        let mut writer = old_package(name);
        let schema = Schema {
            immutable,
            ..resource_schema(<promised::Weather as Typed>::type_info(), &types)
        };
        let class = writer.class(&schema).unwrap();
        writer.export(new_export("game::Weather", class, data, vec![])).unwrap();
        level_in(&mut writer, app, name, 1, &[]);
        writer.finish().unwrap()
    };
    let dir = Dir::default();
    let mut quiet = app(&dir);
    quiet.register_type::<promised::Weather>();
    put(&dir, "promised.pkg", resource("promised.pkg", &quiet, true));
    put(&dir, "before.pkg", resource("before.pkg", &quiet, false));
    come(&mut quiet, "promised.pkg", &[]);
    assert_eq!(quiet.world().resource::<promised::Weather>().rain, 70);

    let mut app = app(&dir);
    app.register_type::<promised::Weather>().add_migrations(wet());
    come(&mut app, "before.pkg", &[]);
    assert_eq!(app.world().resource::<promised::Weather>().rain, 100);

    let id = load(&mut app, "promised.pkg", &[]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let kind = error_of(&mut app, id);
    assert!(
        matches!(&kind, LoadErrorKind::Decode(DecodeError::Migrate(MigrateError::Immutable { entry, .. })) if entry == "wet"),
        "{kind}"
    );
}
