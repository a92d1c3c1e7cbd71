//! Groups into the world, and single columns into entities that are there. See [`spawn`].

use core::any::TypeId;

use bevy_ecs::{
    bundle::BundleScratch,
    component::ComponentId,
    entity::Entity,
    relationship::RelationshipHookMode,
    world::{World, WorldId},
};

use super::{Column, Group, IdentifiedColumn, Passes, TypedRows, Values, insert_row};

/// What a [`spawn`] leaves behind: memory without values, which may be dropped where it costs nothing.
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
    let mut spawner = Spawner {
        scratch: BundleScratch::default(),
        late: Vec::new(),
        spent: Spent {
            columns: Vec::new(),
            rows: Vec::new(),
            entities: Vec::new(),
        },
    };
    for group in groups {
        spawner.spawn_group(world, group, passes);
    }
    spawner.insert_late(world)
}

struct Spawner {
    scratch: BundleScratch,
    late: Vec<(Vec<Entity>, Vec<IdentifiedColumn>)>,
    spent: Spent,
}

impl Spawner {
    fn spawn_group(&mut self, world: &mut World, group: Group, passes: &dyn Passes) {
        let Group { mut entities, values } = group;
        let columns = match values {
            Values::Columns(columns) => columns,
            Values::Rows(mut rows) => {
                let is_late = |type_id| id_of(world, type_id).is_some_and(|id| passes.is_late(world, id));
                if !rows.types().into_iter().any(is_late) {
                    rows.spawn(world, &entities);
                    self.spent.rows.push(rows);
                    self.spent.entities.push(entities);
                    return;
                }
                rows.into_columns()
            }
        };
        let (mut now, later) = split(world, columns, passes);
        for entity in &mut entities {
            if world.spawn_empty_at(*entity).is_err() {
                // Somebody else's: its row is dropped in both passes.
                *entity = Entity::PLACEHOLDER;
            }
            if !now.is_empty() {
                insert_row(
                    world,
                    *entity,
                    &mut now,
                    &mut self.scratch,
                    RelationshipHookMode::Skip,
                    |_| true,
                );
            }
        }
        self.spent.columns.push(now);
        self.late.push((entities, later));
    }

    fn insert_late(mut self, world: &mut World) -> Spent {
        for (entities, mut columns) in self.late {
            if !columns.is_empty() {
                for &entity in &entities {
                    insert_row(
                        world,
                        entity,
                        &mut columns,
                        &mut self.scratch,
                        RelationshipHookMode::Skip,
                        |_| true,
                    );
                }
            }
            self.spent.columns.push(columns);
            self.spent.entities.push(entities);
        }
        self.spent
    }
}

fn id_of(world: &World, type_id: TypeId) -> Option<ComponentId> {
    world.components().get_id(type_id)
}

/// Resolves component ids, and sorts by them: Bevy caches bundles by the sorted ids.
fn identified(world: &World, columns: Vec<Box<dyn Column>>) -> Vec<IdentifiedColumn> {
    let mut identified: Vec<IdentifiedColumn> = columns
        .into_iter()
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
        insert_row(world, entity, &mut self.columns, &mut self.scratch, hooks, is_wanted);
    }
}
