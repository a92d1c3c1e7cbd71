//! How bytes and schemas go into the cache: as they are, and not element by element.

use seamless_package::{Codec, NewBulk, NewData, Packed};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Bytes in one piece.
pub(crate) mod bytes {
    use core::fmt;

    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        deserializer.deserialize_bytes(Visitor)
    }

    struct Visitor;

    impl de::Visitor<'_> for Visitor {
        type Value = Vec<u8>;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("bytes")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
            Ok(bytes.to_owned())
        }
    }
}

/// Data, or a payload, as packages store it: it is packed once.
#[derive(Clone)]
pub(crate) struct Stored(pub Packed);

impl From<Stored> for NewBulk {
    fn from(stored: Stored) -> Self {
        Self::Inline(NewData::Packed(stored.0))
    }
}

/// How it is written down.
#[derive(Serialize, Deserialize)]
struct Written<B> {
    codec: u8,
    raw_size: u64,
    stored: B,
}

#[derive(Serialize)]
struct Borrowed<'a>(#[serde(serialize_with = "bytes::serialize")] &'a [u8]);

#[derive(Deserialize)]
struct Owned(#[serde(deserialize_with = "bytes::deserialize")] Vec<u8>);

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = Written {
            codec: self.0.codec() as u8,
            raw_size: self.0.raw_size(),
            stored: Borrowed(self.0.stored()),
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Written::<Owned>::deserialize(deserializer)?;
        let codec = Codec::from_number(written.codec);
        let packed = codec.and_then(|codec| Packed::from_stored(written.stored.0, written.raw_size, codec));
        packed
            .map(Self)
            .ok_or_else(|| D::Error::custom("these bytes were never packed"))
    }
}

/// A schema, as packages store it.
pub(crate) mod schema {
    use seamless_package::{Limits, Schema};
    use serde::{Deserializer, Serializer, de};
    use std::sync::Arc;

    pub fn serialize<S: Serializer>(schema: &Arc<Schema>, serializer: S) -> Result<S::Ok, S::Error> {
        super::bytes::serialize(&schema.encode(), serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<Schema>, D::Error> {
        let bytes = super::bytes::deserialize(deserializer)?;
        let schema = Schema::decode(&bytes, &Limits::default()).map_err(de::Error::custom)?;
        Ok(Arc::new(schema))
    }
}

/// A role, by its bits.
pub(crate) mod role {
    use seamless_package::Role;
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

    pub fn serialize<S: Serializer>(role: &Role, serializer: S) -> Result<S::Ok, S::Error> {
        role.bits().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Role, D::Error> {
        let bits = u8::deserialize(deserializer)?;
        Role::from_bits(bits).ok_or_else(|| de::Error::custom("unknown roles"))
    }
}
