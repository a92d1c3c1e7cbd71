//! What content takes in memory.

use bevy::prelude::*;

/// Bytes of all meshes and of all images that are in main memory.
#[must_use]
pub fn content_bytes(world: &World) -> (u64, u64) {
    let meshes = world.resource::<Assets<Mesh>>().iter();
    let meshes = meshes.map(|(_, mesh)| {
        mesh.get_vertex_buffer_size() as u64 + mesh.get_index_buffer_bytes().map_or(0, |bytes| bytes.len() as u64)
    });
    let images = world.resource::<Assets<Image>>().iter();
    let images = images.map(|(_, image)| image.data.as_ref().map_or(0, |data| data.len() as u64));
    (meshes.sum(), images.sum())
}

/// The most memory that this process has had, where the system tells.
#[must_use]
pub fn process_peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kilobytes * 1024)
}
