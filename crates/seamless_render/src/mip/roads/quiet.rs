//! The quiet road's end, in the render world. See [`MipRoads`](super::MipRoads).

#[cfg(test)]
mod tests;

use core::{any::TypeId, hash::Hash};

use bevy_app::App;
use bevy_asset::{Asset, AssetId};
use bevy_ecs::prelude::*;
use bevy_pbr::{
    Material, MaterialBindGroupAllocator, MaterialBindGroupAllocators, MaterialBindingId, MeshMaterial3d,
    PreparedMaterial, RenderMaterialBindings,
};
use bevy_render::{
    ExtractSchedule, MainWorld, Render, RenderApp, RenderStartup, RenderSystems,
    erased_render_asset::{ErasedRenderAssets, ExtractedAssets, prepare_erased_assets},
    render_resource::{BindingResources, PreparedBindGroup},
};

use super::{super::MipRenderSystems, Renewed};

/// Materials that are to be prepared again.
#[derive(Resource)]
struct Again<M: Asset> {
    /// The latest of each last.
    materials: Vec<(AssetId<M>, M)>,
    /// What they are bound by, until they are prepared: their meshes are batched by that.
    bindings: Vec<(AssetId<M>, MaterialBindingId)>,
}

impl<M: Asset> Default for Again<M> {
    fn default() -> Self {
        Self {
            materials: Vec::new(),
            bindings: Vec::new(),
        }
    }
}

/// Materials of the type are prepared again after textures were replaced, and before Bevy prepares those that it knows of.
pub(super) fn add_quiet_road<M: Material>(app: &mut App)
where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let Some(render_app) = app.get_sub_app_mut(RenderApp) else {
        return;
    };
    render_app
        .init_resource::<Again<M>>()
        .add_systems(RenderStartup, forget_again::<M>)
        .add_systems(ExtractSchedule, extract_again::<M>)
        .configure_sets(
            Render,
            MipRenderSystems::Swap.before(prepare_erased_assets::<MeshMaterial3d<M>>),
        )
        .add_systems(
            Render,
            (
                prepare_again::<M>
                    .after(MipRenderSystems::Swap)
                    .before(prepare_erased_assets::<MeshMaterial3d<M>>),
                keep_bindings::<M>.after(prepare_erased_assets::<MeshMaterial3d<M>>),
            )
                .in_set(RenderSystems::PrepareAssets)
                // Each type of materials has bindings of its own.
                .ambiguous_with(RenderSystems::PrepareAssets),
        );
}

/// A new device: all are prepared anew anyway.
fn forget_again<M: Material>(mut again: ResMut<Again<M>>) {
    *again = Again::default();
}

/// While nothing is rendered, the latest of each material stays.
fn extract_again<M: Material>(mut world: ResMut<MainWorld>, mut again: ResMut<Again<M>>) {
    let Some(mut renewed) = world.get_resource_mut::<Renewed<M>>() else {
        return;
    };
    if renewed.0.is_empty() {
        return;
    }
    let again = &mut again.materials;
    again.retain(|(id, _)| renewed.0.binary_search_by_key(id, |(new, _)| *new).is_err());
    again.append(&mut renewed.0);
}

fn prepare_again<M: Material>(
    mut again: ResMut<Again<M>>,
    mut extracted: ResMut<ExtractedAssets<MeshMaterial3d<M>>>,
    prepared: Res<ErasedRenderAssets<PreparedMaterial>>,
    bound: Res<RenderMaterialBindings>,
) where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    let Again { materials, bindings } = &mut *again;
    for (id, material) in materials.drain(..) {
        // What is not prepared yet, has gone, or is prepared in this frame anyway, needs no more.
        let is_known = extracted.removed.contains(&id) || extracted.added.contains(&id);
        if !is_known && prepared.get(id).is_some() {
            extracted.extracted.push((id, material));
            extracted.added.insert(id);
        }
    }
    // What goes gives its place to others.
    bindings.retain(|(id, _)| !extracted.removed.contains(id));
    let waiting = bindings.len();
    // Those that Bevy prepares again, too: it lets go of no bind group that a material has made itself.
    for (id, _) in &extracted.extracted {
        let is_known = bindings[..waiting].iter().any(|(known, _)| known == id);
        if let Some(binding) = bound.get(&id.untyped())
            && !is_known
            && !extracted.removed.contains(id)
        {
            bindings.push((*id, *binding));
        }
    }
}

/// A bind group that a material has made itself gets a place of its own each time, while the old one keeps its own, and its textures. Here the new one takes
/// the old one's place, by which the material's meshes are batched.
fn keep_bindings<M: Material>(
    mut again: ResMut<Again<M>>,
    mut allocators: ResMut<MaterialBindGroupAllocators>,
    mut bound: ResMut<RenderMaterialBindings>,
    mut prepared: ResMut<ErasedRenderAssets<PreparedMaterial>>,
) where
    M::Data: PartialEq + Eq + Hash + Clone,
{
    if again.bindings.is_empty() {
        return;
    }
    let allocator = allocators.get_mut(&TypeId::of::<M>());
    // In others, materials move, and none makes its bind group itself.
    let Some(allocator @ MaterialBindGroupAllocator::NonBindless(_)) = allocator else {
        return again.bindings.clear();
    };
    again.bindings.retain(|(id, old)| {
        let Some(new) = bound.get_mut(&id.untyped()) else {
            // It has gone.
            return false;
        };
        let Some(material) = prepared.get_mut(*id) else {
            // An image of its own is not there yet, for instance.
            return true;
        };
        if new.group != old.group
            && let Some(kept) = take_place(allocator, *new, *old)
        {
            *new = kept;
            material.binding = kept;
        }
        false
    });
}

/// Moves a bind group to another's place; where it is then.
fn take_place(
    allocator: &mut MaterialBindGroupAllocator,
    from: MaterialBindingId,
    to: MaterialBindingId,
) -> Option<MaterialBindingId> {
    let bind_group = allocator.get(from.group)?.bind_group()?.clone();
    allocator.free(from);
    allocator.free(to);
    // What became free last is taken first.
    Some(allocator.allocate_prepared(PreparedBindGroup {
        bindings: BindingResources(Vec::new()),
        bind_group,
    }))
}
