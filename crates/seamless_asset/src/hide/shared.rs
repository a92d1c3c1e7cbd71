//! Who goes with several levels, where one that was hidden is shown, or leaves, and another is hidden still. See [`Hiding::shared`].

use bevy_ecs::{
    change_detection::ComponentTicks,
    entity::{Entity, EntityHashSet},
    world::World,
};
use bevy_mesh::Mesh3d;

use super::{ChangedMeshes, Hiding, shown_again};
use crate::{
    actors::{LazyOwners, goes, other_levels},
    reveal::Members,
    spawn::rewrite_ticks,
};

impl Hiding {
    /// Those that were hidden with a level and go with another as well, if `hidden` finds that by its root: each with what it finds.
    /// If the level leaves, only those that do not go with it any more.
    pub fn shared<T>(
        &self,
        world: &World,
        root: Entity,
        members: &Members,
        is_leaving: bool,
        hidden: impl Fn(Entity) -> Option<T>,
    ) -> Vec<(Entity, T)> {
        let owners = LazyOwners::but(root);
        let other = |entity: &Entity| {
            let others = other_levels(world, *entity, root, members, &owners);
            let other = others.into_iter().find_map(&hidden)?;
            let leaves = is_leaving && goes(world, *entity, root, members, &owners);
            (!leaves).then_some((*entity, other))
        };
        self.all.others.iter().filter_map(other).collect()
    }

    /// These are for other levels to show, which may have been hidden later: what was changed of them since they were hidden counts as changed now.
    pub fn give_away(&mut self, world: &mut World, entities: &EntityHashSet) {
        if entities.is_empty() {
            return;
        }
        let others = &mut self.all.others;
        let given: Vec<Entity> = others.extract_if(.., |entity| entities.contains(&*entity)).collect();
        let redrawn = ChangedMeshes::shown_by(world, &given, self.hide);
        let mesh = world.register_component::<Mesh3d>();
        let now = world.change_tick();
        let rewrite = |entity: Entity, id, ticks: ComponentTicks| {
            let is_changed = id == mesh && redrawn.contains(&entity);
            shown_again(ticks, [self.since, self.heard], now, is_changed)
        };
        rewrite_ticks(world, &given, |_| None, rewrite);
    }

    /// One that another level has hidden is this one's to show.
    pub fn take_over(&mut self, entity: Entity) {
        self.all.others.push(entity);
    }
}
