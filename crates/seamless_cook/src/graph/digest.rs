//! What content is known by: its BLAKE3 hash. See [`Digest`].

use core::fmt;

use serde::{Deserialize, Serialize};

/// The BLAKE3 hash of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Digest(#[serde(with = "whole")] [u8; 32]);

/// The bytes in one piece: there are many digests.
mod whole {
    use core::fmt;

    use serde::{Deserializer, Serializer, de};

    pub fn serialize<S: Serializer>(bytes: &[u8; 32], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 32], D::Error> {
        deserializer.deserialize_bytes(Visitor)
    }

    struct Visitor;

    impl de::Visitor<'_> for Visitor {
        type Value = [u8; 32];

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("32 bytes")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<[u8; 32], E> {
            bytes.try_into().map_err(|_| E::invalid_length(bytes.len(), &self))
        }
    }
}

impl Digest {
    /// Of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(blake3::hash(bytes).into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Digest({self})")
    }
}

/// The digest of a list of parts. Each goes in behind its length, so that no two lists are the same bytes.
#[derive(Default)]
pub(crate) struct Parts(Vec<u8>);

impl Parts {
    pub fn bytes(&mut self, part: &[u8]) -> &mut Self {
        self.number(part.len() as u64);
        self.0.extend_from_slice(part);
        self
    }

    pub fn text(&mut self, part: &str) -> &mut Self {
        self.bytes(part.as_bytes())
    }

    pub fn number(&mut self, part: u64) -> &mut Self {
        self.0.extend_from_slice(&part.to_le_bytes());
        self
    }

    pub fn digest(&mut self, part: &Digest) -> &mut Self {
        self.0.extend_from_slice(&part.0);
        self
    }

    /// A value, by its serialised form.
    pub fn value(&mut self, part: &impl Serialize) -> &mut Self {
        let length = self.0.len();
        self.number(0);
        let start = self.0.len();
        // Plain data into memory: nothing that could fail.
        self.0 = postcard::to_extend(part, core::mem::take(&mut self.0)).unwrap_or_default();
        let written = (self.0.len().saturating_sub(start)) as u64;
        if let Some(place) = self.0.get_mut(length..start) {
            place.copy_from_slice(&written.to_le_bytes());
        }
        self
    }

    pub fn finish(&self) -> Digest {
        Digest::of(&self.0)
    }
}
