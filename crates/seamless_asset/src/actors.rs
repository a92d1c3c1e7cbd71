//! Entities that go with a level although they are none of its own, and those that stay although they are. See [`OfLevel`] and
//! [`KeepInWorld`].

mod owners;
#[cfg(test)]
mod tests;

use owners::all_with;
pub(crate) use owners::{LazyOwners, Owners};

use std::sync::Arc;

use bevy_ecs::{component::ComponentId, entity::EntityHashSet, prelude::*};
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::components::{GlobalTransform, Transform};

use crate::{LevelInstance, StableIds, reveal::Members};

/// On an entity that game code has spawned: it goes with this level, by the level's root. When the level is hidden and shown it is hidden
/// and shown with it, if it said so before, and when the level leaves it is despawned, in both cases with what hangs below it.
/// Who goes with several levels, this one and one that it hangs in, is seen while none of them is hidden.
///
/// Without it, what game code spawns belongs to the world and stays there, wherever it stands, unless it hangs below an entity of a
/// level by `ChildOf`: that is to say so, too. An entity belongs to the level that it came with, wherever it moves.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::{InstanceEvent, OfLevel};
/// /// Guards of a town come and go with it, and walk about freely meanwhile.
/// fn post_guards(mut events: MessageReader<InstanceEvent>, mut commands: Commands) {
///     for event in events.read() {
///         if let InstanceEvent::Revealed { root, .. } = event {
///             commands.spawn(OfLevel(*root));
///         }
///     }
/// }
/// ```
#[derive(Component, Reflect, Clone, Debug, PartialEq, Eq)]
#[reflect(Component, Clone, Debug, PartialEq)]
#[relationship(relationship_target = LevelActors)]
pub struct OfLevel(#[entities] pub Entity);

/// On the root of a level: who goes with it. See [`OfLevel`].
#[derive(Component, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[relationship_target(relationship = OfLevel, linked_spawn)]
pub struct LevelActors(Vec<Entity>);

/// On an entity of a level, or on one that game code has hung there: it stays in the world when the level leaves or is hidden, with what
/// hangs below it. It becomes an entity of the game's own then: it is taken out of what leaves and stands where it stood (in a hand that
/// stays it stays), and the level knows it no more; this is taken off, so that what hangs it in another level later says so anew. On a level's root it means nothing. It has no object id any more, and when the level comes again, another comes in its place.
///
/// Who walks over a border for good is handed over: with an [`OfLevel`] of another level beside this, it goes with that one from then on.
///
/// Give it before the level is hidden: what nobody sees goes with its level. Note its [stable id](crate::LevelInstance::stable_id) when you do:
/// a level that is hidden first has none for it later, in an observer of `On<Remove, LevelInstance>`.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use seamless_asset::KeepInWorld;
/// #[derive(EntityEvent)]
/// struct PickedUp(Entity);
///
/// fn pick_up(picked_up: On<PickedUp>, mut commands: Commands) {
///     commands.entity(picked_up.0).insert(KeepInWorld); // the lamp stays when the cellar leaves
/// }
/// ```
#[derive(Component, Reflect, Copy, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
#[component(storage = "SparseSet")]
pub struct KeepInWorld;

/// What becomes of a level whose kept entities are taken out.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It is hidden, and may be shown again.
    Stays,
    Leaves,
}

/// Takes those out of a level that is about to be hidden or to leave that are to be kept.
pub(crate) fn release_kept(world: &mut World, root: Entity, members: &mut Members, afterwards: Afterwards) {
    let owners = LazyOwners::but(root);
    let kept = kept_of(world, root, members, &owners);
    if kept.is_empty() {
        return;
    }
    // What came with another level, and what hangs below that, is for that to keep.
    let others = owners.get(world);
    let mut released = EntityHashSet::default();
    for entity in kept {
        let next = named(world, entity).filter(|next| *next != root && world.get::<LevelInstance>(*next).is_some());
        stand_alone(world, entity, root, members, &owners);
        if let Some(next) = next
            && let Ok(mut entity) = world.get_entity_mut(entity)
        {
            entity.insert(OfLevel(next));
        }
        released.extend(below(world, entity, others));
    }
    // They are nobody's to be looked at when other levels go.
    for entity in &released {
        let Ok(mut entity) = world.get_entity_mut(*entity) else {
            continue;
        };
        entity.remove::<KeepInWorld>();
        // Who rides on what stays, stays with it, though it said that it goes with the level.
        if entity.get::<OfLevel>().is_some_and(|of| of.0 == root) {
            entity.remove::<OfLevel>();
        }
    }
    members.forget(&released);
    if afterwards == Afterwards::Stays
        && let Some(mut level) = world.get_mut::<LevelInstance>(root)
    {
        level.objects = members.objects.clone();
        let path = level.path.clone();
        if let Some(mut ids) = world.get_resource_mut::<StableIds>() {
            ids.renew(&path, root, &members.objects);
        }
    }
}

/// Who is to be kept of a level; what hangs below one of these stays with it.
fn kept_of(world: &World, root: Entity, members: &Members, owners: &LazyOwners) -> EntityHashSet {
    let sets = &world.storages().sparse_sets;
    let id = world.component_id::<KeepInWorld>();
    let has_any = |id: &ComponentId| sets.get(*id).is_some_and(|set| !set.is_empty());
    let Some(id) = id.filter(has_any) else {
        return EntityHashSet::default();
    };
    let goes = |entity: &Entity| *entity != root && goes(world, *entity, root, members, owners);
    let going: EntityHashSet = all_with(world, id).filter(goes).collect();
    let is_topmost = |entity: &Entity| above(world, *entity).all(|above| !going.contains(&above));
    going.iter().copied().filter(is_topmost).collect()
}

/// What an entity hangs below, the nearest first.
pub(crate) fn above(world: &World, entity: Entity) -> impl Iterator<Item = Entity> {
    let parent = |entity: Entity| world.get::<ChildOf>(entity).map(ChildOf::parent);
    core::iter::successors(parent(entity), move |at| parent(*at))
}

fn is_own(entity: Entity, root: Entity, members: &Members) -> bool {
    entity == root || members.objects.object(entity).is_some()
}

/// The level that an entity says that it goes with.
fn named(world: &World, entity: Entity) -> Option<Entity> {
    world.get::<OfLevel>(entity).map(|of| of.0)
}

/// Whether an entity goes where the level goes, if nobody keeps it. The owners are those of the other levels.
pub(crate) fn goes(world: &World, entity: Entity, root: Entity, members: &Members, owners: &LazyOwners) -> bool {
    let mut guests = Vec::new();
    for at in core::iter::once(entity).chain(above(world, entity)) {
        let is_own = is_own(at, root, members);
        let goes_with = named(world, at) == Some(root);
        if is_own || goes_with {
            guests.extend(Some(at).filter(|_| !is_own));
            // What came with another level goes with that, as what hangs below it.
            return guests.is_empty() || !owners.get(world).has_any(&guests);
        }
        if world.get::<LevelInstance>(at).is_some() {
            // Another level, which goes by itself.
            return false;
        }
        guests.push(at);
    }
    false
}

/// Which other levels an entity goes with that game code has spawned, by their roots: those that it names, or what it hangs below does, and the
/// one that that came with.
pub(crate) fn other_levels(
    world: &World,
    entity: Entity,
    root: Entity,
    members: &Members,
    owners: &LazyOwners,
) -> Vec<Entity> {
    let mut levels = Vec::new();
    for at in core::iter::once(entity).chain(above(world, entity)) {
        if is_own(at, root, members) {
            break;
        }
        // What came with a level goes with no other, whatever it says.
        if at != entity
            && let Some(owner) = owners.get(world).root_of(at)
        {
            levels.push(owner);
            break;
        }
        levels.extend(named(world, at).filter(|named| *named != root));
    }
    levels
}

/// Whether what an entity hangs below goes with the level.
fn is_torn(world: &World, entity: Entity, root: Entity, members: &Members, owners: &LazyOwners) -> bool {
    let parent = world.get::<ChildOf>(entity).map(ChildOf::parent);
    parent.is_some_and(|parent| goes(world, parent, root, members, owners))
}

/// Takes an entity out of what leaves. What hangs below somebody who stays anyway, a hand for instance, stays there.
fn stand_alone(world: &mut World, entity: Entity, root: Entity, members: &Members, owners: &LazyOwners) {
    let is_torn = is_torn(world, entity, root, members, owners);
    part(world, entity, is_torn);
}

/// An entity does not go with what leaves, although it says so, or hangs below it, by which it is torn from there.
pub(crate) fn part(world: &mut World, entity: Entity, is_torn: bool) {
    if is_torn {
        detach(world, entity);
    } else if let Ok(mut entity) = world.get_entity_mut(entity) {
        entity.remove::<OfLevel>();
    }
}

/// Takes what came with other levels out of one that is about to leave.
pub(crate) fn let_go(world: &mut World, foreign: Vec<Entity>, root: Entity, members: &Members) {
    let owners = LazyOwners::but(root);
    for entity in foreign {
        stand_alone(world, entity, root, members, &owners);
    }
}

/// The same of a level that leaves unseen, of those who are there still.
pub(crate) fn let_go_unseen(world: &mut World, foreign: Vec<Entity>, root: Entity, members: &Members) {
    let owners = LazyOwners::but(root);
    for entity in foreign {
        if is_torn(world, entity, root, members, &owners) {
            // It stays where it was seen last: nobody sees where it would be by now.
            let seen = world.get::<GlobalTransform>(entity).copied();
            let seen = seen.unwrap_or_else(|| global(world, entity));
            detach_to(world, entity, seen);
        } else if named(world, entity) == Some(root) {
            part(world, entity, false);
        }
    }
}

/// The same of one.
pub(crate) fn detach_unseen(world: &mut World, entity: Entity, root: Entity, members: &Members) {
    let_go_unseen(world, vec![entity], root, members);
}

/// Takes an entity out of what it hangs below, or goes with. It stands where it stood.
pub(crate) fn detach(world: &mut World, entity: Entity) {
    let global = global(world, entity);
    detach_to(world, entity, global);
}

fn detach_to(world: &mut World, entity: Entity, global: GlobalTransform) {
    let place = world.get::<Transform>(entity).map(|_| place(world, entity, global));
    // Whoever observes one step may despawn it.
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        entity.remove::<OfLevel>();
    }
    if let Ok(mut entity) = world.get_entity_mut(entity) {
        entity.remove::<ChildOf>();
    }
    if let Some(place) = place
        && let Ok(mut entity) = world.get_entity_mut(entity)
    {
        entity.insert(place);
    }
}

/// Where an entity is. What is sheared, or flat, has no such place: it is taken as Bevy combines transforms.
fn place(world: &World, entity: Entity, global: GlobalTransform) -> Transform {
    let exact = global.compute_transform();
    if exact.is_finite() && exact.rotation.is_normalized() {
        return exact;
    }
    let local = |entity| world.get::<Transform>(entity).copied().unwrap_or_default();
    let combined = above(world, entity).fold(local(entity), |place, above| local(above) * place);
    Transform {
        translation: global.translation(),
        rotation: combined.rotation.normalize(),
        ..combined
    }
}

/// Where an entity is just now: its `GlobalTransform` is of the last frame, which must do where what it hangs below is gone.
fn global(world: &World, entity: Entity) -> GlobalTransform {
    let local = |entity| world.get::<Transform>(entity).copied().map(GlobalTransform::from);
    let mut at = entity;
    let mut place = local(entity).unwrap_or_default();
    while let Some(above) = world.get::<ChildOf>(at).map(ChildOf::parent) {
        if !world.entities().contains_spawned(above) {
            return world.get::<GlobalTransform>(entity).copied().unwrap_or(place);
        }
        let Some(outer) = local(above) else { break };
        place = outer * place;
        at = above;
    }
    place
}

/// An entity and all that hangs below it, other levels left out.
fn below(world: &World, entity: Entity, others: &Owners) -> Vec<Entity> {
    let mut found = Vec::new();
    let mut open = vec![entity];
    while let Some(entity) = open.pop() {
        if !others.has(entity) {
            found.push(entity);
            open.extend(world.get::<Children>(entity).into_iter().flatten());
        }
    }
    found
}

impl Members {
    /// Entities that are the level's no more; it is as if they had been despawned. Nothing is copied but where somebody else still
    /// looks at the list.
    fn forget(&mut self, gone: &EntityHashSet) {
        let rows: Vec<u32> = gone.iter().filter_map(|entity| self.objects.row(*entity)).collect();
        if rows.is_empty() {
            return;
        }
        let entities = Arc::make_mut(&mut self.entities);
        for row in &rows {
            if let Some(entity) = entities.get_mut(*row as usize) {
                *entity = Entity::PLACEHOLDER;
            }
        }
        self.parents.retain(|entity| !gone.contains(entity));
        gone.iter().for_each(|entity| drop(self.edits.remove(entity)));
        self.objects = self.objects.without(rows.into_iter()).into();
    }
}
