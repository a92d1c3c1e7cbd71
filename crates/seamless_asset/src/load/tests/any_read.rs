//! Requests that are no levels: whatever becomes of any of their reads, they fail alone, and work when they are asked again.

use std::{io::ErrorKind, sync::Arc};

use seamless_package::PackageError;

use super::{
    build::copy_object,
    bulk::{Film, FilmCodec, film_class, frames},
    gated::gated_app_with,
    objects::kitchen,
    *,
};
use crate::{
    BulkRequest, LinkersResource, LoadError, ObjectRequest, OpenRequest, ReloadRequest, StreamingTime,
    doubles::{Fate, GatedRead, ReadGate},
};

const FATES: [Fate; 3] = [Fate::Fail(ErrorKind::BrokenPipe), Fate::Short(3), Fate::Stall];

/// What came of a request, in words, or its error; `None` while it is under way.
type End = Option<Result<String, Arc<LoadError>>>;

/// Tells what came of a request, which is dropped with it.
type Asked = Box<dyn Fn() -> End>;

fn end<T>(result: Option<Result<T, &Arc<LoadError>>>, words: impl FnOnce(T) -> String) -> End {
    Some(result?.map(words).map_err(Arc::clone))
}

fn streamer(app: &mut App) -> Mut<'_, Streamer> {
    app.world_mut().resource_mut::<Streamer>()
}

/// A kind of requests: an app with all that one needs, and how it is asked for.
#[derive(Clone, Copy)]
struct Kind {
    stage: fn() -> Stage,
    ask: fn(&mut App) -> Asked,
}

/// An app that reads through a gate, which lets pass what no test has decided about.
struct Stage {
    dir: Dir,
    app: App,
    gate: ReadGate,
}

impl Stage {
    fn new() -> Self {
        let dir = Dir::default();
        let (mut app, gate) = gated_app_with(&dir, |app| {
            app.init_asset::<Film>().add_asset_codec::<FilmCodec<true>>();
        });
        app.insert_resource(StreamingTime::stopped());
        gate.otherwise(Some(Fate::Pass));
        Self { dir, app, gate }
    }

    /// Waits for the end of a request, and lets `look` look at each frame. Time goes on only while a read hangs.
    fn wait(&mut self, asked: &dyn Fn() -> End, mut look: impl FnMut(&mut World)) -> Result<String, Arc<LoadError>> {
        let gate = self.gate.clone();
        run_until(&mut self.app, |world| {
            if !gate.stalled().is_empty() {
                let mut time = world.resource_mut::<StreamingTime>();
                time.advance(Duration::from_secs(1));
                // Others that are read get on meanwhile, however busy the machine is.
                std::thread::sleep(Duration::from_millis(2));
            }
            look(world);
            asked().is_some()
        });
        asked().expect("it has ended")
    }

    /// Waits until no more is there than was, and all that was read is counted.
    #[track_caller]
    fn wait_until_only(&mut self, before: [usize; 7]) {
        let gate = self.gate.clone();
        run_until(&mut self.app, |world| {
            let stats = world.resource::<StreamingStats>();
            let is_idle = stats.tasks == 0 && stats.pending_requests == 0;
            is_idle && stats.bytes_read == gate.bytes() && held(world) == before
        });
    }
}

/// How much there is of everything that a request may bring.
fn held(world: &World) -> [usize; 7] {
    [
        world.resource::<Assets<Mesh>>().len(),
        world.resource::<Assets<Recipe>>().len(),
        world.resource::<Assets<Film>>().len(),
        world.resource::<LiveObjectsResource>().0.len(),
        world.resource::<LinkersResource>().0.len(),
        world.resource::<StreamingStats>().live_packages as usize,
        world.entities().count_spawned() as usize,
    ]
}

/// All entities of levels in words, and when they were written to.
fn people(world: &mut World) -> Vec<String> {
    let mut query = world.query::<(Entity, Ref<Likes>, &Transform, &Mesh3d)>();
    let words = query.iter(world).map(|(entity, likes, place, mesh)| {
        let (written, mesh) = (likes.last_changed(), mesh.0.id());
        format!("{entity} {} {written:?} {} {mesh:?}", likes.0, place.translation)
    });
    let mut words: Vec<String> = words.collect();
    words.sort_unstable();
    words
}

/// Whether it is the error of who reads this file, or of who needs it, and may pass.
fn is_of(error: &LoadError, path: &str, fate: Fate) -> bool {
    let is_it = match (&error.kind, fate) {
        (LoadErrorKind::Io(_), Fate::Fail(_))
        | (LoadErrorKind::Package(PackageError::Truncated { .. }), Fate::Short(_))
        | (LoadErrorKind::Stalled { .. }, Fate::Stall) => true,
        (LoadErrorKind::Dependency { package, .. }, _) => package.as_str() == path,
        _ => false,
    };
    is_it && error.kind.is_transient() && error.to_string().contains(path)
}

/// One read fares like this. Nothing comes of the request but an error, and it comes to the same `good` end as ever when it is asked again.
fn suffer(kind: Kind, read: &GatedRead, fate: Fate, good: &str) {
    let case = format!("{fate:?} in {read:?}");
    let mut stage = (kind.stage)();
    let (before, bytes) = (held(stage.app.world()), stage.gate.bytes());
    let people_before = people(stage.app.world_mut());
    stage.gate.script(read.path.as_str(), read.index, fate);
    let asked = (kind.ask)(&mut stage.app);
    let look = |world: &mut World| assert_eq!(people(world), people_before, "{case}");
    let error = stage.wait(&*asked, look).expect_err(&case);
    assert!(is_of(&error, &read.path, fate), "{case}: {error}");
    drop(asked);
    stage.wait_until_only(before);
    assert_eq!(people(stage.app.world_mut()), people_before, "{case}");
    let stats = stage.app.world().resource::<StreamingStats>();
    let wasted = stage.gate.bytes() - bytes;
    assert_eq!((stats.failed, stats.bytes_wasted), (1, wasted), "{case}");
    assert_eq!(stats.wasted_by_stage.total(), wasted, "{case}");
    let again = (kind.ask)(&mut stage.app);
    assert_eq!(stage.wait(&*again, |_| ()).expect(&case), good, "{case}");
}

/// Every read of a request, of these files at least, and all that can become of it.
fn suffer_all(kind: Kind, files: &[&str]) {
    let mut stage = (kind.stage)();
    let before = stage.gate.begun().len();
    let asked = (kind.ask)(&mut stage.app);
    let good = stage.wait(&*asked, |_| ()).expect("it works");
    let reads = stage.gate.begun().split_off(before);
    for file in files {
        // It is opened; then come summary and tables.
        let count = reads.iter().filter(|read| read.path == *file).count();
        assert!(count >= 3, "{file}: {reads:?}");
    }
    for read in &reads {
        FATES.iter().for_each(|fate| suffer(kind, read, *fate, &good));
    }
}

#[test]
fn objects_suffer_any_fault_in_any_read() {
    let kind = Kind {
        stage: || {
            let Stage { dir, app, gate } = Stage::new();
            let (dir, app) = kitchen(dir, app);
            Stage { dir, app, gate }
        },
        ask: |app| {
            let load = streamer(app).load_objects(ObjectRequest::new(["dinner.pkg#soup"]));
            Box::new(move || end(load.result(), |handles| format!("{} objects", handles.len())))
        },
    };
    suffer_all(kind, &["dinner.pkg", "basics.pkg"]);
}

/// A package with a film.
fn film(app: &App) -> Vec<u8> {
    let mut writer = new_package(app, "c.pkg");
    let class = film_class(app, &mut writer);
    let film = NewExport {
        bulk: vec![frames(7, 500).into()],
        ..new_export("Ran", class, b"Ran".to_vec(), vec![])
    };
    writer.export(film).unwrap();
    writer.finish().unwrap()
}

/// A copy of the film, whose frames have stayed in the other file.
fn film_copy(app: &App, original: &[u8]) -> Vec<u8> {
    let mut writer = new_package(app, "festival.pkg");
    film_class(app, &mut writer);
    copy_object(&mut writer, original, "Ran", true);
    writer.finish().unwrap()
}

#[test]
fn payloads_suffer_any_fault_in_any_read() {
    let kind = Kind {
        stage: || {
            let stage = Stage::new();
            let original = film(&stage.app);
            put(&stage.dir, "festival.pkg", film_copy(&stage.app, &original));
            put(&stage.dir, "c.pkg", original);
            stage
        },
        ask: |app| {
            let load = streamer(app).load_bulk(BulkRequest::new("festival.pkg#c.pkg#Ran", 0));
            Box::new(move || end(load.result(), |bytes| format!("{bytes:?}")))
        },
    };
    suffer_all(kind, &["festival.pkg", "c.pkg"]);
}

#[test]
fn tables_suffer_any_fault_in_any_read() {
    let kind = Kind {
        stage: || {
            let stage = Stage::new();
            put(&stage.dir, "s.pkg", shared_package(&stage.app, "s.pkg"));
            stage
        },
        ask: |app| {
            let open = streamer(app).open(OpenRequest {
                package: "s.pkg".into(),
                ..OpenRequest::default()
            });
            Box::new(move || end(open.result(), |linker| linker.path().to_string()))
        },
    };
    suffer_all(kind, &["s.pkg"]);
}

/// What is live is not touched: by none of its components, in none of the frames.
#[test]
fn a_reload_suffers_any_fault_in_any_read_and_changes_nothing() {
    let kind = Kind {
        stage: || {
            let mut stage = Stage::new();
            put(&stage.dir, "a.pkg", chain(&stage.app, "a.pkg", 3, None));
            let id = load(&mut stage.app, "a.pkg", &[]);
            run_until(&mut stage.app, |world| {
                state(world, id) == Some(LoadState::Live) && world.resource::<StreamingStats>().tasks == 0
            });
            assert_eq!(people(stage.app.world_mut()).len(), 3);
            // The new one has more entities, and its mesh in another package.
            put(&stage.dir, "a.pkg", chain(&stage.app, "a.pkg", 5, Some("t.pkg")));
            put(&stage.dir, "t.pkg", shared_package(&stage.app, "t.pkg"));
            stage
        },
        ask: |app| {
            let reload = streamer(app).reload(ReloadRequest::new("a.pkg"));
            Box::new(move || end(reload.result(), |report| format!("{report:?}")))
        },
    };
    suffer_all(kind, &["a.pkg", "t.pkg"]);
}
