//! What the fuzz targets do with their bytes. `fuzz/` runs it on ever new ones, `../main.rs` on those that were kept.
//!
//! Only what the crate offers to everyone is used. A body panics when a promise of the documentation is broken.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "tests, shared by two crates"
)]

mod bulk_decode;
mod export_data;
mod forge;
mod made;
mod network;
mod older;
mod seal;
mod tables;
mod walk;

pub use bulk_decode::bulk_decode;
pub use export_data::export_data;
pub use network::network;
pub use older::older;
pub use tables::tables;

use seamless_package::{SUMMARY_SIZE, Summary};
