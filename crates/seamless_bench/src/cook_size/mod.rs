//! `cook_size`: the bytes of the example world, cooked with `ship`; `cook_size/dev`: as the example has cooked it.
//!
//! * Ours: all packages and the manifest, as they lie in the folder.
//! * Peer: the same objects in the files that a Bevy user has for them, each compressed by zstd at the level of the packages' writer
//!   ([`ZSTD_LEVEL`]). Textures as KTX2 with the same texels and mips, each mip compressed ([`ktx2`]). Levels as `DynamicWorld` in RON, written by
//!   Bevy of the entities that the packages' own loader spawns, with the components that are cooked ([`levels`]). Meshes as their
//!   bare vertex and index buffers. Materials, and what says where levels stand and when they are wanted, are ours alone: the peer has
//!   nothing for them.

mod ktx2;
mod levels;
mod objects;
mod stored;
#[cfg(test)]
mod tests;

use std::{fs, path::Path};

use bevy_image::Image;
use bevy_mesh::Mesh;
use seamless_asset::{
    PACKAGE_EXTENSION,
    package::{Limits, Package, ZSTD_LEVEL},
};

use seamless_cook::{CookApp, CookOptions, Profile};

use crate::{
    open_world::OpenWorld,
    project::files,
    row::{Row, Samples, Targets},
};
use levels::Levels;
use objects::{Object, Objects};
use stored::Stored;

/// The ending of manifests.
const MANIFEST_EXTENSION: &str = "seamless";

/// Bytes of the peer's files, by what they hold, and how many there are.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Sizes {
    textures: u64,
    /// Textures that KTX2 is not written for here; none of their bytes count for the peer.
    left_out: u64,
    meshes: u64,
    levels: u64,
    /// The levels again, without what Bevy computes by itself.
    lean_levels: u64,
    entities: u64,
    text: u64,
}

impl Sizes {
    fn total(&self) -> u64 {
        self.textures + self.meshes + self.levels
    }
}

/// Cooks the world to be shipped, and measures it.
pub fn ship(world: &OpenWorld, _: Option<usize>) -> Row {
    let out = tempfile::tempdir().expect("a folder for temporary files");
    let options = CookOptions {
        profile: Profile::Ship,
        ..CookOptions::default()
    };
    let report = CookApp::new().cook(&world.world_file(), out.path(), &options, &());
    report.expect("the example's sources are sound");
    row("cook_size", out.path())
}

/// Measures the world as it was cooked.
pub fn dev(world: &OpenWorld, _: Option<usize>) -> Row {
    row("cook_size/dev", &world.cooked())
}

/// There is one sample: bytes do not vary.
fn row(name: &'static str, folder: &Path) -> Row {
    let ours = cooked_bytes(folder);
    let (stored, sizes) = measure(folder);
    let result = Samples {
        ours: vec![ours as f64],
        peer: vec![sizes.total() as f64],
        limit: Vec::new(),
    };
    let targets = Targets {
        first: 1.0,
        aim: 1.0,
        of_limit: None,
    };
    let mut row = result.row(name, "bytes", Some("KTX2, RON, buffers; zstd"), None, targets);
    row.note = note(ours, &stored, &sizes);
    row
}

/// Bytes of all packages and of the manifest.
fn cooked_bytes(folder: &Path) -> u64 {
    let is_cooked = |path: &Path| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        matches!(extension, Some(PACKAGE_EXTENSION | MANIFEST_EXTENSION))
    };
    let cooked = files(folder).into_iter().filter(|path| is_cooked(path));
    cooked.map(|path| fs::metadata(path).expect("it is there").len()).sum()
}

/// Package by package: no more than one is in memory.
fn measure(folder: &Path) -> (Stored, Sizes) {
    let (mut stored, mut sizes) = (Stored::default(), Sizes::default());
    let (objects, mut levels) = (Objects::default(), Levels::new(folder));
    let packages = files(folder)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|extension| extension == PACKAGE_EXTENSION));
    for path in packages {
        let bytes = fs::read(&path).expect("it can be read");
        let package = Package::verify_whole(&bytes, &Limits::default());
        let package = package.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        stored.add(&package, &bytes);
        for object in objects.of(&package, &bytes) {
            match object {
                Object::Image(image) => add_image(&mut sizes, &image),
                Object::Mesh(mesh) => sizes.meshes += packed(&buffers(&mesh)),
            }
        }
        if let Some(texts) = levels.texts(&package) {
            sizes.levels += packed(texts.whole.as_bytes());
            sizes.lean_levels += packed(texts.lean.as_bytes());
            sizes.text += texts.whole.len() as u64;
            sizes.entities += texts.entities as u64;
        }
    }
    (stored, sizes)
}

fn add_image(sizes: &mut Sizes, image: &Image) {
    match ktx2::smallest(image) {
        Some(file) => sizes.textures += file.len() as u64,
        None => sizes.left_out += 1,
    }
}

/// Vertices and indices, as a GPU takes them.
fn buffers(mesh: &Mesh) -> Vec<u8> {
    let mut bytes = mesh.create_packed_vertex_buffer_data();
    bytes.extend_from_slice(mesh.get_index_buffer_bytes().unwrap_or_default());
    bytes
}

/// The size of a file that is compressed, unless that makes it larger.
fn packed(raw: &[u8]) -> u64 {
    compress(raw).len().min(raw.len()) as u64
}

fn compress(raw: &[u8]) -> Vec<u8> {
    zstd::bulk::compress(raw, ZSTD_LEVEL).expect("there is memory")
}

fn note(ours: u64, stored: &Stored, sizes: &Sizes) -> String {
    let lean = sizes.total() - sizes.levels + sizes.lean_levels;
    let mut note = format!(
        "ours: textures {}, levels {}, meshes {}, tables, materials, manifest and the rest {}\n  \
         peer: textures {}, levels {} (of {} bytes of text, {} entities), meshes {}; no materials and no manifest\n  \
         without the components that Bevy computes by itself the levels are {}, and the peer {lean}: {:.2}×",
        stored.textures,
        stored.levels,
        stored.meshes,
        ours - stored.total() + stored.rest,
        sizes.textures,
        sizes.levels,
        sizes.text,
        sizes.entities,
        sizes.meshes,
        sizes.lean_levels,
        lean as f64 / ours as f64,
    );
    if sizes.left_out > 0 {
        note += &format!(
            "\n  {} textures, of other kinds than 2D ones, are ours alone",
            sizes.left_out
        );
    }
    note
}
