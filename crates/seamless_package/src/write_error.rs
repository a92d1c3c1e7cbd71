//! Everything that a writer refuses; each text says how to mend it.

use crate::error::PackageError;
use crate::id::{ObjectId, ObjectRef};
use crate::versions::VersionId;

/// Why a package could not be written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WriteError {
    /// A name is empty or holds a NUL character.
    #[error("{what} {name:?} is empty or holds a NUL character; give it another name")]
    BadName {
        /// What is named.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two objects of the package have the same name.
    #[error("two objects are named `{name}`; give each its own name")]
    DuplicateObject {
        /// The name.
        name: String,
    },
    /// Two different objects have the same id.
    #[error("`{first}` and `{second}` have the same object id {id}; rename one of them")]
    IdCollision {
        /// The id.
        id: ObjectId,
        /// Path of the object that had it first.
        first: String,
        /// Path of the other one.
        second: String,
    },
    /// One type was registered with two schemas.
    #[error(
        "type `{type_path}` has two different schemas in one package; register each type once, and use it as a component, a resource or an asset, not as two of them"
    )]
    SchemaConflict {
        /// The type.
        type_path: String,
    },
    /// One object was imported with two types.
    #[error("`{path}` is imported as `{first}` and as `{second}`; an object has one type")]
    ImportConflict {
        /// Path of the object.
        path: String,
        /// The type given first.
        first: String,
        /// The other type.
        second: String,
    },
    /// The package imports one of its own objects.
    #[error("`{path}` is imported from its own package; refer to the export instead")]
    SelfImport {
        /// Path of the object.
        path: String,
    },
    /// An object has no class of this package.
    #[error("`{object}` has a class that is not of this writer; call `PackageWriter::class` first")]
    BadClass {
        /// The object.
        object: String,
    },
    /// A reference or an outer does not name an object that was added before.
    #[error("`{object}` refers to {reference}, {what}; add objects in dependency order")]
    BadReference {
        /// The object.
        object: String,
        /// What it refers to.
        reference: ObjectRef,
        /// What is wrong with that.
        what: &'static str,
    },
    /// A class or an object of the package follows a forced export.
    #[error("`{object}` follows a forced export; add the package's own objects and all classes first")]
    AfterForced {
        /// The object.
        object: String,
    },
    /// A package is named as the origin of one of its own objects.
    #[error("`{path}` is copied from its own package; use `PackageWriter::export`")]
    SelfOrigin {
        /// Path of the object.
        path: String,
    },
    /// One package is an origin with two content hashes.
    #[error("objects are copied from two versions of `{package}`, {first:016x} and {second:016x}; copy from one")]
    OriginConflict {
        /// The package.
        package: String,
        /// The content hash given first.
        first: u64,
        /// The other content hash.
        second: u64,
    },
    /// Two objects are copied from one export.
    #[error("`{first}` and `{second}` are both copied from export {index} of `{package}`; give the index of each")]
    OriginIndexTwice {
        /// The package.
        package: String,
        /// The index.
        index: u32,
        /// Name of the object that was added first.
        first: String,
        /// Name of the other one.
        second: String,
    },
    /// A payload cannot be where it is said to be.
    #[error("bulk payload {payload} of `{object}` {what}")]
    BadBulk {
        /// The object.
        object: String,
        /// Position among the object's payloads.
        payload: usize,
        /// What is wrong, and what to do instead.
        what: &'static str,
    },
    /// An object is marked to leave its payloads for later, and has none.
    #[error("`{object}` has no bulk payloads that could be read on demand; give it some, or do not mark it")]
    NoPayloads {
        /// The object.
        object: String,
    },
    /// Two version lists have the same id.
    #[error("version lists `{first}` and `{second}` have the same id {id}; give each its own")]
    DuplicateVersions {
        /// The id.
        id: VersionId,
        /// Label of the list that was added first.
        first: String,
        /// Label of the other one.
        second: String,
    },
    /// Nobody needs the object.
    #[error("`{object}` has no role; give it one, or leave it out")]
    EmptyRole {
        /// The object.
        object: String,
    },
    /// The package would not be readable, usually because it is larger than the limits.
    #[error("the package would not be readable: {0}")]
    Unreadable(#[from] PackageError),
}
