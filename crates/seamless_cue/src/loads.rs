//! The one place where notifies and prefabs are asked for.

use bevy_asset::{AssetPath, Assets, Handle};
use bevy_ecs::{system::SystemState, world::World};
use seamless_asset::{
    InstanceId, InstanceRequest, LevelAsset, LoadSoftBlocking, PACKAGE_EXTENSION, SoftHandle, SoftObjects, Streamable,
    StreamableRequest, Streamer, get_soft_if_loaded,
};

use crate::notify::CueNotify;

/// How urgent a cue's content is, among all that is loaded: before levels that are far, behind what code asks for. A cue that waits is more urgent than
/// what is loaded ahead.
pub(crate) const WAITED_FOR: f32 = 1000.0;
/// See [`WAITED_FOR`].
pub(crate) const AHEAD: f32 = 1.0;

/// Asks for a notify.
pub(crate) fn begin(world: &mut World, notify: &SoftHandle<CueNotify>, priority: f32) -> Streamable {
    let mut state: SystemState<SoftObjects> = SystemState::new(world);
    let request = StreamableRequest {
        priority,
        ..StreamableRequest::new([notify]).named(format!("cue {}", notify.path()))
    };
    let soft = state.get(world).expect("the pipeline's resources are there");
    soft.request(request)
}

/// What became of it; none while it is under way. The handle keeps it alive.
pub(crate) fn result(
    world: &World,
    load: &Streamable,
    notify: &SoftHandle<CueNotify>,
) -> Option<Result<(Handle<CueNotify>, CueNotify), String>> {
    let end = load.end()?;
    let Some(handle) = load.get(notify) else {
        let errors = end.errors().iter().map(ToString::to_string);
        return Some(Err(errors.collect::<Vec<_>>().join("; ")));
    };
    Some(value(world, handle))
}

/// A notify that is there already, whoever keeps it.
pub(crate) fn there(world: &World, notify: &SoftHandle<CueNotify>) -> Option<(Handle<CueNotify>, CueNotify)> {
    value(world, get_soft_if_loaded(world, notify)?).ok()
}

/// Loads a notify on this thread.
pub(crate) fn now(world: &mut World, notify: &SoftHandle<CueNotify>) -> Result<(Handle<CueNotify>, CueNotify), String> {
    let handle = world.load_soft_blocking(notify).map_err(|error| error.to_string())?;
    value(world, handle)
}

fn value(world: &World, handle: Handle<CueNotify>) -> Result<(Handle<CueNotify>, CueNotify), String> {
    let assets = world.get_resource::<Assets<CueNotify>>();
    let notify = assets.and_then(|assets| assets.get(&handle)).cloned();
    let notify = notify.ok_or("it is loaded, and no asset is there; does this app have the role of a client?")?;
    Ok((handle, notify))
}

/// Asks for an instance of a prefab: a level of a registry, or a package.
pub(crate) fn instance(
    world: &mut World,
    prefab: &SoftHandle<LevelAsset>,
    name: String,
    is_waited_for: bool,
) -> Result<InstanceId, String> {
    let mut state: SystemState<SoftObjects> = SystemState::new(world);
    let soft = state.get(world).expect("the pipeline's resources are there");
    let path = prefab.path();
    let known = match soft.level(prefab) {
        Some(known) => known,
        None => match soft.registries().find(path, None) {
            Some(other) => return Err(format!("`{path}` is no level but `{}`", other.object.type_path)),
            None if !path.ends_with(&format!(".{PACKAGE_EXTENSION}")) => {
                return Err(format!("no registry has `{path}`; cook it again, or correct the path"));
            }
            None => InstanceRequest {
                package: AssetPath::try_parse(path)
                    .map_err(|error| format!("`{path}` is no path: {error}"))?
                    .into_owned(),
                ..InstanceRequest::default()
            },
        },
    };
    let request = InstanceRequest {
        name,
        priority: if is_waited_for { WAITED_FOR } else { AHEAD },
        ..known
    };
    Ok(world.resource_mut::<Streamer>().load(request))
}
