//! What cooking did to a texture. See [`TextureReport`].

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::assets::mentioned;

/// Why mips were not made, or why the format stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The settings say so.
    #[error("turned off in the settings")]
    TurnedOff,
    /// No material says what the texture is used for, or several say what no one form serves.
    #[error("no material says what it is used for, or two materials use it for different things")]
    UnknownUse,
    /// The image has no pixels.
    #[error("the image has no pixels")]
    NoPixels,
    /// There are more or fewer pixels than its size says.
    #[error("its pixels do not fit its size and format")]
    WrongSize,
    /// It is no 2D texture, array or cube.
    #[error("only 2D textures, arrays and cubes are compressed and get mips")]
    NotFlat,
    /// It has several samples per texel.
    #[error("it has several samples per texel")]
    Multisampled,
    /// It is a render target or a storage texture.
    #[error("the GPU writes to it")]
    WrittenByGpu,
    /// It is compressed already.
    #[error("it is compressed already")]
    AlreadyCompressed,
    /// It has mips already.
    #[error("it has mips already")]
    AlreadyMipped,
    /// The cooker does not average or compress such texels.
    #[error("the cooker does not know texels of this format")]
    UnknownFormat,
    /// A texel is infinite or no number.
    #[error("a texel is infinite or no number")]
    NotFinite,
    /// It is looked at through a view of a format of its own.
    #[error("it has views of a format of their own")]
    OwnViews,
    /// Its view ends at the first mip.
    #[error("its view shows the first mip only")]
    ViewWithoutMips,
    /// Its sampler never leaves the first mip.
    #[error("its sampler shows the first mip only (`lod_max_clamp`)")]
    SamplerWithoutMips,
    /// Width or height are not multiples of four, which GPUs demand of block formats.
    #[error("its width and height are not multiples of 4")]
    NotBlockSized,
    /// The target has no block formats.
    #[error("the target has no block formats")]
    NotOnTarget,
    /// Block formats have about 8 bits per channel, and this texture has more, for a reason.
    #[error("it has more bits per channel than block formats keep")]
    Precise,
    /// It is light with transparency, or with values that BC6H does not have.
    #[error("BC6H has neither alpha nor numbers below 0 or above 65504")]
    OutOfRange,
    /// The encoder does not have the format.
    #[error("the encoder does not have the format")]
    Encoder,
}

/// What cooking did to one texture. Sizes are width, height and layers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextureReport {
    /// What it is used for, in words.
    #[serde(with = "mentioned")]
    pub usage: Arc<str>,
    /// Its size.
    pub from_size: [u32; 3],
    /// Its size now; smaller by the settings' `max_size`.
    pub to_size: [u32; 3],
    /// How many mips it had.
    pub from_mips: u32,
    /// How many it has.
    pub to_mips: u32,
    /// Its format, as WebGPU names it.
    #[serde(with = "mentioned")]
    pub from_format: Arc<str>,
    /// Its format now.
    #[serde(with = "mentioned")]
    pub to_format: Arc<str>,
    /// Bytes of its pixels.
    pub bytes_before: u64,
    /// Bytes of all mips now.
    pub bytes_after: u64,
    /// Peak signal-to-noise ratio of the colour channels that are used, over all mips, against the same mips uncompressed, in dB and in the space that
    /// is stored (sRGB for colour); 100 where nothing differs. `None` where nothing was compressed, and for normals and light.
    pub psnr_db: Option<f64>,
    /// The same for alpha, where it is kept.
    pub psnr_alpha_db: Option<f64>,
    /// For light (HDR): of `ln(1 + v)`, the largest of which is the peak.
    pub psnr_log_db: Option<f64>,
    /// For normal maps: the mean angle between the normal and what became of it, in degrees.
    pub normal_error_degrees: Option<f64>,
    /// Where alpha is cut out: the largest difference, over the new mips, between the share of texels that a mip shows and the one that
    /// the image shows, before compression.
    pub coverage_error: Option<f64>,
    /// Why no mips were made.
    pub no_mips: Option<Kept>,
    /// Why the format stays.
    pub no_compression: Option<Kept>,
}
