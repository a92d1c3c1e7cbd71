//! Cooked package files.

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
