//! Cues of preload sets: while a set is held, the notifies that it names, and those in its folders, are in the runtime library.

use std::collections::BTreeSet;

use bevy_ecs::{
    change_detection::DetectChanges,
    prelude::{Local, Res, ResMut},
};
use seamless_asset::{PreloadProgress, PreloadSets};

use crate::{library::CueLibraries, notify::CUE_EXTENSION};

/// Has the runtime library follow the sets. A path that the game has added itself is left to the game.
pub(crate) fn follow_preload_sets(
    sets: Option<Res<PreloadSets>>,
    progress: Option<Res<PreloadProgress>>,
    mut libraries: ResMut<CueLibraries>,
    mut ours: Local<BTreeSet<String>>,
) {
    let (Some(sets), Some(progress)) = (sets, progress) else {
        return;
    };
    if !(sets.is_changed() || progress.is_changed()) {
        return;
    }
    let wanted = paths_of(&sets);
    if wanted == *ours {
        return;
    }
    for path in ours.iter().filter(|path| !wanted.contains(*path)) {
        libraries.remove_path(path);
    }
    let mut now = BTreeSet::new();
    for path in wanted {
        if ours.contains(&path) || !libraries.paths().contains(&path) {
            libraries.add_path(path.clone());
            now.insert(path);
        }
    }
    *ours = now;
}

/// Where the notifies of the sets that are held may be.
fn paths_of(sets: &PreloadSets) -> BTreeSet<String> {
    let held: BTreeSet<_> = sets.held().collect();
    let declared = sets.declared().filter(|(name, _)| held.contains(name));
    let paths = declared.flat_map(|(_, set)| {
        let objects = set.objects.iter().map(|object| object.path());
        let notifies = objects.filter(|path| path.ends_with(CUE_EXTENSION));
        set.folders.iter().map(String::as_str).chain(notifies)
    });
    paths.map(str::to_owned).collect()
}
