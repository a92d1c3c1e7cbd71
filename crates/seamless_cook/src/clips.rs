//! The channels of glTF animations, for the codec of clips. See [`ClipOffers`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use bevy::animation::AnimationClip;
use bevy::prelude::*;
use seamless_asset::assets::animation::ClipSources;

use crate::animation::clips_of_gltf;
use crate::graph::recorder::{Recorder, slashed, text};

/// Which clips were offered to the codec, and what is to be said about them.
///
/// Bevy's clips cannot be read back. So the file is read a second time, and what its channels say is offered; the codec compares that with
/// the clip, so a file that has changed meanwhile harms nothing.
#[derive(Default)]
pub(crate) struct ClipOffers {
    offered: HashSet<AssetId<AnimationClip>>,
    notes: HashMap<AssetId<AnimationClip>, Vec<String>>,
}

impl ClipOffers {
    /// What is to be said about a clip.
    pub fn notes(&self, id: AssetId<AnimationClip>) -> &[String] {
        self.notes.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Offers all clips that are there and were not offered yet.
    pub fn offer(&mut self, world: &mut World, recorder: &Recorder) {
        let mut files: BTreeMap<String, HashMap<String, AssetId<AnimationClip>>> = BTreeMap::new();
        let server = world.resource::<AssetServer>();
        let clips = world.get_resource::<Assets<AnimationClip>>();
        for id in clips.into_iter().flat_map(Assets::ids) {
            let Some(path) = server.get_path(id).filter(|_| self.offered.insert(id)) else {
                continue;
            };
            if let Some(label) = path.label() {
                let file = slashed(path.without_label());
                files.entry(file).or_default().insert(label.to_owned(), id);
            }
        }
        for (file, clips) in files.iter().filter(|(file, _)| is_gltf(file)) {
            self.offer_file(world, recorder, file, clips);
        }
    }

    fn offer_file(
        &mut self,
        world: &mut World,
        recorder: &Recorder,
        file: &str,
        clips: &HashMap<String, AssetId<AnimationClip>>,
    ) {
        let folder = Path::new(file).parent().unwrap_or(Path::new("")).to_owned();
        let read = |path: &str| recorder.read_again(&text(&folder.join(path)));
        let found = recorder.read_again(file).map(|bytes| clips_of_gltf(&bytes, read));
        match found {
            Ok(Ok(found)) => {
                let mut sources = world.get_resource_or_init::<ClipSources>();
                for clip in found {
                    let Some(id) = clips.get(&clip.label) else { continue };
                    let skipped = clip.skipped.iter().map(ToString::to_string);
                    self.notes.insert(*id, skipped.collect());
                    sources.insert(*id, clip.clip);
                }
            }
            Ok(Err(error)) => self.note_all(clips, &error),
            Err(error) => self.note_all(clips, &error),
        }
    }

    fn note_all(&mut self, clips: &HashMap<String, AssetId<AnimationClip>>, error: &dyn core::fmt::Display) {
        for id in clips.values() {
            let note = format!("its channels cannot be read: {error}");
            self.notes.insert(*id, vec![note]);
        }
    }
}

fn is_gltf(file: &str) -> bool {
    let lower = file.to_ascii_lowercase();
    lower.ends_with(".gltf") || lower.ends_with(".glb")
}
