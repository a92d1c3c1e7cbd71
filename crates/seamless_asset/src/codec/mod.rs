//! Codecs: how components and assets become bytes in a package, and values again.
//!
//! Everything a codec writes is *position independent*: a reference to another object is an index into the
//! reference list of the export being written (see [`DecodeContext::handles`]), and a reference to an entity is
//! the entity's row in its level. The cooker can so encode an object once and decide later which package holds it.
//!
//! * A **component** is stored in columns, one column for all entities that share the same set of components
//!   ([`ComponentCodec`]). Any component that is registered for reflection can be cooked ([`ReflectCodec`]); the
//!   common ones of Bevy have codecs of their own, because they are on almost every entity. Where a component is nothing
//!   but numbers ([`PlainType`]), its columns are the memory of its values, and are read by one copy.
//! * An **asset** needs an [`AssetCodec`], or an explicit
//!   [`cook_by_reflection`](crate::SeamlessAssetApp::cook_by_reflection): reflection loses ignored fields in silence.

mod asset;
mod attribute;
mod builtin;
mod handle;
#[cfg(feature = "migrations")]
mod migrate;
mod migrations;
#[cfg(not(feature = "migrations"))]
mod no_migrations;
mod object;
mod plain;
mod record;
mod reflect;
mod registry;
mod relation;

#[cfg(feature = "write")]
mod encode;
#[cfg(feature = "write")]
mod split;

#[cfg(feature = "write")]
pub use asset::EncodedAsset;
pub(crate) use asset::created;
pub use asset::{AssetCodec, BulkUse, DecodedAsset, ErasedAssetCodec, ReflectAssetCodec};
pub use attribute::{CookByField, Immutable};
#[cfg(feature = "write")]
pub use encode::{EncodeContext, EncodeError, EncodeWarning, EntityRows, Told};
pub use handle::HandleCodec;
pub(crate) use handle::typed_handle;
#[cfg(feature = "migrations")]
pub(crate) use migrate::{Fate, Migrator, Plan, check_immutable, looks_into};
#[cfg(feature = "migrations")]
pub use migrate::{Field, Fields, MigrateError};
pub use migrations::{MigrationLists, Migrations, MigrationsError};
#[cfg(not(feature = "migrations"))]
pub use no_migrations::{Field, Fields};
pub use object::{DecodedObject, DecodedPlace, WhenInserted};
pub use plain::{
    LayoutError, Leaf, MAX_ALIGN, MAX_DESCRIPTION, MAX_LEAVES, MAX_ROW, Number, NumberKind, PlainLayout, PlainType,
};
pub use record::{Record, RecordCodec};
#[cfg(feature = "write")]
pub use reflect::encode_reflected;
pub use reflect::{ReflectCodec, decode_reflected, decode_reflected_whole, description_of, resource_schema};
pub use registry::{CodecRegistry, Codecs};
pub use relation::{RelationshipCodec, RelationshipTargetCodec};
#[cfg(feature = "write")]
pub use split::{ColumnSplitter, Part, SplitRows};

use core::any::TypeId;

use bevy_asset::{UntypedAssetId, UntypedHandle};
use bevy_ecs::{component::ComponentId, entity::Entity, world::World};
use bevy_reflect::TypeRegistry;
use seamless_package::{CursorError, Role, Schema};

use self::reflect::first_difference;
use crate::{
    assets::animation::{ClipError, GraphError},
    level_data::HierarchyError,
    spawn::Column,
};

/// How the values of a class are encoded; stored in [`Schema::encoding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// The level table: entities and their columns.
    Level = 1,
    /// Components or resources, positional, by reflection and `postcard`.
    Reflect = 2,
    /// Components with a hand-written [`Record`].
    Record = 3,
    /// Components that are one asset handle.
    Handle = 4,
    /// Components that are one entity, or a list of entities.
    Relation = 5,
    /// Assets with an [`AssetCodec`].
    Asset = 6,
    /// A resource of a scene, kept for ever (world file: `resources: Persistent`).
    Resource = 7,
    /// Components that are nothing but numbers: the memory of their values. See [`PlainType`].
    Plain = 8,
}

impl Encoding {
    /// The encoding with this number, if there is one.
    #[must_use]
    pub fn from_u8(value: u8) -> Option<Self> {
        Some(match value {
            1 => Self::Level,
            2 => Self::Reflect,
            3 => Self::Record,
            4 => Self::Handle,
            5 => Self::Relation,
            6 => Self::Asset,
            7 => Self::Resource,
            8 => Self::Plain,
            _ => return None,
        })
    }
}

/// A schema with the hash of its layout.
#[must_use]
pub fn schema(type_path: &str, encoding: Encoding, version: u32, description: &str) -> Schema {
    Schema {
        type_path: type_path.to_owned(),
        encoding: encoding as u8,
        immutable: false,
        version,
        hash: xxhash_rust::xxh3::xxh3_64(description.as_bytes()),
        description: description.to_owned(),
    }
}

/// Whether values of the schema `stored` lie as those of the schema `is`.
#[must_use]
pub fn has_layout(stored: &Schema, is: &Schema) -> bool {
    is.encoding == stored.encoding && is.version == stored.version && is.hash == stored.hash
}

/// Whether values of the schema `stored` can be read by a codec of the schema `is`.
///
/// # Errors
/// When their layouts are not the same.
pub fn check_layout(stored: &Schema, is: &Schema) -> Result<(), DecodeError> {
    if has_layout(stored, is) {
        Ok(())
    } else {
        Err(changed(stored, is))
    }
}

/// The error about two layouts that are not the same.
pub(crate) fn changed(stored: &Schema, is: &Schema) -> DecodeError {
    let in_words = |schema: &Schema, layout: String| {
        let encoding = Encoding::from_u8(schema.encoding).map_or_else(String::new, |encoding| format!("{encoding:?}"));
        format!("{encoding} version {}, {layout}", schema.version)
    };
    let type_path = stored.type_path.clone();
    if is.encoding == stored.encoding && stored.version > is.version {
        return DecodeError::version(&type_path, stored.version, is.version);
    }
    let is_immutable = stored.immutable || is.immutable;
    let (was, now) = first_difference(&stored.description, &is.description);
    let (was, is) = (in_words(stored, was), in_words(is, now));
    if is_immutable {
        DecodeError::ImmutableChanged { type_path, was, is }
    } else {
        DecodeError::SchemaChanged { type_path, was, is }
    }
}

/// Why bytes could not be turned into a value. The caller adds which file and object it was.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The bytes are not what the codec wrote.
    #[error(transparent)]
    Bytes(#[from] CursorError),
    /// A value does not follow its codec's rules.
    #[error("malformed data: {0}; cook the package again")]
    Malformed(String),
    /// A reflected value could not be read.
    #[error("`{type_path}` cannot be read: {message}; cook the package again with this version of the game")]
    Reflect {
        /// Which type.
        type_path: String,
        /// What the deserialiser said.
        message: String,
    },
    /// A type of the package that this app does not know.
    #[error(
        "unknown type `{0}`: register it (`app.register_type::<…>()` or a codec) in the game as in the cooker, or add the plugin that does"
    )]
    UnknownType(String),
    /// The type changed since the package was cooked, and nothing here reads its older form.
    #[error(
        "`{type_path}` is not laid out as when the package was cooked (was: {was}; is: {is}){}; cook the package again",
        if cfg!(feature = "migrations") { "" } else { ", and this build has no migrations" }
    )]
    SchemaChanged {
        /// Which type.
        type_path: String,
        /// Its layout in the package.
        was: String,
        /// Its layout in this app.
        is: String,
    },
    /// The codec of the build that cooked the package is a newer one.
    #[error(
        "`{type_path}` was cooked in version {was} of its form, and this build knows it up to version {is}; run a newer build"
    )]
    NewerVersion {
        /// Which type.
        type_path: String,
        /// The version in the package.
        was: u32,
        /// The latest version that this app has.
        is: u32,
    },
    /// An older object does not become one of today's types.
    #[cfg(feature = "migrations")]
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// A migration wants to look into objects whose codec shows no parts of them.
    #[error(
        "`{type_path}` is read by a codec of its own that migrations cannot look into; give that of a component `ComponentCodec::decode_values`, raise the version of an asset's and do it in `AssetCodec::decode_version`, or take the type out of the migration"
    )]
    NoValues {
        /// Which type.
        type_path: String,
    },
    /// A type that was declared immutable is another one than when the package was cooked.
    #[error(
        "`{type_path}` is declared immutable, but is not laid out as when the package was cooked (was: {was}; is: {is}); \
         give the type its old fields back and a new layout a type of its own, or cook the package again"
    )]
    ImmutableChanged {
        /// Which type.
        type_path: String,
        /// Its layout in the package.
        was: String,
        /// Its layout in this app.
        is: String,
    },
    /// The layout of a column of plain rows is not one.
    #[error("the layout of `{type_path}` is wrong: {error}; cook the package again")]
    Layout {
        /// Which type.
        type_path: String,
        /// What is wrong.
        error: LayoutError,
    },
    /// A column of plain rows has not the size that it must have.
    #[error("{rows} rows of {row} bytes cannot be {bytes} bytes; cook the package again")]
    ColumnSize {
        /// How many rows there are.
        rows: usize,
        /// Bytes of one.
        row: usize,
        /// Bytes of the column.
        bytes: usize,
    },
    /// The entities of a level are no forest.
    #[error(transparent)]
    Hierarchy(#[from] HierarchyError),
    /// An animation clip is none.
    #[error(transparent)]
    Clip(#[from] ClipError),
    /// An animation graph cannot be walked.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A handle of the wrong asset type.
    #[error("reference {index} is not a `{expected}`; cook the package again")]
    WrongHandle {
        /// Index in the export's reference list.
        index: u32,
        /// The asset type that the value needs.
        expected: &'static str,
    },
}

/// What a codec may use while it decodes; shared by all tasks, so nothing here touches the [`World`].
pub struct DecodeContext<'a> {
    /// The app's reflected types.
    pub registry: &'a TypeRegistry,
    /// The entities of the level, by row; empty while an asset is decoded.
    pub entities: &'a [Entity],
    /// The objects that this export refers to, in the order of its reference list. `None` for one whose role
    /// this app skips.
    pub handles: &'a [Option<UntypedHandle>],
    /// Attributes of meshes beyond Bevy's own, as given to the plugin.
    pub mesh_attributes: &'a [bevy_mesh::MeshVertexAttribute],
    /// The object that is decoded; none where that is no asset of a package.
    pub object: Option<&'a DecodedObject<'a>>,
}

impl DecodeError {
    /// What another version was refused for by a codec that reads only its latest.
    #[must_use]
    pub fn version(type_path: &str, was: u32, is: u32) -> Self {
        let type_path = type_path.to_owned();
        if was > is {
            return Self::NewerVersion { type_path, was, is };
        }
        Self::SchemaChanged {
            type_path,
            was: format!("version {was}"),
            is: format!("version {is}"),
        }
    }
}

impl DecodeContext<'_> {
    /// Where the asset is that is decoded, for who reads payloads of it later. None while a component is decoded.
    #[must_use]
    pub fn object(&self) -> Option<DecodedPlace> {
        self.object.map(DecodedObject::place)
    }

    /// Has something done on the main thread when the asset's value is in its [`Assets`](bevy_asset::Assets), right then, within the budget of a
    /// frame. If the value never gets there, because its load is cancelled or somebody else has provided the object meanwhile, `then` is
    /// dropped; and at once while a component is decoded.
    pub fn when_inserted(&self, then: impl FnOnce(&mut World, UntypedAssetId) + Send + Sync + 'static) {
        if let Some(object) = self.object {
            object.when_inserted(Box::new(then));
        }
    }

    /// The handle at `index` of the export's reference list.
    ///
    /// # Errors
    /// When there is none, or its object's role is skipped by this app.
    pub fn handle(&self, index: u32) -> Result<&UntypedHandle, DecodeError> {
        self.handles
            .get(index as usize)
            .and_then(Option::as_ref)
            .ok_or_else(|| DecodeError::Malformed(format!("reference {index} of {} is not there", self.handles.len())))
    }

    /// The entity at row `row` of the level.
    ///
    /// # Errors
    /// When the level has no such row.
    pub fn entity(&self, row: u32) -> Result<Entity, DecodeError> {
        self.entities
            .get(row as usize)
            .copied()
            .ok_or_else(|| DecodeError::Malformed(format!("entity {row} of {} is not there", self.entities.len())))
    }
}

/// Encodes and decodes one component type, a column at a time.
pub trait ComponentCodec: Send + Sync + 'static {
    /// The component's type.
    fn type_id(&self) -> TypeId;

    /// Its stable name, [`TypePath::type_path`](bevy_reflect::TypePath::type_path).
    fn type_path(&self) -> &str;

    /// The schema to store in packages, and to compare with the one found there.
    fn schema(&self, registry: &TypeRegistry) -> Schema;

    /// Who needs the component; others do not decode its columns.
    fn role(&self) -> Role {
        Role::ALL
    }

    /// Registers the component in `world`.
    fn register(&self, world: &mut World) -> ComponentId;

    /// Appends the column of `values` to `out`.
    ///
    /// # Errors
    /// When a value cannot be carried over; the message says which and why.
    #[cfg(feature = "write")]
    fn encode(
        &self,
        values: &[&dyn bevy_reflect::Reflect],
        context: &mut EncodeContext,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError>;

    /// Reads a column of `rows` values.
    ///
    /// # Errors
    /// When the bytes are not such a column, or a reference leads nowhere.
    fn decode(&self, data: &[u8], rows: usize, context: &DecodeContext) -> Result<Box<dyn Column>, DecodeError>;

    /// Reads a column that was written by `version`, an older one than [`schema`](Self::schema) has.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); by default [`DecodeError::SchemaChanged`], which names both versions.
    fn decode_version(
        &self,
        version: u32,
        data: &[u8],
        rows: usize,
        context: &DecodeContext,
    ) -> Result<Box<dyn Column>, DecodeError> {
        let _ = (data, rows);
        let is = self.schema(context.registry).version;
        Err(DecodeError::version(self.type_path(), version, is))
    }

    /// Reads a column, of the latest or an older version, as single values of today's type, with entities and handles as
    /// [`decode`](Self::decode) gives them, for [`Migrations`] that look into them.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); by default [`DecodeError::NoValues`].
    fn decode_values(
        &self,
        version: u32,
        data: &[u8],
        rows: usize,
        context: &DecodeContext,
    ) -> Result<Vec<Box<dyn bevy_reflect::Reflect>>, DecodeError> {
        let _ = (version, data, rows, context);
        let type_path = self.type_path().to_owned();
        Err(DecodeError::NoValues { type_path })
    }
}
