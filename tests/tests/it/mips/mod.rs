//! Textures that stream: what is drawn while they change, and what is left when they go.

mod files;
mod lifecycle;
mod pictures;
mod plan;
mod stage;
mod texels;
