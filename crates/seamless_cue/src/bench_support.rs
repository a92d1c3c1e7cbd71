//! What `seamless_bench` needs to measure cues without packages: notifies that are there, or on their way, because it says so.

use bevy_ecs::world::World;

use crate::{
    engine::NotifyState,
    library::LibraryCue,
    manager::{State, with_state},
    tag::GameplayTag,
};

/// A static notify of this tag is loaded.
pub fn set_loaded(world: &mut World, tag: GameplayTag) {
    let (is_actor, allow_multiple) = (false, false);
    set(
        world,
        tag,
        NotifyState::Loaded {
            is_actor,
            allow_multiple,
        },
    );
}

/// The notify of this tag is on its way, and does not come.
pub fn set_loading(world: &mut World, tag: GameplayTag) {
    set(world, tag, NotifyState::Loading);
}

fn set(world: &mut World, tag: GameplayTag, loaded: NotifyState) {
    let cue = LibraryCue {
        path: format!("bench.pkg#{tag}").into(),
        tag,
        overrides: false,
        cull_distance: None,
        bytes: 0,
        is_always_loaded: false,
    };
    with_state(world, |state: &mut State, _| {
        let id = state.learn(&cue);
        state.engine.cast.set_state(id, loaded);
    });
}
