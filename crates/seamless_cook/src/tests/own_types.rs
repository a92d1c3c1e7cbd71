//! A game's own components and assets: what a cook says when the cooker does not know them, and that it helps.

use bevy::asset::LoadContext;
use bevy::gltf::extensions::{ErasedGltfExtensionHandler, GltfExtensionHandler, GltfExtensionHandlers};
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::SeamlessAssetApp;
use seamless_asset::codec::{
    AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset, ReflectAssetCodec,
};
use seamless_package::{Limits, Package};

use super::*;
use crate::{Profile, inspect};

const WORLD: &str = r#"(levels: [(source: "a.scn.ron")])"#;

/// Bevy registers every reflected type by itself, unless it is told not to.
#[derive(Component, Reflect)]
#[reflect(Component, no_auto_register)]
struct Unregistered {
    open: bool,
}

#[test]
fn components_that_are_not_registered_are_errors() {
    let fixture = Fixture::new();
    fixture.write("a.scn.ron", scene(&[(Unregistered::type_path(), "(open: true)")]));
    let errors = fixture.errors(WORLD);
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "a.scn.ron", "level `a`", Unregistered::type_path());

    let knowing = CookApp::new().with(|app| {
        app.register_type::<Unregistered>();
    });
    let report = fixture.cook_with(&knowing, WORLD, &CookOptions::default());
    assert_eq!(report.expect("it is registered now").entities, 1);
}

#[derive(Component)]
struct NotReflected;

/// Puts a component that nobody can register on the root of each scene.
struct Marker;

impl GltfExtensionHandler for Marker {
    fn dyn_clone(&self) -> Box<dyn ErasedGltfExtensionHandler> {
        Box::new(Self)
    }

    fn on_scene_completed(
        &mut self,
        _: &mut LoadContext<'_>,
        _: &bevy::gltf::gltf::Scene<'_>,
        root: Entity,
        world: &mut World,
    ) {
        world.entity_mut(root).insert(NotReflected);
    }
}

#[test]
fn components_that_a_loader_adds_must_be_registered_too() {
    let fixture = two_scenes();
    let app = CookApp::new().with(|app| {
        let handlers = app.world().resource::<GltfExtensionHandlers>();
        let mut handlers = handlers.0.try_write().expect("nothing is loading yet");
        handlers.push(Box::new(Marker));
    });
    let world = r#"(levels: [(source: "scenes/b.gltf")])"#;
    let errors = fixture.errors_with(&app, world, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "scenes/b.gltf", "entity `Scene0`", "is not registered");
    assert_error(&errors, "scenes/b.gltf", "entity `Scene0`", "app.register_type");
}

/// Registered, but no component as far as reflection knows.
#[derive(Reflect)]
struct Plain(u32);

#[test]
fn types_that_do_not_reflect_component_are_errors() {
    let fixture = Fixture::new();
    let plain = (Plain::type_path(), "(5)");
    let name = (Name::type_path(), "\"Bell\"");
    fixture.write("a.scn.ron", scene(&[name, plain, plain]));
    let app = CookApp::new().with(|app| {
        app.register_type::<Plain>();
    });
    let errors = fixture.errors_with(&app, WORLD, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    let object = format!("entity `{}` and 1 more", number(2));
    assert_error(&errors, "a.scn.ron", &object, Plain::type_path());
    assert_error(&errors, "a.scn.ron", &object, "lacks `#[reflect(Component)]`");
}

#[derive(Asset, Reflect, Debug, PartialEq)]
struct Chime {
    notes: Vec<u8>,
    tempo: f32,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
struct Rings(Handle<Chime>);

impl OfBytes for Chime {
    const EXTENSIONS: &'static [&'static str] = &["chime"];

    fn of_bytes(bytes: Vec<u8>, _: &mut LoadContext) -> Self {
        Self {
            notes: bytes,
            tempo: 0.1,
        }
    }
}

/// A cooker that loads chimes, and does not know how to cook them.
fn chimes() -> CookApp {
    CookApp::new().with(|app| {
        app.init_asset::<Chime>()
            .register_asset_loader(BytesLoader::<Chime>::default())
            .register_type::<Rings>();
    })
}

/// A scene of three entities, of which the last two refer to `bell.chime`.
fn belfry() -> Fixture {
    let fixture = Fixture::new();
    let rings = (Rings::type_path(), r#"(Path("bell.chime"))"#);
    fixture.write("a.scn.ron", scene(&[(Name::type_path(), "\"Tower\""), rings, rings]));
    fixture
}

#[test]
fn assets_without_a_codec_are_errors() {
    let fixture = belfry();
    fixture.write("bell.chime", [3_u8, 1, 4]);
    let errors = fixture.errors_with(&chimes(), WORLD, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    let message = format!("assets of type `{}` have no codec", Chime::type_path());
    assert_error(&errors, "bell.chime", "", &message);
    assert_error(&errors, "bell.chime", "", "app.cook_by_reflection");
    let user = format!("needed by entity `{}` in `a.scn.ron`", number(2));
    assert_error(&errors, "bell.chime", "", &user);
}

#[test]
fn a_missing_asset_is_named_with_the_entity_that_needs_it() {
    let fixture = belfry();
    let errors = fixture.errors_with(&chimes(), WORLD, &CookOptions::default());
    assert_eq!(errors.len(), 1, "{errors:#?}");
    assert_error(&errors, "bell.chime", "", "failed to load");
    let user = format!("needed by entity `{}` in `a.scn.ron`", number(2));
    assert_error(&errors, "bell.chime", "", &user);
}

#[test]
fn an_asset_that_is_cooked_by_reflection_comes_back() {
    let fixture = belfry();
    fixture.write("bell.chime", [3_u8, 1, 4]);
    let app = chimes().with(|app| {
        app.cook_by_reflection::<Chime>();
    });
    let report = fixture.cook_with(&app, WORLD, &CookOptions::default());
    assert_eq!(report.expect("chimes have a codec now").entities, 3);
    let path = fixture.out().join("a.pkg");
    let info = inspect(&path).expect("the package is sound");
    let level = info.exports.iter().find(|export| export.name == "Level");
    assert_eq!(level.expect("a level").refs, ["bell.chime"]);

    let bytes = std::fs::read(&path).expect("the package is there");
    let package = Package::verify_whole(&bytes, &Limits::default()).expect("the package is sound");
    let index = package.find_name("bell.chime").expect("the chime is in it");
    let data = package.export_data(index, &bytes, 0).expect("its data is sound");
    let mut registry = TypeRegistry::new();
    registry.register::<Chime>();
    let context = DecodeContext {
        registry: &registry,
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    };
    let chime = ReflectAssetCodec::<Chime>::decode(&data, Vec::new(), &context).expect("it is a chime");
    let expected = Chime {
        notes: vec![3, 1, 4],
        tempo: 0.1,
    };
    assert_eq!(chime, expected);
}

/// Tells how large a picture is, and nothing of its pixels.
struct SizeCodec;

impl AssetCodec for SizeCodec {
    type Asset = Image;
    const VERSION: u32 = 1;

    fn encode(image: &Image, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let data = image.width().to_le_bytes().to_vec();
        Ok(EncodedAsset { data, bulk: Vec::new() })
    }

    fn decode(_: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Image, DecodeError> {
        Ok(Image::default())
    }
}

#[test]
fn a_codec_of_the_games_own_is_asked_with_every_profile() {
    let app = CookApp::new().with(|app| {
        app.add_asset_codec::<SizeCodec>();
    });
    let fixture = two_scenes();
    for profile in [Profile::Exact, Profile::Dev, Profile::Ship] {
        let options = CookOptions {
            profile,
            ..CookOptions::default()
        };
        let world = r#"(levels: [(source: "scenes/a.gltf")])"#;
        fixture.cook_with(&app, world, &options).expect("it can be cooked");
        let bytes = std::fs::read(fixture.out().join("a.pkg")).expect("the package is there");
        let package = Package::verify_whole(&bytes, &Limits::default()).expect("the package is sound");
        let picture = package.find_name("scenes/red.ppm").expect("the picture is in it");
        let data = package.export_data(picture, &bytes, 0).expect("it is sound");
        assert_eq!(*data, 1_u32.to_le_bytes(), "{profile:?}");
    }
}
