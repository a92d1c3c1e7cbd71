//! Who an object is: its id, references to it, and who needs it.

use std::fmt;
use std::ops::BitOr;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

/// Identity of an object: the xxh3-64 hash of its name, seeded with that of its package's path.
///
/// Identity everywhere is this id. An index into a table is only an accelerator, valid together with the package's
/// [`content_hash`](crate::Summary::content_hash), because every edit of the content shifts indices. The writer refuses
/// two objects with one id.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

impl ObjectId {
    /// The id of `object` in `package`.
    pub fn new(package: &str, object: &str) -> Self {
        PackageSeed::new(package.as_bytes()).id(object.as_bytes())
    }
}

/// What all ids of a package have in common. Opening a package checks the id of every object, so its path is hashed once,
/// and nothing is copied together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PackageSeed(u64);

impl PackageSeed {
    pub(crate) fn new(package: &[u8]) -> Self {
        Self(xxh3_64(package))
    }

    #[inline]
    pub(crate) fn id(self, object: &[u8]) -> ObjectId {
        ObjectId(xxh3_64_with_seed(object, self.0))
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectId({self})")
    }
}

/// A reference inside a package, stored as one `i32`: 0 is none, `n` is export `n - 1`, `-n` is import `n - 1`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectRef(i32);

/// What an [`ObjectRef`] refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefTarget {
    /// Nothing.
    None,
    /// The export with this index.
    Export(usize),
    /// The import with this index.
    Import(usize),
}

impl ObjectRef {
    /// Refers to nothing.
    pub const NONE: Self = Self(0);

    /// Refers to the export `index`; none if that is beyond `i32::MAX - 1`.
    pub fn export(index: usize) -> Option<Self> {
        let number = i32::try_from(index).ok()?.checked_add(1)?;
        Some(Self(number))
    }

    /// Refers to the import `index`; none if that is beyond `i32::MAX - 1`.
    pub fn import(index: usize) -> Option<Self> {
        let number = i32::try_from(index).ok()?.checked_add(1)?;
        Some(Self(number.checked_neg()?))
    }

    /// The reference that is stored as `raw`. Whether its target exists is the package's business.
    pub const fn from_raw(raw: i32) -> Self {
        Self(raw)
    }

    /// The number that is stored.
    pub const fn raw(self) -> i32 {
        self.0
    }

    /// Whether this refers to nothing.
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }

    /// The number of the export that this refers to, counted from 1; 0 for nothing, and for an import one that no export has.
    #[inline]
    pub(crate) fn export_number(self) -> usize {
        self.0 as u32 as usize
    }

    /// What this refers to.
    #[inline]
    pub fn target(self) -> RefTarget {
        let Some(index) = self.0.unsigned_abs().checked_sub(1) else {
            return RefTarget::None;
        };
        // Lossless where `usize` has 32 bits or more; Bevy needs that too.
        let index = index as usize;
        if self.0 > 0 {
            RefTarget::Export(index)
        } else {
            RefTarget::Import(index)
        }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.target() {
            RefTarget::None => f.write_str("nothing"),
            RefTarget::Export(index) => write!(f, "export {index}"),
            RefTarget::Import(index) => write!(f, "import {index}"),
        }
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ObjectRef({self})")
    }
}

/// Who needs an object: a set of client, server and editor. An app skips the objects without one of its roles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Role(u8);

impl Role {
    /// Needed by nobody; no object of a package may have this role.
    pub const NONE: Self = Self(0);
    /// Needed where the world is seen and heard.
    pub const CLIENT: Self = Self(1);
    /// Needed where the world is simulated for others.
    pub const SERVER: Self = Self(2);
    /// Needed where the world is made.
    pub const EDITOR: Self = Self(4);
    /// Needed by everyone.
    pub const ALL: Self = Self(7);

    /// The set with these bits; none if one of them means nothing.
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits & !Self::ALL.0 == 0 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// The bits as they are stored.
    pub const fn bits(self) -> u8 {
        self.0
    }

    /// Whether nobody is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether all of `other` are in the set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether one of `other` is in the set.
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Those who are in either set.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl Default for Role {
    fn default() -> Self {
        Self::ALL
    }
}

impl BitOr for Role {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = [
            (Self::CLIENT, "client"),
            (Self::SERVER, "server"),
            (Self::EDITOR, "editor"),
        ];
        let mut separator = "";
        for (role, name) in names {
            if self.contains(role) {
                write!(f, "{separator}{name}")?;
                separator = "+";
            }
        }
        if self.is_empty() {
            f.write_str("nobody")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Role({self})")
    }
}
