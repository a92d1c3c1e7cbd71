//! The cooked package file: objects with names, types and references, in one file that is read without trust.
//!
//! A package is what Unreal calls one: a fixed-size [`Summary`], a name table, a table of *imports* (objects of other
//! packages), a table of *exports* (the objects stored here), then the data of the exports, then bulk data, which is
//! read on demand. `docs/FORMAT.md` describes it byte for byte. This crate knows nothing of Bevy, of files and paths of
//! the host, or of what the data means: it takes bytes and gives bytes.
//!
//! # Identity
//! An object is its [`ObjectId`], the hash of its package's path and its name. Indices into the tables only
//! accelerate: every edit of the content shifts them. Two objects with one id are refused when the package is written.
//!
//! # Copies of other packages' objects
//! A package may hold copies of other packages' objects, its *forced exports*, each under the id that it has at home. They
//! stand behind the package's own objects, which refer to them by imports as if the copies were not there. A package that
//! holds a copy of all it imports is [seek-free](Package::is_seek_free): loading it opens no other file. The large
//! payloads of a copy may stay where they are; [`Package::bulk_location`] says in which file, and where.
//!
//! # Versions
//! A package names the changes of code that it has seen, list by list ([`VersionList`]). [`check_all`] says which ones are
//! still to be run on its objects, or why the package does not fit this build.
//!
//! # One forward pass
//! The type of an object, its *class*, is an export as well: its data is a [`Schema`], stored once per package, so
//! that an object can be decoded even after its type has changed. A class stands before its instances, an outer before
//! what is in it, and whatever an object refers to before the object; the reader refuses a file in another order. So a
//! loader goes through the exports once, front to back, and never meets anything that it does not know yet.
//!
//! Opening takes one read of the first [`Summary::header_len`] bytes: summary, tables and schemas. All data then lies
//! behind each other, in the order in which it is needed.
//!
//! # No trust
//! Every checksum is verified, every count and size is compared with [`Limits`] and with the bytes that are really there
//! before memory is taken, and every rule between the tables is checked when the package is opened. What is wrong is a
//! [`PackageError`] that names the place and the mend, and whose [`Fault`] it is. Nothing panics on content.
//!
//! # Writing
//! The feature `write`, off by default, adds `PackageWriter` and `ByteWriter`. A game that only loads leaves it off.
//!
//! ```
//! use seamless_package::{
//!     Codec, Limits, NewExport, ObjectId, ObjectRef, Package, PackageWriter, PayloadUse, Role, Schema,
//! };
//!
//! // Cooking.
//! let mut writer = PackageWriter::new("levels/meadow.pkg");
//! let class = writer.class(&Schema {
//!     type_path: "game::Tree".into(),
//!     encoding: 1,
//!     immutable: false,
//!     version: 1,
//!     hash: 0x5eed,
//!     description: "height: f32".into(),
//! })?;
//! let bark = writer.import("shared/bark.pkg", "Bark", "game::Material", Role::CLIENT)?;
//! writer.export(NewExport {
//!     name: "Oak",
//!     class,
//!     outer: ObjectRef::NONE,
//!     role: Role::ALL,
//!     data: 12.5_f32.to_le_bytes().to_vec().into(),
//!     refs: vec![bark],
//!     bulk: vec![vec![0; 4096].into()],
//!     bulk_use: PayloadUse::WithObject,
//!     codec: Codec::Lz4,
//! })?;
//! let file = writer.finish()?;
//!
//! // Loading: the header first, then what is behind it.
//! let limits = Limits::default();
//! let package = Package::parse(&file, &limits)?;
//! let oak = package.find(ObjectId::new("levels/meadow.pkg", "Oak")).expect("was cooked");
//! assert_eq!(package.class_of(oak).expect("is no class").type_path, "game::Tree");
//! assert_eq!(package.import_name(0), Some("Bark"));
//! let header_len = package.summary().header_len();
//! let tail = &file[header_len as usize..];
//! assert_eq!(*package.export_data(oak, tail, header_len)?, 12.5_f32.to_le_bytes());
//! assert_eq!(package.bulk_data(oak, 0, tail, header_len)?.len(), 4096);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

#[cfg(feature = "write")]
mod assemble;
mod check;
mod codec;
mod cursor;
mod error;
mod id;
mod limits;
mod names;
pub mod package_map;
mod reader;
mod schema;
mod summary;
mod table;
mod tables;
#[cfg(test)]
mod tests;
mod versions;
#[cfg(feature = "write")]
mod write_error;
#[cfg(feature = "write")]
mod writer;

pub use codec::Codec;
#[cfg(feature = "write")]
pub use codec::{Packed, ZSTD_LEVEL};
#[cfg(feature = "write")]
pub use cursor::ByteWriter;
pub use cursor::{Cursor, CursorError};
pub use error::{Fault, PackageError, Place};
pub use id::{ObjectId, ObjectRef, RefTarget, Role};
pub use limits::Limits;
pub use reader::{BulkLocation, OriginOf, Package};
pub use schema::Schema;
pub use summary::{FORMAT_VERSION, MAGIC, OLDEST_FORMAT_VERSION, SUMMARY_SIZE, Summary};
pub use table::{Table, TableIter};
pub use tables::{Bulk, Export, Import, NameIndex, Origin, PayloadUse};
pub use versions::{StoredVersions, VersionId, VersionList, VersionListError, VersionMismatch, check_all, pending};
#[cfg(feature = "write")]
pub use write_error::WriteError;
#[cfg(feature = "write")]
pub use writer::{ClassIndex, ForcedOrigin, NewBulk, NewData, NewExport, PackageWriter};
