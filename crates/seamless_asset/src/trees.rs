//! Levels of which Bevy need not work out where everything stands, in the frame in which they are seen. See [`SettledTrees`].

#[cfg(test)]
mod tests;

use bevy_app::{App, PostUpdate};
use bevy_ecs::{
    change_detection::{ComponentTicks, DetectChangesMut, Tick},
    component::ComponentId,
    entity::EntityHashSet,
    prelude::*,
};
use bevy_transform::{
    TransformSystems,
    components::{GlobalTransform, Transform, TransformTreeChanged},
    systems::{StaticTransformOptimizations, mark_dirty_trees, propagate_parent_transforms},
};

/// Levels that have come in this frame with their final [`GlobalTransform`]s.
///
/// All their components count as added and changed, and rightly so. Bevy takes each changed `Transform` for one that has moved, marks it and all
/// above it with [`TransformTreeChanged`], and multiplies its way down again: for a hundred thousand entities, many milliseconds, of which nothing comes.
/// Here somebody else does the marking in such a frame: whoever has changed but only came with a level that is settled is left alone.
///
/// Two systems stand around Bevy's [`mark_dirty_trees`]. The first does its work and switches it off by the resource that is meant for it, the
/// second switches it on again, before the marks are looked at.
#[derive(Resource, Default)]
pub(crate) struct SettledTrees {
    /// When their components were added. Nobody else writes at these ticks.
    now: Vec<Tick>,
    /// Whether there were any in the last frame.
    were: bool,
    /// Whether Bevy's marking is switched off.
    is_off: bool,
}

impl SettledTrees {
    /// A level has come, all its components added and changed at that tick.
    pub fn come(&mut self, at: Tick) {
        self.now.push(at);
    }

    /// Whether somebody with these ticks has come with a settled level, and nothing has happened to it since.
    fn is_settled(&self, mut ticks: impl Iterator<Item = Tick>) -> bool {
        ticks.all(|tick| self.now.contains(&tick))
    }
}

/// When entities of a level came that is on its way, hidden. Nobody else writes at these ticks, so what has another one is somebody else's.
///
/// Each step has a span of them: observers may run in it, Bevy's own that check parents for instance, and each takes a tick of its own.
#[derive(Default)]
pub(crate) struct CameAt {
    /// The tick that all else is counted from.
    first: Option<Tick>,
    /// The first and the last tick of each step, in their order.
    spans: Vec<(u32, u32)>,
}

impl CameAt {
    /// Does what brings entities.
    pub fn bring<T>(&mut self, world: &mut World, act: impl FnOnce(&mut World) -> T) -> T {
        world.increment_change_tick();
        let from = world.change_tick();
        self.first.get_or_insert(from);
        let brought = act(world);
        let to = world.increment_change_tick();
        self.spans.push((self.since_first(from), self.since_first(to)));
        brought
    }

    fn since_first(&self, tick: Tick) -> u32 {
        let first = self.first.unwrap_or(tick);
        tick.get().wrapping_sub(first.get())
    }

    /// The step in which something with this tick came.
    fn step_of(&self, at: Tick) -> Option<(u32, u32)> {
        let at = self.since_first(at);
        let behind = self.spans.partition_point(|(from, _)| *from <= at);
        let span = self.spans.get(behind.checked_sub(1)?)?;
        Some(*span).filter(|(_, to)| at <= *to)
    }
}

/// What tells that a hidden level still hangs together as it came and, where it came with its final places, that it still stands there.
pub(crate) struct Untouched {
    /// Whether it came with its final places.
    pub is_settled: bool,
    tree: ComponentId,
    places: [ComponentId; 2],
    child_of: ComponentId,
    children: ComponentId,
    /// How many parents, lists of children and places are still to be there: what comes later is later.
    parents_left: usize,
    lists_left: usize,
    places_left: usize,
    came_at: CameAt,
    /// One of these steps: what lies together came together.
    last: Option<(u32, u32)>,
    is_moved: bool,
    /// Whether any list of children was changed.
    is_hung: bool,
}

impl Untouched {
    /// Of a level in which so many entities have parents, which are all but the root, and children, and that came at these ticks.
    pub fn new(world: &mut World, is_settled: bool, child_of: usize, children: usize, came_at: CameAt) -> Self {
        Self {
            is_settled,
            tree: world.register_component::<TransformTreeChanged>(),
            places: [
                world.register_component::<Transform>(),
                world.register_component::<GlobalTransform>(),
            ],
            child_of: world.register_component::<ChildOf>(),
            children: world.register_component::<Children>(),
            parents_left: child_of,
            lists_left: children,
            // The root has no parent.
            places_left: 2 * (child_of + 1),
            came_at,
            last: None,
            is_moved: false,
            is_hung: false,
        }
    }

    /// Whether this is the component by which Bevy marks whom it has to look at.
    pub fn is_mark(&self, id: ComponentId) -> bool {
        id == self.tree
    }

    /// The components that are to be noted, the mark among them where the level came with its final places.
    pub fn what_matters(&self) -> Vec<ComponentId> {
        let [place, global] = self.places;
        let settled = [self.tree, place, global, self.child_of];
        let settled = settled.into_iter().filter(|_| self.is_settled);
        settled.chain([self.children]).collect()
    }

    /// Notes a component of an entity.
    pub fn note(&mut self, id: ComponentId, ticks: ComponentTicks) {
        // What was removed and inserted again was not changed since it was added.
        let is_changed = ticks.changed != ticks.added || !self.has_come(ticks.added);
        if id == self.children {
            self.lists_left = self.lists_left.wrapping_sub(1);
            self.is_hung |= is_changed;
            return;
        }
        if id == self.child_of {
            self.parents_left = self.parents_left.wrapping_sub(1);
        } else {
            self.places_left = self.places_left.wrapping_sub(1);
        }
        self.is_moved |= is_changed;
    }

    fn has_come(&mut self, at: Tick) -> bool {
        let since_first = self.came_at.since_first(at);
        let is_known = self.last.is_some_and(|(from, to)| (from..=to).contains(&since_first));
        if !is_known {
            self.last = self.came_at.step_of(at);
        }
        self.last.is_some()
    }

    /// Whether all lists of children are as they came.
    pub fn is_as_hung(&self) -> bool {
        !self.is_hung && self.lists_left == 0
    }

    /// Whether it came with its final places, and nobody has moved or hung anything elsewhere since.
    pub fn is_in_place(&self) -> bool {
        let is_all_there = self.parents_left == 0 && self.places_left == 0;
        self.is_settled && self.is_as_hung() && is_all_there && !self.is_moved
    }
}

/// Adds the systems, for apps in which levels come hidden.
pub(crate) fn add_systems(app: &mut App) {
    app.init_resource::<SettledTrees>().add_systems(
        PostUpdate,
        (
            mark_other_trees.before(mark_dirty_trees),
            let_bevy_mark
                .after(mark_dirty_trees)
                .before(propagate_parent_transforms),
        )
            .chain()
            .in_set(TransformSystems::Propagate),
    );
}

/// Who Bevy takes for moved.
type Moved = Or<(Changed<Transform>, Changed<ChildOf>, Added<GlobalTransform>)>;

/// When it has.
type Place = (
    Option<Ref<'static, Transform>>,
    Option<Ref<'static, ChildOf>>,
    Option<Ref<'static, GlobalTransform>>,
);

/// In a frame with settled levels, marks those that have moved beside them, and keeps Bevy from marking all.
///
/// In the frame after that, it marks once more, and so does Bevy: what was moved between the two systems of the last frame is marked late, but
/// is marked.
///
/// It stands in for Bevy's own marking, which is off in that frame: so it is not counted as time of streaming.
fn mark_other_trees(
    moved: Query<(Entity, Place), Moved>,
    mut orphaned: RemovedComponents<ChildOf>,
    mut marks: Query<&mut TransformTreeChanged>,
    parents: Query<&ChildOf>,
    mut settled: ResMut<SettledTrees>,
    optimizations: Option<ResMut<StaticTransformOptimizations>>,
) {
    let settled = settled.bypass_change_detection();
    let optimizations = optimizations.filter(|found| found.is_enabled());
    let (are_any, were_any) = (!settled.now.is_empty(), settled.were);
    settled.were = are_any;
    let Some(mut optimizations) = optimizations.filter(|_| are_any || were_any) else {
        orphaned.clear();
        settled.now.clear();
        return;
    };
    let others = moved.iter().filter(|(_, (place, child_of, global))| {
        let ticks = [
            place.as_ref().map(DetectChanges::last_changed),
            child_of.as_ref().map(DetectChanges::last_changed),
            global.as_ref().map(DetectChanges::added),
        ];
        !settled.is_settled(ticks.into_iter().flatten())
    });
    let mut marked = EntityHashSet::default();
    for entity in others.map(|(entity, ..)| entity).chain(orphaned.read()) {
        let mut at = Some(entity);
        while let Some(next) = at.filter(|next| marked.insert(*next)) {
            let Ok(mut mark) = marks.get_mut(next) else { break };
            mark.set_changed();
            at = parents.get(next).ok().map(ChildOf::parent);
        }
    }
    if are_any {
        // Nobody's setting has changed.
        *optimizations.bypass_change_detection() = StaticTransformOptimizations::Disabled;
        settled.is_off = true;
    }
    settled.now.clear();
}

fn let_bevy_mark(mut settled: ResMut<SettledTrees>, optimizations: Option<ResMut<StaticTransformOptimizations>>) {
    let settled = settled.bypass_change_detection();
    if core::mem::take(&mut settled.is_off)
        && let Some(mut optimizations) = optimizations
    {
        *optimizations.bypass_change_detection() = StaticTransformOptimizations::Enabled;
    }
}
