//! Another device: nothing of what was on the last one is there.

use bevy_ecs::system::{Res, ResMut};

use super::{MipReports, RenderMips, tail::Bare};
use crate::mip::work::MipOrder;

/// When there is a device, the first one or another: all tails are made again, and what was for the last one is dropped.
pub(super) fn start_over(mut mips: ResMut<RenderMips>, reports: Res<MipReports>) {
    let mips = &mut *mips;
    mips.orders.retain(|order| !matches!(order, MipOrder::Swap(..)));
    mips.leaving.clear();
    mips.bare.clear();
    for (id, live) in &mut mips.live {
        live.texture = None;
        mips.bare.push(Bare::new(*id));
    }
    reports.lost();
}
