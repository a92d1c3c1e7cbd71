//! The same faults where levels come and go in slices.

use std::cell::Cell;

use super::*;

/// Loads all levels in slices, with each of these faults in each of the reads.
fn suffer_in_slices(faults: &[Fault]) {
    let cooked = cook();
    let plugin = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    let mut stage = Stage::with(&cooked, plugin);
    // No unit of work fits it, so that each frame does one.
    stage.app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let most_hidden = Cell::new(0);
    stage.load_all();
    stage.until("all come in slices", |stage| {
        most_hidden.set(most_hidden.get().max(stage.stats().hidden_entities));
        stage.are_live(&LEVELS)
    });
    assert!(most_hidden.get() > 0, "nothing is hidden until it is shown: no slices");
    stage.clear(&LEVELS, "in slices");
    let reads = stage.reads_of_all();
    stage.suffer_all(&reads, faults);
    stage.load_all();
    stage.until("all come in the end", |stage| stage.are_live(&LEVELS));
}

#[test]
fn levels_in_slices_suffer_bad_reads() {
    suffer_in_slices(&[Fault::Error, Fault::Short]);
}

#[test]
fn levels_in_slices_suffer_reads_that_never_end() {
    suffer_in_slices(&[Fault::Stall, Fault::Cancel]);
}
