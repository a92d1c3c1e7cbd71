//! What `seamless list` prints.

use super::paint::{BOLD, ERROR, Painted, size};
use crate::commands::WorldInfo;
use crate::report::counted;

pub(super) fn print_world(world: &WorldInfo, text: &mut String) {
    let entities: u64 = world.levels.iter().map(|level| u64::from(level.entities)).sum();
    let bytes: u64 = world.levels.iter().map(|level| level.bytes).sum();
    let shared: u64 = world.shared.iter().filter_map(|(_, bytes)| *bytes).sum();
    *text += &format!(
        "{} ({}): {}, {entities} entities, {}, {} in levels, {} in {}\n",
        Painted(BOLD, &world.name),
        world.manifest,
        counted(world.levels.len(), "level"),
        counted(world.volumes as usize, "volume"),
        size(bytes),
        size(shared),
        counted(world.shared.len(), "shared package"),
    );
    for level in &world.levels {
        *text += &format!(
            "  {}  {}  {} entities  {}  {}\n",
            level.name,
            level.package,
            level.entities,
            size(level.bytes),
            counted(level.dependencies as usize, "shared package"),
        );
    }
    if let Some((file, bytes)) = &world.startup {
        *text += &format!("  {file}  {}  startup content\n", bytes.map_or("missing".into(), size));
    }
    for (file, bytes) in &world.shared {
        *text += &format!("  {file}  {}\n", bytes.map_or("missing".into(), size));
    }
    if let Some(registry) = &world.registry {
        let bytes = registry.bytes.map_or("missing".into(), size);
        let objects = registry.objects.map(|objects| counted(objects as usize, "object"));
        let objects = objects.unwrap_or_else(|| "cannot be read".to_owned());
        *text += &format!("  {}  {bytes}  registry of {objects}\n", registry.file);
    }
    for file in &world.missing {
        *text += &format!("  {}: {file}; cook the world again\n", Painted(ERROR, "missing"));
    }
}
