//! Groups into the world, and single columns into entities that are there. See [`spawn`].

use core::{any::TypeId, cell::RefCell};
use std::collections::VecDeque;

use bevy_camera::primitives::Aabb;
use bevy_ecs::{
    bundle::BundleScratch,
    component::ComponentId,
    entity::Entity,
    relationship::RelationshipHookMode,
    world::{World, WorldId},
};
use bevy_mesh::Mesh3d;
use bevy_platform::collections::{HashMap, HashSet};

use super::{
    Boxes, Column, Group, IdentifiedColumn, Passes, Sight, TypedRows, Values, drawn::gets_box_in, insert_row,
    typed_column, value_at,
};
use crate::hide::InHiddenLevel;

/// What a [`spawn`] leaves behind: memory without values, which may be dropped where it costs nothing.
#[derive(Default)]
pub struct Spent {
    columns: Vec<Vec<IdentifiedColumn>>,
    rows: Vec<Box<dyn TypedRows>>,
    entities: Vec<Vec<Entity>>,
}

/// Spawns all groups in two passes: first every entity with the columns that nobody observes, then the late columns.
/// All components are registered in `world`; a column whose component is not is left out.
///
/// Relationship hooks are skipped: a level's columns hold both ends of each relationship. All other hooks and observers run.
/// An entity id that is already taken is skipped; ids come from the world's own allocator, so that does not happen.
pub fn spawn(world: &mut World, groups: Vec<Group>, passes: &dyn Passes) -> Spent {
    let mut spawner = Spawner::new(groups, false);
    spawner.step(world, usize::MAX, passes, None);
    spawner.insert_late(world)
}

/// A [`spawn`] that can pause between entities: [`step`](Self::step) is the first pass, [`insert_late`](Self::insert_late) the second.
pub(crate) struct Spawner {
    waiting: VecDeque<Group>,
    /// What is under way.
    batch: Option<Batch>,
    late: Vec<LateColumns>,
    /// Components of the first pass.
    early: HashSet<ComponentId>,
    spent: Spent,
    is_hidden: bool,
}

/// What comes in the second pass, of entities that have come in the first.
type LateColumns = (Vec<Entity>, Vec<IdentifiedColumn>);

/// Asks for each component once, as long as nobody can begin to observe anything.
struct Asked<'a> {
    passes: &'a dyn Passes,
    known: RefCell<HashMap<ComponentId, bool>>,
}

impl Passes for Asked<'_> {
    fn is_late(&self, world: &World, id: ComponentId) -> bool {
        let mut known = self.known.borrow_mut();
        *known.entry(id).or_insert_with(|| self.passes.is_late(world, id))
    }
}

/// The first pass of a group, and how much of it is done.
struct Batch {
    entities: Vec<Entity>,
    next: usize,
    /// Whether its entities have no box, and Bevy gives them one.
    gets_boxes: bool,
    values: BatchValues,
}

enum BatchValues {
    Rows(Box<dyn TypedRows>),
    Columns {
        now: Vec<IdentifiedColumn>,
        late: Vec<IdentifiedColumn>,
        boxed: Option<Boxed>,
    },
}

/// What tells the boxes of columns that Bevy gives boxes to.
struct Boxed {
    /// The place of the meshes among the columns.
    meshes: usize,
    /// The boxes' own id.
    id: ComponentId,
}

impl Boxed {
    /// None where the meshes are not among the columns.
    fn of(world: &mut World, now: &[IdentifiedColumn]) -> Option<Self> {
        let is_mesh = |column: &IdentifiedColumn| (*column.1).type_id() == TypeId::of::<Mesh3d>();
        Some(Self {
            meshes: now.iter().position(is_mesh)?,
            id: world.register_component::<Aabb>(),
        })
    }

    /// Those of the next entities, as a column, and who of them has one.
    fn next(
        &self,
        world: &World,
        now: &[IdentifiedColumn],
        count: usize,
        boxes: &mut dyn Boxes,
    ) -> (Vec<bool>, IdentifiedColumn) {
        let meshes = now.get(self.meshes).map(|(_, meshes)| &**meshes);
        let mut find = |row| boxes.of(world, value_at::<Mesh3d>(meshes?, row)?.id());
        let found: Vec<Option<Aabb>> = (0..count).map(&mut find).collect();
        let has = found.iter().map(Option::is_some).collect();
        (has, (self.id, typed_column(found.into_iter().flatten().collect())))
    }
}

impl Spawner {
    /// What `hidden` spawns is [`InHiddenLevel`], from the first moment on.
    pub fn new(groups: Vec<Group>, hidden: bool) -> Self {
        Self {
            waiting: groups.into(),
            batch: None,
            late: Vec::new(),
            early: HashSet::default(),
            spent: Spent::default(),
            is_hidden: hidden,
        }
    }

    /// Says that somebody else brings this component, too, in the first pass.
    pub fn bring(&mut self, component: Option<ComponentId>) {
        self.early.extend(component);
    }

    /// Spawns the next entities, `most` at most; gives how many. What is drawn has its boxes from `boxes`. `passes` parts groups as they come: a level may
    /// have hundreds of them.
    pub fn step(
        &mut self,
        world: &mut World,
        most: usize,
        passes: &dyn Passes,
        boxes: Option<&mut dyn Boxes>,
    ) -> usize {
        let passes = Asked {
            passes,
            known: RefCell::default(),
        };
        let mut sight = Sight {
            is_hidden: self.is_hidden,
            boxes,
        };
        let mut scratch = BundleScratch::default();
        let mut done = 0;
        while done < most
            && let Some(mut batch) = self.next_batch(world, &passes)
        {
            done += batch.step(world, most - done, &mut sight, &mut scratch);
            if batch.next < batch.entities.len() {
                self.batch = Some(batch);
                break;
            }
            let Batch { entities, values, .. } = batch;
            match values {
                BatchValues::Rows(rows) => {
                    self.spent.rows.push(rows);
                    self.spent.entities.push(entities);
                }
                BatchValues::Columns { now, late, .. } => {
                    self.spent.columns.push(now);
                    self.late.push((entities, late));
                }
            }
        }
        done
    }

    fn next_batch(&mut self, world: &mut World, passes: &dyn Passes) -> Option<Batch> {
        self.batch.take().or_else(|| {
            let group = self.waiting.pop_front()?;
            Some(Batch::new(world, group, passes, self.is_hidden, &mut self.early))
        })
    }

    /// Whether all entities are spawned.
    pub fn is_done(&self) -> bool {
        self.batch.is_none() && self.waiting.is_empty()
    }

    /// Whether some entities are spawned.
    pub fn has_begun(&self) -> bool {
        !self.late.is_empty() || !self.spent.rows.is_empty() || self.batch.is_some()
    }

    /// How many entities the second pass has to move, as far as they are known.
    pub fn late_rows(&self) -> usize {
        let under_way = self.batch.iter().map(|batch| match &batch.values {
            BatchValues::Columns { late, .. } if !late.is_empty() => batch.entities.len(),
            _ => 0,
        });
        let moved = self.late.iter().filter(|(_, columns)| !columns.is_empty());
        under_way.sum::<usize>() + moved.map(|(entities, _)| entities.len()).sum::<usize>()
    }

    /// Whether somebody wants to hear of a component by now that has come in the first pass.
    pub fn is_overheard(&self, world: &World, passes: &dyn Passes) -> bool {
        self.early.iter().any(|id| passes.is_late(world, *id))
    }

    /// The ids that are not spawned yet.
    pub fn waiting(&self) -> impl Iterator<Item = Entity> {
        let of_batch = self.batch.iter().filter_map(|batch| batch.entities.get(batch.next..));
        let of_groups = self.waiting.iter().map(|group| group.entities.as_slice());
        of_batch.chain(of_groups).flatten().copied()
    }

    /// The relationships that somebody observes, before all else that is observed: who hears of that and parts, ties or despawns entities of the level finds
    /// them tied, and nothing is written over afterwards. Whether there were any.
    pub fn insert_ties(&mut self, world: &mut World) -> bool {
        let is_tie = |(id, _): &IdentifiedColumn| {
            let info = world.components().get_info(*id);
            info.is_some_and(|info| info.relationship_accessor().is_some())
        };
        let parted = self.late.iter_mut().filter_map(|(entities, columns)| {
            if !columns.iter().any(is_tie) {
                return None;
            }
            let (ties, others) = core::mem::take(columns).into_iter().partition(is_tie);
            *columns = others;
            Some((entities.clone(), ties))
        });
        let ties: Vec<LateColumns> = parted.collect();
        let is_any = !ties.is_empty();
        insert_columns(world, ties, &mut self.spent);
        is_any
    }

    /// The second pass, once the first is done: those, if they are not in yet, and then all others.
    pub fn insert_late(mut self, world: &mut World) -> Spent {
        self.insert_ties(world);
        insert_columns(world, self.late, &mut self.spent);
        self.spent
    }
}

impl Batch {
    fn new(
        world: &mut World,
        group: Group,
        passes: &dyn Passes,
        hidden: bool,
        early: &mut HashSet<ComponentId>,
    ) -> Self {
        let Group { entities, values } = group;
        let columns = match values {
            Values::Columns(columns) => columns,
            Values::Rows(rows) => {
                let ids: Vec<_> = rows.types().into_iter().filter_map(|id| id_of(world, id)).collect();
                if !ids.iter().any(|id| passes.is_late(world, *id)) {
                    let gets_boxes = gets_box_in(world, ids.iter().copied());
                    early.extend(ids);
                    return Self::of(entities, gets_boxes, BatchValues::Rows(rows));
                }
                rows.into_columns()
            }
        };
        let (mut now, late) = split(world, columns, passes);
        early.extend(now.iter().map(|(id, _)| *id));
        if hidden {
            let marker = typed_column(vec![InHiddenLevel; entities.len()]);
            now.push((world.register_component::<InHiddenLevel>(), marker));
            now.sort_by_key(|(id, _)| *id);
        }
        let gets_boxes = gets_box_in(world, now.iter().chain(&late).map(|(id, _)| *id));
        let boxed = Boxed::of(world, &now);
        Self::of(entities, gets_boxes, BatchValues::Columns { now, late, boxed })
    }

    fn of(entities: Vec<Entity>, gets_boxes: bool, values: BatchValues) -> Self {
        Self {
            entities,
            next: 0,
            gets_boxes,
            values,
        }
    }

    fn step(&mut self, world: &mut World, most: usize, sight: &mut Sight, scratch: &mut BundleScratch) -> usize {
        let end = self.entities.len().min(self.next.saturating_add(most));
        let Some(entities) = self.entities.get_mut(self.next..end) else {
            return 0;
        };
        let mut sight = Sight {
            is_hidden: sight.is_hidden,
            boxes: match &mut sight.boxes {
                Some(boxes) if self.gets_boxes => Some(&mut **boxes),
                _ => None,
            },
        };
        match &mut self.values {
            BatchValues::Rows(rows) => rows.spawn(world, entities, &mut sight),
            BatchValues::Columns { now, boxed, .. } => {
                let mut found = match (sight.boxes, boxed) {
                    (Some(boxes), Some(boxed)) => Some(boxed.next(world, now, entities.len(), boxes)),
                    _ => None,
                };
                for (row, entity) in entities.iter_mut().enumerate() {
                    let found = found.as_mut().filter(|(has, _)| has.get(row) == Some(&true));
                    if world.spawn_empty_at(*entity).is_err() {
                        // Somebody else's: its row is dropped in both passes.
                        *entity = Entity::PLACEHOLDER;
                    }
                    if !now.is_empty() {
                        let found = found.map(|(_, column)| column);
                        insert_all(world, *entity, now, scratch, found);
                    }
                }
            }
        }
        let done = end - self.next;
        self.next = end;
        done
    }
}

fn insert_columns(world: &mut World, late: Vec<LateColumns>, spent: &mut Spent) {
    let mut scratch = BundleScratch::default();
    for (entities, mut columns) in late {
        if !columns.is_empty() {
            for &entity in &entities {
                insert_all(world, entity, &mut columns, &mut scratch, None);
            }
        }
        spent.columns.push(columns);
        spent.entities.push(entities);
    }
}

/// Moves the next value of each column into `entity`, and of those that it alone may have.
fn insert_all(
    world: &mut World,
    entity: Entity,
    columns: &mut [IdentifiedColumn],
    scratch: &mut BundleScratch,
    own: Option<&mut IdentifiedColumn>,
) {
    insert_row(
        world,
        entity,
        (columns, own),
        scratch,
        RelationshipHookMode::Skip,
        |_| true,
    );
}

fn id_of(world: &World, type_id: TypeId) -> Option<ComponentId> {
    world.components().get_id(type_id)
}

/// Resolves component ids, and sorts by them: Bevy caches bundles by the sorted ids. Who is hidden is never content's to say, though a scene that was saved
/// meanwhile may have the marker.
fn identified(world: &World, columns: Vec<Box<dyn Column>>) -> Vec<IdentifiedColumn> {
    let mut identified: Vec<IdentifiedColumn> = columns
        .into_iter()
        .filter(|column| (**column).type_id() != TypeId::of::<InHiddenLevel>())
        .filter_map(|column| Some((id_of(world, (*column).type_id())?, column)))
        .collect();
    identified.sort_by_key(|(id, _)| *id);
    identified
}

/// Splits off the late columns.
fn split(
    world: &World,
    columns: Vec<Box<dyn Column>>,
    passes: &dyn Passes,
) -> (Vec<IdentifiedColumn>, Vec<IdentifiedColumn>) {
    identified(world, columns)
        .into_iter()
        .partition(|(id, _)| !passes.is_late(world, *id))
}

/// Columns whose values move into entities that are there already.
pub(crate) struct Inserter {
    world: WorldId,
    columns: Vec<IdentifiedColumn>,
    scratch: BundleScratch,
}

impl Inserter {
    /// For entities of `world`. A column whose component is not registered there is left out.
    pub fn new(world: &World, columns: Vec<Box<dyn Column>>) -> Self {
        Self {
            world: world.id(),
            columns: identified(world, columns),
            scratch: BundleScratch::default(),
        }
    }

    /// The columns, with the ids of their components. Values are gone row by row.
    pub fn columns(&self) -> &[IdentifiedColumn] {
        &self.columns
    }

    /// Moves the next value of each column that `is_wanted` by its index into `entity`, all in one move, and drops the others.
    /// Nothing happens in another world than the one that this was made for.
    pub fn insert_next(
        &mut self,
        world: &mut World,
        entity: Entity,
        hooks: RelationshipHookMode,
        is_wanted: impl Fn(usize) -> bool,
    ) {
        if world.id() != self.world {
            return;
        }
        insert_row(
            world,
            entity,
            (&mut self.columns, None),
            &mut self.scratch,
            hooks,
            is_wanted,
        );
    }
}
