//! What a game decides about mip streaming. See [`MipSettings`].

use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_reflect::Reflect;

use super::{MipLimits, Wanting, need::SLACK_MIPS};

/// How fine textures are, for a machine that has less memory or less time.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MipQuality {
    /// Two mips less than is sampled, and no side longer than 1024 texels.
    Low,
    /// One mip less, and no side longer than 2048 texels.
    Medium,
    /// What is sampled.
    #[default]
    High,
}

impl MipQuality {
    /// How many mips coarser than sampled.
    #[must_use]
    pub fn bias(self) -> f32 {
        match self {
            Self::Low => 2.0,
            Self::Medium => 1.0,
            Self::High => 0.0,
        }
    }

    /// The longest side, in texels.
    #[must_use]
    pub fn max_size(self) -> Option<u32> {
        match self {
            Self::Low => Some(1024),
            Self::Medium => Some(2048),
            Self::High => None,
        }
    }
}

/// What a frame may bring at least, in bytes.
const LEAST_PER_FRAME: u64 = 64 << 10;

/// How mip streaming works; may be changed while the game runs.
#[derive(Resource, Reflect, Clone, Debug, PartialEq)]
#[reflect(Resource)]
pub struct MipSettings {
    /// What textures may take on the GPU, in bytes, copies and buffers included. 512 MiB.
    ///
    /// First come the images of packages and of [`StreamedImage`](super::StreamedImage)s that do not stream, whole, whatever they take:
    /// [`Mips::not_streamed`](super::Mips::not_streamed) names them, [`MipStats::not_streamed`](super::MipStats::not_streamed) counts them. Those that stream have
    /// the rest, and their mip tails in any case. What else is on the GPU does not count: images by Bevy's own loaders or of the game's making, render targets,
    /// meshes. An app whose images are mostly not marked needs a pool that holds these as well.
    pub pool: u64,
    /// What of the pool is left free for changes at least, in bytes. 32 MiB.
    pub headroom: u64,
    /// What may lie in buffers, in bytes; one change may have more, and what is [forced](super::MipForce) has as much again. 32 MiB.
    pub staging: u64,
    /// New mips that are put into textures in a frame, in bytes, 64 KiB at least; one change may have more, and the frames after it then have less. 8 MiB.
    pub bytes_per_frame: u64,
    /// Textures that are replaced in a frame at most. 32: with half of that, many small mips settle later than their bytes would have them (row `mip_settle`).
    pub swaps_per_frame: u32,
    /// Textures are replaced in each so-many-th frame, and as many more then, and as many bytes; after a while in which none were, in two frames in a row. By
    /// default in each one, or in each fourth if materials of some type must be touched for it, which takes longer.
    pub swap_interval: Option<u32>,
    /// Changes that are read at once, and as many again that are [forced](super::MipForce). 24: with 16, many small mips come later than their bytes
    /// would have them where textures are replaced in each fourth frame. Each of their mips is a load among those of
    /// [`StreamingSettings::max_loads_in_flight`](seamless_asset::StreamingSettings::max_loads_in_flight), where it counts a quarter of a package.
    pub reads: u32,
    /// A change that brings more bytes than this comes in two, unless it is forced. 4 MiB.
    pub step: u64,
    /// How fine textures are. High.
    pub quality: MipQuality,
    /// How much coarser all textures are, in mips; negative: finer. 0.
    pub bias: f32,
    /// The longest side, in texels.
    pub max_size: Option<u32>,
    /// How much coarser is what nobody sees, in mips. 1.
    pub hidden_bias: f32,
    /// How far ahead of moving views is looked at most, in seconds: as long as it has taken lately from the read of a mip to the picture, no longer. 0.5.
    pub lead: f32,
    /// How long before a mip is sampled it is there, in mips, while views move, beside [`lead`](Self::lead). A 32nd: as much coarser as things may be taken
    /// for until they are looked at again; with less, some mips come when they are seen already.
    pub margin: f32,
    /// How long mips stay that nobody wants any more while there is room, in seconds. 5.
    pub cached: f32,
    /// Whether mips are left out at all; otherwise all textures are whole, as far as the pool goes.
    pub enabled: bool,
}

impl Default for MipSettings {
    fn default() -> Self {
        const MIB: u64 = 1 << 20;
        Self {
            pool: 512 * MIB,
            headroom: 32 * MIB,
            staging: 32 * MIB,
            bytes_per_frame: 8 * MIB,
            swaps_per_frame: 32,
            swap_interval: None,
            reads: 24,
            step: 4 * MIB,
            quality: MipQuality::High,
            bias: 0.0,
            max_size: None,
            hidden_bias: 1.0,
            lead: 0.5,
            margin: SLACK_MIPS,
            cached: 5.0,
            enabled: true,
        }
    }
}

impl MipSettings {
    /// What may go on at once, of a pool of `pool` bytes, in a frame in which as much may be replaced as is meant for each.
    #[must_use]
    pub fn limits(&self, pool: u64) -> MipLimits {
        MipLimits {
            pool,
            staging: self.staging,
            reads: self.reads.max(1) as usize,
            step: self.step,
            swaps: self.swaps_per_frame.max(1) as usize,
            bytes: self.bytes_per_frame.max(LEAST_PER_FRAME),
        }
    }

    /// How views want textures, while one of them moves, or while all rest.
    #[must_use]
    pub fn wanting(&self, is_moving: bool) -> Wanting {
        Wanting {
            margin: if is_moving {
                sound(self.margin, 0.0, Wanting::MOST_MARGIN)
            } else {
                0.0
            },
            hidden_bias: sound(self.hidden_bias, 0.0, 16.0),
        }
    }

    /// How much coarser all textures are, by quality and by choice, in mips.
    #[must_use]
    pub fn total_bias(&self) -> f32 {
        self.quality.bias() + sound(self.bias, -16.0, 16.0)
    }

    /// The longest side, by quality and by choice, in texels.
    #[must_use]
    pub fn longest_side(&self) -> Option<u32> {
        let sides = [self.max_size, self.quality.max_size()];
        sides.into_iter().flatten().min()
    }
}

/// The value within its bounds; the lower one for what is no number.
pub(super) fn sound(value: f32, least: f32, most: f32) -> f32 {
    if value.is_nan() {
        least
    } else {
        value.clamp(least, most)
    }
}
