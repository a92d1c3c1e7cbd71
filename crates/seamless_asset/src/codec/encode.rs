//! What codecs use while they encode: reference lists and entity rows. See [`EncodeContext`].

use std::collections::{BTreeMap, BTreeSet};

use bevy_asset::{Asset, UntypedAssetId, UntypedHandle};
use bevy_ecs::entity::{Entity, EntityHashMap, EntityMapper};
use bevy_platform::collections::HashMap;
use bevy_reflect::TypeRegistry;

use crate::{
    assets::animation::{ClipError, GraphError, Resampled},
    soft::{SoftHandle, SoftReference},
};

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
    /// An animation clip cannot be carried over.
    #[error(transparent)]
    Clip(#[from] ClipError),
    /// An animation graph could not be walked.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// There are no textures of no size.
    #[error("it is {width} × {height} texels in {layers} layers, which is nothing; export the image again")]
    EmptyImage {
        /// Texels across.
        width: u32,
        /// Texels down.
        height: u32,
        /// Layers, or texels deep.
        layers: u32,
    },
    /// An image of its size cannot have that many mips.
    #[error("it says that it has {found} mips, and from 1 to {most} are possible; export the image again")]
    WrongMips {
        /// How many it says.
        found: u32,
        /// How many halvings there are until one texel is left, and one.
        most: u32,
    },
    /// The file was cut off, or says a wrong size.
    #[error("it has {found} bytes of pixels where {needed} are needed; export the image again")]
    TooFewPixels {
        /// Bytes that there are.
        found: usize,
        /// Bytes of all mips and layers.
        needed: u64,
    },
    /// The GPU would read past the vertices.
    #[error("its index {index} is none of its {vertices} vertices; export the mesh again")]
    WildIndex {
        /// The first such index.
        index: usize,
        /// How many vertices there are.
        vertices: usize,
    },
    /// The file of a sound is none.
    #[error(
        "it is no sound, but empty, text, or something else in RIFF; fetch it if it only stands for a file elsewhere, or export it again as WAV, \
         Ogg, FLAC or MP3"
    )]
    UnknownSound,
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

/// What a codec did that is not quite what was asked of it. The cooker adds file and object, and reports it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EncodeWarning {
    /// An animation clip was sampled anew, since its curves cannot be read.
    Resampled(Resampled),
}

impl core::fmt::Display for EncodeWarning {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Resampled(report) => write!(f, "was sampled anew: {report}"),
        }
    }
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
    warnings: Vec<EncodeWarning>,
    told: Told,
}

/// What codecs tell of an object beside its bytes: the registry has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Told {
    /// What it refers to softly: that is cooked as well.
    pub soft: BTreeSet<SoftReference>,
    /// What it can be found by: keys and values.
    pub tags: BTreeSet<(String, String)>,
    /// Named lists of what is loaded together, by name.
    pub bundles: BTreeMap<String, Vec<SoftReference>>,
}

impl Told {
    /// Whether nothing was told.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.soft.is_empty() && self.tags.is_empty() && self.bundles.is_empty()
    }
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
            warnings: Vec::new(),
            told: Told::default(),
        }
    }

    /// Says that the object refers to another one softly, which is cooked for that. Reflected values say it by themselves, unless they are of a
    /// type that serialises itself.
    pub fn soft<A: Asset>(&mut self, handle: &SoftHandle<A>) {
        self.soft_reference(SoftReference::from(handle));
    }

    /// As [`soft`](Self::soft), of a type that is only known by its name. A path that is empty says nothing.
    pub fn soft_reference(&mut self, reference: SoftReference) {
        if !reference.path.is_empty() {
            self.told.soft.insert(reference);
        }
    }

    /// Says what the object can be found by in a registry: a key may have several values.
    pub fn tag(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.told.tags.insert((key.into(), value.into()));
    }

    /// Adds what is loaded together, under a name, of a primary asset. It counts as referred to softly, too.
    pub fn bundle(&mut self, name: impl Into<String>, reference: SoftReference) {
        if reference.path.is_empty() {
            return;
        }
        let bundle = self.told.bundles.entry(name.into()).or_default();
        bundle.push(reference.clone());
        self.told.soft.insert(reference);
    }

    /// What was told of the object since this was last asked.
    pub fn take_told(&mut self) -> Told {
        core::mem::take(&mut self.told)
    }

    /// Tells the cooker something that it should report.
    pub fn warn(&mut self, warning: EncodeWarning) {
        self.warnings.push(warning);
    }

    /// What was told by [`warn`](Self::warn) since this was last asked.
    pub fn take_warnings(&mut self) -> Vec<EncodeWarning> {
        core::mem::take(&mut self.warnings)
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
