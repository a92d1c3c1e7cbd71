//! What is drawn with no more goes on counting until the GPU has let go of it.

use bevy_ecs::system::{Res, ResMut};
use bevy_render::{
    render_resource::PollType,
    renderer::{RenderDevice, RenderQueue},
};

use super::{MipReports, RenderMips};

/// After what this frame draws was submitted: bind groups have let go of old textures by now, and the GPU will when that is done.
pub(super) fn retire_mips(
    mut mips: ResMut<RenderMips>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    reports: Res<MipReports>,
) {
    if !mips.leaving.is_empty() {
        let leaving = core::mem::take(&mut mips.leaving);
        queue.on_submitted_work_done(reports.when_done(leaving));
    }
    if reports.is_awaited()
        && let Err(error) = device.poll(PollType::Poll)
    {
        bevy_log::debug!("the device cannot be polled: {error}");
    }
}
