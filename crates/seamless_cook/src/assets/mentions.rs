//! Values with many mentions of the same keys and texts, as bytes. See [`to_bytes`].

use core::cell::RefCell;
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
    keys: Mentions<IndexMap<AssetKey, (), PassHash>, AssetKey>,
    texts: Mentions<IndexMap<Text, (), FixedHasher>, Text>,
}

#[derive(Default)]
enum Mentions<W, R> {
    /// They are written out.
    #[default]
    None,
    Write(W),
    Read(Vec<R>),
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
    let _scope = Scope::begin(Table {
        keys: Mentions::Write(IndexMap::default()),
        texts: Mentions::Write(IndexMap::default()),
    });
    let body = postcard::to_allocvec(value)?;
    let keys = TABLE.with_borrow_mut(|table| core::mem::take(&mut table.keys));
    let names: Vec<&AssetName> = match &keys {
        Mentions::Write(keys) => keys.keys().map(AssetKey::name).collect(),
        Mentions::None | Mentions::Read(_) => Vec::new(),
    };
    let names = postcard::to_allocvec(&names)?;
    let texts = TABLE.take().texts;
    let texts: Vec<&str> = match &texts {
        Mentions::Write(texts) => texts.keys().map(|text| &**text).collect(),
        Mentions::None | Mentions::Read(_) => Vec::new(),
    };
    let mut bytes = postcard::to_allocvec(&texts)?;
    bytes.reserve(names.len() + body.len());
    bytes.extend(names);
    bytes.extend(body);
    Ok(bytes)
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
        let number = TABLE.with_borrow_mut(|table| match &mut table.keys {
            Mentions::Write(keys) => Some(match keys.get_index_of(self) {
                Some(number) => number,
                None => keys.insert_full(self.clone(), ()).0,
            }),
            Mentions::None | Mentions::Read(_) => None,
        });
        match number {
            Some(number) => serializer.serialize_u32(number as u32),
            None => self.name().serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for AssetKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !TABLE.with_borrow(|table| matches!(table.keys, Mentions::Read(_))) {
            return AssetName::deserialize(deserializer).map(Self::new);
        }
        let number = u32::deserialize(deserializer)? as usize;
        let key = TABLE.with_borrow(|table| match &table.keys {
            Mentions::Read(keys) => keys.get(number).cloned(),
            Mentions::None | Mentions::Write(_) => None,
        });
        key.ok_or_else(|| D::Error::custom("there is no such key"))
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let number = TABLE.with_borrow_mut(|table| match &mut table.texts {
            Mentions::Write(texts) => Some(match texts.get_index_of(self) {
                Some(number) => number,
                None => texts.insert_full(self.clone(), ()).0,
            }),
            Mentions::None | Mentions::Read(_) => None,
        });
        match number {
            Some(number) => serializer.serialize_u32(number as u32),
            None => serializer.serialize_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !TABLE.with_borrow(|table| matches!(table.texts, Mentions::Read(_))) {
            return String::deserialize(deserializer).map(|text| Self(text.into()));
        }
        let number = u32::deserialize(deserializer)? as usize;
        let text = TABLE.with_borrow(|table| match &table.texts {
            Mentions::Read(texts) => texts.get(number).cloned(),
            Mentions::None | Mentions::Write(_) => None,
        });
        text.ok_or_else(|| D::Error::custom("there is no such text"))
    }
}
