//! What is drawn with no more goes on counting until the GPU has let go of it.

use bevy_ecs::system::{Res, ResMut};
use bevy_render::{
    render_resource::{PollType, Texture, TextureView},
    renderer::{RenderDevice, RenderQueue},
};

use super::{MipReports, RenderMips};
use crate::mip::{ChangeId, source::Staged};

/// A change after which something is not drawn with any more.
pub(super) struct Leaving {
    pub change: ChangeId,
    pub held: Held,
}

/// What nobody draws with, held until the GPU is done with it: whoever drops it last gives its memory back, which takes a while, so that is done on a task.
pub(in crate::mip) type Held = (Option<Texture>, Option<TextureView>, Option<Staged>);

/// After what this frame draws was submitted: bind groups have let go of old textures by now, and the GPU will when that is done.
pub(super) fn retire_mips(
    mut mips: ResMut<RenderMips>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    reports: Res<MipReports>,
) {
    if !mips.leaving.is_empty() {
        let leaving = mips.leaving.drain(..).map(|Leaving { change, held }| (change, held));
        let (changes, held): (Vec<_>, Vec<_>) = leaving.unzip();
        queue.on_submitted_work_done(reports.when_done(changes, held));
    }
    if reports.is_awaited()
        && let Err(error) = device.poll(PollType::Poll)
    {
        bevy_log::debug!("the device cannot be polled: {error}");
    }
}
