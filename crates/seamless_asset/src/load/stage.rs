//! How far loads came that nothing came of. See [`WastedBytes`].

use bevy_reflect::Reflect;

use crate::settings::StreamingStats;

/// What was read for loads that were then cancelled or failed, in bytes, by how far they had come. Together they are
/// [`StreamingStats::bytes_wasted`].
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WastedBytes {
    /// While summary and tables were read, and imports compared.
    pub opening: u64,
    /// While the data was read.
    pub reading: u64,
    /// While values were decoded.
    pub decoding: u64,
    /// Decoded, and then not revealed or not handed over.
    pub staged: u64,
}

impl WastedBytes {
    /// The sum of all.
    #[must_use]
    pub fn total(&self) -> u64 {
        let Self {
            opening,
            reading,
            decoding,
            staged,
        } = self;
        opening + reading + decoding + staged
    }
}

/// How far a load has come, as far as its bytes go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Stage {
    #[default]
    Opening,
    Reading,
    Decoding,
    Staged,
}

impl StreamingStats {
    /// Nothing comes of a load that has come as far as `stage`.
    pub(super) fn waste(&mut self, stage: Stage, bytes: u64) {
        self.bytes_wasted += bytes;
        *match stage {
            Stage::Opening => &mut self.wasted_by_stage.opening,
            Stage::Reading => &mut self.wasted_by_stage.reading,
            Stage::Decoding => &mut self.wasted_by_stage.decoding,
            Stage::Staged => &mut self.wasted_by_stage.staged,
        } += bytes;
    }
}
