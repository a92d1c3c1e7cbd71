//! The bytes of a registry.
//!
//! ```text
//! 8 bytes  magic
//! u32      format
//! u64      xxh3-64 of all that follows
//! u32      how many objects
//! u64 …    `bytes` of each
//! …        `Stored`, as postcard writes it
//! ```
//! Packages, types, and the words of tags and bundles are in lists, and told by their places there. What changes with every edit has a
//! place that is known, and can be written over, which `resize_registry` does.

use std::sync::Arc;

#[cfg(feature = "write")]
use bevy_platform::collections::HashMap;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::{ObjectRegistry, RegistryError, RegistryLevel, RegistryLimits, RegistryObject};

/// What each registry file starts with.
pub const MAGIC: [u8; 8] = *b"SEAMREG\0";
/// The version of the format. Raised when anything of it changes.
pub const REGISTRY_FORMAT: u32 = 2;
/// Bytes in front of the content.
const HEADER: usize = 20;
/// Bytes in front of the sizes.
#[cfg(feature = "write")]
const SIZES: usize = HEADER + 4;

/// Lists of what many objects have in common, and the objects.
#[derive(Serialize, Deserialize, Default)]
struct Stored {
    words: Vec<String>,
    objects: Vec<StoredObject>,
}

/// Numbers are places in the list of words.
#[derive(Serialize, Deserialize)]
struct StoredObject {
    path: String,
    package: u32,
    object: String,
    type_path: u32,
    tags: Vec<(u32, u32)>,
    soft: Vec<String>,
    bundles: Vec<(u32, Vec<String>)>,
    level: Option<StoredLevel>,
}

#[derive(Serialize, Deserialize)]
struct StoredLevel {
    dependencies: Vec<u32>,
    assets: Vec<String>,
    entities: u32,
}

/// Reads the bytes of a registry whose packages lie in `folder`.
pub(super) fn read(bytes: &[u8], folder: String, limits: &RegistryLimits) -> Result<ObjectRegistry, RegistryError> {
    within("bytes", bytes.len(), limits.bytes)?;
    let (sizes, content) = sizes(content(bytes)?)?;
    within("objects", sizes.len(), limits.objects)?;
    let damaged = |error: postcard::Error| RegistryError::Damaged(error.to_string());
    let (stored, rest): (Stored, &[u8]) = postcard::take_from_bytes(content).map_err(damaged)?;
    if !rest.is_empty() {
        return Err(RegistryError::Damaged(format!("{} bytes too many", rest.len())));
    }
    if stored.objects.len() != sizes.len() {
        let (told, found) = (sizes.len(), stored.objects.len());
        return Err(RegistryError::Damaged(format!(
            "{told} objects are told, and {found} found"
        )));
    }
    let words: Vec<Arc<str>> = stored.words.into_iter().map(Arc::from).collect();
    let objects = stored.objects.into_iter().zip(sizes);
    let objects = objects.map(|(object, bytes)| object.read(u64::from_le_bytes(*bytes), &words));
    ObjectRegistry::new(folder, objects.collect::<Result<_, _>>()?)
}

/// What comes behind the header, if that is right.
fn content(bytes: &[u8]) -> Result<&[u8], RegistryError> {
    let (header, content) = bytes.split_at_checked(HEADER).ok_or(RegistryError::NoRegistry)?;
    let (magic, header) = header.split_first_chunk::<8>().ok_or(RegistryError::NoRegistry)?;
    let (format, header) = header.split_first_chunk::<4>().ok_or(RegistryError::NoRegistry)?;
    let hash = header.first_chunk::<8>().ok_or(RegistryError::NoRegistry)?;
    if *magic != MAGIC {
        return Err(RegistryError::NoRegistry);
    }
    let found = u32::from_le_bytes(*format);
    if found != REGISTRY_FORMAT {
        let known = REGISTRY_FORMAT;
        return Err(RegistryError::Format { found, known });
    }
    match u64::from_le_bytes(*hash) == xxh3_64(content) {
        true => Ok(content),
        false => Err(RegistryError::Damaged("its checksum does not fit".into())),
    }
}

/// The sizes of the objects, and what comes behind them.
fn sizes(content: &[u8]) -> Result<(&[[u8; 8]], &[u8]), RegistryError> {
    let short = || RegistryError::Damaged("it ends within its sizes".into());
    let (count, content) = content.split_first_chunk::<4>().ok_or_else(short)?;
    let length = (u32::from_le_bytes(*count) as usize).checked_mul(8).ok_or_else(short)?;
    let (sizes, content) = content.split_at_checked(length).ok_or_else(short)?;
    Ok((sizes.as_chunks::<8>().0, content))
}

pub(super) fn within(what: &'static str, found: usize, limit: u64) -> Result<(), RegistryError> {
    let found = found as u64;
    match found > limit {
        true => Err(RegistryError::TooLarge { what, found, limit }),
        false => Ok(()),
    }
}

impl StoredObject {
    fn read(self, bytes: u64, words: &[Arc<str>]) -> Result<RegistryObject, RegistryError> {
        let word = |place: u32| {
            let word = words.get(place as usize).cloned();
            word.ok_or_else(|| {
                RegistryError::Damaged(format!("`{}` names word {place}, which is not there", self.path))
            })
        };
        let tag = |(key, value): &(u32, u32)| Ok((word(*key)?, word(*value)?));
        let bundle = |(name, paths): &(u32, Vec<String>)| Ok((word(*name)?, shared(paths)));
        let level = |level: &StoredLevel| {
            let dependencies = level.dependencies.iter().map(|place| word(*place));
            Ok(Box::new(RegistryLevel {
                dependencies: dependencies.collect::<Result<_, RegistryError>>()?,
                assets: shared(&level.assets),
                entities: level.entities,
            }))
        };
        Ok(RegistryObject {
            path: self.path.as_str().into(),
            package: word(self.package)?,
            object: self.object.as_str().into(),
            type_path: word(self.type_path)?,
            bytes,
            tags: self.tags.iter().map(tag).collect::<Result<_, RegistryError>>()?,
            soft: shared(&self.soft),
            bundles: self.bundles.iter().map(bundle).collect::<Result<_, RegistryError>>()?,
            level: self.level.as_ref().map(level).transpose()?,
        })
    }
}

fn shared(texts: &[String]) -> Vec<Arc<str>> {
    texts.iter().map(|text| text.as_str().into()).collect()
}

/// The bytes of a registry: the same for the same objects.
///
/// # Errors
/// When postcard cannot write them.
#[cfg(feature = "write")]
pub fn write_registry(registry: &ObjectRegistry) -> Result<Vec<u8>, RegistryError> {
    let mut words = Words::default();
    let objects = registry.objects().iter().map(|object| words.store(object)).collect();
    let words = words.list;
    let content = postcard::to_allocvec(&Stored { words, objects });
    let content = content.map_err(|error| RegistryError::Damaged(error.to_string()))?;
    let objects = registry.objects();
    let mut bytes = Vec::with_capacity(SIZES + 8 * objects.len() + content.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&REGISTRY_FORMAT.to_le_bytes());
    bytes.extend_from_slice(&[0; 8]);
    bytes.extend_from_slice(&(objects.len() as u32).to_le_bytes());
    bytes.extend(objects.iter().flat_map(|object| object.bytes.to_le_bytes()));
    bytes.extend_from_slice(&content);
    seal(&mut bytes);
    Ok(bytes)
}

/// The bytes of a registry of `objects` objects in which some have other sizes, by their places in [`ObjectRegistry::objects`]: what
/// [`write_registry`] makes of it, without reading the rest.
///
/// # Errors
/// When it is no registry of this version, is damaged, or has another number of objects.
#[cfg(feature = "write")]
pub fn resize_registry(
    mut registry: Vec<u8>,
    objects: usize,
    sizes: impl IntoIterator<Item = (usize, u64)>,
) -> Result<Vec<u8>, RegistryError> {
    let count = self::sizes(content(&registry)?)?.0.len();
    if count != objects {
        return Err(RegistryError::Damaged(format!(
            "{objects} objects are expected, and it has {count}"
        )));
    }
    let (column, _) = registry.get_mut(SIZES..).unwrap_or_default().as_chunks_mut::<8>();
    let column = column.get_mut(..count).unwrap_or_default();
    for (place, bytes) in sizes {
        let size = column.get_mut(place);
        *size.ok_or_else(|| RegistryError::Damaged(format!("it has no object {place}")))? = bytes.to_le_bytes();
    }
    seal(&mut registry);
    Ok(registry)
}

/// Writes the checksum.
#[cfg(feature = "write")]
fn seal(bytes: &mut [u8]) {
    let hash = xxh3_64(bytes.get(HEADER..).unwrap_or_default());
    if let Some(told) = bytes.get_mut(HEADER - 8..HEADER) {
        told.copy_from_slice(&hash.to_le_bytes());
    }
}

/// In the order in which they are met.
#[cfg(feature = "write")]
#[derive(Default)]
struct Words {
    list: Vec<String>,
    places: HashMap<Arc<str>, u32>,
}

#[cfg(feature = "write")]
impl Words {
    fn place(&mut self, word: &Arc<str>) -> u32 {
        let next = self.list.len() as u32;
        let place = *self.places.entry(word.clone()).or_insert(next);
        if place == next {
            self.list.push(word.to_string());
        }
        place
    }

    fn store(&mut self, object: &RegistryObject) -> StoredObject {
        let texts = |texts: &[Arc<str>]| texts.iter().map(ToString::to_string).collect::<Vec<_>>();
        let tags = object.tags.iter();
        let tags = tags.map(|(key, value)| (self.place(key), self.place(value))).collect();
        let bundles = object.bundles.iter();
        let bundles = bundles.map(|(name, paths)| (self.place(name), texts(paths))).collect();
        let level = object.level.as_ref().map(|level| StoredLevel {
            dependencies: level.dependencies.iter().map(|package| self.place(package)).collect(),
            assets: texts(&level.assets),
            entities: level.entities,
        });
        StoredObject {
            path: object.path.to_string(),
            package: self.place(&object.package),
            object: object.object.to_string(),
            type_path: self.place(&object.type_path),
            tags,
            soft: texts(&object.soft),
            bundles,
            level,
        }
    }
}
