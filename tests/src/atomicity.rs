//! A checker that finds each level whole or absent: every frame, and from inside of observers and removal readers.

mod level;
mod references;

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bevy::{
    ecs::{
        entity::{EntityHashMap, EntityHashSet},
        reflect::ReflectComponent,
    },
    platform::collections::{HashMap, HashSet},
    prelude::*,
};
use bevy_seamless::{
    asset::{InstanceEvent, InstanceId, LevelInstance},
    prelude::*,
};

use level::{Eyes, Known};

/// Frames for which removal readers may still hear of a level that left.
const MEMORY: u64 = 3;
/// Frames after which ends are forgotten, so that a long run takes no more memory than a short one.
const FATES_KEPT: u64 = 600;
/// How many violations are kept in words; all are counted.
const KEPT: usize = 40;

/// Watches every level of every seamless world; [`Atomicity`] holds what it found. Add it after `SeamlessPlugins` and
/// after all types are registered.
#[derive(Default)]
pub struct AtomicityChecker {
    /// Short names of the components whose `On<Add>` is observed; all reflected ones when this is empty. Fewer observers
    /// mean more that is inserted early, in the first pass of a reveal.
    pub only: Vec<&'static str>,
}

/// What [`AtomicityChecker`] saw so far.
#[derive(Resource, Default)]
pub struct Atomicity(Mutex<State>);

/// Counters of [`Atomicity`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What must stay zero.
    pub violations: u64,
    /// `On<Add>` observations of entities of levels.
    pub adds: u64,
    /// References from these entities that were followed.
    pub references: u64,
    /// Levels that came.
    pub revealed: u64,
    /// Levels that left.
    pub left: u64,
    /// How often levels were hidden.
    pub hidden: u64,
    /// Loads that failed.
    pub failed: u64,
    /// Loads that were cancelled.
    pub cancelled: u64,
    /// Removals that readers heard of.
    pub removals: u64,
    /// Instances that were asked for and have not ended yet: neither failed, nor cancelled, nor left.
    pub open: u64,
}

/// The end of an instance, or the way there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Asked,
    Revealed,
    Left,
    Cancelled,
    Failed,
}

#[derive(Default)]
struct State {
    frame: u64,
    counts: Counts,
    words: Vec<String>,
    /// Live levels by world and index.
    known: HashMap<(Entity, usize), Arc<Known>>,
    /// Levels by entity, those that left lately included.
    owners: EntityHashMap<Arc<Known>>,
    /// Levels that are in the world and that nobody sees, by world and name.
    hidden: HashSet<(Entity, String)>,
    /// Levels that left, with the frame.
    gone: Vec<(u64, Arc<Known>)>,
    fates: BTreeMap<InstanceId, Fate>,
    /// Instances that levels have, ended ones included.
    held: HashSet<InstanceId>,
    /// The entity that an observer looked at last, and how many components it had.
    last_added: Option<(Entity, usize)>,
}

impl State {
    /// Forgets the older half of the instances that have ended and that no level has any more.
    fn forget_ends(&mut self) {
        let is_over =
            |id: &InstanceId, fate: &Fate| !matches!(fate, Fate::Asked | Fate::Revealed) && !self.held.contains(id);
        let over = self
            .fates
            .iter()
            .filter(|(id, fate)| is_over(id, fate))
            .map(|(id, _)| *id);
        let over: Vec<_> = over.collect();
        for id in over.iter().take(over.len() / 2) {
            self.fates.remove(id);
        }
    }

    fn violation(&mut self, words: String) {
        self.counts.violations += 1;
        if self.words.len() < KEPT {
            self.words.push(format!("frame {}: {words}", self.frame));
        }
    }
}

impl Atomicity {
    /// The counters.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let state = self.lock();
        let open = state
            .fates
            .values()
            .filter(|fate| matches!(fate, Fate::Asked | Fate::Revealed));
        Counts {
            open: open.count() as u64,
            ..state.counts
        }
    }

    /// The first violations, in words.
    #[must_use]
    pub fn words(&self) -> Vec<String> {
        self.lock().words.clone()
    }

    /// Panics with all that was found, if anything was.
    ///
    /// # Panics
    /// When there is a violation.
    pub fn assert_whole(&self) {
        let state = self.lock();
        assert!(
            state.counts.violations == 0,
            "{} violations:\n{}",
            state.counts.violations,
            state.words.join("\n")
        );
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Plugin for AtomicityChecker {
    fn build(&self, app: &mut App) {
        Eyes::register(app.world_mut());
        app.init_resource::<Atomicity>()
            .add_observer(on_revealed)
            .add_observer(on_left)
            .add_observer(on_hidden)
            .add_observer(on_shown)
            .add_systems(First, begin_frame)
            .add_systems(Last, (look, follow_fates).chain());
        // Of what nearly all entities of a level have, and of what few have.
        watch::<Transform>(app);
        watch::<Visibility>(app);
        watch::<ChildOf>(app);
        watch::<Name>(app);
        watch::<Mesh3d>(app);
    }

    fn finish(&self, app: &mut App) {
        let registry = app.world().resource::<AppTypeRegistry>().clone();
        let registry = registry.read();
        let mut components = Vec::new();
        for registration in registry.iter() {
            let name = registration.type_info().type_path_table().short_path();
            let wanted = self.only.is_empty() || self.only.contains(&name);
            if let Some(component) = registration.data::<ReflectComponent>().filter(|_| wanted) {
                components.push(component.register_component(app.world_mut()));
            }
        }
        app.world_mut().spawn(Observer::new(on_add).with_components(components));
    }
}

/// Listens for news of a component wherever a game may do so.
fn watch<C: Component + TypePath>(app: &mut App) {
    app.add_systems(PreUpdate, hear_removals::<C>)
        .add_systems(Update, hear_removals::<C>)
        .add_systems(PostUpdate, hear_removals::<C>)
        .add_systems(Last, (hear_removals::<C>.before(look), check_added::<C>.after(look)));
}

/// Forgets the levels that left so long ago that nobody hears of them any more.
fn begin_frame(atomicity: Res<Atomicity>) {
    let mut state = atomicity.lock();
    let state = &mut *state;
    state.frame += 1;
    let frame = state.frame;
    if frame.is_multiple_of(FATES_KEPT) {
        state.forget_ends();
    }
    for (_, level) in state.gone.extract_if(.., |(left, _)| *left + MEMORY < frame) {
        level.ids.iter().for_each(|id| drop(state.owners.remove(id)));
    }
}

/// All that an entity of a level refers to is alive when its components are added.
fn on_add(add: On<Add>, world: &World, atomicity: Res<Atomicity>) {
    let entity = add.entity;
    if !references::is_in_level(world, entity) {
        return;
    }
    let components = world.entity(entity).archetype().component_count();
    {
        // An observer runs once for each component that was added; the entity is the same.
        let mut state = atomicity.lock();
        if state.last_added.replace((entity, components)) == Some((entity, components)) {
            return;
        }
        state.counts.adds += 1;
    }
    let (found, dead) = references::of_entity(world, entity);
    let mut state = atomicity.lock();
    state.counts.references += found;
    for (component, target) in dead {
        state.violation(format!(
            "On<Add>: {component} of {entity} refers to {target}, which is not alive"
        ));
    }
}

fn on_revealed(event: On<LevelRevealed>, world: &World, atomicity: Res<Atomicity>) {
    let tear = Eyes::of(world).find_tear(event.root, event.entities);
    let mut state = atomicity.lock();
    state.counts.revealed += 1;
    if let Some(tear) = tear {
        state.violation(format!("On<LevelRevealed>: {}: {tear}", event.level));
    }
}

fn on_left(event: On<LevelLeft>, world: &World, atomicity: Res<Atomicity>) {
    let mut state = atomicity.lock();
    state.counts.left += 1;
    if state.hidden.remove(&(event.world, event.level.clone())) {
        return;
    }
    let level = state
        .known
        .values()
        .find(|known| known.world == event.world && known.name == event.level)
        .cloned();
    match level.map(|level| level.survivors(world)) {
        None => state.violation(format!("On<LevelLeft>: {} was not here", event.level)),
        Some(0) => {}
        Some(count) => state.violation(format!(
            "On<LevelLeft>: {} entities of {} are alive",
            count, event.level
        )),
    }
}

fn on_hidden(event: On<LevelHidden>, atomicity: Res<Atomicity>) {
    let mut state = atomicity.lock();
    state.counts.hidden += 1;
    if !state.hidden.insert((event.world, event.level.clone())) {
        state.violation(format!("On<LevelHidden>: {} was hidden already", event.level));
    }
}

/// All of it is there again.
fn on_shown(event: On<LevelShown>, world: &World, atomicity: Res<Atomicity>) {
    let entities = world
        .get::<LevelInstance>(event.root)
        .map(|instance| instance.objects.len() as u32);
    let tear = Eyes::of(world).find_tear(event.root, entities.unwrap_or_default());
    let mut state = atomicity.lock();
    if !state.hidden.remove(&(event.world, event.level.clone())) {
        state.violation(format!("On<LevelShown>: {} was not hidden", event.level));
    }
    if let Some(tear) = tear {
        state.violation(format!("On<LevelShown>: {}: {tear}", event.level));
    }
}

/// Whoever hears that a component of a level is gone finds the whole level gone.
fn hear_removals<C: Component + TypePath>(mut removed: RemovedComponents<C>, world: &World, atomicity: Res<Atomicity>) {
    let mut state = atomicity.lock();
    let mut heard = Vec::new();
    for entity in removed.read() {
        if let Some(level) = state.owners.get(&entity).cloned() {
            state.counts.removals += 1;
            if !heard.iter().any(|other| Arc::ptr_eq(other, &level)) {
                heard.push(level);
            }
        }
    }
    for level in heard {
        let survivors = level.survivors(world);
        if survivors > 0 {
            state.violation(format!(
                "RemovedComponents<{}>: {survivors} entities of {} are alive",
                C::short_type_path(),
                level.name
            ));
        }
    }
}

/// The end of a frame: every level is whole or absent.
fn look(world: &mut World) {
    world.resource_scope(|world, atomicity: Mut<Atomicity>| {
        let mut state = atomicity.lock();
        let state = &mut *state;
        let mut roots = EntityHashSet::default();
        state.held.clear();
        let mut tables = world.query::<(Entity, &LevelTable)>();
        let eyes = Eyes::of(world);
        for (seamless, table) in tables.iter(world) {
            let mut seen = HashSet::new();
            for (index, level) in table.iter().enumerate() {
                if let Some(id) = level.instance() {
                    state.fates.entry(id).or_insert(Fate::Asked);
                    state.held.insert(id);
                } else if level.state() == LevelState::Unloaded {
                    // There are thousands of them.
                    continue;
                }
                seen.insert(index);
                roots.extend(level.root());
                look_at(&eyes, state, (seamless, index), level);
            }
            let is_unseen = |(world, index): &&(Entity, usize)| *world == seamless && !seen.contains(index);
            let unseen: Vec<_> = state.known.keys().filter(is_unseen).copied().collect();
            for place in unseen {
                if let Some(level) = table.iter().nth(place.1) {
                    look_at(&eyes, state, place, level);
                }
            }
        }
        let mut instances = world.query_filtered::<Entity, With<LevelInstance>>();
        for stray in instances.iter(world).filter(|root| !roots.contains(root)) {
            state.violation(format!("{stray} is the root of a level that no table knows"));
        }
    });
}

fn look_at(eyes: &Eyes, state: &mut State, place: (Entity, usize), level: &Level) {
    let in_world = level.root().is_some();
    if level.is_visible() && !in_world {
        state.violation(format!("{} is live and has no root", level.name()));
    }
    if let Some(known) = state.known.get(&place).cloned()
        && level.root() != Some(known.root)
    {
        let survivors = known.survivors(eyes.ecs);
        if survivors > 0 {
            state.violation(format!(
                "{} left, and {survivors} of its entities are alive",
                level.name()
            ));
        }
        state.known.remove(&place);
        state.gone.push((state.frame, known));
    }
    let Some(root) = level.root() else { return };
    if let Some(tear) = eyes.find_tear(root, level.entry().entities) {
        state.violation(format!("{}: {tear}", level.name()));
    }
    if !state.known.contains_key(&place) {
        let known = Arc::new(Known::of(eyes.ecs, place.0, level.name(), root));
        for id in &known.ids {
            state.owners.insert(*id, known.clone());
        }
        state.known.insert(place, known);
    }
}

/// `Added` is true for all entities of a level in the frame of its reveal, and for none later.
fn check_added<C: Component + TypePath>(
    added: Query<Entity, Added<C>>,
    all: Query<(), With<C>>,
    mut revealed: MessageReader<LevelRevealed>,
    atomicity: Res<Atomicity>,
) {
    let name = C::short_type_path();
    let mut state = atomicity.lock();
    let mut counts: EntityHashMap<usize> = EntityHashMap::default();
    for entity in &added {
        if let Some(level) = state.owners.get(&entity) {
            *counts.entry(level.root).or_default() += 1;
        }
    }
    for event in revealed.read() {
        let level = state.known.values().find(|known| known.root == event.root);
        let Some(level) = level.cloned() else { continue };
        let expected = level.ids.iter().filter(|id| all.contains(**id)).count();
        let found = counts.remove(&level.root).unwrap_or_default();
        if found != expected {
            state.violation(format!("Added<{name}> finds {found} of {expected} of {}", level.name));
        }
    }
    for (root, count) in counts {
        state.violation(format!(
            "Added<{name}> finds {count} below {root}, which did not come in this frame"
        ));
    }
}

/// Each instance ends once.
fn follow_fates(mut events: MessageReader<InstanceEvent>, atomicity: Res<Atomicity>) {
    let mut state = atomicity.lock();
    events.read().for_each(|event| note_fate(&mut state, event));
}

fn note_fate(state: &mut State, event: &InstanceEvent) {
    let (id, fate) = match event {
        InstanceEvent::Revealed { id, .. } => (*id, Fate::Revealed),
        InstanceEvent::Left { id } => (*id, Fate::Left),
        InstanceEvent::Cancelled { id } => (*id, Fate::Cancelled),
        InstanceEvent::Failed { id, .. } => (*id, Fate::Failed),
        // Neither begins nor ends anything.
        InstanceEvent::Loaded { .. } | InstanceEvent::Hidden { .. } | InstanceEvent::Shown { .. } => return,
    };
    state.counts.cancelled += u64::from(fate == Fate::Cancelled);
    state.counts.failed += u64::from(fate == Fate::Failed);
    let was = state.fates.insert(id, fate).unwrap_or(Fate::Asked);
    let follows = match fate {
        Fate::Left => was == Fate::Revealed,
        _ => was == Fate::Asked,
    };
    if !follows {
        state.violation(format!("{id:?} is {fate:?} after it was {was:?}"));
    }
}
