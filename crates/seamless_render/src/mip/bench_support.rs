//! A door for `seamless_bench`: the systems that follow what is drawn, over a world of their own. Not part of the API.

use bevy_asset::{AssetEvent, Assets, Handle};
use bevy_camera::{
    primitives::Aabb,
    visibility::{SetViewVisibility, ViewVisibility},
};
use bevy_ecs::{message::Messages, prelude::*, schedule::SingleThreadedExecutor};
use bevy_math::Vec3;
use bevy_mesh::{Mesh, Mesh3d};
use bevy_transform::components::Transform;
use seamless_asset::assets::MeshUvDensity;

use super::{
    plan::MipPlan,
    users::{MipUsers, follow_users},
};

/// Things that are drawn, and who looks each frame which of them have moved, were seen, or are not seen any more.
pub struct Following {
    world: World,
    schedule: Schedule,
    entities: Vec<Entity>,
}

impl Following {
    /// Of boxes, by their middles and half of their sizes, as a cooked level brings them.
    pub fn new(boxes: impl Iterator<Item = (Vec3, Vec3)>) -> Self {
        let mut world = World::new();
        world.init_resource::<MipUsers>();
        world.init_resource::<MipPlan>();
        world.init_resource::<Assets<Mesh>>();
        world.init_resource::<Messages<AssetEvent<Mesh>>>();
        let entities = boxes.map(|(center, half)| {
            let mesh_box = Aabb {
                half_extents: half.into(),
                ..Aabb::default()
            };
            let drawn = (Mesh3d(Handle::default()), MeshUvDensity::default(), mesh_box);
            world.spawn((Transform::from_translation(center), drawn)).id()
        });
        let entities = entities.collect();
        let mut schedule = Schedule::default();
        // The time of the calling thread is measured.
        schedule.set_executor(SingleThreadedExecutor::new());
        schedule.add_systems(follow_users);
        schedule.run(&mut world);
        Self {
            world,
            schedule,
            entities,
        }
    }

    /// What Bevy finds out about one of them.
    pub fn see(&mut self, number: usize, is_seen: bool) {
        let entity = self.entities.get(number);
        if let Some(mut seen) = entity.and_then(|entity| self.world.get_mut::<ViewVisibility>(*entity)) {
            *seen = ViewVisibility::HIDDEN;
            if is_seen {
                seen.set_visible();
            }
        }
    }

    /// A frame.
    pub fn look(&mut self) {
        self.schedule.run(&mut self.world);
        self.world.clear_trackers();
    }
}
