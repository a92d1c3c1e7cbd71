//! `mip_settle`: frames from a jump until all textures are as fine as is wanted, beside those that their bytes take at the bandwidth that the settings give.

use bevy::prelude::*;
use bevy_seamless::render::mip::{MipPool, MipSettings, MipStats, Mips};
use seamless_tests::picture::has_driver;

use super::room::{By, Road, Room, Textures, pose};
use crate::row::{Row, Samples, Targets};

/// So many bytes of new mips are put into textures in a frame.
const BANDWIDTH: u64 = 1 << 20;
/// No mip is larger than what a frame may bring: others are brought at once all the same.
const MOST: u32 = 1024;

/// Measures jumps.
pub fn run(samples: Option<usize>) -> Option<Row> {
    run_on("mip_settle", Road::Best, samples)
}

/// The same where materials are touched, so that textures are replaced in each fourth frame.
pub fn touch(samples: Option<usize>) -> Option<Row> {
    run_on("mip_settle/touch", Road::Touch, samples)
}

fn run_on(name: &'static str, road: Road, samples: Option<usize>) -> Option<Row> {
    if !has_driver() {
        return None;
    }
    let mut room = Room::new(By::Prediction, road, 1.25, Textures::default());
    let mut settings = room.app.world_mut().resource_mut::<MipSettings>();
    settings.bytes_per_frame = BANDWIDTH;
    settings.max_size = Some(MOST);
    room.settle();
    let mut result = Samples::default();
    let mut most = 0;
    for number in 0..samples.unwrap_or(24) as u32 {
        // Nothing is left of what was seen before.
        room.look(Transform::from_xyz(0.0, 0.0, 5000.0).looking_to(Vec3::Z, Vec3::Y));
        room.settle();
        let before = room.app.world().resource::<MipPool>().ledger.sums().resident;
        room.look(pose(number));
        let frames = room.settle();
        let after = room.app.world().resource::<MipPool>().ledger.sums().resident;
        let bytes = after.saturating_sub(before);
        most = most.max(bytes);
        result.ours.push(f64::from(frames));
        result.limit.push((bytes as f64 / BANDWIDTH as f64).ceil());
    }
    let targets = Targets {
        of_limit: Some(1.5),
        ..Targets::default()
    };
    let swaps = room.app.world().resource::<MipStats>().swaps;
    let worst = room.ask(|mips: Mips| mips.under_resolved());
    let mut row = result.row(name, "frames", None, Some("bytes ÷ bandwidth"), targets);
    row.note = format!(
        "{} KiB a frame; at most {} KiB after a jump; {swaps} swaps, {worst} textures coarser than wanted at the end",
        BANDWIDTH >> 10,
        most >> 10
    );
    Some(row)
}
