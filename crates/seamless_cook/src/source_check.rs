//! What a source says about its size, looked at before a loader believes it. See [`check`].
//!
//! Bevy's loaders take the memory that a header asks for, and follow nodes by recursion. A panic of a loader is an error about one file,
//! because Bevy catches it; but where memory or the stack runs out, the whole cook ends, and nobody is told which file did it.

mod gltf;
mod image;
#[cfg(test)]
mod tests;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use bevy::image::ImageFormat;

/// Bytes of the pixels of one decoded image: 16 384 × 16 384 of 16 bits in four channels.
pub(crate) const MAX_PIXEL_BYTES: u64 = 2 << 30;

/// Elements of a sparse glTF accessor: without a base they take no bytes in the file, so nothing else bounds them.
pub(crate) const MAX_SPARSE: u64 = 1 << 24;

/// glTF nodes below each other. Bevy's loader calls itself for each, and in a build without optimisations takes kilobytes of stack for that.
pub(crate) const MAX_NODE_DEPTH: u32 = 128;

/// Entities that one scene of a glTF file makes. A node below two others is made twice, and so is all that is below it.
pub(crate) const MAX_SCENE_ENTITIES: u64 = 1 << 22;

/// What a source says, and no loader may believe.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ClaimError {
    /// The pixels of an image would not fit.
    #[error(
        "{what} is {width} × {height} pixels, {bytes} bytes decoded, and {MAX_PIXEL_BYTES} are allowed; make the image smaller, or export it again"
    )]
    HugeImage {
        /// Which image of the file.
        what: String,
        width: u32,
        height: u32,
        /// Saturates.
        bytes: u64,
    },
    /// A sparse accessor over nothing says that it has that many elements.
    #[error(
        "accessor {accessor} has {count} elements and no bytes for them, and {MAX_SPARSE} are allowed; give it a buffer view"
    )]
    HugeSparse { accessor: usize, count: u64 },
    /// The bytes are not there. Bevy leaves out what is in them, without a word that a game would see.
    #[error("{what} leads out of {within}: it needs {needed} bytes, and there are {there}; export the file again")]
    OutOfBounds {
        what: String,
        within: String,
        needed: u64,
        there: u64,
    },
    /// A node is below itself.
    #[error("scene {scene} has a node, {node}, with a child that it is below of; export the file again")]
    Circle { scene: usize, node: usize },
    /// The nodes of a scene are nested too deep.
    #[error(
        "scene {scene} has {depth} nodes below each other, and {MAX_NODE_DEPTH} are allowed; make its hierarchy flatter"
    )]
    DeepNodes { scene: usize, depth: u32 },
    /// Nodes with several parents multiply.
    #[error(
        "scene {scene} makes {count} entities, and {MAX_SCENE_ENTITIES} are allowed; nodes with several parents are made once for each"
    )]
    ManyNodes {
        scene: usize,
        /// Saturates.
        count: u64,
    },
}

/// Checks what the file at `path` says about its size. What is wrong with it otherwise is its loader's to tell.
pub(crate) fn check(path: &Path, bytes: &[u8]) -> Result<(), ClaimError> {
    let extension = path
        .extension()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    let checked = catch_unwind(AssertUnwindSafe(|| match extension.as_str() {
        "gltf" | "glb" => gltf::check(path, bytes),
        _ => match ImageFormat::from_extension(&extension) {
            Some(format) => image::check("it", format, bytes),
            None => Ok(()),
        },
    }));
    // What panics here panics in the loader too, where Bevy catches it and names the file.
    checked.unwrap_or(Ok(()))
}
