//! Values with many mentions of the same keys and texts, as bytes. See [`to_bytes`].

use core::cell::RefCell;
use core::hash::{BuildHasher, Hash};
use core::ops::Deref;
use std::sync::Arc;

use bevy::platform::hash::{FixedHasher, PassHash};
use indexmap::IndexMap;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{AssetKey, AssetName};

/// A text that many have, of which there is one.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Text(Arc<str>);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

/// What is mentioned in a value that [`to_bytes`] writes or [`from_bytes`] reads on this thread: there a mention is a number.
#[derive(Default)]
struct Table {
    keys: Mentions<AssetKey, PassHash>,
    texts: Mentions<Text, FixedHasher>,
}

#[derive(Default)]
enum Mentions<T, H> {
    /// They are written out.
    #[default]
    None,
    Write(IndexMap<T, (), H>),
    Read(Vec<T>),
}

impl<T: Hash + Eq + Clone, H: BuildHasher + Default> Mentions<T, H> {
    fn write() -> Self {
        Self::Write(IndexMap::default())
    }

    /// The number of this one, while a value is written.
    fn number(&mut self, mentioned: &T) -> Option<u32> {
        let Self::Write(all) = self else { return None };
        let number = match all.get_index_of(mentioned) {
            Some(number) => number,
            None => all.insert_full(mentioned.clone(), ()).0,
        };
        Some(number as u32)
    }

    /// The one with this number, while a value is read.
    fn at(&self, number: u32) -> Option<T> {
        let Self::Read(all) = self else { return None };
        all.get(number as usize).cloned()
    }

    fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    /// All that were written, in the order of their numbers.
    fn written(&self) -> impl Iterator<Item = &T> {
        let all = match self {
            Self::Write(all) => Some(all.keys()),
            Self::None | Self::Read(_) => None,
        };
        all.into_iter().flatten()
    }
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

/// Puts the table away, whatever happens.
struct Scope;

impl Scope {
    fn begin(table: Table) -> Self {
        TABLE.replace(table);
        Self
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        TABLE.take();
    }
}

/// A value in postcard, behind the texts and the keys that are mentioned anywhere in it, once each.
pub(crate) fn to_bytes<T: Serialize>(value: &T) -> postcard::Result<Vec<u8>> {
    behind_mentions(|| postcard::to_allocvec(value)).map(|(bytes, _)| bytes)
}

/// As [`to_bytes`], of a value with a list behind it. Gives where the first of the list begins behind the texts, and how long each is, too.
pub(crate) fn to_bytes_of_list<H: Serialize, T: Serialize>(
    head: &H,
    list: &[T],
) -> postcard::Result<(Vec<u8>, usize, Vec<u32>)> {
    let (mut start, mut lengths) = (0, Vec::with_capacity(list.len()));
    let (bytes, names) = behind_mentions(|| {
        let mut body = postcard::to_extend(&list.len(), postcard::to_allocvec(head)?)?;
        start = body.len();
        for value in list {
            let before = body.len();
            body = postcard::to_extend(value, body)?;
            lengths.push((body.len() - before) as u32);
        }
        Ok(body)
    })?;
    Ok((bytes, names + start, lengths))
}

/// Gives how long the names of the keys are, too.
fn behind_mentions(body: impl FnOnce() -> postcard::Result<Vec<u8>>) -> postcard::Result<(Vec<u8>, usize)> {
    let _scope = Scope::begin(Table {
        keys: Mentions::write(),
        texts: Mentions::write(),
    });
    let body = body()?;
    let keys = TABLE.with_borrow_mut(|table| core::mem::take(&mut table.keys));
    let names: Vec<&AssetName> = keys.written().map(AssetKey::name).collect();
    let names = postcard::to_allocvec(&names)?;
    let mut bytes = texts_to_bytes(&TABLE.take().texts)?;
    bytes.reserve(names.len() + body.len());
    bytes.extend(&names);
    bytes.extend(body);
    Ok((bytes, names.len()))
}

fn texts_to_bytes(texts: &Mentions<Text, FixedHasher>) -> postcard::Result<Vec<u8>> {
    let texts: Vec<&str> = texts.written().map(|text| &**text).collect();
    postcard::to_allocvec(&texts)
}

/// Values without keys, each as it would be in what [`to_bytes`] wrote: the texts that it has to be behind then, what was behind the texts, and the
/// values.
pub(crate) fn in_words_of<'a, 'v, T: Serialize + 'v>(
    bytes: &'a [u8],
    values: impl IntoIterator<Item = &'v T>,
) -> Option<(Vec<u8>, &'a [u8], Vec<Vec<u8>>)> {
    let (texts, rest): (Vec<&str>, _) = postcard::take_from_bytes(bytes).ok()?;
    let texts = texts.into_iter().map(|text| (Text::from(text), ()));
    let _scope = Scope::begin(Table {
        texts: Mentions::Write(texts.collect()),
        ..Table::default()
    });
    let values = values.into_iter().map(postcard::to_allocvec);
    let values = values.collect::<postcard::Result<_>>().ok()?;
    let texts = texts_to_bytes(&TABLE.take().texts).ok()?;
    Some((texts, rest, values))
}

/// What [`to_bytes`] wrote.
pub(crate) fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> postcard::Result<T> {
    let (texts, rest): (Vec<&str>, _) = postcard::take_from_bytes(bytes)?;
    let _scope = Scope::begin(Table {
        texts: Mentions::Read(texts.into_iter().map(Text::from).collect()),
        ..Table::default()
    });
    let (names, body): (Vec<AssetName>, _) = postcard::take_from_bytes(rest)?;
    let keys = names.into_iter().map(AssetKey::new).collect();
    TABLE.with_borrow_mut(|table| table.keys = Mentions::Read(keys));
    postcard::from_bytes(body)
}

impl Serialize for AssetKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match TABLE.with_borrow_mut(|table| table.keys.number(self)) {
            Some(number) => serializer.serialize_u32(number),
            None => self.name().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AssetKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !TABLE.with_borrow(|table| table.keys.is_read()) {
            return AssetName::deserialize(deserializer).map(Self::new);
        }
        let number = u32::deserialize(deserializer)?;
        let key = TABLE.with_borrow(|table| table.keys.at(number));
        key.ok_or_else(|| D::Error::custom("there is no such key"))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match TABLE.with_borrow_mut(|table| table.texts.number(self)) {
            Some(number) => serializer.serialize_u32(number),
            None => serializer.serialize_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !TABLE.with_borrow(|table| table.texts.is_read()) {
            return String::deserialize(deserializer).map(|text| Self(text.into()));
        }
        let number = u32::deserialize(deserializer)?;
        let text = TABLE.with_borrow(|table| table.texts.at(number));
        text.ok_or_else(|| D::Error::custom("there is no such text"))
    }
}

/// For fields that are shared texts: as [`Text`].
pub(crate) mod mentioned {
    use std::sync::Arc;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Text;

    pub(crate) fn serialize<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
        Text(text.clone()).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<str>, D::Error> {
        Text::deserialize(deserializer).map(|text| text.0)
    }
}
