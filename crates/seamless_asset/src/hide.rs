//! Entities of levels that are in the world and not to be seen: not yet, not now, or not any more. See [`InHiddenLevel`].

mod files;
mod hung;
mod meshes;
mod shared;
#[cfg(test)]
mod tests;

pub(crate) use self::meshes::{ChangedMeshes, note_changed_meshes};

use bevy_camera::{
    primitives::Aabb,
    visibility::{InheritedVisibility, ViewVisibility, Visibility},
};
use bevy_ecs::{
    change_detection::{CheckChangeTicks, ComponentTicks, Tick},
    component::ComponentId,
    prelude::*,
    world::World,
};
use bevy_mesh::Mesh3d;
use bevy_platform::collections::HashSet;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};

use self::{
    files::FileComponents,
    hung::{Everything, HiddenParents, may_be_hung},
};
use crate::{actors, reveal::Members, spawn::rewrite_ticks, trees::Untouched};

/// On every entity of a level that is in the world and is not to be seen: it is on its way there in slices, it is hidden, or it is on its
/// way out.
///
/// It is there only in apps that opt in with [`SeamlessAssetPlugin::sliced_levels`](crate::SeamlessAssetPlugin::sliced_levels). They skip
/// such entities in all queries that do not mention the marker, as queries skip those that are `Disabled`: a level is there for all
/// systems in one frame, and gone for all in another. `With<InHiddenLevel>`, `Has<InHiddenLevel>` and `Allow<InHiddenLevel>` mention it;
/// `Option<&InHiddenLevel>` does not. Access by id (`World::get`, `Query::get` of a query that mentions it) finds such entities.
///
/// What game code hangs below a level's entities, or makes go with it by [`OfLevel`](crate::OfLevel), is hidden and shown with them, if it was there when the level was hidden; another level
/// below, and what came with one, is not. What was changed in the frame of the hide, before it, counts as changed once more when it is
/// shown, since systems that run earlier in a frame have not heard of it; what was added then does so, too, but not as added. A system that
/// skips frames may miss what was changed before. What Bevy derives from other components (`Transform` and `Visibility`, and what follows from them) counts as changed
/// each time that a level is shown, and so do materials where a renderer draws them; lights and cameras get their links to the
/// render world, `SyncToRenderWorld` and `RenderEntity`, anew.
///
/// All components of a level that is seen for the first time count as added then. Its entities may have been spawned frames before: ask for `Added`, and not
/// for Bevy's `Spawned`, which nobody but Bevy can set.
///
/// What came with another level, and hangs below one that is hidden, is seen all the same, but stands still: Bevy passes transforms on from roots that queries find.
///
/// Do not insert, remove or observe it: it comes and goes entity by entity, and only whole levels mean something.
#[derive(Component, Reflect, Copy, Clone, Debug, Default, PartialEq, Eq)]
#[component(storage = "SparseSet", clone_behavior = Ignore)]
#[reflect(Component, Default, Clone, Debug, PartialEq)]
pub struct InHiddenLevel;

/// What else is to be done when entities are hidden and shown, by whoever keeps a copy of them: a renderer, a physics engine.
///
/// A level may be told in several calls, its root in any of them.
///
/// Queries skip hidden entities, but neither `On<Remove>` nor `RemovedComponents` tell of them, nor do `Added` and `On<Add>` when they
/// are shown again.
///
/// ```
/// # use bevy_app::App; use bevy_ecs::prelude::*;
/// # use seamless_asset::{LevelHider, SeamlessAssetApp};
/// /// What the physics engine knows of an entity.
/// #[derive(Component)]
/// struct Body { /* … */ enabled: bool }
///
/// struct BodyHider;
///
/// impl BodyHider {
///     fn enable(world: &mut World, entities: &[Entity], enabled: bool) {
///         for entity in entities {
///             if let Ok(mut entity) = world.get_entity_mut(*entity)
///                 && let Some(mut body) = entity.get_mut::<Body>()
///             {
///                 body.enabled = enabled;
///             }
///         }
///     }
/// }
///
/// impl LevelHider for BodyHider {
///     fn hide(&self, world: &mut World, entities: &[Entity]) {
///         Self::enable(world, entities, false);
///     }
///
///     fn show(&self, world: &mut World, entities: &[Entity]) {
///         Self::enable(world, entities, true);
///     }
/// }
///
/// # let mut app = App::new();
/// app.add_level_hider(BodyHider);
/// ```
pub trait LevelHider: Send + Sync + 'static {
    /// These entities are about to be hidden; they can still be queried. What was told of the level in an earlier call may be hidden by now. Some may
    /// have been despawned: look each up by `World::get_entity` or its like.
    fn hide(&self, world: &mut World, entities: &[Entity]);

    /// These entities can be queried again, and what was changed meanwhile counts as changed now. Some may have been despawned, as above.
    fn show(&self, world: &mut World, entities: &[Entity]);

    /// These entities have come hidden, and stand where they will be seen. What somebody would add to all of them in their first frame can be added here: a few at a
    /// time, in the time that there is for that. Default: nothing.
    fn spawned(&self, _world: &mut World, _entities: &[Entity]) {}

    /// Components that count as changed when they are shown again, whether they were or not: what is derived from them starts over.
    fn always_changed(&self, _: &World) -> Vec<ComponentId> {
        Vec::new()
    }
}

/// All [`LevelHider`]s. [`add_level_hider`](crate::SeamlessAssetApp::add_level_hider) adds one.
#[derive(Resource, Default)]
pub struct LevelHiders(pub Vec<Box<dyn LevelHider>>);

impl LevelHiders {
    /// Entities have come hidden, where they will be seen.
    pub(crate) fn spawned(world: &mut World, entities: &[Entity]) {
        Self::each(world, |world, hider| hider.spawned(world, entities));
    }

    fn each(world: &mut World, act: impl Fn(&mut World, &dyn LevelHider)) {
        world.resource_scope(|world, hiders: Mut<Self>| hiders.0.iter().for_each(|hider| act(world, &**hider)));
    }
}

/// A level that is hidden.
pub(crate) struct Hiding {
    /// What was hidden.
    all: Everything,
    /// All that is newer was done while it was hidden.
    pub since: Tick,
    /// Who looks in each frame has heard of all that is older.
    heard: Tick,
    /// Tells it from other hides, for [`ChangedMeshes`].
    hide: u64,
}

impl Hiding {
    /// Ticks that are older than ticks can be compared stay as old as that.
    pub fn keep_ticks_valid(&mut self, check: CheckChangeTicks) {
        self.since.check_tick(check);
        self.heard.check_tick(check);
    }

    /// The root, and what game code had hung below the level.
    pub fn take_others(&mut self) -> Vec<Entity> {
        core::mem::take(&mut self.all.others)
    }

    /// The level leaves in the frame in which it was hidden: what does not go with it is left where it stands.
    pub fn let_go(&mut self, world: &mut World, root: Entity, members: &Members) {
        actors::let_go(world, core::mem::take(&mut self.all.foreign), root, members);
    }

    /// The level leaves, and was hidden before. Nobody is to find above itself what is swept away bit by bit.
    pub fn let_go_unseen(&mut self, world: &mut World, root: Entity, members: &Members) {
        actors::let_go_unseen(world, core::mem::take(&mut self.all.foreign), root, members);
    }
}

/// Takes a level out of sight of all queries. Who looks in each frame has heard of what is older than `heard`.
pub(crate) fn hide(world: &mut World, root: Entity, members: &Members, heard: Tick) -> Hiding {
    let mut own = members.entities.clone();
    LevelHiders::each(world, |world, hider| hider.hide(world, &own));
    let parents = HiddenParents::count(world);
    let dead = mark(world, &own);
    if !dead.is_empty() {
        own = own.iter().copied().filter(|entity| !dead.contains(entity)).collect();
    }
    // What another level has hidden is shown with that.
    let is_hidden = |entity| is_hidden(world, entity);
    let all = Everything::of_hidden(world, root, own, &parents, members.hung_since, is_hidden);
    LevelHiders::each(world, |world, hider| hider.hide(world, &all.others));
    mark(world, &all.others);
    let since = world.increment_change_tick();
    let hide = world.get_resource_or_init::<ChangedMeshes>().begin_hide();
    Hiding {
        all,
        since,
        heard,
        hide,
    }
}

/// Gives a hidden level back to all queries, as it was: nothing counts as added that was there before. What game code has changed of it so
/// far is noted in `members`, since ticks tell no more.
pub(crate) fn show(world: &mut World, members: &mut Members, hiding: Hiding) {
    let Hiding {
        all,
        since,
        heard,
        hide,
    } = hiding;
    all.lists().into_iter().for_each(|entities| unmark(world, entities));
    let mut always: HashSet<ComponentId> = derived_from(world);
    world.resource_scope(|world, hiders: Mut<LevelHiders>| {
        always.extend(hiders.0.iter().flat_map(|hider| hider.always_changed(world)));
    });
    let derived = derived(world);
    let files = FileComponents::new(world, members);
    let mesh = world.register_component::<Mesh3d>();
    let redrawn = all
        .lists()
        .map(|entities| ChangedMeshes::shown_by(world, entities, hide));
    let is_redrawn = |entity: &Entity| redrawn.iter().any(|redrawn| redrawn.contains(entity));
    let (before, now) = (members.since, world.change_tick());
    let mut edits = Vec::new();
    let mut rewrite = |entity, id, ticks: ComponentTicks| {
        // What the file has not given is nobody's edit of it.
        let is_edit = ticks.changed.is_newer_than(before, now) && !derived.contains(&id);
        if is_edit && files.has(entity, id) {
            edits.push((entity, id));
        }
        let is_changed = always.contains(&id) || id == mesh && is_redrawn(&entity);
        shown_again(ticks, [since, heard], now, is_changed)
    };
    for entities in all.lists() {
        rewrite_ticks(world, entities, |_| None, &mut rewrite);
    }
    for (entity, id) in edits {
        let known = members.edits.entry(entity).or_default();
        if !known.contains(&id) {
            known.push(id);
        }
    }
    for entities in all.lists() {
        LevelHiders::each(world, |world, hider| hider.show(world, entities));
    }
    members.since = world.increment_change_tick();
}

/// Bevy changes these by itself.
fn derived(world: &mut World) -> [ComponentId; 6] {
    [
        world.register_component::<GlobalTransform>(),
        world.register_component::<TransformTreeChanged>(),
        world.register_component::<InheritedVisibility>(),
        world.register_component::<ViewVisibility>(),
        world.register_component::<Aabb>(),
        world.register_component::<Children>(),
    ]
}

/// Nobody has heard yet of what was done since the level was hidden, and not everybody of what was done in that frame. Who has heard of a
/// change may hear of it twice; who has heard that something was added may not.
fn shown_again(ticks: ComponentTicks, [hidden, heard]: [Tick; 2], now: Tick, always: bool) -> ComponentTicks {
    let renewed = |tick: Tick, since| if tick.is_newer_than(since, now) { now } else { tick };
    ComponentTicks {
        added: renewed(ticks.added, hidden),
        changed: if always { now } else { renewed(ticks.changed, heard) },
    }
}

/// Bevy derives where things are and whether they are seen from changes of these, and has missed some.
fn derived_from(world: &mut World) -> HashSet<ComponentId> {
    HashSet::from_iter([
        world.register_component::<Transform>(),
        world.register_component::<GlobalTransform>(),
        world.register_component::<Visibility>(),
        world.register_component::<InheritedVisibility>(),
        world.register_component::<ViewVisibility>(),
    ])
}

/// What is known of a level that is seen for the first time.
pub(crate) struct ShownFirst {
    /// If it stands where it came: the tick at which all of it came. Nobody writes anything else at that tick.
    pub settled_at: Option<Tick>,
    /// If all lists of children are as they came: what is changed of them later is newer than this.
    pub hung_since: Option<Tick>,
}

/// Hidden entities, as if they and all their components came now.
///
/// If the level came with its final global transforms and nobody has touched it, Bevy's mark for those that it is to look at stays as old as it is.
pub(crate) fn show_first(world: &mut World, entities: &[Entity], mut untouched: Untouched) -> ShownFirst {
    unmark(world, entities);
    // Nothing else is written at it.
    world.increment_change_tick();
    let now = world.increment_change_tick();
    let came = ComponentTicks {
        added: now,
        changed: now,
    };
    let matters = untouched.what_matters();
    let all = |id| (!matters.contains(&id)).then_some(came);
    rewrite_ticks(world, entities, all, |_, id, before| {
        if untouched.is_mark(id) {
            return ComponentTicks {
                changed: before.changed,
                ..came
            };
        }
        untouched.note(id, before);
        came
    });
    let is_in_place = untouched.is_in_place();
    if untouched.is_settled && !is_in_place {
        let marked = |id| untouched.is_mark(id).then_some(came);
        rewrite_ticks(world, entities, marked, |_, _, before| before);
    }
    ShownFirst {
        settled_at: is_in_place.then_some(now),
        hung_since: untouched.is_as_hung().then_some(now),
    }
}

/// Of a level that is about to leave in one step: what hangs there and does not go with it is left where it stands.
pub(crate) fn let_go(world: &mut World, root: Entity, members: &Members) {
    let foreign = Everything::of(world, root, members).foreign;
    actors::let_go(world, foreign, root, members);
}

fn is_hidden(world: &World, entity: Entity) -> bool {
    world.get::<InHiddenLevel>(entity).is_some()
}

/// What is new in a hidden level is hidden, too.
pub(crate) fn hide_new(world: &mut World, root: Entity, members: &Members, hiding: &mut Hiding) {
    let all = Everything::of(world, root, members);
    hide_those(world, &all.lists(), hiding);
}

/// The same where none of its own entities is new: what game code has hung there meanwhile.
pub(crate) fn hide_hung(world: &mut World, root: Entity, members: &Members, hiding: &mut Hiding) {
    if !may_be_hung(world, root, hiding.since, hiding.all.own.len()) {
        return;
    }
    let all = Everything::of(world, root, members);
    hide_those(world, &[&all.others], hiding);
    hiding.all.foreign.extend(all.foreign);
}

fn hide_those(world: &mut World, lists: &[&[Entity]], hiding: &mut Hiding) {
    let is_new = |entity: &Entity| !is_hidden(world, *entity);
    let new: Vec<_> = lists.concat().into_iter().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    LevelHiders::each(world, |world, hider| hider.hide(world, &new));
    mark(world, &new);
    hiding.all.others.extend(new);
}

/// Tells who of them is not there any more.
fn mark(world: &mut World, entities: &[Entity]) -> HashSet<Entity> {
    let marked = |entity: &Entity| (*entity, InHiddenLevel);
    // Two loops, as it is in the one frame in which a level of any size leaves.
    let marked = if are_turned(world, entities) {
        world.try_insert_batch_if_new(entities.iter().map(marked))
    } else {
        world.try_insert_batch_if_new(entities.iter().rev().map(marked))
    };
    let dead = marked.err().into_iter().flat_map(|error| error.entities);
    dead.collect()
}

fn unmark(world: &mut World, entities: &[Entity]) {
    // By its id, which Bevy looks up faster than a type.
    let marker = world.register_component::<InHiddenLevel>();
    let are_turned = are_turned(world, entities);
    let unmark = |entity: &Entity| {
        if let Ok(mut entity) = world.get_entity_mut(*entity) {
            entity.remove_by_id(marker);
        }
    };
    if are_turned {
        entities.iter().for_each(unmark);
    } else {
        entities.iter().rev().for_each(unmark);
    }
}

/// Whether rows are in reverse. What goes last in its archetype leaves no gap that another row has to fill. Each time that a level is hidden
/// or shown, its rows are turned around.
fn are_turned(world: &World, entities: &[Entity]) -> bool {
    let place = |entity: &Entity| world.entities().get_spawned(*entity).ok();
    let is_turned = |pair: &[Entity]| {
        let (first, next) = (place(pair.first()?)?, place(pair.get(1)?)?);
        let is_same = first.archetype_id == next.archetype_id;
        is_same.then(|| next.archetype_row.index() < first.archetype_row.index())
    };
    // A level's entities lie in runs, its root alone.
    entities.windows(2).take(16).find_map(is_turned).unwrap_or_default()
}
