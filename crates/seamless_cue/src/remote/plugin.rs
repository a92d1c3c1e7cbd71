//! The methods in Bevy's remote protocol. See [`CueRemotePlugin`].

#[cfg(test)]
mod tests;

use bevy_app::{App, Plugin};
use bevy_ecs::{system::In, world::World};
use bevy_log::error;
use bevy_remote::{BrpError, BrpResult, RemoteMethodSystemId, RemoteMethods, error_codes};
use serde_json::Value;

use super::{METHODS, Method};

/// Adds [`METHODS`] to Bevy's [`RemotePlugin`](bevy_remote::RemotePlugin), which the app adds too, before or after it.
#[derive(Default)]
pub struct CueRemotePlugin;

impl Plugin for CueRemotePlugin {
    fn build(&self, _: &mut App) {}

    fn finish(&self, app: &mut App) {
        let world = app.world_mut();
        if !world.contains_resource::<RemoteMethods>() {
            error!("nobody can ask for cues: the CueRemotePlugin needs `bevy_remote`'s RemotePlugin");
            return;
        }
        for (name, method) in METHODS {
            let ask = move |In(params): In<Option<Value>>, world: &World| answer(method, params.as_ref(), world);
            let system = world.register_system(ask);
            world
                .resource_mut::<RemoteMethods>()
                .insert(name, RemoteMethodSystemId::Instant(system));
        }
    }
}

/// What is wrong is always in what was asked.
fn answer(method: Method, params: Option<&Value>, world: &World) -> BrpResult {
    method(world, params).map_err(|message| BrpError {
        code: error_codes::INVALID_PARAMS,
        message,
        data: None,
    })
}
