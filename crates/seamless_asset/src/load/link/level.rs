//! Decodes the level of a package, for a new instance or for one that is live. See [`Decoder::decode_level`].

use core::{any::TypeId, ops::Range};
use std::sync::Arc;

use bevy_asset::UntypedHandle;
use bevy_ecs::{
    component::Component,
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_mesh::Mesh3d;
use bevy_platform::collections::HashSet;
use bevy_reflect::Reflect;
use bevy_transform::components::Transform;
use seamless_package::ObjectId;

use super::{
    Decoder, Tail,
    merge::{LiveLevel, ReloadedLevel, merge},
};
use crate::{
    codec::{DecodeContext, DecodeError},
    entities::ReservedEntities,
    error::{LoadError, LoadErrorKind},
    level_data::{DecodedLevel, GroupTable, Hierarchy, LevelObjects, LevelTable, Run, check_columns},
    load::{
        InstanceInfo, LevelScans, PostLoad, StagedLevel,
        classes::{Class, ResourceClass},
        settle::{WORTH, settle},
        task::Stop,
    },
    reveal::Bounds,
    spawn::{Column, Group, RowSets, Values, may_have_box, typed_column, value_at, values},
};

/// A decoded level and the ids it will have.
pub(crate) struct LoadedLevel {
    pub level: DecodedLevel,
    pub reserved: ReservedEntities,
    pub root: Entity,
    pub resources: Vec<Box<dyn Reflect>>,
    /// Bytes read for this level alone, when its package's assets were there already.
    pub bytes: u64,
    /// Content hash of the file that it is from.
    pub content_hash: u64,
    /// What its entities will take in memory, about.
    pub memory: u64,
    /// What was found in its columns.
    pub scans: Arc<LevelScans>,
    /// The placement for which its global transforms are final.
    pub settled: Option<Transform>,
    /// The boxes of what it shows.
    pub bounds: Bounds,
}

/// What Bevy keeps of an entity beside its components, and of a component beside its value: its ticks.
const ENTITY_BYTES: usize = 32;
const TICKS_BYTES: usize = 8;

/// The rows of a level, decoded, before it is known which are to be spawned.
pub(super) struct Rows {
    /// What the level's export is called.
    name: String,
    pub ids: Vec<ObjectId>,
    /// By row.
    pub entities: Vec<Entity>,
    /// Whether the entity was known before, by row.
    pub is_known: Vec<bool>,
    pub groups: Vec<RowGroup>,
    pub roots: Vec<Entity>,
    pub root: Entity,
    reserved: ReservedEntities,
    resources: Vec<Box<dyn Reflect>>,
    content_hash: u64,
    package: Arc<str>,
}

/// Rows with one set of components.
pub(in crate::load) struct RowGroup {
    pub entities: Vec<Entity>,
    pub columns: Vec<Box<dyn Column>>,
}

/// The ids of a level's rows.
struct Ids {
    entities: Vec<Entity>,
    is_known: Vec<bool>,
    root: Entity,
    reserved: ReservedEntities,
}

impl Decoder<'_> {
    /// The level, for a new instance.
    pub(super) fn decode_level(
        &self,
        instance: &InstanceInfo,
        tail: Tail,
        post_load: &mut PostLoad,
    ) -> Result<Box<LoadedLevel>, Stop> {
        let mut rows = self.decode_rows(None, instance, tail, post_load)?;
        let name = rows.name.clone();
        let runs = rows.groups.iter().map(Run::of).collect();
        let settled = self.settle(&mut rows, &instance.placement);
        let scans = self.services.post_loads.levels.scan(&rows.staged());
        let mut bounds = Bounds::default();
        if self.services.codecs.read().rows().gives_boxes {
            rows.groups.iter().for_each(|group| group.note_meshes(&mut bounds));
        }
        let level = rows.into_level(runs, |groups| {
            let codecs = self.services.codecs.read();
            let group = |group: RowGroup| group.into_group(codecs.rows());
            groups.into_iter().map(group).collect()
        });
        let mut level = level.map_err(|error| self.error(&name, error))?;
        level.scans = Arc::new(scans);
        level.settled = settled;
        level.bounds = bounds;
        Ok(level)
    }

    /// Puts the entities where they will stand, where that is worth something: in apps that show large levels in one frame.
    fn settle(&self, rows: &mut Rows, placement: &Transform) -> Option<Transform> {
        let is_worth_it = self.services.is_sliced && rows.entities.len() >= WORTH;
        let root = rows.root;
        (is_worth_it && settle(&mut rows.staged(), root, placement)).then_some(*placement)
    }

    /// The level, for an instance that is live: its entities are those that it has.
    pub(super) fn decode_level_over(
        &self,
        live: &LiveLevel,
        tail: Tail,
        post_load: &mut PostLoad,
    ) -> Result<ReloadedLevel, Stop> {
        let rows = self.decode_rows(Some(live), &live.info, tail, post_load)?;
        let name = rows.name.clone();
        let codecs = self.services.codecs.read();
        merge(rows, live, codecs.rows()).map_err(|error| self.error(&name, error))
    }

    fn decode_rows(
        &self,
        live: Option<&LiveLevel>,
        instance: &InstanceInfo,
        tail: Tail,
        post_load: &mut PostLoad,
    ) -> Result<Rows, Stop> {
        let mut found = None;
        let mut resources = Vec::new();
        for (index, export) in self.package.exports().iter().enumerate() {
            if export.is_class() || !export.role.intersects(self.services.role) {
                continue;
            }
            match self.class_of(&export) {
                Some(Class::Level) => found = Some(index),
                Some(Class::Resource(class)) => resources.extend(self.decode_resource(index, class, tail)?),
                _ => {}
            }
        }
        let index = found.ok_or_else(|| LoadError::package(self.file.as_str(), LoadErrorKind::NoLevel))?;
        let name = self.name(index);
        let data = self.data(index, tail)?;
        let table = LevelTable::parse(&data, self.services.max_entities).map_err(|error| self.error(name, error))?;
        // Whatever goes wrong below, the guard gives the ids back.
        let Some(ids) = self.ids(&table.ids, live) else {
            return Err(self.error(name, LoadErrorKind::NoLevel));
        };
        let handles = self.references(index);
        let mut groups = self.decode_groups(name, &table, &ids, &handles, post_load)?;
        self.run_hooks(name, instance, &table.ids, &ids.entities, &mut groups)?;
        self.check_hierarchy(name, &table.roots, &ids, &mut groups)?;
        let entity = |row: &u32| ids.entities.get(*row as usize).copied();
        Ok(Rows {
            name: name.to_owned(),
            roots: table.roots.iter().filter_map(entity).collect(),
            ids: table.ids,
            groups,
            entities: ids.entities,
            is_known: ids.is_known,
            root: ids.root,
            reserved: ids.reserved,
            resources,
            content_hash: self.package.summary().content_hash,
            package: self.package.name().into(),
        })
    }

    fn decode_resource(
        &self,
        index: usize,
        class: &ResourceClass,
        tail: Tail,
    ) -> Result<Option<Box<dyn Reflect>>, Stop> {
        let data = self.data(index, tail)?;
        let handles = self.references(index);
        class
            .decode(&data, &self.context(&[], &handles))
            .map_err(|error| self.error(&class.type_path, error))
    }

    /// The ids of the rows with these object ids: those that are live, and new ones.
    fn ids(&self, objects: &[ObjectId], live: Option<&LiveLevel>) -> Option<Ids> {
        let mut met = HashSet::new();
        let mut known = |id: &ObjectId| live?.entity(*id).filter(|_| met.insert(*id));
        let known: Vec<Option<Entity>> = objects.iter().map(&mut known).collect();
        let missing = known.iter().filter(|entity| entity.is_none()).count();
        // One more for the root of a new instance.
        let reserved = self.services.pool.reserve(missing + usize::from(live.is_none()));
        let mut new = reserved.as_slice().iter().copied();
        let root = match live {
            Some(live) => live.root,
            None => new.next()?,
        };
        let is_known = known.iter().map(Option::is_some).collect();
        let entities = known.into_iter().map(|known| known.or_else(|| new.next()));
        Some(Ids {
            entities: entities.collect::<Option<_>>()?,
            is_known,
            root,
            reserved,
        })
    }

    fn decode_groups(
        &self,
        name: &str,
        table: &LevelTable,
        ids: &Ids,
        handles: &[Option<UntypedHandle>],
        post_load: &mut PostLoad,
    ) -> Result<Vec<RowGroup>, Stop> {
        let context = self.context(&ids.entities, handles);
        let mut rest = ids.entities.as_slice();
        let mut groups = Vec::with_capacity(table.groups.len());
        for group in &table.groups {
            let (rows, left) = rest.split_at_checked(group.rows as usize).unwrap_or((rest, &[]));
            rest = left;
            let columns = self.decode_group(name, group, rows.len(), ids.root, &context, post_load)?;
            let entities = rows.to_vec();
            groups.push(RowGroup { entities, columns });
        }
        Ok(groups)
    }

    /// Lets the game change this one instance.
    fn run_hooks(
        &self,
        name: &str,
        instance: &InstanceInfo,
        objects: &[ObjectId],
        entities: &[Entity],
        groups: &mut Vec<RowGroup>,
    ) -> Result<(), Stop> {
        let hooks = &self.services.post_loads.levels;
        if !hooks.has_instances() {
            return Ok(());
        }
        let mut level = StagedLevel::new(self.package.name(), objects, entities, groups);
        hooks
            .run(&mut level, instance)
            .map_err(|error| self.error(name, error))?;
        for group in groups {
            check_columns(&group.columns, group.entities.len()).map_err(|error| self.error(name, error))?;
        }
        Ok(())
    }

    /// Who is whose child is said alike by both, whatever code of the game has done.
    fn check_hierarchy(&self, name: &str, roots: &[u32], ids: &Ids, groups: &mut [RowGroup]) -> Result<(), Stop> {
        let mut hierarchy = Hierarchy::new(ids.root, &ids.entities);
        for RowGroup { entities, columns } in groups {
            hierarchy
                .note(entities.len(), columns)
                .map_err(|error| self.error(name, error))?;
        }
        hierarchy
            .finish(roots)
            .map_err(|error| self.error(name, DecodeError::from(error)))
    }

    fn decode_group(
        &self,
        name: &str,
        group: &GroupTable,
        rows: usize,
        root: Entity,
        context: &DecodeContext,
        post_load: &mut PostLoad,
    ) -> Result<Vec<Box<dyn Column>>, Stop> {
        let mut columns = Vec::with_capacity(group.columns.len());
        for column in &group.columns {
            self.job.progress.check()?;
            if !column.role.intersects(self.services.role) {
                continue;
            }
            let class = match self.classes.get(column.class as usize).and_then(Option::as_ref) {
                Some(Class::Component(class)) => class,
                #[cfg(feature = "migrations")]
                Some(Class::Dropped) => continue,
                Some(Class::Unknown(error)) => return Err(self.error(name, error.clone())),
                _ => {
                    let message = format!("export {} is no component class", column.class);
                    return Err(self.error(name, DecodeError::Malformed(message)));
                }
            };
            let object = || format!("{name}.{}", class.type_path);
            let mut decoded = Vec::new();
            class
                .decode(column.data, rows, context, &mut decoded)
                .map_err(|error| self.error(&object(), error))?;
            for column in decoded {
                columns.push(post_load.column(&object, column)?);
            }
        }
        if columns
            .iter()
            .all(|column| (**column).type_id() != TypeId::of::<ChildOf>())
        {
            // Entities without a parent of their own hang below the instance's root.
            columns.push(typed_column(vec![ChildOf(root); rows]));
        }
        check_columns(&columns, rows).map_err(|error| self.error(name, error))?;
        Ok(columns)
    }
}

impl RowGroup {
    /// What its entities will take in memory.
    fn memory(&self) -> u64 {
        let columns = self.columns.iter().map(|column| column.row_bytes() + TICKS_BYTES);
        (self.entities.len() * (ENTITY_BYTES + columns.sum::<usize>())) as u64
    }

    /// Counts who shows which mesh, as far as boxes follow from it.
    fn note_meshes(&self, bounds: &mut Bounds) {
        let column_of = |wanted| self.columns.iter().find(|column| (***column).type_id() == wanted);
        if may_have_box(|wanted| column_of(wanted).is_some())
            && let Some(meshes) = column_of(TypeId::of::<Mesh3d>())
        {
            let meshes = (0..meshes.len()).filter_map(|row| value_at(&**meshes, row));
            meshes.for_each(|mesh| bounds.note(mesh));
        }
    }

    /// The component of a row, if the rows have it.
    pub fn get<C: Component>(&self, row: usize) -> Option<&C> {
        self.columns.iter().find_map(|column| value_at(&**column, row))
    }

    /// Changes the component of all rows, if they have it.
    pub fn change<C: Component>(&mut self, mut change: impl FnMut(usize, &mut C)) {
        let mut columns = self.columns.iter_mut();
        let Some(column) = columns.find(|column| (***column).type_id() == TypeId::of::<C>()) else {
            return;
        };
        let taken = core::mem::replace(column, typed_column(Vec::<C>::new()));
        if let Some(mut values) = values::<C>(taken) {
            values
                .iter_mut()
                .enumerate()
                .for_each(|(row, value)| change(row, value));
            *column = typed_column(values);
        }
    }

    /// Gives `rows` a component, or other values of it; adds the groups that come of it to `groups`.
    pub fn give<C: Component>(mut self, rows: Range<usize>, values: Vec<C>, groups: &mut Vec<Self>) {
        if rows.is_empty() {
            return groups.push(self);
        }
        if self.types().any(|type_id| type_id == TypeId::of::<C>()) {
            let mut values = values.into_iter();
            self.change(|row, value| {
                if rows.contains(&row)
                    && let Some(new) = values.next()
                {
                    *value = new;
                }
            });
            return groups.push(self);
        }
        let count = self.entities.len();
        let [before, rest] = self.split(&vec![true; rows.start]);
        let [mut within, after] = rest.split(&vec![true; rows.len()]);
        within.columns.push(typed_column(values));
        debug_assert_eq!(
            before.entities.len() + within.entities.len() + after.entities.len(),
            count
        );
        groups.extend(
            [before, within, after]
                .into_iter()
                .filter(|group| !group.entities.is_empty()),
        );
    }

    /// The rows that are picked, and the others. A row that `picked` does not tell of is not.
    pub fn split(self, picked: &[bool]) -> [Self; 2] {
        let mut columns = [Vec::new(), Vec::new()];
        for column in self.columns {
            let [one, other] = column.split(picked);
            columns[0].push(one);
            columns[1].push(other);
        }
        let is_picked = |row: usize| picked.get(row).copied().unwrap_or_default();
        let rows = self.entities.iter().enumerate();
        let entities = |is: bool| {
            let rows = rows.clone().filter(|(row, _)| is_picked(*row) == is);
            rows.map(|(_, entity)| *entity).collect()
        };
        let [one, other] = columns;
        [(true, one), (false, other)].map(|(is, columns)| Self {
            entities: entities(is),
            columns,
        })
    }

    pub fn types(&self) -> impl Iterator<Item = TypeId> {
        self.columns.iter().map(|column| (**column).type_id())
    }

    pub fn into_group(self, sets: &RowSets) -> Result<Group, DecodeError> {
        Ok(Group {
            entities: self.entities,
            values: Values::new(self.columns, sets)?,
        })
    }
}

impl Run {
    pub(super) fn of(group: &RowGroup) -> Self {
        Self {
            rows: group.entities.len() as u32,
            types: group.types().collect(),
        }
    }
}

impl Rows {
    /// As it is told to others.
    fn staged(&mut self) -> StagedLevel<'_> {
        StagedLevel::new(&self.package, &self.ids, &self.entities, &mut self.groups)
    }

    /// The level of these rows; `to_spawn` gives the groups that are to be spawned.
    pub fn into_level(
        self,
        runs: Arc<[Run]>,
        to_spawn: impl FnOnce(Vec<RowGroup>) -> Result<Vec<Group>, DecodeError>,
    ) -> Result<Box<LoadedLevel>, DecodeError> {
        let is_parent = |group: &&RowGroup| group.types().any(|type_id| type_id == TypeId::of::<Children>());
        let parents = self.groups.iter().filter(is_parent);
        let parents = parents.flat_map(|group| group.entities.iter().copied()).collect();
        let memory = self.groups.iter().map(RowGroup::memory).sum();
        let level = DecodedLevel {
            parents,
            objects: Arc::new(LevelObjects::new(&self.ids, &self.entities)),
            package: self.package,
            groups: to_spawn(self.groups)?,
            entities: self.entities.into(),
            roots: self.roots,
            runs,
        };
        Ok(Box::new(LoadedLevel {
            level,
            root: self.root,
            reserved: self.reserved,
            resources: self.resources,
            bytes: 0,
            content_hash: self.content_hash,
            memory,
            scans: Arc::default(),
            settled: None,
            bounds: Bounds::default(),
        }))
    }
}
