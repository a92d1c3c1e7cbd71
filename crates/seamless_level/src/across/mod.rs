//! From one level into another: references that hold while both are there.

mod soft;

pub use soft::{LinkedEntity, SoftEntities, SoftEntity, SoftLink};
pub(crate) use soft::{ResolveLinks, SoftLinks, link_resolution};
