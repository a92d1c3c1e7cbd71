//! Which assets were changed at run time, by somebody else than the pipeline. See [`AssetEdits`].

use bevy_app::{App, Last};
use bevy_asset::{Asset, AssetEvent, UntypedAssetId};
use bevy_ecs::{
    message::{MessageReader, Messages},
    prelude::*,
};
use bevy_platform::collections::HashSet;

/// The assets that were changed since they were inserted. As many as are live, at most.
#[derive(Resource, Default)]
pub(crate) struct AssetEdits {
    edited: HashSet<UntypedAssetId>,
    /// Those that the pipeline has just changed: Bevy will tell of each.
    own: HashSet<UntypedAssetId>,
}

impl AssetEdits {
    /// All of them.
    pub fn all(&self) -> &HashSet<UntypedAssetId> {
        &self.edited
    }

    /// The pipeline puts a new value over the one of this asset.
    pub fn replaced(&mut self, id: UntypedAssetId) {
        self.edited.remove(&id);
        self.own.insert(id);
    }

    /// The pipeline has marked this asset as modified, without a change.
    pub fn touched(&mut self, id: UntypedAssetId) {
        self.own.insert(id);
    }

    fn note(&mut self, id: UntypedAssetId) {
        if !self.own.remove(&id) {
            self.edited.insert(id);
        }
    }

    /// The asset is gone, or new.
    pub fn forget(&mut self, id: UntypedAssetId) {
        self.edited.remove(&id);
        self.own.remove(&id);
    }
}

/// From now on, changes to assets of type `A` are noted.
pub(crate) fn watch<A: Asset>(app: &mut App) {
    // Bevy tells of changes in `PostUpdate`. Each type has ids of its own, so it does not matter which is noted first.
    let note = note_edits::<A>.run_if(resource_exists::<Messages<AssetEvent<A>>>);
    app.add_systems(Last, note.in_set(NoteEdits).ambiguous_with(NoteEdits));
}

/// Where edits are noted.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
struct NoteEdits;

fn note_edits<A: Asset>(mut events: MessageReader<AssetEvent<A>>, mut edits: ResMut<AssetEdits>) {
    for event in events.read() {
        match *event {
            AssetEvent::Modified { id } => edits.note(id.untyped()),
            AssetEvent::Added { id } | AssetEvent::Removed { id } => edits.forget(id.untyped()),
            AssetEvent::Unused { .. } | AssetEvent::LoadedWithDependencies { .. } => {}
        }
    }
}
