//! Getting a place ready before somebody comes to it. See [`Arrival`].

mod list;
mod outcome;
mod status;

#[cfg(test)]
mod tests;

pub(crate) use list::{Arrivals, report_arrivals};
pub use outcome::StreamingResult;
pub(crate) use outcome::{LOOKED_AT, Outcome, Promise};
pub use status::{StreamingProgress, StreamingStatus};

use core::{
    fmt,
    future::{Future, IntoFuture},
    pin::Pin,
};
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;

use crate::{
    select::SourceInput,
    source::{SourceShape, StreamingSource},
    target::LevelTarget,
};

/// A place that somebody is to come to: a streaming source without an entity, for [`Levels::prepare`](crate::Levels::prepare).
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct ArrivalPoint {
    /// Where it is, in world space.
    pub position: Vec3,
    /// How far around it is to be ready; a point by default. A sector is a ball here, as it looks nowhere.
    pub shape: SourceShape,
    /// A factor on the ranges of [`DistanceStreaming`](crate::DistanceStreaming), as [`StreamingSource::reach`] of who is to come; one by default.
    pub reach: f32,
    /// How far levels are to come: into the world by default. With [`LevelTarget::Loaded`] nothing is seen of them before somebody comes.
    pub target: LevelTarget,
    /// How much it counts beside sources, which have one by default; ten by default. At a cap it counts less than any source, so that nobody
    /// loses the floor for a place to come.
    pub priority: f32,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity that is meant; `None` is all worlds.
    pub world: Option<Entity>,
}

impl Default for ArrivalPoint {
    fn default() -> Self {
        Self {
            position: Vec3::ZERO,
            shape: SourceShape::Point,
            reach: 1.0,
            target: LevelTarget::Visible,
            priority: 10.0,
            world: None,
        }
    }
}

impl ArrivalPoint {
    /// The place at `position`, all else as by default.
    #[must_use]
    pub fn at(position: Vec3) -> Self {
        Self {
            position,
            ..Self::default()
        }
    }

    /// The place at `position` for whoever sees as `source` does: with its shape, its reach, its target and its world.
    #[must_use]
    pub fn of(source: &StreamingSource, position: Vec3) -> Self {
        Self {
            shape: source.shape,
            reach: source.reach,
            target: source.target,
            world: source.world,
            ..Self::at(position)
        }
    }

    fn input(&self, key: u64) -> SourceInput {
        SourceInput {
            key,
            position: self.position,
            shape: self.shape,
            reach: self.reach,
            target: self.target,
            priority: self.priority,
            is_present: false,
            ..SourceInput::default()
        }
    }
}

/// A place that is got ready, from [`Levels::prepare`](crate::Levels::prepare).
///
/// What its volumes ask for is loaded as if somebody were there, though no frame waits for it, until the last clone is dropped. So: prepare,
/// go on in the old place meanwhile, wait, move the player, and drop the arrival in the same frame or later. It asks for one frame more
/// after that, and in the next one the player's own source is inside; so nothing leaves.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_math::Vec3;
/// # use bevy_transform::components::Transform;
/// # use seamless_level::{Arrival, ArrivalPoint, StreamingResult, Levels, SourceMotion};
/// #[derive(Component)]
/// struct Teleport {
///     to: Vec3,
///     arrival: Arrival,
/// }
///
/// fn step_into_portal(player: Single<Entity>, mut levels: Levels, mut commands: Commands) {
///     let to = Vec3::new(900.0, 20.0, -300.0);
///     let arrival = levels.prepare(ArrivalPoint::at(to));
///     commands.entity(*player).insert(Teleport { to, arrival });
/// }
///
/// fn teleport(
///     mut players: Query<(Entity, &Teleport, &mut Transform, &mut SourceMotion)>,
///     mut commands: Commands,
/// ) {
///     for (player, teleport, mut transform, mut motion) in &mut players {
///         match teleport.arrival.result() {
///             None => {
///                 let _for_the_bar = teleport.arrival.progress().fraction();
///                 continue;
///             }
///             Some(StreamingResult::Gone) => { /* the world is gone, and the player stays */ }
///             Some(StreamingResult::Ready | StreamingResult::WithFailures(_)) => {
///                 transform.translation = teleport.to;
///                 motion.teleported();
///             }
///         }
///         commands.entity(player).remove::<Teleport>(); // by the next frame the player's own source asks
///     }
/// }
/// ```
///
/// A task waits without asking again and again:
///
/// ```
/// # use seamless_level::{Arrival, StreamingResult};
/// async fn cutscene(arrival: Arrival) {
///     match arrival.wait().await {
///         StreamingResult::Ready | StreamingResult::WithFailures(_) => { /* begin */ }
///         StreamingResult::Gone => return,
///     }
///     drop(arrival); // what was prepared is let go of
/// }
/// ```
#[derive(Clone)]
pub struct Arrival(Arc<Outcome>);

impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut text = f.debug_struct("Arrival");
        text.field("progress", &self.progress()).field("result", &self.result());
        text.finish_non_exhaustive()
    }
}

impl Arrival {
    /// Whether all is there that is to come, or has failed; once it is so, it stays so. Never before it was looked at for a frame.
    #[must_use]
    pub fn is_streaming_complete(&self) -> bool {
        self.0.is_complete()
    }

    /// How it ended; `None` while it has not.
    #[must_use]
    pub fn result(&self) -> Option<StreamingResult> {
        self.0.result()
    }

    /// How far it is; as it was at the end, from then on.
    #[must_use]
    pub fn progress(&self) -> StreamingProgress {
        self.0.progress()
    }

    /// Waits until it has ended, on any thread but the one that runs the app: it is the app's frames that get the place ready.
    pub async fn wait(&self) -> StreamingResult {
        self.0.wait().await
    }
}

impl IntoFuture for Arrival {
    type Output = StreamingResult;
    type IntoFuture = Pin<Box<dyn Future<Output = StreamingResult> + Send>>;

    /// As [`wait`](Self::wait), and drops it then: keep a clone until somebody has come.
    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.wait().await })
    }
}
