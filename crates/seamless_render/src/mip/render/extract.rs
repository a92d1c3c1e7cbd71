//! What the render world is told, once a frame.

use bevy_ecs::system::ResMut;
use bevy_render::MainWorld;

use super::RenderMips;
use crate::mip::MipWork;

/// Takes over what the main world has decided. It stays while the renderer is away.
pub(super) fn extract_mips(mut mips: ResMut<RenderMips>, mut main_world: ResMut<MainWorld>) {
    if let Some(mut work) = main_world.get_resource_mut::<MipWork>()
        && work.has_orders()
    {
        work.take_orders(&mut mips.orders);
    }
}
