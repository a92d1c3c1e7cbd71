//! Startup content: what plugins registered and what the world file lists, loaded and encoded for one package. See [`encode`].

use std::collections::BTreeSet;

use bevy::asset::{LoadedUntypedAsset, UntypedHandle};
use bevy::prelude::*;
use seamless_asset::codec::{BulkUse, Codecs};
use seamless_asset::{StartupContent, StartupIndex};

use crate::app::CookOptions;
use crate::assets::{AssetKey, AssetStore, AssetWalk};
use crate::load::{Loadable, Loader};
use crate::plan::WorldPlan;
use crate::report::ContentError;

/// The startup package's file.
pub(crate) const STARTUP_PACKAGE: &str = "startup.pkg";

/// Stands for the startup content where assets without a path are numbered by level.
const NO_LEVEL: usize = usize::MAX;

/// Content that somebody registered.
struct StartupSource {
    owner: String,
    /// Relative to the asset root, with the label if there is one.
    path: String,
    /// Its place among the registrations of the app; those of the world file have none, and no type.
    place: Option<usize>,
}

impl Loadable for StartupSource {
    fn load(&self, world: &World) -> UntypedHandle {
        let server = world.resource::<AssetServer>();
        let content = world.get_resource::<StartupContent>().zip(self.place);
        let typed = content.and_then(|(content, place)| content.load_source(place, server));
        typed.unwrap_or_else(|| server.load_builder().load_untyped(self.path.clone()).untyped())
    }

    fn error(&self, message: String) -> ContentError {
        let (file, label) = self.path.split_once('#').unwrap_or((&self.path, ""));
        let message = format!(
            "{message} (startup content of `{}`; its paths are relative to the world's asset root, see `root` in the world file)",
            self.owner
        );
        ContentError::new(file, label, message)
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
    });
    let listed = plan.startup.iter().map(|path| StartupSource {
        owner: plan.file_name.clone(),
        path: path.clone(),
        place: None,
    });
    registered.chain(listed).collect()
}

/// Loads and encodes all startup content, and an index of it, into `store`; gives the index. `None` when there is no such content,
/// or it has errors, which are then in `errors`. `prepare` is run on the world whenever something was loaded.
pub(crate) fn encode(
    app: &mut App,
    plan: &WorldPlan,
    options: &CookOptions,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
    prepare: fn(&mut World, &CookOptions),
) -> Option<AssetKey> {
    let sources = sources(app.world(), plan);
    if sources.is_empty() {
        return None;
    }
    let before = errors.len();
    if let Some(level) = plan
        .levels
        .iter()
        .find(|level| level.name.eq_ignore_ascii_case("startup"))
    {
        let message = format!(
            "its package would be `{STARTUP_PACKAGE}`, which holds the startup content; give it another `name`"
        );
        errors.push(ContentError::new(
            plan.file_name.as_str(),
            format!("level `{}`", level.name),
            message,
        ));
    }
    let mut loader = Loader::new(&sources, options);
    let mut handles = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let outcome = loader.wait_for(app, index);
        prepare(app.world_mut(), options);
        outcome.encode(errors, |root, errors| {
            let handle = concrete(app.world(), root);
            add(app.world(), source, &handle, store, errors);
            handles.push(handle);
        });
    }
    if errors.len() > before {
        return None;
    }
    let on_demand = on_demand(app.world(), store);
    let entries = sources.iter().zip(handles);
    let entries = entries.map(|(source, handle)| (source.owner.as_str(), source.path.as_str(), handle));
    let index = StartupIndex::new(entries, on_demand);
    let index = app
        .world_mut()
        .resource_mut::<Assets<StartupIndex>>()
        .add(index)
        .untyped();
    let everything = StartupSource {
        owner: plan.file_name.clone(),
        path: STARTUP_PACKAGE.to_owned(),
        place: None,
    };
    let key = add(app.world(), &everything, &index, store, errors);
    (errors.len() == before).then_some(key)
}

/// What was loaded without knowing its type leads to the asset itself.
fn concrete(world: &World, handle: &UntypedHandle) -> UntypedHandle {
    let untyped = handle.id().try_typed::<LoadedUntypedAsset>().ok();
    let loaded = untyped.and_then(|id| world.resource::<Assets<LoadedUntypedAsset>>().get(id));
    loaded.map_or_else(|| handle.clone(), |loaded| loaded.handle.clone())
}

fn add(
    world: &World,
    source: &StartupSource,
    handle: &UntypedHandle,
    store: &mut AssetStore,
    errors: &mut Vec<ContentError>,
) -> AssetKey {
    let registry = world.resource::<AppTypeRegistry>().read();
    let codecs = world.resource::<Codecs>().clone();
    let walk = AssetWalk {
        world,
        registry: &registry,
        codecs: &codecs.read(),
        level: NO_LEVEL,
        source: &format!("startup content of {}", source.owner),
    };
    store.add(&walk, handle, &|| format!("`{}`", source.path), errors)
}

/// The types of the startup content whose payloads are not loaded with it; nothing else is encoded yet.
fn on_demand(world: &World, store: &AssetStore) -> Vec<String> {
    let codecs = world.resource::<Codecs>().read();
    let used = store.objects.values().map(|object| object.schema.type_path.as_str());
    let used: BTreeSet<&str> = used.collect();
    let on_demand = used.into_iter().filter(|type_path| {
        let codec = codecs.asset_by_path(type_path);
        codec.is_some_and(|codec| codec.bulk == BulkUse::OnDemand)
    });
    on_demand.map(str::to_owned).collect()
}
