//! Resources and assets.

use bevy_asset::{Asset, Handle};
use bevy_ecs::reflect::{ReflectComponent, ReflectResource};
use bevy_reflect::{TypePath, Typed};

use super::*;
use crate::codec::{
    AssetCodec, DecodeContext, EncodedAsset, MigrateError, description_of, encode_reflected, resource_schema,
};

mod was {
    use super::*;

    #[derive(Resource, Reflect)]
    #[reflect(Resource)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Weather {
        pub gone: u8,
        pub rain: u8,
    }

    #[derive(Asset, Reflect)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Sheet {
        pub gone: Vec<String>,
        pub size: u8,
    }
}

mod is {
    use super::*;

    #[derive(Resource, Reflect, Debug, PartialEq)]
    #[reflect(Resource)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Weather {
        #[reflect(default)]
        pub wind: f32,
        pub rain: u32,
    }

    #[derive(Asset, Reflect, Debug, PartialEq)]
    #[reflect(no_auto_register)]
    #[type_path = "game"]
    pub struct Page {
        pub size: u16,
        #[reflect(default)]
        pub title: String,
    }
}

pub(super) fn encoded<T: GetTypeRegistration + Typed + Reflect>(value: &T) -> (TypeRegistry, Vec<u8>) {
    let mut types = TypeRegistry::default();
    types.register::<T>();
    let rows = EntityRows::default();
    let mut data = Vec::new();
    encode_reflected(value, &mut EncodeContext::new(&types, &rows), &mut data).unwrap();
    (types, data)
}

fn weather(app: &App, name: &str) -> Vec<u8> {
    let (types, data) = encoded(&was::Weather { gone: 1, rain: 70 });
    let mut writer = old_package(name);
    let class = writer
        .class(&resource_schema(<was::Weather as Typed>::type_info(), &types))
        .unwrap();
    writer.export(new_export("game::Weather", class, data, vec![])).unwrap();
    level_in(&mut writer, app, name, 1, &[]);
    writer.finish().unwrap()
}

#[test]
fn a_resource_that_changed_comes_along() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.register_type::<is::Weather>();
    put(&dir, "a.pkg", weather(&app, "a.pkg"));
    come(&mut app, "a.pkg", &[]);
    let expected = is::Weather { wind: 0.0, rain: 70 };
    assert_eq!(app.world().get_resource::<is::Weather>(), Some(&expected));
}

#[test]
fn a_resource_is_patched_or_left_out_and_not_split() {
    let dir = Dir::default();
    let mut patched = app(&dir);
    patched.register_type::<is::Weather>();
    patched.add_migrations(Migrations::game().entry("wet").patch("game::Weather", |weather| {
        weather.set("rain", 100_u8);
        Ok(())
    }));
    put(&dir, "a.pkg", weather(&patched, "a.pkg"));
    come(&mut patched, "a.pkg", &[]);
    assert_eq!(patched.world().resource::<is::Weather>().rain, 100);

    let mut dropped = app(&dir);
    dropped.register_type::<is::Weather>();
    dropped.add_migrations(Migrations::game().entry("dry").drop_type("game::Weather"));
    come(&mut dropped, "a.pkg", &[]);
    assert!(!dropped.world().contains_resource::<is::Weather>());

    let mut split = app(&dir);
    split.register_type::<is::Weather>();
    split.add_migrations(Migrations::game().entry("two").split("game::Weather", |_| Ok(vec![])));
    let id = load(&mut split, "a.pkg", &[]);
    run_until(&mut split, |world| state(world, id) == Some(LoadState::Failed));
    let kind = error_of(&mut split, id);
    assert!(
        matches!(
            kind,
            LoadErrorKind::Decode(DecodeError::Migrate(MigrateError::Split { .. }))
        ),
        "{kind:?}"
    );
}

/// A package with a sheet as the older app cooked it.
fn sheet(name: &str, version: u32) -> Vec<u8> {
    let (types, data) = encoded(&was::Sheet {
        gone: vec!["x".into()],
        size: 200,
    });
    let layout = description_of(<was::Sheet as Typed>::type_info(), &types);
    let mut writer = old_package(name);
    let class = writer
        .class(&schema("game::Sheet", Encoding::Asset, version, &layout))
        .unwrap();
    writer.export(new_export("Sheet", class, data, vec![])).unwrap();
    writer.finish().unwrap()
}

/// A level that imports the sheet of another package, and shows it.
fn showing(app: &App, name: &str, from: &str) -> Vec<u8> {
    let mut writer = old_package(name);
    writer.import(from, "Sheet", "game::Sheet", Role::ALL).unwrap();
    level_in(&mut writer, app, name, 1, &[]);
    writer.finish().unwrap()
}

fn pages() -> Migrations {
    Migrations::game()
        .entry("sheets are pages")
        .rename_type("game::Sheet", "game::Page")
        .entry("larger")
        .patch("game::Page", |page| {
            let size: u8 = page.get("size")?;
            page.set("size", u16::from(size) * 2);
            Ok(())
        })
}

#[test]
fn an_asset_that_changed_comes_under_its_new_name() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.init_asset::<is::Page>().cook_by_reflection::<is::Page>();
        app.add_migrations(pages());
    });
    put(&dir, "s.pkg", sheet("s.pkg", 1));
    put(&dir, "a.pkg", showing(&app, "a.pkg", "s.pkg"));
    come(&mut app, "a.pkg", &["s.pkg"]);
    let pages = app.world().resource::<Assets<is::Page>>();
    let expected = is::Page {
        size: 400,
        title: String::new(),
    };
    assert_eq!(pages.iter().map(|(_, page)| page).collect::<Vec<_>>(), [&expected]);
}

#[test]
fn an_asset_that_is_dropped_is_not_there() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.init_asset::<is::Page>().cook_by_reflection::<is::Page>();
        app.add_migrations(pages().entry("no pages").drop_type("game::Page"));
    });
    put(&dir, "s.pkg", sheet("s.pkg", 1));
    put(&dir, "a.pkg", showing(&app, "a.pkg", "s.pkg"));
    come(&mut app, "a.pkg", &["s.pkg"]);
    assert!(app.world().resource::<Assets<is::Page>>().is_empty());
}

/// Reflected data behind a byte of its own, in its second version.
struct Paged;

impl AssetCodec for Paged {
    type Asset = is::Page;
    const VERSION: u32 = 2;
    const IS_REFLECTED: bool = true;

    fn layout(_: &TypeRegistry) -> String {
        "another".into()
    }

    fn encode(_: &is::Page, _: &mut EncodeContext) -> Result<EncodedAsset, crate::codec::EncodeError> {
        Ok(EncodedAsset::default())
    }

    fn decode(_: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<is::Page, DecodeError> {
        Err(DecodeError::Malformed("not of this layout".into()))
    }

    fn decode_version(version: u32, data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<is::Page, DecodeError> {
        // It is asked for older ones only.
        Ok(is::Page {
            size: data.len() as u16,
            title: format!("of version {version}"),
        })
    }
}

#[test]
fn an_asset_codec_reads_its_older_version() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.init_asset::<is::Page>().add_asset_codec::<Paged>();
        app.add_migrations(
            Migrations::game()
                .entry("pages")
                .rename_type("game::Sheet", "game::Page"),
        );
    });
    put(&dir, "s.pkg", sheet("s.pkg", 1));
    put(&dir, "a.pkg", showing(&app, "a.pkg", "s.pkg"));
    come(&mut app, "a.pkg", &["s.pkg"]);
    let pages = app.world().resource::<Assets<is::Page>>();
    assert!(pages.iter().all(|(_, page)| page.title == "of version 1") && pages.len() == 1);
    put(&dir, "t.pkg", sheet("t.pkg", 3));
    put(&dir, "b.pkg", showing(&app, "b.pkg", "t.pkg"));
    let id = load(&mut app, "b.pkg", &["t.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let LoadErrorKind::Dependency { message, .. } = error_of(&mut app, id) else {
        panic!("the other package is at fault");
    };
    assert!(
        message.contains("in version 3") && message.contains("newer build"),
        "{message}"
    );
}

/// A codec with one version, that reads no other.
struct Fixed;

impl AssetCodec for Fixed {
    type Asset = is::Page;
    const VERSION: u32 = 2;

    fn encode(_: &is::Page, _: &mut EncodeContext) -> Result<EncodedAsset, crate::codec::EncodeError> {
        Ok(EncodedAsset::default())
    }

    fn decode(_: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<is::Page, DecodeError> {
        Err(DecodeError::Malformed("not of this layout".into()))
    }
}

#[test]
fn a_codec_without_older_versions_names_both() {
    let registry = TypeRegistry::default();
    let context = DecodeContext {
        registry: &registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    let error = Fixed::decode_version(1, &[], vec![], &context).unwrap_err().to_string();
    assert!(
        error.contains("`game::Page`") && error.contains("was: version 1; is: version 2"),
        "{error}"
    );
    let error = Likes::read_version(0, &mut Cursor::new(&[])).unwrap_err().to_string();
    assert!(
        error.contains(Likes::type_path()) && error.contains("was: version 0; is: version 1"),
        "{error}"
    );
    let codec = crate::codec::RelationshipCodec::<ChildOf>::default();
    let error = codec
        .decode_version(0, &[], 0, &context)
        .map(drop)
        .unwrap_err()
        .to_string();
    assert!(error.contains("was: version 0; is: version 1"), "{error}");
}

/// Neither an older version of a codec nor the layout of one that does not reflect has parts that a migration could change.
#[test]
fn a_migration_of_what_a_codec_hides_is_refused() {
    fn failure<C: AssetCodec<Asset = is::Page>>(version: u32, list: Migrations) -> String {
        let dir = Dir::default();
        let mut app = app_with(&dir, |app| {
            app.init_asset::<is::Page>().add_asset_codec::<C>();
            app.register_type::<is::Page>();
            app.add_migrations(list);
        });
        put(&dir, "s.pkg", sheet("s.pkg", version));
        put(&dir, "a.pkg", showing(&app, "a.pkg", "s.pkg"));
        let id = load(&mut app, "a.pkg", &["s.pkg"]);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
        error_of(&mut app, id).to_string()
    }
    let inside = || {
        let list = Migrations::game()
            .entry("pages")
            .rename_type("game::Sheet", "game::Page");
        list.entry("larger").patch("u16", |_| Ok(()))
    };
    let of_the_page = [
        failure::<Fixed>(2, pages()),
        failure::<Fixed>(1, pages()),
        failure::<Paged>(1, pages()),
    ];
    assert!(of_the_page.iter().all(|error| error.contains("`game::Page`")));
    // What is inside may be in the mesh of the other package too.
    for error in of_the_page.into_iter().chain([failure::<Paged>(1, inside())]) {
        for part in ["migrations cannot look into", "AssetCodec::decode_version"] {
            assert!(error.contains(part), "{error}");
        }
    }
}

/// A layout in the words of a codec, which says nothing of types.
#[test]
fn a_codec_with_another_layout_is_refused() {
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.init_asset::<is::Page>().add_asset_codec::<Fixed>();
        app.add_migrations(
            Migrations::game()
                .entry("pages")
                .rename_type("game::Sheet", "game::Page"),
        );
    });
    put(&dir, "s.pkg", sheet("s.pkg", 2));
    put(&dir, "a.pkg", showing(&app, "a.pkg", "s.pkg"));
    let id = load(&mut app, "a.pkg", &["s.pkg"]);
    run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
    let kind = error_of(&mut app, id);
    assert!(
        kind.to_string()
            .contains("is not laid out as when the package was cooked"),
        "{kind}"
    );
}

/// The two `Handle`s are of one asset type.
#[test]
fn a_handle_in_a_component_follows_its_assets_name() {
    mod old {
        use super::*;
        #[derive(Asset, TypePath)]
        #[type_path = "game"]
        pub struct Sheet;
        #[derive(Component, Reflect)]
        #[reflect(Component)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Reads(pub Option<Handle<Sheet>>);
    }
    mod new {
        use super::*;
        #[derive(Component, Reflect)]
        #[reflect(Component)]
        #[reflect(no_auto_register)]
        #[type_path = "game"]
        pub struct Reads(pub Option<Handle<is::Page>>);
    }
    let dir = Dir::default();
    let mut app = app_with(&dir, |app| {
        app.init_asset::<is::Page>().cook_by_reflection::<is::Page>();
        app.register_type::<new::Reads>();
        app.add_migrations(pages());
    });
    let uuid = uuid::Uuid::from_u128(3);
    let mut types = TypeRegistry::default();
    types.register::<old::Reads>();
    types.register::<Handle<old::Sheet>>();
    types.register_type_data::<Handle<old::Sheet>, bevy_asset::ReflectHandle>();
    let codec =
        crate::codec::ReflectCodec::by_field(types.get(core::any::TypeId::of::<old::Reads>()).unwrap(), Role::ALL)
            .unwrap();
    let reads = old::Reads(Some(Handle::Uuid(uuid, core::marker::PhantomData)));
    let column = column_of(&codec, &[&reads], &EntityRows::default(), &types);
    put(&dir, "a.pkg", level(&app, "a.pkg", 1, &[column]));
    come(&mut app, "a.pkg", &[]);
    let world = app.world_mut();
    let reads = world.query::<&new::Reads>().single(world).unwrap();
    assert_eq!(reads.0, Some(Handle::Uuid(uuid, core::marker::PhantomData)));
}
