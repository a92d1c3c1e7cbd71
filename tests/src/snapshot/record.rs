//! What a snapshot is made of: fields with a text, a blob or an asset as value.

use std::{
    collections::BTreeMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

/// Field path → value, of one component or one asset.
pub(super) type Fields = BTreeMap<String, Leaf>;

/// Hash of an asset's kind and content.
pub(super) type Fingerprint = u64;

/// Blobs up to this many bytes are kept, so that a difference can name the first byte.
const KEPT: usize = 1 << 20;

/// Components by type path.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct EntityRecord {
    pub(super) components: BTreeMap<String, Fields>,
}

/// The content of one asset.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub(super) struct AssetRecord {
    pub(super) kind: String,
    pub(super) fields: Fields,
}

impl AssetRecord {
    pub(super) fn fingerprint(&self) -> Fingerprint {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

/// One value without further structure.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) enum Leaf {
    Text(String),
    Blob(Blob),
    Asset { kind: String, fingerprint: Fingerprint },
}

impl Leaf {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn blob(bytes: &[u8]) -> Self {
        let mut hasher = DefaultHasher::new();
        hasher.write(bytes);
        Self::Blob(Blob {
            len: bytes.len(),
            hash: hasher.finish(),
            bytes: (bytes.len() <= KEPT).then(|| bytes.into()),
        })
    }

    /// Whether this says that a value is missing rather than what it is.
    pub(super) fn is_problem(&self) -> bool {
        let Self::Text(text) = self else {
            return false;
        };
        text.starts_with("<missing") || text.starts_with("<dead") || text.starts_with("<opaque")
    }
}

impl fmt::Display for Leaf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Blob(blob) => write!(f, "{} bytes, hash {:016x}", blob.len, blob.hash),
            Self::Asset { kind, fingerprint } => write!(f, "{kind} {fingerprint:016x}"),
        }
    }
}

/// Bytes that are compared as a whole.
#[derive(Clone, Debug, PartialEq, Hash)]
pub(super) struct Blob {
    len: usize,
    hash: u64,
    bytes: Option<Arc<[u8]>>,
}

impl Blob {
    /// Offset and values of the first byte that differs, where both were kept.
    pub(super) fn first_difference(&self, other: &Self) -> Option<(usize, u8, u8)> {
        let (left, right) = (self.bytes.as_ref()?, other.bytes.as_ref()?);
        let at = left.iter().zip(right.iter()).position(|(a, b)| a != b)?;
        Some((at, left[at], right[at]))
    }
}
