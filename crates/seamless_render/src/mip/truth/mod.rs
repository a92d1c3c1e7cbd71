//! The GPU's own truth: which mip each pixel samples. See [`MipTruth`] and [`MipFeedbackPlugin`].

mod feedback;
mod job;
mod pass;
mod picture;
#[cfg(test)]
mod tests;

pub(super) use feedback::{Joining, join};
pub use feedback::{MipFeedback, MipFeedbackPlugin};
pub(super) use picture::LayerTruth;
#[cfg(feature = "overlay")]
pub(super) use picture::colour;
pub use picture::{TRUTH_TOLERANCE, TruthAccuracy, TruthPicture, TruthUse};

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bevy_ecs::{entity::Entity, resource::Resource};

use job::TruthJob;

/// Has pictures taken of which mip each pixel samples, by a pass of its own: all that a camera sees is drawn once more, with a texture whose mips hold their own numbers,
/// sampled as the material's textures are. So it is the GPU's own answer, anisotropy and all.
///
/// It is there with [`MipFeedbackPlugin`], which takes some itself; others are taken when they are asked for:
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_camera::Camera3d;
/// # use seamless_render::mip::MipTruth;
/// fn measure(truth: Res<MipTruth>, camera: Single<Entity, With<Camera3d>>) {
///     if let Some(picture) = truth.take() {
///         let accuracy = picture.accuracy();
///         println!("{} of {} pixels lack what they sample", accuracy.lacking, accuracy.pixels);
///     }
///     truth.request(*camera, 1);
/// }
/// ```
///
/// Not in it: what is skinned or morphed, and what one can look through. A material of a game's own, which is no
/// [`StandardMaterial`](bevy_pbr::StandardMaterial) and has none within, counts as one whose back faces are culled.
#[derive(Resource, Clone, Default)]
pub struct MipTruth(Arc<Mutex<Exchange>>);

/// What goes between both worlds.
#[derive(Default)]
struct Exchange {
    /// Who asks, and for which scale.
    asked: Option<(Entity, u32)>,
    /// Waits for the render world.
    job: Option<TruthJob>,
    /// One is being drawn, for the game or for itself.
    drawn_for: Option<Asker>,
    /// What was asked for.
    taken: Option<TruthPicture>,
    /// What was taken for prediction.
    feedback: Option<TruthPicture>,
    /// How many devices there were.
    device: u32,
}

/// For whom a picture is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Asker {
    Game,
    Prediction,
}

impl MipTruth {
    /// Has a picture taken of what a camera sees in the next frame that has none under way, `scale` pixels a pixel in each direction.
    pub fn request(&self, camera: Entity, scale: u32) {
        self.lock().asked = Some((camera, scale));
    }

    /// Whether a picture is asked for that is of no frame yet.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.lock().asked.is_some()
    }

    /// The picture that was asked for, when it has come: some frames later. If the device is lost meanwhile it does not come, and has to be asked for again.
    #[must_use]
    pub fn take(&self) -> Option<TruthPicture> {
        self.lock().taken.take()
    }

    fn lock(&self) -> MutexGuard<'_, Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which device draws.
    fn device(&self) -> u32 {
        self.lock().device
    }

    /// There is another device. A picture that was being drawn does not come; one that still waits for that, in the render world or on its way there, does.
    fn start_over(&self, is_waiting: bool) {
        let mut exchange = self.lock();
        exchange.device += 1;
        if !is_waiting && exchange.job.is_none() {
            exchange.drawn_for = None;
        }
    }

    /// A picture is there, drawn by this device; none if it could not be taken.
    fn done(&self, device: u32, picture: Option<TruthPicture>) {
        let mut exchange = self.lock();
        if exchange.device != device {
            return;
        }
        match exchange.drawn_for.take() {
            Some(Asker::Game) => exchange.taken = picture,
            Some(Asker::Prediction) => exchange.feedback = picture,
            None => {}
        }
    }
}
