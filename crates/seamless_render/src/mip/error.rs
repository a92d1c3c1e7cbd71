//! Why a texture does not stream, and what goes wrong with one that does. See [`NotStreamed`] and [`MipError`].

use std::sync::Arc;

use bevy_asset::AssetId;
use bevy_ecs::message::Message;
use bevy_image::Image;
use seamless_asset::LoadError;
use wgpu_types::TextureFormat;

/// Why a texture does not stream: it is on the GPU whole, or not at all, as without mip streaming.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum NotStreamed {
    /// It is a volume or a line; arrays of pictures stream.
    Dimension,
    /// It has several samples a texel, so it is drawn to, and has no mips.
    Multisampled,
    /// It has so many mips, and textures of its size have from one to `most`.
    Mips {
        /// How many it has.
        mips: u32,
        /// How many it may have.
        most: u32,
    },
    /// A side is nothing, or longer than [`MipChain::MAX_SIDE`](super::MipChain::MAX_SIDE); or it has more layers than
    /// [`MipChain::MAX_LAYERS`](super::MipChain::MAX_LAYERS).
    Size,
    /// A depth texture or one of several planes: its texels cannot be copied.
    Format(TextureFormat),
    /// Its format stores whole blocks, of `block` texels, and its sides are not made of such: no GPU takes it.
    BaseMip {
        /// Width and height of a block, in texels.
        block: (u32, u32),
    },
    /// None of its mips but the first may be the base of a texture, or none of them is apart from the rest: there is nothing to leave out.
    OneTop,
    /// The coarsest mip that may be a base, `floor`, is finer than what comes with the package, which is the mips from `tail` on: its sides are not whole
    /// blocks often enough.
    Floor {
        /// The coarsest mip that may be a base.
        floor: u8,
        /// The first mip that comes with the package.
        tail: u32,
    },
    /// It is a cube of pictures: Bevy takes from the number of its mips which of them a rough surface reflects.
    Cube,
    /// Its larger side is shorter than `least` texels: it would cost more than it saves.
    Small {
        /// Its larger side, in texels.
        side: u32,
        /// The least that streams.
        least: u32,
    },
    /// Its texels are made into others when it is loaded, or unpacked all at once.
    Transcoded,
    /// The settings that it is loaded with change its format or layers, or do not have it drawn.
    Settings,
    /// The mips that would have to be there from the beginning have `bytes`, and `most` is what may be.
    Tail {
        /// What they have.
        bytes: u64,
        /// The most.
        most: u64,
    },
    /// Its pixels are for the main world, too, or for nobody else: whoever reads them needs all of them.
    InMemory,
    /// Shaders write it, or it is drawn to.
    Written,
    /// It is not looked at from its first mip on.
    View,
    /// The cooker has not marked it: a rule says so, it is startup content, or its package is older than marks are.
    Unmarked,
    /// There are as many as there may be; see [`MipPlugin::max_textures`](super::MipPlugin::max_textures).
    TooMany,
}

impl core::fmt::Display for NotStreamed {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Dimension => write!(
                f,
                "a texture that is a volume or a line does not stream; use a 2D array"
            ),
            Self::Multisampled => write!(f, "a texture with several samples a texel has no mips to stream"),
            Self::Mips { mips, most } => write!(
                f,
                "the texture has {mips} mips, and from 1 to {most} are possible; cook it again"
            ),
            Self::Size => write!(f, "the texture's size is not one that a GPU takes"),
            Self::Format(format) => write!(
                f,
                "textures of the format {format:?} cannot be copied, so they do not stream"
            ),
            Self::BaseMip { block: (width, height) } => write!(
                f,
                "the texture's sides are not multiples of {width} and {height} texels, the blocks of its format; resize its source"
            ),
            Self::OneTop => write!(
                f,
                "no smaller mip of the texture can stand alone; give it sides that are powers of two, and mips that are stored apart"
            ),
            Self::Floor { floor, tail } => write!(
                f,
                "no mip behind mip {floor} of the texture can stand alone, and what comes with its package begins at mip {tail}; give it sides that are powers of two"
            ),
            Self::Cube => write!(
                f,
                "cubes do not stream, because Bevy reflects by the number of their mips"
            ),
            Self::Small { side, least } => write!(
                f,
                "the texture's larger side is {side} texels, and those of {least} and more stream"
            ),
            Self::Transcoded => write!(
                f,
                "the texture's texels are made into others when it is loaded; write it in a format that GPUs have, each mip as it is or as zstd, and load masks of one or two channels with `is_srgb: false`"
            ),
            Self::Settings => write!(
                f,
                "the settings that the texture is loaded with change its format or layers, or do not have it drawn"
            ),
            Self::Tail { bytes, most } => write!(
                f,
                "the texture has {bytes} bytes that would be there always, and {most} may be; give it all mips, and sides that are powers of two"
            ),
            Self::InMemory => write!(
                f,
                "the texture's pixels stay in the main world; give it `RenderAssetUsages::RENDER_WORLD` alone if nobody reads them there"
            ),
            Self::Written => write!(
                f,
                "the texture is written by shaders or drawn to, so its mips are not those of its package"
            ),
            Self::View => write!(
                f,
                "the texture's view does not begin at its first mip; leave those out that are before it"
            ),
            Self::Unmarked => write!(
                f,
                "the cooker has not marked the texture: see to the rules for textures, to startup content, and cook older packages again"
            ),
            Self::TooMany => write!(
                f,
                "there are as many textures as may stream; raise `MipPlugin::max_textures`"
            ),
        }
    }
}

impl core::error::Error for NotStreamed {}

/// What went wrong with a texture that streams. It is drawn with the mips that it has.
#[derive(Clone, Debug)]
pub enum MipError {
    /// A mip could not be read. It is tried some times more, then the texture stays coarser for as long as it is there.
    Payload {
        /// The image's object path.
        path: String,
        /// Which mip.
        mip: u8,
        /// Why.
        source: Arc<LoadError>,
    },
    /// What was read is not the mip.
    PayloadSize {
        /// The image's object path.
        path: String,
        /// Which mip.
        mip: u8,
        /// What was read, in bytes.
        found: u64,
        /// What the mip has, in bytes.
        needed: u64,
    },
    /// What was read is not the image.
    Decode {
        /// The image's object path.
        path: String,
        /// What is wrong.
        error: String,
    },
    /// The device takes no texture, or no buffer, like this: its format, or its size. The texture stays coarser for as long as it is there; if it has no mip at
    /// all yet, one white texel is drawn.
    Refused {
        /// The image's object path.
        path: String,
    },
    /// The GPU has no memory left, so a tenth less of the pool is used for a while; see [`MipPool::usable`](super::MipPool::usable). What has no mip at all yet
    /// is not drawn before there is memory for it.
    OutOfMemory {
        /// The image's object path.
        path: String,
        /// How many bytes it was.
        bytes: u64,
    },
}

impl core::fmt::Display for MipError {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        match self {
            Self::Payload { path, mip, source } => {
                write!(f, "mip {mip} of the texture `{path}` cannot be read: {source}")
            }
            Self::PayloadSize {
                path,
                mip,
                found,
                needed,
            } => write!(
                f,
                "mip {mip} of the texture `{path}` has {found} bytes where it needs {needed}; cook its package again, or write its file"
            ),
            Self::Decode { path, error } => write!(f, "the texture `{path}` cannot be put together: {error}"),
            Self::Refused { path } => write!(
                f,
                "the GPU takes no texture like `{path}`; see to its format and size, or cook it for this platform"
            ),
            Self::OutOfMemory { path, bytes } => write!(
                f,
                "the GPU has no memory for {bytes} bytes of the texture `{path}`; make `MipSettings::pool` smaller"
            ),
        }
    }
}

impl core::error::Error for MipError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Payload { source, .. } => Some(&**source),
            _ => None,
        }
    }
}

/// A texture could not be made as fine as it should be. Told when a payload cannot be read, the first time until it can be again; and the first time that the
/// GPU refuses anything to the texture.
#[derive(Message, Clone, Debug)]
pub struct MipFailed {
    /// Which texture.
    pub image: AssetId<Image>,
    /// What went wrong.
    pub error: MipError,
}
