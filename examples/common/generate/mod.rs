//! Makes the sources of the example world: textures, cells, towns and the world file that places them.
//!
//! The same seed and options give the same bytes. A finished folder carries a marker file, so that it is recognised
//! and not made again; the folder is written aside and renamed when it is whole.

#[cfg(test)]
mod bevy_tests;
mod cell;
pub(crate) mod glb;
mod kit;
pub mod noise;
pub(crate) mod shapes;
pub mod terrain;
#[cfg(test)]
mod tests;
mod textures;
mod town;
mod world_file;
mod write;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use write::{generate, is_current};

/// The name of the world file in the generated folder.
pub const WORLD_FILE: &str = "open_world.world.ron";

/// How large and how dense the world is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorldOptions {
    /// Cells along each side of the square world.
    pub grid: u32,
    /// The length of a cell's side, in metres. Ground textures meet at cell borders for multiples of 8.
    pub cell_size: f32,
    /// How many towns there are at most; a small world has room for fewer.
    pub towns: usize,
    /// Trees, rocks, bushes and tufts in each cell.
    pub items_per_cell: u32,
    /// How far outside a level's footprint it is wanted, in cells.
    pub load_distance: f32,
    /// Divides the size of every texture; 1 for full size, more for quick tests.
    pub texture_divisor: u32,
}

impl Default for WorldOptions {
    fn default() -> Self {
        Self {
            // About 500 entities a cell: a level of that size comes and goes well within a frame's budget.
            grid: 32,
            cell_size: 64.0,
            towns: 40,
            items_per_cell: 235,
            load_distance: 3.5,
            texture_divisor: 1,
        }
    }
}

impl WorldOptions {
    /// The length of the world's side, in metres.
    #[must_use]
    pub fn extent(&self) -> f32 {
        self.grid as f32 * self.cell_size
    }
}

/// What was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorldSummary {
    /// The world file, ready to be cooked.
    #[serde(skip)]
    pub world_file: PathBuf,
    /// Levels in the world file: cells, towns and the sky.
    pub levels: u64,
    /// Cells.
    pub cells: u64,
    /// Towns.
    pub towns: u64,
    /// Entities in all levels together, as Bevy's own loaders make them.
    pub entities: u64,
    /// Textures.
    pub textures: u64,
    /// The size of all files together, in bytes.
    pub bytes: u64,
}

impl WorldSummary {
    fn below(mut self, dir: &Path) -> Self {
        self.world_file = dir.join(WORLD_FILE);
        self
    }
}

/// A part of the work, for progress bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Painting textures.
    Textures,
    /// Building cells.
    Cells,
    /// Writing towns.
    Towns,
}

impl Stage {
    /// What to show beside a progress bar.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Textures => "painting textures",
            Self::Cells => "building cells",
            Self::Towns => "building towns",
        }
    }
}
