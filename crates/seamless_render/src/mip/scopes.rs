//! What the device says to something that is made. See [`scoped`].

use bevy_render::renderer::RenderDevice;
use bevy_tasks::futures::now_or_never;
use wgpu::ErrorFilter;

/// Why the device has not made something.
#[derive(Debug)]
pub(super) enum DeviceError {
    OutOfMemory,
    /// It has nothing like it; wgpu says why.
    Refused(wgpu::Error),
}

/// Makes something, and hears what the device says to it, which would end the program otherwise.
///
/// Error scopes are those of one thread where wgpu is built with `std`, and those of all threads otherwise.
pub(super) fn scoped<T>(device: &RenderDevice, make: impl FnOnce() -> T) -> Result<T, DeviceError> {
    let device = device.wgpu_device();
    let refused = device.push_error_scope(ErrorFilter::Validation);
    let out_of_memory = device.push_error_scope(ErrorFilter::OutOfMemory);
    let made = make();
    // On all that is not the web they are there at once.
    let out_of_memory = now_or_never(out_of_memory.pop()).flatten();
    let refused = now_or_never(refused.pop()).flatten();
    match (out_of_memory, refused) {
        (None, None) => Ok(made),
        (Some(_), _) => Err(DeviceError::OutOfMemory),
        (None, Some(error)) => Err(DeviceError::Refused(error)),
    }
}
