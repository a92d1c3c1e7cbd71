//! Decodes the level of a package, for a new instance or for one that is live. See [`Decoder::decode_level`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_asset::UntypedHandle;
use bevy_ecs::{
    entity::Entity,
    hierarchy::{ChildOf, Children},
};
use bevy_platform::collections::HashSet;
use bevy_reflect::Reflect;
use seamless_package::ObjectId;

use super::{
    Decoder, Tail,
    merge::{LiveLevel, StagedLevel, merge},
};
use crate::{
    codec::{DecodeContext, DecodeError},
    entities::ReservedEntities,
    error::{LoadError, LoadErrorKind},
    level_data::{DecodedLevel, GroupTable, Hierarchy, LevelObjects, LevelTable, Run, check_columns},
    load::{
        PostLoad,
        classes::{Class, ResourceClass},
        task::Stop,
    },
    spawn::{Column, Group, RowSets, Values, typed_column},
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
}

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
pub(super) struct RowGroup {
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
    pub(super) fn decode_level(&self, tail: Tail, post_load: &mut PostLoad) -> Result<Box<LoadedLevel>, Stop> {
        let rows = self.decode_rows(None, tail, post_load)?;
        let name = rows.name.clone();
        let runs = rows.groups.iter().map(Run::of).collect();
        rows.into_level(runs, |groups| {
            let codecs = self.services.codecs.read();
            let group = |group: RowGroup| group.into_group(codecs.rows());
            groups.into_iter().map(group).collect()
        })
        .map_err(|error| self.error(&name, error))
    }

    /// The level, for an instance that is live: its entities are those that it has.
    pub(super) fn decode_level_over(
        &self,
        live: &LiveLevel,
        tail: Tail,
        post_load: &mut PostLoad,
    ) -> Result<StagedLevel, Stop> {
        let rows = self.decode_rows(Some(live), tail, post_load)?;
        let name = rows.name.clone();
        let codecs = self.services.codecs.read();
        merge(rows, live, codecs.rows()).map_err(|error| self.error(&name, error))
    }

    fn decode_rows(&self, live: Option<&LiveLevel>, tail: Tail, post_load: &mut PostLoad) -> Result<Rows, Stop> {
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
        let groups = self.decode_groups(name, &table, &ids, &handles, post_load)?;
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
        let mut hierarchy = Hierarchy::new(ids.root, &ids.entities);
        for group in &table.groups {
            let (rows, left) = rest.split_at_checked(group.rows as usize).unwrap_or((rest, &[]));
            rest = left;
            let mut columns = self.decode_group(name, group, rows.len(), ids.root, &context, post_load)?;
            hierarchy
                .note(rows.len(), &mut columns)
                .map_err(|error| self.error(name, error))?;
            let entities = rows.to_vec();
            groups.push(RowGroup { entities, columns });
        }
        hierarchy
            .finish(&table.roots)
            .map_err(|error| self.error(name, DecodeError::from(error)))?;
        Ok(groups)
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
    /// The level of these rows; `to_spawn` gives the groups that are to be spawned.
    pub fn into_level(
        self,
        runs: Arc<[Run]>,
        to_spawn: impl FnOnce(Vec<RowGroup>) -> Result<Vec<Group>, DecodeError>,
    ) -> Result<Box<LoadedLevel>, DecodeError> {
        let is_parent = |group: &&RowGroup| group.types().any(|type_id| type_id == TypeId::of::<Children>());
        let parents = self.groups.iter().filter(is_parent);
        let parents = parents.flat_map(|group| group.entities.iter().copied()).collect();
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
        }))
    }
}
