//! How bytes and schemas go into the cache: as they are, and not element by element.

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

/// One payload after the other.
#[derive(Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct Payload(#[serde(with = "bytes")] pub Vec<u8>);

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
