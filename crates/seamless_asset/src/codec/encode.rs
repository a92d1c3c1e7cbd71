//! What codecs use while they encode: reference lists and entity rows. See [`EncodeContext`].

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityMapper};
use bevy_platform::collections::HashMap;
use bevy_reflect::TypeRegistry;

/// Why a value cannot be cooked. The cooker adds file and object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The value refers to an entity that is not part of the level.
    #[error("refers to entity {0}, which is not part of the level; levels hold their own entities only")]
    OutsideEntity(Entity),
    /// The type cannot be reflected, and has no codec.
    #[error(
        "`{0}` has no codec and cannot be read by reflection; register it with `app.register_type`, or give it a codec"
    )]
    NoCodec(String),
    /// Reflection could not write the value.
    #[error("`{type_path}` cannot be written by reflection: {message}")]
    Reflect {
        /// Which type.
        type_path: String,
        /// What the serialiser said.
        message: String,
    },
    /// A component whose rows are copied as they are maps entities, which are then not mapped.
    #[error(
        "`{0}` maps entities that it keeps as plain numbers; add `#[reflect(@CookByField)]` to it, \
         or `app.add_component_codec(ReflectCodec::by_field(…)?)`, so that it is cooked by field"
    )]
    MapsEntities(String),
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// The rows of a level's entities: source entity to row.
pub type EntityRows = EntityHashMap<u32>;

/// Collects what one export refers to while its value is encoded.
pub struct EncodeContext<'a> {
    /// The app's reflected types.
    pub registry: &'a TypeRegistry,
    /// The rows of the level's entities; empty while an asset is encoded.
    pub entities: &'a EntityRows,
    references: Vec<UntypedHandle>,
    known: HashMap<UntypedAssetId, u32>,
}

impl<'a> EncodeContext<'a> {
    /// A context for one export.
    #[must_use]
    pub fn new(registry: &'a TypeRegistry, entities: &'a EntityRows) -> Self {
        Self {
            registry,
            entities,
            references: Vec::new(),
            known: HashMap::default(),
        }
    }

    /// The index of `handle` in the export's reference list; appends it when it is new.
    pub fn reference(&mut self, handle: &UntypedHandle) -> u32 {
        let next = self.references.len() as u32;
        *self.known.entry(handle.id()).or_insert_with(|| {
            self.references.push(handle.clone());
            next
        })
    }

    /// The row of `entity`.
    ///
    /// # Errors
    /// When it is not part of the level.
    pub fn row(&self, entity: Entity) -> Result<u32, EncodeError> {
        self.entities
            .get(&entity)
            .copied()
            .ok_or(EncodeError::OutsideEntity(entity))
    }

    /// The assets that were referred to, in the order of the reference list.
    #[must_use]
    pub fn into_references(self) -> Vec<UntypedHandle> {
        self.references
    }
}

/// Maps source entities to entities whose *index* is the row, and remembers the first that is outside.
pub(super) struct RowMapper<'a> {
    pub rows: &'a EntityRows,
    pub outside: Option<Entity>,
    pub used: bool,
}

impl EntityMapper for RowMapper<'_> {
    fn get_mapped(&mut self, source: Entity) -> Entity {
        self.used = true;
        if source == Entity::PLACEHOLDER {
            return source;
        }
        match self.rows.get(&source).copied().and_then(Entity::from_raw_u32) {
            Some(row) => row,
            None => {
                self.outside.get_or_insert(source);
                source
            }
        }
    }

    fn set_mapped(&mut self, _: Entity, _: Entity) {}
}
