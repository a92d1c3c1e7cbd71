//! Who draws with textures that stream: materials, and the entities that have them.

mod drawn;
mod follow;
mod material;
mod meshes;
mod notes;
mod reflected;
mod seats;
mod standard;
mod strangers;
mod surfaces;

use bevy_asset::AssetId;
use bevy_image::Image;
use bevy_math::Affine2;

pub(super) use drawn::install_drawn;
pub(super) use follow::{MipHider, MipUsers, follow_users};
pub(super) use material::{Materials, Streamed};
pub use notes::MipApp;
pub(super) use notes::install_types;
pub(super) use strangers::tell_strangers;
pub(super) use surfaces::add_surfaces;

/// A texture of a material, and how it is sampled.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct MipImage {
    /// Which one.
    pub id: AssetId<Image>,
    /// The mesh's channel of texture coordinates that it is sampled by, 0 or 1.
    pub channel: u8,
    /// What the material does to these coordinates before.
    pub uv: Affine2,
    /// It is sampled at its finest mip however far away it is, as height maps are: all of it is resident while a material has it, as far as the pool goes.
    pub is_whole: bool,
}

impl MipImage {
    /// One that is sampled by the first channel as it is.
    #[must_use]
    pub fn new(id: AssetId<Image>) -> Self {
        Self {
            id,
            channel: 0,
            uv: Affine2::IDENTITY,
            is_whole: false,
        }
    }
}
