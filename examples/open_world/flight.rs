//! The app that flies: Bevy, the streamed world, and a streaming source that follows the path.

use bevy::{app::PluginGroupBuilder, prelude::*};
use bevy_seamless::prelude::*;
use seamless_examples::{
    display::headless_app as headless_app_of,
    flight::{Flight, Pose, around_most},
    generate::WorldOptions,
};

/// Simulated frames per second.
pub const RATE: f32 = 60.0;

/// The path over whatever world it is.
#[derive(Resource)]
pub struct Path {
    flight: Flight,
    offset: Vec3,
    scale: f32,
    /// The frame of the flight.
    pub frame: u64,
}

impl Path {
    /// The path over the generated world, or a scaled one over the box `bounds`.
    pub fn new(seed: u64, generated: Option<&WorldOptions>, bounds: Option<(Vec3, Vec3)>) -> Self {
        let options = generated.cloned().unwrap_or_default();
        let flight = Flight::new(&options, seed);
        let (offset, scale) = match (generated, bounds) {
            (None, Some((min, max))) => {
                let size = (max - min).max_element().max(0.001);
                (min, size / WorldOptions::default().extent())
            }
            _ => (Vec3::ZERO, 1.0),
        };
        Self {
            flight,
            offset,
            scale,
            frame: 0,
        }
    }

    /// How many frames the whole flight has.
    pub fn frames(&self) -> u64 {
        (self.flight.duration() * RATE) as u64
    }

    /// Where the camera is in a frame.
    pub fn pose(&self, frame: u64) -> Pose {
        let pose = self.flight.pose(frame as f32 / RATE);
        Pose {
            position: pose.position * self.scale + self.offset,
            ..pose
        }
    }
}

/// Marks the entity that follows the path.
#[derive(Component)]
pub struct Flyer;

/// The plugins of a game that streams. Its levels may come and go in slices: what takes long is not done in one frame.
pub fn seamless_plugins() -> PluginGroupBuilder {
    SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    })
}

/// An app without window and GPU that streams the world. Its time advances by one simulated frame per update.
///
/// Only the first app of the process may set up the log and the handler of Ctrl+C.
pub fn headless_app(is_first: bool) -> App {
    let mut app = headless_app_of(is_first, 1.0 / RATE);
    app.add_plugins(seamless_plugins())
        .add_systems(Update, follow_path.run_if(resource_exists::<Path>));
    app
}

/// Spawns the streamed world and the streaming source that will fly.
pub fn spawn_world(world: &mut World, manifest: &str) {
    let manifest = world.resource::<AssetServer>().load(manifest.to_owned());
    world.spawn(SeamlessWorld(manifest));
}

/// Moves the source along the path.
pub fn follow_path(path: Res<Path>, mut flyers: Query<&mut Transform, With<Flyer>>) {
    let pose = path.pose(path.frame);
    for mut transform in &mut flyers {
        *transform = Transform::from_translation(pose.position).looking_to(pose.forward, Vec3::Y);
    }
}

/// The box around most levels that come and go.
pub fn bounds_of(table: &LevelTable) -> Option<(Vec3, Vec3)> {
    let levels = table.iter().map(Level::entry).filter(|entry| !entry.always_loaded);
    let boxes: Vec<_> = levels
        .filter_map(|entry| entry.bounds)
        .map(|(min, max)| (Vec3::from_array(min), Vec3::from_array(max)))
        .collect();
    around_most(&boxes)
}
