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
//! use seamless_package::{Codec, Limits, NewExport, ObjectId, ObjectRef, Package, PackageWriter, Role, Schema};
//!
//! // Cooking.
//! let mut writer = PackageWriter::new("levels/meadow.pkg");
//! let class = writer.class(&Schema {
//!     type_path: "game::Tree".into(),
//!     encoding: 1,
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
//!     data: 12.5_f32.to_le_bytes().to_vec(),
//!     refs: vec![bark],
//!     bulk: vec![vec![0; 4096]],
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
mod cursor;
mod error;
mod id;
mod limits;
pub mod package_map;
mod reader;
mod schema;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(feature = "write")]
mod writer;

#[cfg(feature = "write")]
pub use cursor::ByteWriter;
pub use cursor::{Cursor, CursorError};
#[cfg(feature = "write")]
pub use error::WriteError;
pub use error::{Fault, PackageError, Place};
pub use id::{ObjectId, ObjectRef, RefTarget, Role};
pub use limits::Limits;
pub use reader::Package;
pub use schema::Schema;
pub use summary::{FORMAT_VERSION, MAGIC, SUMMARY_SIZE, Summary};
pub use tables::{Bulk, Codec, Export, Import, NameIndex};
#[cfg(feature = "write")]
pub use writer::{ClassIndex, NewExport, PackageWriter};
