//! The course of a flight: what was measured in each frame, and when each level was asked for and there.

use super::MipLog;

/// One frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FrameSample {
    /// Main-thread time spent on streaming, in milliseconds.
    pub stream_ms: f32,
    /// The whole main-thread frame, extraction included, in milliseconds.
    pub frame_ms: f32,
    /// Levels in the world.
    pub resident_levels: u32,
    /// Entities in the world.
    pub resident_entities: u32,
    /// Bytes of the meshes in memory.
    pub mesh_bytes: u64,
    /// Bytes of the images in memory.
    pub image_bytes: u64,
    /// The camera's place on the map (x, z), in metres.
    pub camera: [f32; 2],
    /// Whether the camera jumped here.
    pub teleported: bool,
}

/// A rectangle on the map (x, z), in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    /// The corner with the smallest coordinates.
    pub min: [f32; 2],
    /// The corner with the largest coordinates.
    pub max: [f32; 2],
}

impl Footprint {
    /// The cell in a column and a row of a grid.
    #[must_use]
    pub fn cell(column: i32, row: i32, size: f32) -> Self {
        let at = [column as f32 * size, row as f32 * size];
        Self {
            min: at,
            max: at.map(|v| v + size),
        }
    }

    fn area(&self) -> f32 {
        (self.max[0] - self.min[0]) * (self.max[1] - self.min[1])
    }

    fn is_finite(&self) -> bool {
        self.min.iter().chain(&self.max).all(|v| v.is_finite())
    }
}

/// One level over the flight. Intervals are frames: from the first up to, not with, the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LevelTrack {
    /// The level's name.
    pub name: String,
    /// Where it lies on the map; levels without a place (the sky) have none and are not drawn there.
    pub footprint: Option<Footprint>,
    /// When it was asked for, whether it was there or not.
    pub requested: Vec<(u32, u32)>,
    /// When it was in the world.
    pub live: Vec<(u32, u32)>,
}

impl LevelTrack {
    pub(super) fn first_request(&self) -> u32 {
        let starts = self.requested.iter().chain(&self.live).map(|(from, _)| *from);
        starts.min().unwrap_or(u32::MAX)
    }

    /// The requests up to the moment in which the level was there.
    pub(super) fn loading(&self) -> Vec<(u32, u32)> {
        let until = |from: u32, to: u32| {
            let revealed = self.live.iter().filter(|(start, end)| *end > from && *start < to);
            revealed.map(|(start, _)| *start).min().unwrap_or(to)
        };
        let cut = self.requested.iter().map(|(from, to)| (*from, until(*from, *to)));
        cut.filter(|(from, to)| from < to).collect()
    }

    pub(super) fn live_frames(&self) -> u32 {
        self.live.iter().map(|(from, to)| to.saturating_sub(*from)).sum()
    }

    pub(super) fn is_live(&self, frame: u32) -> bool {
        within(&self.live, frame)
    }

    pub(super) fn is_requested(&self, frame: u32) -> bool {
        within(&self.requested, frame)
    }
}

fn within(intervals: &[(u32, u32)], frame: u32) -> bool {
    intervals.iter().any(|(from, to)| (*from..*to).contains(&frame))
}

/// The whole flight.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlightLog {
    /// Simulated seconds per frame.
    pub seconds_per_frame: f32,
    /// The median frame of the same flight with everything resident, in milliseconds; frame excess is above this.
    pub resident_frame_ms: f32,
    /// Every frame, in order.
    pub frames: Vec<FrameSample>,
    /// Every level.
    pub levels: Vec<LevelTrack>,
    /// What the flight asks of textures.
    pub mips: MipLog,
}

impl FlightLog {
    /// Simulated length in seconds, at least a little.
    pub(super) fn seconds(&self) -> f64 {
        (self.frames.len() as f64 * f64::from(self.seconds_per_frame)).max(1e-3)
    }

    pub(super) fn time_of(&self, frame: usize) -> f64 {
        frame as f64 * f64::from(self.seconds_per_frame)
    }

    /// The moments of the teleports, in seconds.
    pub(super) fn teleports(&self) -> Vec<f64> {
        let frames = self.frames.iter().enumerate().filter(|(_, frame)| frame.teleported);
        frames.map(|(index, _)| self.time_of(index)).collect()
    }

    /// Levels with a place on the map, large ones first, so that small ones are drawn over them.
    pub(super) fn placed(&self) -> Vec<(&LevelTrack, Footprint)> {
        let mut placed: Vec<_> = self
            .levels
            .iter()
            .filter_map(|level| Some((level, level.footprint.filter(Footprint::is_finite)?)))
            .collect();
        placed.sort_by(|a, b| b.1.area().total_cmp(&a.1.area()));
        placed
    }
}
