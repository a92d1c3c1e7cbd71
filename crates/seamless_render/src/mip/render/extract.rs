//! What the render world is told, once a frame.

use bevy_asset::AssetId;
use bevy_ecs::system::{Res, ResMut};
use bevy_image::Image;
use bevy_platform::collections::HashMap;
use bevy_render::MainWorld;

use super::{MipReports, RenderMips, reports::Report};
use crate::mip::{MipCommand, MipWork, work::MipOrder};

/// Takes over what the main world has decided. It stays while the renderer is away.
pub(super) fn extract_mips(mut mips: ResMut<RenderMips>, reports: Res<MipReports>, mut main_world: ResMut<MainWorld>) {
    if let Some(mut work) = main_world.get_resource_mut::<MipWork>()
        && work.has_orders()
    {
        let is_behind = !mips.orders.is_empty();
        work.take_orders(&mut mips.orders);
        if is_behind {
            drop_short_lived(&mut mips.orders, &reports);
        }
    }
}

/// Drops all orders for textures that come and go again among them: otherwise they become more and more while nothing is rendered.
pub(super) fn drop_short_lived(orders: &mut Vec<MipOrder>, reports: &MipReports) {
    let mut kept: Vec<Option<MipOrder>> = Vec::with_capacity(orders.len());
    let mut comers: HashMap<AssetId<Image>, Vec<usize>> = HashMap::default();
    for order in orders.drain(..) {
        match &order {
            MipOrder::Come(id, _) => {
                comers.insert(*id, vec![kept.len()]);
            }
            MipOrder::Swap(MipCommand { id, .. }, _) | MipOrder::Resample(id, _) => {
                if let Some(places) = comers.get_mut(id) {
                    places.push(kept.len());
                }
            }
            MipOrder::Gone(id, left) => {
                if let Some(places) = comers.remove(id) {
                    places.into_iter().for_each(|place| kept[place] = None);
                    reports.push(Report::Retired(vec![*left]));
                    continue;
                }
            }
        }
        kept.push(Some(order));
    }
    orders.extend(kept.into_iter().flatten());
}
