//! Streaming sources: the points from which the world is seen. See [`StreamingSource`].

mod gathered;
mod motion;
mod shape;

pub(crate) use gathered::GatheredSources;
pub use motion::SourceMotion;
pub use shape::SourceShape;

use bevy_ecs::{component::Component, entity::Entity, reflect::ReflectComponent};
use bevy_math::Vec3;
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use bevy_transform::components::{GlobalTransform, Transform};

use crate::{select::SourceInput, target::LevelTarget};

/// For how many seconds a source looks ahead, when nothing else is said.
pub const DEFAULT_AHEAD: f32 = 1.0;
/// How much it counts where a source looks, when nothing else is said.
pub const DEFAULT_LOOK_WEIGHT: f32 = 0.4;

/// A moving point of view, a camera or a player for instance: the levels of the volumes it is inside of are loaded.
///
/// Its position is its entity's `GlobalTransform` as the frame's end will find it, where Bevy's `TransformPlugin` propagates transforms: who moves it in `Update`
/// has its levels asked for in that frame. Where others propagate them, it is that of the frame before, and a source that was just spawned
/// is left out until it has one. A source whose position is infinite or not a number is left out until it is a position again. Bevy's
/// `Disabled` on its entity has it ask for nothing: it is not in the game meanwhile.
///
/// It loads ahead: where it will be in a moment, if it goes on as it went in the last quarter of a second
/// ([`SourceMotion`]), it is as if there were more sources, of less weight. They never make a frame wait.
///
/// ```
/// # use bevy_ecs::prelude::*;
/// # use bevy_transform::components::Transform;
/// # use seamless_level::{LevelTarget, SourceShape, StreamingSource};
/// fn spawn_player(mut commands: Commands) {
///     commands.spawn((Transform::from_xyz(0.0, 2.0, 0.0), StreamingSource::default()));
///     // The camera of a cutscene that is to come: what is around it is got ready, and nothing of it is shown.
///     commands.spawn((
///         Transform::from_xyz(900.0, 40.0, 0.0),
///         StreamingSource {
///             shape: SourceShape::Sphere { radius: 50.0 },
///             target: LevelTarget::Loaded,
///             priority: 0.5,
///             ..StreamingSource::default()
///         },
///     ));
/// }
/// ```
///
/// # Players of other machines
///
/// A server sees the world from all its players. Give the entity of each a source with [`remote`](Self::remote), on every machine: a
/// server follows it ([`LevelSettings::follow_remote`](crate::LevelSettings)), and another player's client does not. No frame of the
/// server waits for what such a source [blocks](crate::VolumeMode::BlockUntilLoaded) for: one player would hold up all others.
#[derive(Component, Reflect, Copy, Clone, Debug, PartialEq)]
#[reflect(Component, Default, Clone, PartialEq)]
#[require(Transform, SourceMotion)]
pub struct StreamingSource {
    /// How much it counts beside other sources, one by default: what a source of priority two is near to loads as if
    /// that were half as far away. Zero or less counts least; it still loads what it is inside of.
    pub priority: f32,
    /// Whether it asks for levels at all.
    pub enabled: bool,
    /// How far around itself it sees. A point by default: it is in a volume when its position is.
    pub shape: SourceShape,
    /// A factor on the ranges of [`DistanceStreaming`](crate::DistanceStreaming), one by default: with two, this source loads from twice as far. It
    /// plays no part for volumes.
    pub reach: f32,
    /// How far it lets levels come at most: [`Visible`](LevelTarget::Visible) by default. With [`Loaded`](LevelTarget::Loaded) it only
    /// gets ready what others may show; with [`Unloaded`](LevelTarget::Unloaded) it asks for nothing.
    pub target: LevelTarget,
    /// For how many seconds it looks ahead along its way; zero turns that off. One second by default.
    pub ahead: f32,
    /// How much it counts where it looks (its entity's forward direction), 0.4 by default: among levels on their way, one right behind
    /// it waits as if it were so much further away, by this part of its distance. Zero turns that off.
    pub look_weight: f32,
    /// Whether it is a player of another machine, whom only a server follows, and for whom no frame waits. False by default.
    pub remote: bool,
    /// The [`SeamlessWorld`](crate::SeamlessWorld) entity that is meant; `None`, the default, is all worlds. Worlds may lie in one place, an
    /// overworld and a dungeon on one server: who plays in one of them says which, and loads nothing of the other. It may be changed at any time. Of
    /// an entity that is no world, or none yet, it asks for nothing.
    #[entities]
    pub world: Option<Entity>,
}

impl Default for StreamingSource {
    fn default() -> Self {
        Self {
            priority: 1.0,
            enabled: true,
            shape: SourceShape::default(),
            reach: 1.0,
            target: LevelTarget::Visible,
            ahead: DEFAULT_AHEAD,
            look_weight: DEFAULT_LOOK_WEIGHT,
            remote: false,
            world: None,
        }
    }
}

impl StreamingSource {
    /// Whether this machine looks where it is, which may [follow](crate::LevelSettings::follow_remote) players of others.
    pub(crate) fn is_followed(&self, follow_remote: bool) -> bool {
        self.enabled && (follow_remote || !self.remote)
    }

    /// Whether it asks for levels, as the selection sees it.
    pub(crate) fn asks(&self, input: &SourceInput, follow_remote: bool) -> bool {
        self.is_followed(follow_remote) && input.is_usable()
    }

    /// The source as the selection sees it.
    pub(crate) fn input(&self, key: u64, transform: &GlobalTransform, velocity: Vec3) -> SourceInput {
        SourceInput {
            key,
            position: transform.translation(),
            velocity,
            look: self.look(transform),
            look_weight: self.look_weight,
            ahead: self.ahead,
            shape: self.shape,
            reach: self.reach,
            priority: self.priority,
            target: self.target,
            is_present: true,
            may_block: !self.remote,
        }
    }

    /// Where it looks, if that plays a part; a source that only turns is at rest else.
    fn look(&self, transform: &GlobalTransform) -> Option<Vec3> {
        let matters = self.look_weight > 0.0 || matches!(self.shape, SourceShape::Sector { .. });
        let back = Vec3::from(transform.affine().matrix3.z_axis);
        (-back).try_normalize().filter(|_| matters)
    }
}
