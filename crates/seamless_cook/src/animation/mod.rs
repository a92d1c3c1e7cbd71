//! Animation clips, read from glTF files again.
//!
//! Bevy's glTF loader turns channels into curves that nothing can read back. [`clips_of_gltf`] reads the same channels from the same
//! bytes, by the same rules, as the columns that a package stores. What it reads is offered to the clip codec through [`ClipSources`],
//! which compares it with the clip that Bevy loaded before it is used.
//!
//! [`ClipSources`]: seamless_asset::assets::animation::ClipSources

mod buffers;
mod channel;
mod targets;
#[cfg(test)]
mod tests;

use gltf::Gltf;
use gltf::json::{animation::Channel, validation::Checked};
use seamless_asset::assets::animation::{ClipError, StoredClip};

use buffers::Buffers;
pub(crate) use buffers::inline;

/// An animation of a glTF file.
#[derive(Debug, Clone, PartialEq)]
pub struct GltfClip {
    /// Its label, as Bevy names it: `Animation0`.
    pub label: String,
    /// The name in the file, if it has one.
    pub name: Option<String>,
    /// Its curves.
    pub clip: StoredClip,
    /// What of it is no curve. Bevy leaves the same channels out.
    pub skipped: Vec<SkippedChannel>,
}

/// A channel that animates nothing.
#[derive(Debug, Clone, PartialEq)]
pub struct SkippedChannel {
    /// Its index in the animation.
    pub channel: usize,
    /// Index of the node that it is for.
    pub node: usize,
    /// Why.
    pub reason: SkipReason,
}

impl core::fmt::Display for SkippedChannel {
    fn fmt(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
        write!(
            f,
            "channel {} of node {} is left out, as Bevy does: {}",
            self.channel, self.node, self.reason
        )
    }
}

/// Why a channel animates nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// No scene has the node, so no entity is made of it.
    #[error("its node is in no scene; add it to one, or remove the channel")]
    NodeInNoScene,
    /// Bevy does not read sparse key times.
    #[error("its key times are a sparse accessor, which Bevy does not read; export them as a plain one")]
    SparseTimes,
    /// The accessor has another type than the property needs, or leads out of its buffer.
    #[error(
        "its {0} cannot be read: the accessor is of a wrong type, or leads out of its buffer; export the file again"
    )]
    Accessor(&'static str),
    /// Times and values are no curve.
    #[error(transparent)]
    Curve(#[from] ClipError),
}

/// Why the animations of a file cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClipFileError<E: std::error::Error + 'static> {
    /// It is no glTF file.
    #[error("is no glTF file: {0}; export it again")]
    Gltf(#[from] gltf::Error),
    /// A channel is for a node that is not there, or for a property that glTF does not have.
    #[error(
        "channel {channel} of animation {animation} is for no node of the file, or for an unknown property; export it again"
    )]
    Target {
        /// The animation's index.
        animation: usize,
        /// The channel's index in it.
        channel: usize,
    },
    /// A `.gltf` file has no binary part.
    #[error("buffer {0} has no path, and the file no binary part; export it again")]
    NoBinary(usize),
    /// The path of a buffer is no text, or its data cannot be decoded.
    #[error("the path or data of buffer {0} cannot be decoded; export it again")]
    Encoding(usize),
    /// A buffer could not be read.
    #[error("buffer {buffer}, `{path}`, cannot be read: {error}; put the file there, or correct the path")]
    Read {
        /// The buffer's index.
        buffer: usize,
        /// Its path, relative to the glTF file.
        path: String,
        /// What `read` said.
        error: E,
    },
}

/// The animations of a glTF file, in its order.
///
/// `read` gives the content of a file that the glTF file names by a path relative to itself; only those that hold animations are asked
/// for. Nothing else is touched, so the same bytes give the same clips.
///
/// ```
/// # use seamless_cook::animation::clips_of_gltf;
/// # let bytes = br#"{"asset":{"version":"2.0"}}"#;
/// # let folder = std::path::Path::new("models");
/// let clips = clips_of_gltf(bytes, |path| std::fs::read(folder.join(path)))?;
/// for clip in &clips {
///     println!("{} lasts {} s", clip.label, clip.clip.duration());
/// }
/// # Ok::<(), seamless_cook::animation::ClipFileError<std::io::Error>>(())
/// ```
///
/// # Errors
/// When the file is no glTF file, or one of its buffers is missing.
pub fn clips_of_gltf<E: std::error::Error + 'static>(
    bytes: &[u8],
    read: impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<GltfClip>, ClipFileError<E>> {
    let gltf = Gltf::from_slice(bytes)?;
    if gltf.animations().len() == 0 {
        return Ok(Vec::new());
    }
    check_targets(&gltf)?;
    let buffers = Buffers::read(&gltf, read)?;
    let targets = targets::of_nodes(&gltf);
    let clips = gltf.animations().map(|animation| {
        let mut skipped = Vec::new();
        let mut curves = Vec::new();
        for (index, channel) in animation.channels().enumerate() {
            let node = channel.target().node().index();
            let target = targets.get(&node).ok_or(SkipReason::NodeInNoScene);
            match target.and_then(|target| channel::curve(&channel, *target, &buffers)) {
                Ok(curve) => curves.push(curve),
                Err(reason) => skipped.push(SkippedChannel {
                    channel: index,
                    node,
                    reason,
                }),
            }
        }
        GltfClip {
            label: format!("Animation{}", animation.index()),
            name: animation.name().map(str::to_owned),
            clip: StoredClip::of_curves(curves),
            skipped,
        }
    });
    Ok(clips.collect())
}

/// The `gltf` crate checks all indices but these, and panics on wrong ones.
fn check_targets<E: std::error::Error + 'static>(gltf: &Gltf) -> Result<(), ClipFileError<E>> {
    let root = gltf.as_json();
    for (animation, json) in root.animations.iter().enumerate() {
        let is_wrong = |channel: &Channel| {
            let target = &channel.target;
            target.node.value() >= root.nodes.len() || matches!(target.path, Checked::Invalid)
        };
        if let Some(channel) = json.channels.iter().position(is_wrong) {
            return Err(ClipFileError::Target { animation, channel });
        }
    }
    Ok(())
}
