//! Which assets were changed at run time, by somebody else than the pipeline. See [`AssetEdits`] and [`AssetTouches`].

use bevy_app::{App, Last};
use bevy_asset::{Asset, AssetEvent, UntypedAssetId};
use bevy_ecs::{
    message::{MessageReader, Messages},
    prelude::*,
    system::SystemParam,
};
use bevy_platform::collections::{HashMap, HashSet};

/// The assets that were changed since they were inserted. As many as are live, at most.
#[derive(Resource, Default)]
pub(crate) struct AssetEdits {
    edited: HashSet<UntypedAssetId>,
    /// Those that were just changed and not edited, and how often: Bevy will tell of each time.
    own: HashMap<UntypedAssetId, u32>,
}

impl AssetEdits {
    /// All of them.
    pub fn all(&self) -> &HashSet<UntypedAssetId> {
        &self.edited
    }

    /// The pipeline puts a new value over the one of this asset.
    pub fn replaced(&mut self, id: UntypedAssetId) {
        self.edited.remove(&id);
        self.touched(id);
    }

    /// This asset was marked as modified, without a change.
    pub fn touched(&mut self, id: UntypedAssetId) {
        let times = self.own.entry(id).or_default();
        *times = times.saturating_add(1);
    }

    fn note(&mut self, id: UntypedAssetId) {
        match self.own.get_mut(&id) {
            None => {
                self.edited.insert(id);
            }
            Some(1) => {
                self.own.remove(&id);
            }
            Some(times) => *times -= 1,
        }
    }

    /// The asset is gone, or new.
    pub fn forget(&mut self, id: UntypedAssetId) {
        self.edited.remove(&id);
        self.own.remove(&id);
    }
}

/// For who marks assets as modified though their content is the same, so that a renderer looks at them again: without a word of it, a
/// [reload](crate::ReloadRequest) takes them for edited by the game, and keeps them as they are.
///
/// ```
/// # use bevy_asset::{Asset, Assets, Handle};
/// # use bevy_ecs::prelude::*;
/// # use bevy_reflect::TypePath;
/// # use seamless_asset::AssetTouches;
/// # #[derive(Asset, TypePath)]
/// # struct Material;
/// # #[derive(Resource)]
/// # struct Painted(Handle<Material>);
/// fn look_again(painted: Res<Painted>, mut materials: ResMut<Assets<Material>>, mut touches: AssetTouches) {
///     if let Some(mut material) = materials.get_mut(&painted.0) {
///         let _touched: &mut Material = &mut material; // the mutable look is what Bevy takes for a change
///         touches.touched(&painted.0);
///     }
/// }
/// ```
#[derive(SystemParam)]
pub struct AssetTouches<'w> {
    edits: ResMut<'w, AssetEdits>,
}

impl AssetTouches<'_> {
    /// This asset was marked as modified once, in this frame: the next [`AssetEvent::Modified`] of it is nobody's edit. Call it once for each
    /// such event, and never for one that does not come: an edit would be overlooked for it.
    pub fn touched(&mut self, id: impl Into<UntypedAssetId>) {
        self.edits.touched(id.into());
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
