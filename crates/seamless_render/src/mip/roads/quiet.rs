//! The quiet road's end, in the render world. See [`MipRoads`](super::MipRoads).

#[cfg(test)]
mod tests;

use core::hash::Hash;

use bevy_app::App;
use bevy_asset::{Asset, AssetId};
use bevy_ecs::prelude::*;
use bevy_pbr::{Material, MeshMaterial3d, PreparedMaterial};
use bevy_render::{
    ExtractSchedule, MainWorld, Render, RenderApp, RenderStartup, RenderSystems,
    erased_render_asset::{ErasedRenderAssets, ExtractedAssets, prepare_erased_assets},
};

use super::{super::MipRenderSystems, Renewed};

/// Materials that are to be prepared again, the latest of each last.
#[derive(Resource)]
struct Again<M: Asset>(Vec<(AssetId<M>, M)>);

/// Materials of the type are prepared again after textures were replaced, and before Bevy prepares those that it knows of.
pub(super) fn add_quiet_road<M: Material>(app: &mut App)
where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return;
    };
    render_app
        .insert_resource(Again::<M>(Vec::new()))
        .add_systems(RenderStartup, forget_again::<M>)
        .add_systems(ExtractSchedule, extract_again::<M>)
        .configure_sets(
            Render,
            MipRenderSystems::Swap.before(prepare_erased_assets::<MeshMaterial3d<M>>),
        )
        .add_systems(
            Render,
            prepare_again::<M>
                .in_set(RenderSystems::PrepareAssets)
                .after(MipRenderSystems::Swap)
                .before(prepare_erased_assets::<MeshMaterial3d<M>>),
        );
}

/// A new device: all are prepared anew anyway.
fn forget_again<M: Material>(mut again: ResMut<Again<M>>) {
    again.0.clear();
}

/// While nothing is rendered, the latest of each material stays.
fn extract_again<M: Material>(mut world: ResMut<MainWorld>, mut again: ResMut<Again<M>>) {
    let Some(mut renewed) = world.get_resource_mut::<Renewed<M>>() else {
        return;
    };
    if renewed.0.is_empty() {
        return;
    }
    again
        .0
        .retain(|(id, _)| renewed.0.binary_search_by_key(id, |(new, _)| *new).is_err());
    again.0.append(&mut renewed.0);
}

fn prepare_again<M: Material>(
    mut again: ResMut<Again<M>>,
    mut extracted: ResMut<ExtractedAssets<MeshMaterial3d<M>>>,
    prepared: Res<ErasedRenderAssets<PreparedMaterial>>,
) where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    for (id, material) in again.0.drain(..) {
        // What is not prepared yet, has gone, or is prepared in this frame anyway, needs no more.
        let is_known = extracted.removed.contains(&id) || extracted.added.contains(&id);
        if !is_known && prepared.get(id).is_some() {
            extracted.extracted.push((id, material));
            extracted.added.insert(id);
        }
    }
}
