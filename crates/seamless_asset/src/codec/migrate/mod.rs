//! The slow road: objects that were cooked with an older layout, read by the schema that was stored with them, changed by the
//! app's [`Migrations`](super::Migrations), and made into the types of today.
//!
//! ```text
//! bytes ── read (by the stored schema) ──► Value ── ops (pending entries, oldest first) ──► Values ── convert ──► today's types
//! ```
//!
//! Whether a class needs it is decided once per package ([`Migrator::for_class`]); all others take the fast road and pay nothing.

mod class;
mod convert;
mod dynamic;
mod error;
mod numbered;
mod ops;
mod own;
mod plan;
mod read;
mod run;
mod sample;
#[cfg(test)]
mod tests;
mod trial;
mod value;
mod widen;

pub(crate) use class::{Migrator, check_immutable, looks_into};
pub use error::MigrateError;
pub(in crate::codec) use ops::{Op, Step};
pub(crate) use plan::{Fate, Plan};
pub use value::{Field, Fields};
