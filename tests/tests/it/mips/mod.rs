//! Textures that stream: what is drawn while they change, and what is left when they go.

mod direct;
mod fade;
mod files;
mod hall;
mod levels;
mod lifecycle;
mod looks;
mod moving;
mod overlay;
mod pictures;
mod pipelined;
mod plan;
mod rehearsal;
mod scopes;
mod sprites;
mod stage;
mod texels;
mod truth;
