//! Which components of a level come last. See [`LatePasses`].

use core::any::TypeId;

use bevy_ecs::{
    component::ComponentId,
    event::EventKey,
    lifecycle::{ADD, DESPAWN, DISCARD, INSERT, REMOVE},
    observer::CachedComponentObservers,
    world::World,
};
use bevy_platform::collections::HashSet;
use bevy_reflect::TypeRegistry;

use super::observers::{is_observed_by, is_observed_in};
use crate::{
    LevelInstance,
    spawn::{Passes, with_required},
};

/// Late are the components that somebody observes, or whose hooks are not Bevy's own: such code may follow references
/// to other entities of the level, and must find them all. So are those that require such a component, since they bring it.
///
/// Of a level that comes hidden, so are those whose removal somebody observes: it may be given up before anybody has seen it, and nothing is removed then that
/// was never there.
///
/// Such code may register types, so nobody holds the type registry while it runs: what is to be known of types is known before.
pub(crate) struct LatePasses {
    /// The components whose hooks are not Bevy's own.
    hooked: HashSet<ComponentId>,
    /// Those whose removal is observed; none where the level does not come hidden.
    missed: HashSet<ComponentId>,
}

/// The same, but who only observes removals hears nothing of what comes.
pub(crate) struct Insertions<'a>(&'a LatePasses);

/// What tells that a component goes.
const GOES: [EventKey; 3] = [DISCARD, REMOVE, DESPAWN];

impl LatePasses {
    /// For columns of these types, which `world` knows, of a level that comes hidden or at once.
    pub fn new(
        world: &World,
        types: impl IntoIterator<Item = TypeId>,
        registry: &TypeRegistry,
        is_hidden: bool,
    ) -> Self {
        let ids: HashSet<_> = types
            .into_iter()
            .filter_map(|type_id| world.components().get_id(type_id))
            .collect();
        let ids = ids.into_iter().flat_map(|id| with_required(world, id));
        Self {
            hooked: ids
                .filter(|id| has_foreign_hooks(world, *id, registry, is_hidden))
                .collect(),
            missed: if is_hidden { missed(world) } else { HashSet::default() },
        }
    }

    /// What is late because somebody hears of it when it comes.
    pub fn insertions(&self) -> Insertions<'_> {
        Insertions(self)
    }

    fn is_heard(&self, world: &World, id: ComponentId) -> bool {
        with_required(world, id).any(|id| is_observed(world, id) || self.hooked.contains(&id))
    }
}

impl Passes for Insertions<'_> {
    fn is_late(&self, world: &World, id: ComponentId) -> bool {
        self.0.is_heard(world, id)
    }
}

impl Passes for LatePasses {
    fn is_late(&self, world: &World, id: ComponentId) -> bool {
        let is_missed = |id| self.missed.contains(&id);
        self.is_heard(world, id) || !self.missed.is_empty() && with_required(world, id).any(is_missed)
    }
}

/// The components whose removal somebody observes, the pipeline itself apart. Who hears of all removals, of whatever, asks for none in particular.
fn missed(world: &World) -> HashSet<ComponentId> {
    let level = world.component_id::<LevelInstance>();
    let is_own =
        |id: ComponentId, found: &CachedComponentObservers| Some(id) == level && found.global_observers().len() == 1;
    let missed_in = |event: EventKey| {
        let observers = world.observers().try_get_observers(event);
        let observed = observers
            .into_iter()
            .flat_map(|observers| observers.component_observers());
        observed
            .filter(move |(id, found)| is_observed_by(world, event, **id, found) && !is_own(**id, found))
            .map(|(id, _)| *id)
    };
    GOES.into_iter().flat_map(missed_in).collect()
}

/// Bevy's hooks touch the entity itself only, those of relationships apart, which are skipped.
fn has_foreign_hooks(world: &World, id: ComponentId, registry: &TypeRegistry, is_hidden: bool) -> bool {
    let Some(info) = world.components().get_info(id) else {
        return false;
    };
    // Bevy does not say whether a hook is set; setting one more time on a copy does.
    let mut hooks = info.hooks().clone();
    let comes = hooks.try_on_add(|_, _| {}).is_none() || hooks.try_on_insert(|_, _| {}).is_none();
    let mut goes = || {
        hooks.try_on_discard(|_, _| {}).is_none()
            || hooks.try_on_remove(|_, _| {}).is_none()
            || hooks.try_on_despawn(|_, _| {}).is_none()
    };
    let any = comes || is_hidden && goes();
    if !any || info.relationship_accessor().is_some() {
        return false;
    }
    let type_info = info.type_id().and_then(|type_id| registry.get_type_info(type_id));
    // A type without reflection does not say whose it is.
    type_info.is_none_or(|info| !is_bevys_own(info.type_path()))
}

/// The crates of Bevy 0.19 whose components levels hold. Those of any other crate, however it is called, may look around. `bevy_input_focus` is not
/// among them: its `AutoFocus` gives the focus to its entity, which nobody is to see before the rest of the level.
const BEVYS_CRATES: [&str; 23] = [
    "bevy_animation",
    "bevy_anti_alias",
    "bevy_audio",
    "bevy_camera",
    "bevy_core_pipeline",
    "bevy_ecs",
    "bevy_gizmos",
    "bevy_gltf",
    "bevy_input",
    "bevy_light",
    "bevy_mesh",
    "bevy_pbr",
    "bevy_picking",
    "bevy_post_process",
    "bevy_render",
    "bevy_sprite",
    "bevy_sprite_render",
    "bevy_text",
    "bevy_transform",
    "bevy_ui",
    "bevy_ui_render",
    "bevy_window",
    "bevy_world_serialization",
];

fn is_bevys_own(type_path: &str) -> bool {
    type_path
        .split("::")
        .next()
        .is_some_and(|name| BEVYS_CRATES.contains(&name))
}

fn is_observed(world: &World, id: ComponentId) -> bool {
    [ADD, INSERT].into_iter().any(|event| {
        let observers = world.observers().try_get_observers(event);
        let hears_all = observers.is_some_and(|observers| !observers.global_observers().is_empty());
        hears_all || is_observed_in(world, event, id)
    })
}
