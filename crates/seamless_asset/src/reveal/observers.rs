//! Who observes components of levels, and of these who need not find a whole level. See [`BevysObservers`].

use core::any::TypeId;

use bevy_app::{App, ValidateParentHasComponentPlugin};
use bevy_camera::visibility::InheritedVisibility;
use bevy_ecs::{
    component::{ComponentId, ComponentInfo},
    entity::Entity,
    event::EventKey,
    hierarchy::ChildOf,
    lifecycle::{INSERT, REMOVE},
    observer::{CachedComponentObservers, Observer},
    resource::Resource,
    schedule::Schedules,
    world::World,
};
use bevy_platform::collections::HashSet;
use bevy_transform::components::GlobalTransform;

/// Bevy's own observers of what all levels have, in the plugins of an app. They look at what is above an entity at most, and what they do
/// for one that is hidden comes to nothing: who is hidden has nothing yet that they would pass on. So they may hear of each as it comes.
#[derive(Resource, Default)]
pub(crate) struct BevysObservers {
    /// [`ValidateParentHasComponentPlugin`] observes their insertion, to warn when a parent lacks them. Levels are cooked parents first.
    checked: Vec<TypeId>,
    /// A [`HierarchyPropagatePlugin`](bevy_app::HierarchyPropagatePlugin) observes insertion and removal of [`ChildOf`], once for each
    /// component that it passes on to children. Bevy's UI has two. To a level they pass on nothing before it is shown: nobody who is
    /// above it had anything of its own to give while that was hidden, and of what is new then their systems hear, as of any change.
    propagated: usize,
}

impl BevysObservers {
    /// Those of the plugins that an app has by now.
    pub fn of(app: &App) -> Self {
        let checks = [
            (
                app.is_plugin_added::<ValidateParentHasComponentPlugin<GlobalTransform>>(),
                TypeId::of::<GlobalTransform>(),
            ),
            (
                app.is_plugin_added::<ValidateParentHasComponentPlugin<InheritedVisibility>>(),
                TypeId::of::<InheritedVisibility>(),
            ),
        ];
        let checked = checks.into_iter().filter(|(is_added, _)| *is_added);
        Self {
            checked: checked.map(|(_, type_id)| type_id).collect(),
            propagated: propagated(app.world()),
        }
    }

    fn count(&self, world: &World, event: EventKey, id: ComponentId) -> usize {
        let type_id = world.components().get_info(id).and_then(ComponentInfo::type_id);
        let is_checked = event == INSERT && type_id.is_some_and(|type_id| self.checked.contains(&type_id));
        let is_parent = [INSERT, REMOVE].contains(&event) && type_id == Some(TypeId::of::<ChildOf>());
        usize::from(is_checked) + if is_parent { self.propagated } else { 0 }
    }
}

/// How many components are passed on to children. Their plugins are of all types, and cannot be asked for by these; but each orders its systems in
/// a set of one name, whichever schedule they are in. Somebody may pass on by another relationship, or speak of a set that nobody is in: so there are
/// no more than who observes parents and may be one of Bevy's.
fn propagated(world: &World) -> usize {
    let Some(schedules) = world.get_resource::<Schedules>() else {
        return 0;
    };
    let observed = [INSERT, REMOVE].map(|event| may_be_propagating(world, event));
    let sets = schedules
        .iter()
        .flat_map(|(_, schedule)| schedule.graph().system_sets.iter());
    let names = sets.map(|(_, set, _)| format!("{set:?}"));
    let propagating: HashSet<String> = names.filter(|name| name.starts_with("PropagateSet {")).collect();
    observed.into_iter().fold(propagating.len(), usize::min)
}

/// How many observe this of parents and may pass something on. Bevy knows the names of systems in builds that are to be debugged.
fn may_be_propagating(world: &World, event: EventKey) -> usize {
    let observers = world.observers().try_get_observers(event);
    let found = observers
        .zip(world.component_id::<ChildOf>())
        .and_then(|(observers, id)| observers.component_observers().get(&id));
    let systems = found.into_iter().flat_map(|found| found.global_observers().keys());
    let may_be = |observer: &&Entity| {
        let name = world.get::<Observer>(**observer).map(Observer::system_name);
        name.is_none_or(|name| !name.contains("::") || name.starts_with("bevy_app::propagate::"))
    };
    systems.filter(may_be).count()
}

/// Whether somebody observes this of a component whom the level has to be whole for. Who observes some entities only, by name, has none of a
/// level among them that is still to come.
pub(super) fn is_observed_in(world: &World, event: EventKey, id: ComponentId) -> bool {
    let observers = world.observers().try_get_observers(event);
    let found = observers.and_then(|observers| observers.component_observers().get(&id));
    found.is_some_and(|found| is_observed_by(world, event, id, found))
}

/// The same for whoever has looked up its observers already.
pub(super) fn is_observed_by(
    world: &World,
    event: EventKey,
    id: ComponentId,
    found: &CachedComponentObservers,
) -> bool {
    let bevys = world.get_resource::<BevysObservers>();
    found.global_observers().len() > bevys.map_or(0, |bevys| bevys.count(world, event, id))
}
