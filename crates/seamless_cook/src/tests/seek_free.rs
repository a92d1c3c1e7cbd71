//! Levels that are read from one file: copies of what they share, with the identity of the originals.

mod marks;

use bevy::asset::LoadContext;
use bevy::prelude::*;
use seamless_asset::codec::{
    AssetCodec, BulkUse, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset,
};
use seamless_asset::{ObjectRegistry, RegistryLimits, SeamlessAssetApp};
use seamless_level::{ManifestLimits, WorldManifest};
use seamless_package::{Limits, ObjectId, Package, PackageError};

use super::*;
use crate::inspect;

const ONE_SEEK_FREE: &str = r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf", seek_free: true)])"#;

fn package(fixture: &Fixture, file: &str) -> Package {
    let bytes = std::fs::read(fixture.out().join(file)).unwrap();
    Package::verify_whole(&bytes, &Limits::default()).unwrap()
}

#[test]
fn a_seek_free_level_has_copies_of_what_it_shares() {
    let fixture = two_scenes();
    let report = fixture.cook(ONE_SEEK_FREE).unwrap();
    assert!(report.levels[1].dependencies.is_empty());
    assert_eq!(report.levels[0].dependencies, ["shared_0.pkg"]);
    let bytes = std::fs::read(fixture.out().join("test.seamless")).unwrap();
    let manifest = WorldManifest::from_ron(&bytes, &ManifestLimits::default()).unwrap();
    assert!(manifest.levels[1].dependencies.is_empty());

    let (shared, level) = (package(&fixture, "shared_0.pkg"), package(&fixture, "b.pkg"));
    assert!(level.is_seek_free() && !package(&fixture, "a.pkg").is_seek_free());
    let original = shared.find_name("scenes/red.ppm").unwrap();
    let id = shared.exports().get(original).unwrap().object_id;
    let copy = level.find(id).expect("the copy has the original's identity");
    let origin = level.origin_of(copy).unwrap();
    assert_eq!((origin.package, origin.index as usize), ("shared_0.pkg", original));
    assert_eq!(origin.content_hash, shared.summary().content_hash);
    assert_eq!(copy + 1, level.exports().len(), "copies come behind everything else");

    // Its copies are read with it, and nothing else is.
    let registry = std::fs::read(fixture.out().join("test.registry")).unwrap();
    let registry = ObjectRegistry::from_bytes(&registry, "", &RegistryLimits::default()).unwrap();
    let size = |file: &str| std::fs::metadata(fixture.out().join(file)).unwrap().len();
    let told = |path: &str| registry.at(path).first().unwrap().bytes;
    assert_eq!(told("scenes/b.gltf"), size("b.pkg"));
    assert!(told("scenes/a.gltf") > size("a.pkg"));

    let info = inspect(&fixture.out().join("b.pkg")).unwrap();
    assert_eq!(info.exports[copy].copied_from.as_deref(), Some("shared_0.pkg"));
    assert_eq!(info.exports[copy].bulk[0].raw_bytes, 4);
    assert_eq!(info.exports[copy].bulk[0].package, None);
}

/// Which levels are seek-free changes nothing but these.
#[test]
fn other_packages_are_as_they_would_be() {
    let (with, without) = (two_scenes(), two_scenes());
    with.cook(ONE_SEEK_FREE).unwrap();
    without
        .cook(r#"(levels: [(source: "scenes/a.gltf"), (source: "scenes/b.gltf")])"#)
        .unwrap();
    for file in ["a.pkg", "shared_0.pkg"] {
        let [a, b] = [&with, &without].map(|fixture| std::fs::read(fixture.out().join(file)).unwrap());
        assert_eq!(a, b, "{file}");
    }
}

/// A film, whose frames are read when it is played.
#[derive(Asset, TypePath)]
pub(super) struct Film(Vec<u8>);

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(super) struct Plays(Handle<Film>);

/// Of films that are read when they are played, or with what plays them.
struct FilmCodec<const WHOLE: bool>;

impl<const WHOLE: bool> AssetCodec for FilmCodec<WHOLE> {
    type Asset = Film;
    const VERSION: u32 = 1;
    const BULK: BulkUse = if WHOLE { BulkUse::Load } else { BulkUse::OnDemand };

    fn encode(film: &Film, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let (data, bulk) = (Vec::new(), vec![film.0.clone()]);
        Ok(EncodedAsset { data, bulk })
    }

    fn decode(_: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Film, DecodeError> {
        Ok(Film(Vec::new()))
    }
}

impl OfBytes for Film {
    const EXTENSIONS: &'static [&'static str] = &["film"];

    fn of_bytes(bytes: Vec<u8>, _: &mut LoadContext) -> Self {
        Self(bytes)
    }
}

pub(super) fn films() -> CookApp {
    films_of::<false>()
}

fn films_of<const WHOLE: bool>() -> CookApp {
    CookApp::new().with(|app| {
        app.init_asset::<Film>()
            .register_asset_loader(BytesLoader::<Film>::default())
            .register_type::<Plays>()
            .add_asset_codec::<FilmCodec<WHOLE>>();
    })
}

/// A codec that reads payloads otherwise than before encodes the same bytes, and copies must be others.
#[test]
fn copies_follow_how_payloads_are_read() {
    let world = r#"(levels: [(source: "a.scn.ron", seek_free: true), (source: "b.scn.ron", seek_free: true)])"#;
    let cook = |fixture: &Fixture, app: &CookApp| {
        fixture.cook_with(app, world, &CookOptions::default()).unwrap();
        std::fs::read(fixture.out().join("a.pkg")).unwrap()
    };
    let (edited, fresh) = (two_players(), two_players());
    let on_demand = cook(&edited, &films());
    let whole = cook(&edited, &films_of::<true>());
    assert!(on_demand != whole);
    assert!(whole == cook(&fresh, &films_of::<true>()));
}

/// No level needs the package of the film, but for its payload.
#[test]
fn a_package_that_is_read_on_demand_only_belongs_to_its_world() {
    let fixture = Fixture::new();
    let scene = scene(&[(Plays::type_path(), r#"(Path("heat.film"))"#)]);
    fixture
        .write("a.scn.ron", &scene)
        .write("b.scn.ron", &scene)
        .write("heat.film", [7; 1000]);
    let world = r#"(levels: [(source: "a.scn.ron", seek_free: true), (source: "b.scn.ron", seek_free: true)])"#;
    let report = fixture.cook_with(&films(), world, &CookOptions::default()).unwrap();
    assert!(report.levels.iter().all(|level| level.dependencies.is_empty()));
    let shared = fixture.out().join("shared_0.pkg");
    let before = std::fs::read(&shared).unwrap();

    // Another world of other levels, which would have a package of the same name.
    fixture.write("c.scn.ron", &scene).write("d.scn.ron", &scene).write(
        "other.world.ron",
        world.replace("a.scn", "c.scn").replace("b.scn", "d.scn"),
    );
    let other = films().cook(
        &fixture.path("other.world.ron"),
        &fixture.out(),
        &CookOptions::default(),
        &(),
    );
    assert!(
        matches!(&other, Err(CookError::ForeignPackage { file, .. }) if file == "shared_0.pkg"),
        "{other:?}"
    );
    assert_eq!(std::fs::read(&shared).unwrap(), before);

    std::fs::remove_file(&shared).unwrap();
    let worlds = crate::list(&fixture.out()).unwrap();
    assert_eq!(worlds[0].missing, ["shared_0.pkg"]);
    std::fs::write(&shared, before).unwrap();
    fixture
        .cook_with(
            &films(),
            r#"(levels: [(source: "a.scn.ron", seek_free: true)])"#,
            &CookOptions::default(),
        )
        .unwrap();
    assert!(!shared.exists(), "a package of an earlier cook goes");
}

/// Sources: two scenes that play one film.
pub(super) fn two_players() -> Fixture {
    let fixture = Fixture::new();
    let scene = scene(&[(Plays::type_path(), r#"(Path("heat.film"))"#)]);
    fixture
        .write("cook.ron", SHARE)
        .write("a.scn.ron", &scene)
        .write("b.scn.ron", &scene)
        .write("heat.film", frames());
    fixture
}

fn frames() -> Vec<u8> {
    (0..100_000_u32).map(|at| (at / 64) as u8).collect()
}

#[test]
fn payloads_that_are_read_on_demand_are_not_copied() {
    let app = films();
    let fixture = two_players();
    let frames = frames();
    let world = r#"(levels: [(source: "a.scn.ron"), (source: "b.scn.ron", seek_free: true)])"#;
    fixture.cook_with(&app, world, &CookOptions::default()).unwrap();

    let (shared, level) = (package(&fixture, "shared_0.pkg"), package(&fixture, "b.pkg"));
    let film = level.find(ObjectId::new("shared_0.pkg", "heat.film")).expect("a copy");
    let location = level.bulk_location(film, 0).expect("it has its payload");
    assert_eq!(location.origin, Some(("shared_0.pkg", shared.summary().content_hash)));
    let file = std::fs::read(fixture.out().join("shared_0.pkg")).unwrap();
    let stored = &file[location.range.start as usize..location.range.end as usize];
    assert_eq!(location.unpack(stored).unwrap(), frames);
    level.check_origin(film, 0, &shared).unwrap();

    let info = inspect(&fixture.out().join("b.pkg")).unwrap();
    let bulk = &info.exports[film].bulk[0];
    assert_eq!(
        (bulk.raw_bytes, bulk.package.as_deref()),
        (100_000, Some("shared_0.pkg"))
    );

    // Another film under the same name: the reference is stale as soon as one of both is not cooked again.
    fixture.write("heat.film", &frames[..50_000]);
    fixture.cook_with(&app, world, &CookOptions::default()).unwrap();
    let error = level
        .check_origin(film, 0, &package(&fixture, "shared_0.pkg"))
        .expect_err("it is stale");
    assert!(matches!(error, PackageError::StaleBulk { .. }), "{error}");
}
