//! What an app holds, to find what is left behind.

#[cfg(test)]
mod tests;

use std::{cmp::Reverse, collections::HashMap, thread, time::Duration};

use bevy::{
    ecs::{archetype::Archetype, change_detection::Tick},
    mesh::skinning::SkinnedMeshInverseBindposes,
    prelude::*,
    render::renderer::RenderDevice,
};

/// Free ids are handed out from the end of their list, so the next so many are not those above the last.
const BATCH: usize = 4_096;

/// What wgpu's allocator gives at least, in bytes.
const PAGE: u64 = 4 << 10;

/// Textures and buffers of a GPU, as wgpu counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allocated {
    /// How many.
    pub count: u64,
    /// What they take together.
    pub bytes: u64,
}

impl Allocated {
    /// Those with this label; none where the driver's allocator is not wgpu's.
    #[must_use]
    pub fn labelled(device: &RenderDevice, label: &str) -> Option<Self> {
        let report = device.wgpu_device().generate_allocator_report()?;
        let labelled = report.allocations.iter().filter(|of| of.name == label);
        Some(labelled.fold(Self::default(), |sum, of| Self {
            count: sum.count + 1,
            bytes: sum.bytes + of.size,
        }))
    }

    /// Waits until all with this label is in books that have so many bytes: what was given up goes on a task.
    ///
    /// # Errors
    /// What there is, when there is still more after some seconds.
    ///
    /// # Panics
    /// Where the driver's allocator is not wgpu's.
    pub fn must_be_booked(device: &RenderDevice, label: &str, booked: u64) -> Result<(), Self> {
        let mut looks = 0;
        loop {
            let allocated = Self::labelled(device, label).expect("a Vulkan device tells what it has allocated");
            if allocated.is_booked(booked) {
                return Ok(());
            }
            looks += 1;
            if looks == 5_000 {
                return Err(allocated);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether all of it is in books that have so many bytes; something is allocated if they have something.
    #[must_use]
    pub fn is_booked(self, booked: u64) -> bool {
        let has_some = self.bytes > 0 || booked == 0;
        has_some && self.bytes <= booked + booked / 20 + self.count * PAGE
    }
}

/// All entities of a world.
#[must_use]
pub fn entities(ecs: &World) -> usize {
    ecs.archetypes().iter().map(|archetype| archetype.len() as usize).sum()
}

/// Bytes of the rows that tables of a world have room for, and nobody has. Bevy doubles a table that is full and never makes one smaller, so how many
/// entities ever were in one at the same time is chance, and no leak.
#[must_use]
pub fn spare_rows(ecs: &World) -> usize {
    let table = |archetype: &Archetype| {
        let ids = archetype.table_components();
        let size = |id| ecs.components().get_info(id).map_or(0, |info| info.layout().size());
        // Each value has the ticks at which it was added and changed.
        let row: usize = ids.map(|id| size(id) + 2 * size_of::<Tick>()).sum();
        let id = archetype.table_id();
        (id.as_u32(), (id, row + size_of::<Entity>()))
    };
    let rows: HashMap<_, _> = ecs.archetypes().iter().map(table).collect();
    let tables = rows.into_values().filter_map(|(id, row)| {
        let table = ecs.storages().tables.get(id)?;
        Some((table.entity_capacity() - table.entity_count() as usize) * row)
    });
    tables.sum()
}

/// Meshes, images, materials and skins.
///
/// # Panics
/// When the app does not have one of these.
#[must_use]
pub fn assets(ecs: &World) -> [usize; 4] {
    [
        ecs.resource::<Assets<Mesh>>().len(),
        ecs.resource::<Assets<Image>>().len(),
        ecs.resource::<Assets<StandardMaterial>>().len(),
        ecs.resource::<Assets<SkinnedMeshInverseBindposes>>().len(),
    ]
}

/// How many ids nobody else can have: those of entities, those that tasks hold, and those that were lost.
#[must_use]
pub fn taken_ids(ecs: &mut World) -> usize {
    let follow = |ids: &[Entity]| ids[0].index_u32() + 1 == ids[1].index_u32();
    let mut free: Vec<Entity> = Vec::new();
    // New ids go on upwards from one batch to the next: no free one is left then.
    while free.len() < 2 * BATCH || !free[free.len() - 2 * BATCH..].windows(2).all(follow) {
        free.extend(ecs.entity_allocator().alloc_many(BATCH as u32));
    }
    // What is freed last is handed out first: low indices, as without this.
    free.sort_unstable_by_key(|id| Reverse(id.index_u32()));
    ecs.entity_allocator_mut().free_many(&free);
    free.first().map_or(0, |id| id.index_u32() as usize + 1) - free.len()
}
