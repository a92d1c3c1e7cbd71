//! The graph of a cook: sources, what was made of them, and the packages that this went into.
//!
//! ```text
//! source files ──loader──► file units: assets as bytes ──┐
//!                     └──► level units: entities as bytes ┴──► packages
//! ```
//!
//! A *unit* is what one source becomes. It remembers the digest of each file that its loader read, and holds as long as these are the
//! same; it does not depend on other units, since assets refer to each other by path. Its bytes lie in the cache, by their content. A
//! package follows from the digests of what is in it, from the names, and from what it imports: where these are the same, the file
//! that is there is left alone.

pub(crate) mod blob;
pub(crate) mod cache;
pub(crate) mod digest;
pub(crate) mod output;
pub(crate) mod recorder;
pub(crate) mod state;
pub(crate) mod storage;
pub(crate) mod turns;
