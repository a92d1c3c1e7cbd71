//! What the classes of a package stand for in this app, and how their objects are read. See [`ClassLinker`].

#[cfg(feature = "migrations")]
use std::borrow::Cow;
use std::sync::Arc;

use bevy_reflect::{Reflect, TypeRegistry};
use seamless_package::Schema;

use super::type_names::TypeNames;
#[cfg(feature = "migrations")]
use crate::codec::{Fate, MigrateError, Migrator, changed, check_immutable, has_layout, looks_into, schema};
use crate::{
    codec::{
        Codecs, ComponentCodec, DecodeContext, DecodeError, DecodedAsset, Encoding, ErasedAssetCodec, check_layout,
        decode_reflected_whole, resource_schema,
    },
    level_data::LEVEL_VERSION,
    linker::Linker,
    spawn::Column,
};

/// What a class of the package stands for in this app.
pub(super) enum Class {
    Asset(AssetClass),
    Component(ComponentClass),
    Resource(ResourceClass),
    Level,
    /// Its objects are left out by a migration.
    #[cfg(feature = "migrations")]
    Dropped,
    /// Unknown here; an error only for an object whose role this app has.
    Unknown(DecodeError),
}

/// A class of assets.
pub(super) struct AssetClass {
    pub codec: Arc<ErasedAssetCodec>,
    road: AssetRoad,
}

enum AssetRoad {
    Fast,
    /// By the codec, if it knows this older version.
    #[cfg(feature = "migrations")]
    Version(u32),
    #[cfg(feature = "migrations")]
    Migrate(Migrator),
}

impl AssetClass {
    /// Reads an asset.
    pub fn decode(
        &self,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Box<dyn DecodedAsset>, DecodeError> {
        match &self.road {
            AssetRoad::Fast => self.codec.decode(data, bulk, context),
            #[cfg(feature = "migrations")]
            AssetRoad::Version(version) => self.codec.decode_version(*version, data, bulk, context),
            #[cfg(feature = "migrations")]
            AssetRoad::Migrate(migrator) => self.codec.decode_layout(data, bulk, &|data| {
                let value = migrator.object(data, context)?;
                value.ok_or_else(|| DecodeError::UnknownType(self.codec.type_path.to_owned()))
            }),
        }
    }
}

/// A class of components.
pub(super) struct ComponentClass {
    /// What it was called.
    pub type_path: String,
    road: ComponentRoad,
}

enum ComponentRoad {
    Fast(Arc<dyn ComponentCodec>),
    /// By the codec, if it knows this older version.
    #[cfg(feature = "migrations")]
    Version(Arc<dyn ComponentCodec>, u32),
    #[cfg(feature = "migrations")]
    Migrate(Migrator),
}

impl ComponentClass {
    /// Reads a column and appends it to `columns`; migrations may have made none of it, or several.
    pub fn decode(
        &self,
        data: &[u8],
        rows: usize,
        context: &DecodeContext,
        columns: &mut Vec<Box<dyn Column>>,
    ) -> Result<(), DecodeError> {
        match &self.road {
            ComponentRoad::Fast(codec) => columns.push(codec.decode(data, rows, context)?),
            #[cfg(feature = "migrations")]
            ComponentRoad::Version(codec, version) => {
                columns.push(codec.decode_version(*version, data, rows, context)?);
            }
            #[cfg(feature = "migrations")]
            ComponentRoad::Migrate(migrator) => columns.append(&mut migrator.columns(data, rows, context)?),
        }
        Ok(())
    }
}

/// A class of resources.
pub(super) struct ResourceClass {
    /// What it is called today.
    pub type_path: String,
    #[cfg(feature = "migrations")]
    migrator: Option<Migrator>,
}

impl ResourceClass {
    /// Reads a resource; `None` when a migration leaves it out.
    pub fn decode(&self, data: &[u8], context: &DecodeContext) -> Result<Option<Box<dyn Reflect>>, DecodeError> {
        #[cfg(feature = "migrations")]
        if let Some(migrator) = &self.migrator {
            return migrator.object(data, context);
        }
        let registration = context.registry.get_with_type_path(&self.type_path);
        let registration = registration.ok_or_else(|| DecodeError::UnknownType(self.type_path.clone()))?;
        decode_reflected_whole(registration, data, context).map(Some)
    }
}

/// Finds the codec of each class, and compares its layout with the one in the package.
pub(super) struct ClassLinker<'a> {
    codecs: &'a Codecs,
    registry: &'a TypeRegistry,
    pub names: TypeNames,
}

impl<'a> ClassLinker<'a> {
    pub fn new(linker: &Linker, codecs: &'a Codecs, registry: &'a TypeRegistry) -> Self {
        Self {
            codecs,
            registry,
            names: TypeNames::of(linker, codecs),
        }
    }

    /// What a class stands for.
    pub fn class(&self, stored: &Schema) -> Class {
        self.link(stored).unwrap_or_else(Class::Unknown)
    }

    fn link(&self, stored: &Schema) -> Result<Class, DecodeError> {
        let unknown = || DecodeError::Malformed(format!("encoding {} is unknown", stored.encoding));
        let encoding = Encoding::from_u8(stored.encoding).ok_or_else(unknown)?;
        if encoding == Encoding::Level {
            return match stored.version {
                LEVEL_VERSION => Ok(Class::Level),
                version => Err(DecodeError::version(&stored.type_path, version, LEVEL_VERSION)),
            };
        }
        #[cfg(feature = "migrations")]
        if let Some(class) = self.fate(stored, encoding) {
            return class;
        }
        let path = self.names.today(&stored.type_path).unwrap_or_default();
        match encoding {
            Encoding::Resource => self.resource(stored, &path).map(Class::Resource),
            Encoding::Asset => self.asset(stored, &path).map(Class::Asset),
            _ => {
                let road = self.component(stored, encoding, &path)?;
                Ok(component(stored, road))
            }
        }
    }
}

fn component(stored: &Schema, road: ComponentRoad) -> Class {
    Class::Component(ComponentClass {
        type_path: stored.type_path.clone(),
        road,
    })
}

/// Without migrations there is the fast road, or none.
#[cfg(not(feature = "migrations"))]
impl ClassLinker<'_> {
    fn asset(&self, stored: &Schema, path: &str) -> Result<AssetClass, DecodeError> {
        let codec = self.codecs.read().asset_by_path(path);
        let codec = codec.ok_or_else(|| DecodeError::UnknownType(path.to_owned()))?;
        check_layout(stored, &codec.schema(self.registry))?;
        let road = AssetRoad::Fast;
        Ok(AssetClass { codec, road })
    }

    fn component(&self, stored: &Schema, _: Encoding, _: &str) -> Result<ComponentRoad, DecodeError> {
        let reader = self.codecs.read().component_reader(stored, self.registry)?;
        Ok(ComponentRoad::Fast(reader))
    }

    fn resource(&self, stored: &Schema, path: &str) -> Result<ResourceClass, DecodeError> {
        let known = self.registry.get_with_type_path(path);
        let known = known.ok_or_else(|| DecodeError::UnknownType(path.to_owned()))?;
        check_layout(stored, &resource_schema(known.type_info(), self.registry))?;
        let type_path = path.to_owned();
        Ok(ResourceClass { type_path })
    }
}

/// A codec reads older versions of its own, and no newer ones.
#[cfg(feature = "migrations")]
fn check_older(stored: &Schema, is: &Schema) -> Result<(), DecodeError> {
    if stored.version > is.version {
        return Err(DecodeError::version(&stored.type_path, stored.version, is.version));
    }
    Ok(())
}

/// With migrations the fast road is for what is as it would be cooked today and no migration touches.
#[cfg(feature = "migrations")]
impl ClassLinker<'_> {
    /// What becomes of a class that is one of today's no more; `None` when it is.
    fn fate(&self, stored: &Schema, encoding: Encoding) -> Option<Result<Class, DecodeError>> {
        match self.names.plan.fate(&stored.type_path) {
            Fate::Is(_) => None,
            Fate::Dropped => Some(Ok(Class::Dropped)),
            Fate::Split => Some(match encoding {
                // What is immutable has no migrator but the error.
                Encoding::Reflect | Encoding::Plain => self.migrator(stored, false).and_then(|migrator| {
                    let migrator = migrator.ok_or_else(|| DecodeError::UnknownType(stored.type_path.clone()))?;
                    Ok(component(stored, ComponentRoad::Migrate(migrator)))
                }),
                Encoding::Asset | Encoding::Resource => Err(DecodeError::from(MigrateError::Split {
                    type_path: stored.type_path.clone(),
                    message: "is no component".into(),
                })),
                _ => return None,
            }),
        }
    }

    fn migrator(&self, stored: &Schema, is_current: bool) -> Result<Option<Migrator>, DecodeError> {
        if stored.immutable {
            return check_immutable(stored, &self.names.plan).map(|()| None);
        }
        Migrator::for_class(stored, is_current, &self.names.plan, self.registry)
    }

    /// The schema under the names of today.
    fn renamed(&self, stored: &Schema, path: &str) -> Schema {
        let mut renamed = stored.clone();
        renamed.type_path = path.to_owned();
        if let Cow::Owned(description) = self.names.plan.renamed(&stored.description) {
            renamed.hash = schema(path, Encoding::Reflect, 1, &description).hash;
            renamed.description = description;
        }
        renamed
    }

    /// The migrator of what was cooked by reflection and would be cooked as `is` today. What was immutable has none.
    fn migrator_to(&self, stored: &Schema, is: &Schema) -> Result<Option<Migrator>, DecodeError> {
        let today = self.renamed(stored, &is.type_path);
        if stored.version != is.version || stored.immutable || is.immutable {
            check_layout(&today, is)?;
        }
        self.migrator(stored, has_layout(&today, is))
    }

    fn asset(&self, stored: &Schema, path: &str) -> Result<AssetClass, DecodeError> {
        let codec = self.codecs.read().asset_by_path(path);
        let codec = codec.ok_or_else(|| DecodeError::UnknownType(path.to_owned()))?;
        let is = codec.schema(self.registry);
        let is_of_version = stored.version == is.version;
        if is_of_version && codec.is_reflected() {
            let road = self.migrator_to(stored, &is)?;
            let road = road.map_or(AssetRoad::Fast, AssetRoad::Migrate);
            return Ok(AssetClass { codec, road });
        }
        if looks_into(stored, codec.type_id, &self.names.plan, self.registry) {
            let type_path = path.to_owned();
            return Err(DecodeError::NoValues { type_path });
        }
        let road = if is_of_version {
            check_layout(stored, &is)?;
            AssetRoad::Fast
        } else {
            check_older(stored, &is)?;
            AssetRoad::Version(stored.version)
        };
        Ok(AssetClass { codec, road })
    }

    fn component(&self, stored: &Schema, encoding: Encoding, path: &str) -> Result<ComponentRoad, DecodeError> {
        if matches!(encoding, Encoding::Reflect | Encoding::Plain) {
            return self.reflected(stored, path);
        }
        let codec = self.codecs.read().component_by_path(path, self.registry)?;
        let is = codec.schema(self.registry);
        // What a handle is of may be called otherwise.
        let was = Schema {
            description: self.names.plan.renamed(&stored.description).into_owned(),
            ..stored.clone()
        };
        let is_of_version = is.encoding == stored.encoding && is.version == stored.version;
        if is.encoding != stored.encoding || (is_of_version && was.description != is.description) {
            return Err(changed(stored, &is));
        }
        check_older(stored, &is)?;
        Ok(
            match Migrator::for_codec(stored, &codec, &self.names.plan, self.registry) {
                Some(migrator) => ComponentRoad::Migrate(migrator),
                None if is_of_version => ComponentRoad::Fast(codec),
                None => ComponentRoad::Version(codec, stored.version),
            },
        )
    }

    /// Components that were cooked by reflection, field by field or as rows of numbers.
    fn reflected(&self, stored: &Schema, path: &str) -> Result<ComponentRoad, DecodeError> {
        let today = self.renamed(stored, path);
        let reader = self.codecs.read().component_reader(&today, self.registry);
        let is_current = match &reader {
            Ok(_) => true,
            Err(DecodeError::SchemaChanged { .. }) => false,
            Err(error) => return Err(error.clone()),
        };
        match self.migrator(stored, is_current)? {
            Some(migrator) => Ok(ComponentRoad::Migrate(migrator)),
            None => reader.map(ComponentRoad::Fast),
        }
    }

    fn resource(&self, stored: &Schema, path: &str) -> Result<ResourceClass, DecodeError> {
        let known = self.registry.get_with_type_path(path);
        let known = known.ok_or_else(|| DecodeError::UnknownType(path.to_owned()))?;
        let is = resource_schema(known.type_info(), self.registry);
        Ok(ResourceClass {
            type_path: path.to_owned(),
            migrator: self.migrator_to(stored, &is)?,
        })
    }
}
