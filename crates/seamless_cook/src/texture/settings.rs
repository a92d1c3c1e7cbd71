//! How textures are cooked. See [`TextureSettings`].

use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// How much time block compression may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Quality {
    /// For development: BC1 and BC3 where they are good enough, and the fastest BC7; about 3 million texels a second and core, mips and
    /// measuring included.
    #[default]
    Fast,
    /// To ship: BC7 wherever it is better; about 0.4 million texels a second and core.
    Best,
}

/// The block formats that every device of a target can sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TargetFormats {
    /// BC1 to BC7, which wgpu has together or not at all (`TEXTURE_COMPRESSION_BC`): desktops and consoles have them.
    pub bc: bool,
}

impl Default for TargetFormats {
    fn default() -> Self {
        Self { bc: true }
    }
}

/// How textures are cooked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TextureSettings {
    /// How much time compression may take.
    pub quality: Quality,
    /// Whether mips are made, down to one texel.
    pub mips: bool,
    /// Whether textures are block-compressed.
    pub compress: bool,
    /// What the target can sample.
    pub target: TargetFormats,
    /// The largest side of a texture in texels: a larger one is halved until it fits.
    pub max_size: Option<NonZeroU32>,
}

impl Default for TextureSettings {
    fn default() -> Self {
        Self {
            quality: Quality::default(),
            mips: true,
            compress: true,
            target: TargetFormats::default(),
            max_size: None,
        }
    }
}
