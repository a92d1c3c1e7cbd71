//! How a material comes to sample the texture that has taken another's place, in the frame in which that happens. See [`MipRoads`].

mod quiet;
#[cfg(test)]
mod tests;

use core::hash::Hash;

use bevy_app::{App, PostUpdate};
use bevy_asset::{Asset, AssetId, Assets, UntypedAssetId};
use bevy_ecs::prelude::*;
use bevy_log::debug_span;
use bevy_pbr::{Material, material_uses_bindless_resources};
use bevy_platform::collections::HashMap;
use bevy_render::renderer::RenderDevice;
use seamless_asset::{AssetTouches, StreamingClock};

use super::{MipSystems, MipWork, users::MipUsers};

/// What is known of all types of materials: whether some must be touched.
///
/// Bind groups keep the views that they were made with, so a material is prepared again when a texture of its is another.
///
/// * The *quiet road*: a clone of it goes to the render world, where it is prepared as if it had changed. Its binding stays, so nobody else has to know.
/// * The *touch road*, for bindless materials, of which each may get another slot, which its meshes hold: it is marked as modified, and Bevy does the rest,
///   with its meshes. That takes longer, by all that are drawn with such materials.
#[derive(Resource, Default)]
pub(super) struct MipRoads {
    /// By type, in the order in which they were added.
    is_touched: Vec<bool>,
}

impl MipRoads {
    #[cfg(test)]
    pub fn of(is_touched: Vec<bool>) -> Self {
        Self { is_touched }
    }

    /// Whether some material must be touched when its texture is replaced.
    pub fn any_touched(&self) -> bool {
        self.is_touched.contains(&true)
    }
}

/// Has all materials touched, where the quiet road would do as well: for tests, on devices that have no bindless materials.
#[doc(hidden)]
#[derive(Resource, Default)]
pub struct TouchAllMaterials;

/// Materials that were marked as modified, though nothing of them is another, and how often: Bevy will tell of each time.
#[derive(Resource, Default)]
pub(super) struct OwnTouches(HashMap<UntypedAssetId, u32>);

impl OwnTouches {
    pub fn add(&mut self, id: UntypedAssetId) {
        *self.0.entry(id).or_default() += 1;
    }

    /// Whether that is what is told now.
    pub fn take(&mut self, id: UntypedAssetId) -> bool {
        match self.0.get_mut(&id) {
            None => return false,
            Some(1) => {
                self.0.remove(&id);
            }
            Some(times) => *times -= 1,
        }
        true
    }

    /// The material is gone.
    pub fn forget(&mut self, id: UntypedAssetId) {
        self.0.remove(&id);
    }
}

/// Which of the types this is.
#[derive(Resource)]
struct RoadOf<M: Asset> {
    number: usize,
    /// Those to be prepared again, in order and once each.
    ids: Vec<AssetId<M>>,
}

/// Clones on the quiet road, until the render world takes them.
#[derive(Resource)]
struct Renewed<M: Asset>(Vec<(AssetId<M>, M)>);

/// Adds the roads of a type of materials.
pub(super) fn add_roads<M: Material>(app: &mut App)
where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let mut roads = app.world_mut().get_resource_or_init::<MipRoads>();
    let number = roads.is_touched.len();
    roads.is_touched.push(false);
    app.insert_resource(RoadOf::<M> {
        number,
        ids: Vec::new(),
    })
    .insert_resource(Renewed::<M>(Vec::new()))
    .add_systems(
        PostUpdate,
        (
            choose_road::<M>.run_if(resource_exists_and_changed::<RenderDevice>),
            // Where nobody draws, nobody would take them.
            renew::<M>.run_if(resource_exists::<RenderDevice>),
        )
            .chain()
            .in_set(MipSystems::Touch)
            .ambiguous_with(MipSystems::Touch),
    );
    quiet::add_quiet_road::<M>(app);
}

fn choose_road<M: Material>(
    device: Res<RenderDevice>,
    touch_all: Option<Res<TouchAllMaterials>>,
    of: Res<RoadOf<M>>,
    mut roads: ResMut<MipRoads>,
) {
    roads.is_touched[of.number] = touch_all.is_some() || material_uses_bindless_resources::<M>(&device);
}

/// Sends all materials of the type on their road of which a texture is replaced in this frame.
fn renew<M: Material>(
    work: Res<MipWork>,
    users: Res<MipUsers>,
    roads: Res<MipRoads>,
    mut of: ResMut<RoadOf<M>>,
    mut renewed: ResMut<Renewed<M>>,
    mut materials: ResMut<Assets<M>>,
    mut own: ResMut<OwnTouches>,
    mut touches: AssetTouches,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("materials of textures that are replaced");
    let _span = debug_span!("renew_materials").entered();
    let RoadOf { number, ids } = &mut *of;
    ids.clear();
    for image in work.renewed() {
        let having = users.materials.of_image(image);
        ids.extend(having.filter_map(|id| id.try_typed::<M>().ok()));
    }
    ids.sort_unstable();
    ids.dedup();
    for id in ids.drain(..) {
        if !roads.is_touched[*number] {
            renewed
                .0
                .extend(materials.get(id).map(|material| (id, material.clone())));
        } else if let Some(material) = materials.get_mut(id) {
            // The mutable look is what Bevy takes for a change.
            material.into_inner();
            own.add(id.untyped());
            touches.touched(id);
        }
    }
}
