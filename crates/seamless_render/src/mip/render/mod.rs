//! The render world's part: it owns the textures that stream, and carries out what it is told. See [`RenderMips`].

mod extract;
mod lost;
mod reports;
mod retire;
mod sampler;
mod swap;
mod tail;
#[cfg(test)]
mod tests;
mod texture;

pub(super) use reports::{MipReports, hear_renderer};

use std::sync::Arc;

use bevy_app::SubApp;
use bevy_asset::AssetId;
use bevy_ecs::{
    resource::Resource,
    schedule::{IntoScheduleConfigs, SystemSet},
    system::{Res, ResMut},
};
use bevy_image::Image;
use bevy_platform::collections::HashMap;
use bevy_render::{
    ExtractSchedule, Render, RenderStartup, RenderSystems,
    render_asset::{RenderAssets, prepare_assets},
    render_resource::Texture,
    renderer::{RenderDevice, RenderQueue},
    texture::{DefaultImageSampler, FallbackImage, GpuImage},
};

use super::{textures::MipRecord, work::MipOrder};

/// When the render world carries out mip streaming, in its schedule [`Render`].
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MipRenderSystems {
    /// In [`RenderSystems::PrepareAssets`]: textures that have come or are replaced get their [`GpuImage`], before materials are prepared.
    Swap,
    /// In [`RenderSystems::Cleanup`]: what is drawn with no more is told when the GPU has let go of it.
    Retire,
}

/// The textures that stream, on the GPU. Their [`GpuImage`]s are made here and nowhere else: their images belong to the main world only, so Bevy
/// neither makes nor replaces them. It does remove them, with the last handle.
#[derive(Resource, Default)]
struct RenderMips {
    live: HashMap<AssetId<Image>, Live>,
    /// What is to be done, in this order.
    orders: Vec<MipOrder>,
    /// Those that have nothing on the device yet.
    bare: Vec<tail::Bare>,
    /// What is drawn with no more since this frame.
    leaving: Vec<retire::Leaving>,
}

/// A texture on the GPU.
struct Live {
    record: Arc<MipRecord>,
    /// With the finest mip that it has; `None` until its tail is there.
    texture: Option<(Texture, u8)>,
}

/// Adds all systems to the render world.
pub(super) fn add_systems(render: &mut SubApp, reports: MipReports) {
    render
        .insert_resource(reports)
        .init_resource::<RenderMips>()
        .configure_sets(
            Render,
            (
                MipRenderSystems::Swap
                    .in_set(RenderSystems::PrepareAssets)
                    .after(prepare_assets::<GpuImage>),
                MipRenderSystems::Retire.in_set(RenderSystems::Cleanup),
            ),
        )
        .add_systems(RenderStartup, lost::start_over)
        .add_systems(ExtractSchedule, extract::extract_mips)
        .add_systems(
            Render,
            (
                carry_out_mips.in_set(MipRenderSystems::Swap),
                retire::retire_mips.in_set(MipRenderSystems::Retire),
            ),
        );
}

/// Textures that have come get their tails, those that are to be others are replaced.
fn carry_out_mips(
    mut mips: ResMut<RenderMips>,
    mut images: ResMut<RenderAssets<GpuImage>>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    default_sampler: Res<DefaultImageSampler>,
    fallback: Res<FallbackImage>,
    reports: Res<MipReports>,
) {
    if mips.orders.is_empty() && mips.bare.is_empty() {
        return;
    }
    let mips = &mut *mips;
    let mut swaps = swap::Swaps::new(&device, &reports);
    for order in mips.orders.drain(..) {
        match order {
            MipOrder::Come(id, record) => {
                mips.live.insert(id, Live { record, texture: None });
                mips.bare.push(tail::Bare::new(id));
            }
            MipOrder::Gone(id, left) => {
                let texture = mips.live.remove(&id).and_then(|live| Some(live.texture?.0));
                mips.bare.retain(|bare| bare.id != id);
                let held = (texture, None, None);
                mips.leaving.push(retire::Leaving { change: left, held });
            }
            MipOrder::Resample(id, record) => {
                if let Some(live) = mips.live.get_mut(&id) {
                    live.record = record;
                    sampler::resample(id, live, &mut images, &device, &default_sampler);
                }
            }
            // A texture that is swapped came in an earlier frame.
            MipOrder::Swap(command, staged) => {
                let change = command.change;
                let held = swaps.swap(&command, staged, mips.live.get_mut(&command.id), &mut images);
                mips.leaving.extend(held.map(|held| retire::Leaving { change, held }));
            }
        }
    }
    swaps.submit(&queue);
    let tails = tail::Tails {
        device: &device,
        queue: &queue,
        default_sampler: &default_sampler,
        fallback: &fallback,
        reports: &reports,
    };
    let live = &mut mips.live;
    mips.bare.retain_mut(|bare| match live.get_mut(&bare.id) {
        Some(live) => !tails.make(bare, live, &mut images),
        None => false,
    });
}
