//! The world file: which levels there are, where they stand and which volumes ask for them.

use std::fmt::Write;

use super::{
    WorldOptions,
    terrain::{TOWN_RADIUS, Terrain},
};

/// Volumes reach this far down and up, in metres: only the place on the map decides.
const FLOOR: f32 = -500.0;
const CEILING: f32 = 2000.0;
/// For how many seconds a level stays when the camera has left. A dive goes at more than 500 m/s: longer, and a kilometre of levels
/// would follow it.
const UNLOAD_DELAY: f32 = 0.5;

/// The text of the world file.
#[must_use]
pub fn build(options: &WorldOptions, terrain: &Terrain) -> String {
    let mut levels = String::new();
    let mut volumes = String::new();
    let size = options.cell_size;
    for z in 0..options.grid {
        for x in 0..options.grid {
            let (low_x, low_z) = (x as f32 * size, z as f32 * size);
            let name = format!("cell_{x}_{z}");
            let _ = writeln!(
                levels,
                "        (name: \"{name}\", source: \"cells/{name}.glb\", translation: ({low_x:?}, 0.0, {low_z:?})),"
            );
            volume(
                &mut volumes,
                &name,
                (low_x, low_z),
                (low_x + size, low_z + size),
                options,
            );
        }
    }
    for (index, town) in terrain.towns.iter().enumerate() {
        let name = format!("town_{index}");
        let (x, y, z) = (town.center.x, town.height, town.center.y);
        let (sin, cos) = (town.turn * 0.5).sin_cos();
        let _ = writeln!(
            levels,
            "        (name: \"{name}\", source: \"towns/{name}.scn.ron\", translation: ({x:?}, {y:?}, {z:?}), \
             rotation: (0.0, {sin:?}, 0.0, {cos:?})),"
        );
        let (low, high) = (town.center - TOWN_RADIUS, town.center + TOWN_RADIUS);
        volume(&mut volumes, &name, (low.x, low.y), (high.x, high.y), options);
    }
    format!(
        "(\n    levels: [\n        (name: \"sky\", source: \"sky.scn.ron\", always_loaded: true),\n{levels}    ],\n    \
         volumes: [\n{volumes}    ],\n)\n"
    )
}

/// A box over the footprint, wider by the load distance; its level leaves half a cell further out.
fn volume(text: &mut String, level: &str, low: (f32, f32), high: (f32, f32), options: &WorldOptions) {
    let reach = options.load_distance * options.cell_size;
    let (min_x, min_z) = (low.0 - reach, low.1 - reach);
    let (max_x, max_z) = (high.0 + reach, high.1 + reach);
    let margin = options.cell_size * 0.5;
    let _ = writeln!(
        text,
        "        (name: \"around {level}\", shape: Box(min: ({min_x:?}, {FLOOR:?}, {min_z:?}), \
         max: ({max_x:?}, {CEILING:?}, {max_z:?})), levels: [\"{level}\"], unload_margin: {margin:?}, \
         unload_delay: {UNLOAD_DELAY:?}),"
    );
}
