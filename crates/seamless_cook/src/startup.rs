//! Startup content: what plugins registered and what the world file lists, loaded and encoded for one package. See [`encode`].

use core::any::TypeId;
use std::collections::BTreeSet;
use std::sync::Arc;

use bevy::asset::{AssetPath, LoadedUntypedAsset, UntypedHandle};
use bevy::prelude::*;
use seamless_asset::codec::{BulkUse, Codecs};
use seamless_asset::{STARTUP_EXPORT, StartupContent, StartupIndex, StartupTable};
use seamless_package::Role;

use crate::app::CookOptions;
use crate::assets::{AssetKey, AssetName, AssetStore, AssetWalk, ObjectRecord, RawObject, closure};
use crate::graph::digest::{Digest, Parts};
use crate::graph::recorder::{Recorder, file_and_label};
use crate::graph::state::StartupUnit;
use crate::load::{Loadable, Loader};
use crate::plan::WorldPlan;
use crate::report::ContentError;

/// The startup package's file.
pub(crate) const STARTUP_PACKAGE: &str = "startup.pkg";

/// The unit that assets of startup content without a path belong to.
pub(crate) const STARTUP_UNIT: &str = "startup";

/// Updates in which everything is freed that nobody holds: one for each step from a file to its meshes, their materials, and their
/// images.
const FREEING_UPDATES: u32 = 8;

/// Content that somebody registered.
struct StartupSource {
    owner: String,
    /// Relative to the asset root, with the label if there is one.
    path: String,
    /// Its place among the registrations of the app; those of the world file have none, and no type.
    place: Option<usize>,
    /// The registered type.
    type_path: Option<String>,
}

/// What Bevy is asked to load: a source, or the file that several sources are parts of.
struct Request {
    path: String,
    place: Option<usize>,
    owners: String,
    /// The sources that are parts of it, by index.
    sources: Vec<usize>,
}

impl Loadable for Request {
    fn load(&self, world: &World) -> UntypedHandle {
        let server = world.resource::<AssetServer>();
        let content = world.get_resource::<StartupContent>().zip(self.place);
        let typed = content.and_then(|(content, place)| content.load_source(place, server));
        typed.unwrap_or_else(|| server.load_builder().load_untyped(self.path.clone()).untyped())
    }

    fn file(&self) -> String {
        file_and_label(&self.path).0.to_owned()
    }

    fn error(&self, message: String) -> ContentError {
        let message = format!(
            "{message} (startup content of {}; its paths are relative to the world's asset root, see `root` in the world file)",
            self.owners
        );
        ContentError::at(&self.path, message)
    }
}

/// All startup content, that of plugins first.
fn sources(world: &World, plan: &WorldPlan) -> Vec<StartupSource> {
    let registered = world
        .get_resource::<StartupContent>()
        .map(StartupContent::registrations);
    let registered = registered.into_iter().flatten().enumerate();
    let registered = registered.map(|(place, registered)| StartupSource {
        owner: registered.owner.clone(),
        path: registered.path.clone(),
        place: Some(place),
        type_path: Some(registered.type_path.clone()),
    });
    let listed = plan.startup.iter().map(|path| StartupSource {
        owner: plan.file_name.clone(),
        path: path.clone(),
        place: None,
        type_path: None,
    });
    registered.chain(listed).collect()
}

/// A source by itself.
fn alone(index: usize, source: &StartupSource) -> Request {
    Request {
        path: source.path.clone(),
        place: source.place,
        owners: format!("`{}`", source.owner),
        sources: vec![index],
    }
}

/// Files whole, with the sources that are parts of them.
fn whole_files(sources: &[StartupSource]) -> Vec<Request> {
    let mut files: Vec<Request> = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let (file, Some(_)) = file_and_label(&source.path) else {
            continue;
        };
        let owner = format!("`{}`", source.owner);
        match files.iter_mut().find(|known| known.path == file) {
            Some(known) => {
                known.sources.push(index);
                if !known.owners.contains(&owner) {
                    known.owners += &format!(", {owner}");
                }
            }
            None => files.push(Request {
                path: file.to_owned(),
                place: None,
                owners: owner,
                sources: vec![index],
            }),
        }
    }
    files
}

/// Frees what nobody holds: what is loaded then is loaded as whoever asks for it wants it.
pub(crate) fn free(app: &mut App) {
    for _ in 0..FREEING_UPDATES {
        app.update();
    }
}

/// Makes the index of the startup content anew: what it tells of types follows from all that its objects lead to.
pub(crate) fn complete(world: &World, plan: &WorldPlan, store: &mut AssetStore, unit: &StartupUnit) {
    let Some((root, record)) = (unit.root.as_ref()).and_then(|root| store.objects.get_key_value(root)) else {
        return;
    };
    let (root, record) = (root.clone(), record.clone());
    // It was made before, by the same codec.
    if let Ok(object) = index(world, store, &sources(world, plan), &record.references) {
        let object = store.measured(object, BulkUse::Load);
        store.insert_encoded(root, object, record);
    }
}

/// What is asked for, by whom, and in which order; none if that is nothing.
pub(crate) fn asked(world: &World, plan: &WorldPlan) -> Option<Digest> {
    let sources = sources(world, plan);
    let mut parts = Parts::default();
    for source in &sources {
        parts.value(&(&source.owner, &source.path, &source.type_path));
    }
    (!sources.is_empty()).then(|| parts.finish())
}

/// The files of what is asked for.
pub(crate) fn files(world: &World, plan: &WorldPlan) -> BTreeSet<String> {
    let sources = sources(world, plan);
    let files = sources.iter().map(|source| file_and_label(&source.path).0);
    files.map(str::to_owned).collect()
}

/// Loads and encodes all startup content, and an index of it, into `store`. `None` when it has errors, which are then in `errors`.
/// `prepare` is run on the world whenever something was loaded. Nothing of it is loaded any more afterwards.
pub(crate) fn encode(
    app: &mut App,
    plan: &WorldPlan,
    options: &CookOptions,
    recorder: &Recorder,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
    prepare: fn(&mut World, &CookOptions),
) -> Option<StartupUnit> {
    let asked = asked(app.world(), plan);
    let sources = sources(app.world(), plan);
    let before = errors.len();
    store.begin_unit();
    let mut encoder = Encoder {
        app,
        options,
        recorder,
        prepare,
        store,
        errors,
        keys: vec![None; sources.len()],
        sources: &sources,
    };
    encoder.encode_all();
    let keys = encoder.keys;
    store.finish_textures(errors);
    if errors.len() > before {
        return None;
    }
    let keys: Vec<AssetKey> = keys.into_iter().flatten().collect();
    // Made again when all that it tells of is known, see `complete`.
    let object = match index(app.world(), store, &sources, &keys) {
        Ok(object) => object,
        Err(message) => {
            errors.push(ContentError::new(STARTUP_PACKAGE, STARTUP_EXPORT, message));
            return None;
        }
    };
    let root = AssetKey::new(AssetName::Anonymous {
        unit: STARTUP_UNIT.into(),
        type_path: StartupIndex::type_path().into(),
        order: 0,
    });
    let object = store.measured(object, BulkUse::Load);
    let record = AssetStore::record(Role::ALL, BulkUse::Load, keys);
    store.insert_encoded(root.clone(), object, record);
    let files = files(app.world(), plan);
    Some(StartupUnit {
        asked,
        dependencies: files.iter().flat_map(|file| recorder.dependencies(file)).collect(),
        files,
        root: Some(root),
    })
}

struct Encoder<'a, 'b> {
    app: &'a mut App,
    options: &'a CookOptions,
    recorder: &'a Recorder,
    prepare: fn(&mut World, &CookOptions),
    store: &'a mut AssetStore<'b>,
    errors: &'a mut Vec<ContentError>,
    sources: &'a [StartupSource],
    /// What each source was encoded as.
    keys: Vec<Option<AssetKey>>,
}

impl Encoder<'_, '_> {
    /// Every file is loaded once, and while nothing of it is live: what Bevy's glTF loader makes of a file whose parts are live is
    /// not the same. To ask for each part would load the file each time.
    fn encode_all(&mut self) {
        let sources = self.sources;
        let whole = sources
            .iter()
            .enumerate()
            .filter(|(_, source)| !source.path.contains('#'));
        let whole: Vec<Request> = whole.map(|(index, source)| alone(index, source)).collect();
        self.load(&whole, self.options.levels_ahead, |_, root| Some(root.clone()));
        let files = whole_files(sources);
        let unloaded = self.load(&files, self.options.levels_ahead, live);
        // What nothing in its file refers to is gone when the file is loaded.
        for index in unloaded {
            let part = [alone(index, &sources[index])];
            self.load(&part, 1, |_, root| Some(root.clone()));
        }
    }

    /// Loads all requests and encodes their sources; gives those that are not live then. Frees everything afterwards.
    fn load(
        &mut self,
        requests: &[Request],
        ahead: usize,
        find: fn(&FindIn, &UntypedHandle) -> Option<UntypedHandle>,
    ) -> Vec<usize> {
        let options = CookOptions {
            levels_ahead: ahead,
            ..self.options.clone()
        };
        let mut unloaded = Vec::new();
        let mut loader = Loader::new(requests, &options);
        for (number, request) in requests.iter().enumerate() {
            let outcome = loader.wait_for(self.app, number);
            (self.prepare)(self.app.world_mut(), &options);
            self.store.clips.offer(self.app.world_mut(), self.recorder);
            let world = self.app.world();
            outcome.encode(self.errors, |root, errors| {
                for index in &request.sources {
                    let source = &self.sources[*index];
                    match find(&FindIn { world, source }, &concrete(world, root)) {
                        Some(handle) => {
                            let walk = (world, self.recorder, source);
                            self.keys[*index] = Some(add(walk, &handle, self.store, errors));
                        }
                        None => unloaded.push(*index),
                    }
                }
            });
            self.store.start_textures(self.app.world(), self.errors);
            loader.release(number);
        }
        drop(loader);
        free(self.app);
        unloaded
    }
}

/// Where a source is looked for.
struct FindIn<'a> {
    world: &'a World,
    source: &'a StartupSource,
}

/// The source, if something that is loaded refers to it.
fn live(find_in: &FindIn, _: &UntypedHandle) -> Option<UntypedHandle> {
    let FindIn { world, source } = find_in;
    let codecs = world.resource::<Codecs>().read();
    let is_right = |handle: &UntypedHandle| match &source.type_path {
        Some(type_path) => codecs
            .asset(handle.type_id())
            .is_some_and(|codec| codec.type_path == type_path),
        None => true,
    };
    let path = AssetPath::parse(&source.path);
    let handles = world.resource::<AssetServer>().get_handles_untyped(path);
    handles.into_iter().find(is_right)
}

/// What was loaded without knowing its type leads to the asset itself.
pub(crate) fn concrete(world: &World, handle: &UntypedHandle) -> UntypedHandle {
    let untyped = handle.id().try_typed::<LoadedUntypedAsset>().ok();
    let loaded = untyped.and_then(|id| world.resource::<Assets<LoadedUntypedAsset>>().get(id));
    loaded.map_or_else(|| handle.clone(), |loaded| loaded.handle.clone())
}

fn add(
    (world, recorder, source): (&World, &Recorder, &StartupSource),
    handle: &UntypedHandle,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
) -> AssetKey {
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().clone();
    let clips = core::mem::take(&mut store.clips);
    let walk = AssetWalk {
        world,
        registry: &registry,
        codecs: &codecs.read(),
        unit: STARTUP_UNIT,
        clips: &clips,
        recorder,
        source: &format!("startup content of {}", source.owner),
    };
    let key = store.add(&walk, handle, &|| format!("`{}`", source.path), errors);
    store.clips = clips;
    key
}

/// The index: which source became which object, and for whom.
fn index(world: &World, store: &AssetStore, sources: &[StartupSource], keys: &[AssetKey]) -> Result<RawObject, String> {
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().read();
    let codec = codecs.asset(TypeId::of::<StartupIndex>());
    let codec = codec.ok_or("the cooker has lost the codec of the startup index; do not replace its `Codecs`")?;
    let entries = sources
        .iter()
        .map(|source| (source.owner.as_str(), source.path.as_str()));
    let table = StartupTable::new(entries, on_demand(store, keys));
    Ok(RawObject {
        schema: Arc::new(codec.schema(&registry)),
        data: table.to_bytes().map_err(|error| error.to_string())?,
        bulk: Vec::new(),
    })
}

/// The types of the startup content whose payloads are not loaded with it.
fn on_demand(store: &AssetStore, keys: &[AssetKey]) -> Vec<String> {
    let needed = closure(&store.objects, keys);
    // Marks are not for startup content.
    let is_on_demand = |object: &ObjectRecord| object.is_on_demand && !object.is_marked;
    let on_demand = needed.known().filter(|(_, object)| is_on_demand(object));
    let types = on_demand.map(|(key, _)| key.type_path().to_owned());
    types.collect::<BTreeSet<_>>().into_iter().collect()
}
