//! Startup packages: read once, front to back, before the first frame; shared with whatever comes later; and told of.

mod errors;
mod pack;
mod read;
mod report;

use bevy_asset::UntypedHandle;

use pack::{Pack, Pantry};

use super::{
    build::seek_free_chain,
    bulk::{Film, FilmCodec, frames},
    counting::{FileRead, ReadLog, counting_app, noting_app},
    objects::{ask, finish, titles},
    spans::heard,
    *,
};
use crate::{
    LoadPolicy, ObjectRequest, SeamlessStartupPlugin, StartupContent, StartupReport,
    codec::{AssetCodec, BulkUse, DecodeContext, EncodeError, EncodedAsset},
};

/// The plugins that register content.
struct Kitchen;
struct Cinema;

/// What all apps of these tests have.
fn game(app: &mut App) {
    app.init_asset::<Film>().add_asset_codec::<FilmCodec<false>>();
}

fn plugin(window_bytes: usize) -> SeamlessStartupPlugin {
    SeamlessStartupPlugin {
        window_bytes,
        ..SeamlessStartupPlugin::new("startup.pkg")
    }
}

/// An app that cooks; what it cooks does not depend on what it loads.
fn cook() -> App {
    app_with(&Dir::default(), game)
}

/// Puts `startup.pkg` there, with two recipes, a film and a mesh.
fn put_startup(dir: &Dir) -> u64 {
    let bytes = Pack::new(&cook())
        .recipe("stock", &[])
        .recipe("soup", &["stock"])
        .film("jaws", 3)
        .mesh()
        .entry::<Kitchen>("soup.txt#soup", "soup")
        .entry::<Cinema>("films/jaws.film", "jaws")
        .entry::<Cinema>("kit.glb#Mesh0/Primitive0", "Mesh")
        .finish();
    let length = bytes.len() as u64;
    put(dir, "startup.pkg", bytes);
    length
}

fn register(app: &mut App) {
    app.add_startup_content::<Kitchen, Recipe>(["soup.txt#soup"])
        .add_startup_content::<Cinema, Film>(["films/jaws.film"])
        .add_startup_content::<Cinema, Mesh>(["kit.glb#Mesh0/Primitive0"]);
}

fn started(dir: &Dir, can_seek: bool, window_bytes: usize) -> (App, ReadLog) {
    counting_app(dir, can_seek, |app| {
        game(app);
        register(app);
        app.add_plugins(plugin(window_bytes));
    })
}

fn content(app: &App) -> &StartupContent {
    app.world().resource()
}

/// A file that was read whole, each byte once and in order.
fn whole(path: &str, length: u64) -> FileRead {
    FileRead {
        path: path.into(),
        offset: 0,
        length,
    }
}

#[test]
fn one_file_is_read_once_before_the_first_frame() {
    for can_seek in [true, false] {
        for window_bytes in [1 << 10, 3_333, 1 << 20] {
            let dir = Dir::default();
            let length = put_startup(&dir);
            let (app, log) = started(&dir, can_seek, window_bytes);
            // No frame has run.
            assert_eq!(log.opened(), ["startup.pkg"], "no other file is opened");
            assert_eq!(log.reads(), [whole("startup.pkg", length)], "each byte once, in order");
            assert_eq!(log.seeks(), 0);
            let stats = app.world().resource::<StreamingStats>();
            assert_eq!((stats.bytes_read, stats.uploaded_last), (length, 0));
            assert!(stats.uploaded_bytes > 0, "a mesh is for the GPU");
            let soup = content(&app).get::<Recipe>("soup.txt#soup").unwrap();
            let recipes = app.world().resource::<Assets<Recipe>>();
            let soup = recipes.get(&soup).unwrap();
            assert_eq!(soup.title, "how to soup");
            assert_eq!(recipes.get(&soup.before[0]).unwrap().title, "how to stock");
            let jaws = content(&app).get::<Film>("films/jaws.film").unwrap();
            let jaws = app.world().resource::<Assets<Film>>().get(&jaws).unwrap().clone();
            assert_eq!(jaws.payloads, [frames(3, 5_000), frames(103, 200_000)]);
            let read = app.world().resource::<StartupReport>().read.unwrap();
            let windows = length.div_ceil(window_bytes as u64);
            assert_eq!(u64::from(read.windows), windows);
        }
    }
}

#[test]
fn a_trace_shows_what_startup_content_takes() {
    let dir = Dir::default();
    put_startup(&dir);
    let spans = heard(|| drop(started(&dir, true, 1 << 20)));
    for inside in ["", " > read", " > link", " > decode", " > post_load", " > insert{Mesh}"] {
        let span = format!("startup{{startup.pkg}}{inside}");
        let found = spans.iter().filter(|found| **found == span).count();
        assert_eq!(found, 1, "{span}: {spans:?}");
    }
}

/// The same values as by any other road.
#[test]
fn it_equals_what_a_request_loads() {
    let dir = Dir::default();
    put_startup(&dir);
    let (startup, _) = started(&dir, true, 1 << 12);
    let mut other = app_with(&dir, game);
    let load = ask(&mut other, ObjectRequest::new(["startup.pkg"]));
    finish(&mut other, &load);
    assert!(load.result().unwrap().is_ok());
    fn values(app: &App) -> (Vec<String>, Vec<Film>, Vec<Vec<[f32; 3]>>) {
        let films = app.world().resource::<Assets<Film>>();
        let meshes = app.world().resource::<Assets<Mesh>>();
        let points = meshes.iter().map(|(_, mesh)| {
            let positions = mesh.attribute(Mesh::ATTRIBUTE_POSITION).unwrap();
            positions.as_float3().unwrap().to_vec()
        });
        (
            titles(app),
            films.iter().map(|(_, film)| film.clone()).collect(),
            points.collect(),
        )
    }
    assert_eq!(values(&startup), values(&other));
    assert_eq!(values(&startup).0, ["soup", "stock"]);
}

#[test]
fn startup_systems_find_it_and_it_stays() {
    #[derive(Resource)]
    struct Served(Option<String>);
    let dir = Dir::default();
    put_startup(&dir);
    let (mut app, _) = started(&dir, true, 1 << 20);
    app.add_systems(
        bevy_app::PreStartup,
        |mut commands: Commands, content: Res<StartupContent>, recipes: Res<Assets<Recipe>>| {
            let soup = content.get("soup.txt#soup").unwrap();
            commands.insert_resource(Served(recipes.get(&soup).map(|soup| soup.title.clone())));
        },
    );
    for _ in 0..5 {
        app.update();
        assert_eq!(app.world().resource::<Served>().0.as_deref(), Some("how to soup"));
        assert_eq!(titles(&app), ["soup", "stock"], "nobody but the app holds it");
    }
}

/// Levels, copies and requests find startup content live: no second value, and no look at its file.
#[test]
fn whatever_comes_later_shares_it() {
    for keep_linkers in [true, false] {
        for verify in [Verify::Now, Verify::Deferred] {
            let dir = Dir::default();
            let cook = cook();
            put_startup(&dir);
            let original = shared_package(&cook, "s.pkg");
            put(&dir, "a.pkg", chain(&cook, "a.pkg", 4, Some("startup.pkg")));
            put(&dir, "b.pkg", seek_free_chain(&cook, "b.pkg", 3, &original));
            let log = ReadLog::default();
            let asset_plugin = SeamlessAssetPlugin {
                keep_linkers,
                ..SeamlessAssetPlugin::default()
            };
            let mut app = noting_app(&dir, true, &log, asset_plugin, |app| {
                game(app);
                app.add_plugins(plugin(1 << 20));
            });
            log.clear();
            let request = |package: &str| InstanceRequest {
                verify,
                ..request(package, &["startup.pkg"])
            };
            let id = app.world_mut().resource_mut::<Streamer>().load(request("a.pkg"));
            run_until(&mut app, |world| state(world, id) == Some(LoadState::Live));
            assert_eq!(log.opened(), ["a.pkg"]);
            let mesh: UntypedHandle = content(&app).get::<Mesh>("kit.glb#Mesh0/Primitive0").unwrap().untyped();
            let world = app.world_mut();
            let mut shown = world.query::<&Mesh3d>();
            assert!(shown.iter(world).all(|shown| shown.0.id().untyped() == mesh.id()));
            assert_eq!(world.resource::<Assets<Mesh>>().len(), 1, "it is in memory once");
            // By its object path, and without leave to read.
            let live = ObjectRequest {
                policy: LoadPolicy::LiveOnly,
                ..ObjectRequest::new(["startup.pkg#Mesh", "startup.pkg#soup"])
            };
            let live = ask(&mut app, live);
            finish(&mut app, &live);
            assert_eq!(live.result().unwrap().unwrap()[0], mesh);
            // A level with content of its own goes with that, and leaves this.
            let other = app.world_mut().resource_mut::<Streamer>().load(request("b.pkg"));
            run_until(&mut app, |world| state(world, other) == Some(LoadState::Live));
            assert_eq!(log.opened(), ["a.pkg", "b.pkg"]);
            for id in [id, other] {
                app.world_mut().resource_mut::<Streamer>().unload(id);
                run_until(&mut app, |world| state(world, id).is_none());
            }
            run_until(&mut app, |world| world.resource::<Assets<Mesh>>().len() == 1);
            assert!(
                app.world()
                    .resource::<Assets<Mesh>>()
                    .contains(mesh.id().typed::<Mesh>())
            );
        }
    }
}
