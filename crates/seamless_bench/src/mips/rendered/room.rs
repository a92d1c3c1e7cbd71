//! A room full of things whose textures stream. See [`Room`].

use core::time::Duration;
use std::{fs, path::Path, thread};

use bevy::{
    asset::RenderAssetUsages,
    ecs::system::RunSystemOnce,
    image::ImageSampler,
    math::{Affine2, EulerRot},
    prelude::*,
    render::render_resource::{Extent3d, TextureDataOrder, TextureDimension, TextureFormat},
};
use bevy_seamless::{
    asset::{ObjectRequest, Streamer, StreamingTime},
    prelude::*,
    render::mip::{
        MipFeedback, MipFeedbackPlugin, MipPlugin, MipSettings, MipTruth, Mips, Residency, TouchAllMaterials,
        TruthPicture,
    },
};
use seamless_tests::{
    app::{LOAD_LIMIT, headless_with, run_until},
    handmade::{add_asset, new_package},
    picture::studio_large,
    random::Random,
};
use tempfile::TempDir;

const PACKAGE: &str = "room.pkg";
/// How many textures there are; each thing has one of its own.
pub const TEXTURES: usize = 96;
/// Half of the room's sides, in metres.
const HALF: f32 = 6.0;
/// Time of a frame.
pub const FRAME: Duration = Duration::from_nanos(16_666_667);
/// Frames in which nothing has to go on until it is settled.
const QUIET: u32 = 5;
/// Frames until it has to be.
const PATIENCE: u32 = 20_000;

/// Things of a room of twelve metres: walls and a floor that repeat their textures, boxes, spheres and paintings that show parts of theirs, turned and scaled by chance.
pub struct Room {
    pub app: App,
    pub camera: Entity,
    pub images: Vec<Handle<Image>>,
    _dir: TempDir,
}

/// Whether textures stream, and by what.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum By {
    Prediction,
    PredictionAndTruth,
}

/// How materials come to sample what has taken a texture's place.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Road {
    /// As the device has it: quietly where materials are not bindless.
    Best,
    /// They are all touched, as bindless ones have to be.
    Touch,
}

/// The textures of a room.
#[derive(Copy, Clone)]
pub struct Textures {
    /// Texels along the sides of each.
    pub side: fn(usize) -> u32,
    /// How many times as often each is repeated: the more, the finer the mips that are sampled.
    pub repeats: f32,
}

impl Default for Textures {
    fn default() -> Self {
        Self {
            side: |number| [512, 1024, 512, 2048][number % 4],
            repeats: 1.0,
        }
    }
}

impl Room {
    /// The room with a pool that has this part of the bytes of all mips.
    pub fn new(by: By, road: Road, part: f32, textures: Textures) -> Self {
        let Textures { side, repeats } = textures;
        let dir = tempfile::tempdir().expect("a temporary directory");
        write(dir.path(), side);
        let all: u64 = (0..TEXTURES).map(|number| u64::from(side(number)).pow(2) * 4 / 3).sum();
        let settings = MipSettings {
            pool: (all as f64 * f64::from(part)) as u64,
            headroom: 2 << 20,
            staging: 8 << 20,
            cached: 0.0,
            ..MipSettings::default()
        };
        let feedback = MipFeedback {
            every: if by == By::Prediction { 0 } else { 8 },
            scale: 4,
            ..MipFeedback::default()
        };
        let (mut app, camera) = rendered(dir.path(), settings, feedback, road);
        app.world_mut().entity_mut(camera).insert(pose(0));
        let images = load(&mut app);
        furnish(&mut app, &images, repeats);
        Self {
            app,
            camera,
            images,
            _dir: dir,
        }
    }

    /// A frame, a sixtieth of a second after the last.
    pub fn frame(&mut self) {
        frame(&mut self.app);
    }

    /// The camera is there at once.
    pub fn look(&mut self, from: Transform) {
        self.app.world_mut().entity_mut(self.camera).insert(from);
    }

    /// How many frames it took until nothing goes on any more.
    pub fn settle(&mut self) -> u32 {
        let mut quiet = 0;
        for frame in 0..PATIENCE {
            self.frame();
            let is_settled = self.ask(|mips: Mips| mips.is_settled());
            quiet = if is_settled { quiet + 1 } else { 0 };
            if quiet == QUIET {
                return frame + 1 - QUIET;
            }
        }
        panic!("the room does not settle");
    }

    /// Which mips the pixels of a frame sample, and how fine textures were in that frame. The camera may go on with each: `step` is what happens before it.
    pub fn truth(&mut self, mut step: impl FnMut(&mut Self)) -> (TruthPicture, Vec<(AssetId<Image>, Residency)>) {
        let truth = self.app.world().resource::<MipTruth>().clone();
        truth.request(self.camera, 1);
        let mut resident = None;
        for _ in 0..PATIENCE {
            step(self);
            self.frame();
            // The picture is of the frame in which nobody asks for it any more.
            if resident.is_none() && !truth.is_asked() {
                resident = Some(self.residencies());
            }
            if let Some(picture) = truth.take() {
                return (picture, resident.expect("it was asked for before"));
            }
        }
        panic!("no picture comes");
    }

    /// How fine all textures are.
    fn residencies(&mut self) -> Vec<(AssetId<Image>, Residency)> {
        let images: Vec<AssetId<Image>> = self.images.iter().map(Handle::id).collect();
        let system = move |mips: Mips| -> Vec<(AssetId<Image>, Residency)> {
            let resident = |image: &AssetId<Image>| Some((*image, mips.residency(*image)?));
            images.iter().filter_map(resident).collect()
        };
        let told = self.app.world_mut().run_system_once(system);
        told.unwrap_or_else(|error| panic!("mip streaming does not answer: {error}"))
    }

    /// Asks mip streaming something.
    pub fn ask<T: 'static>(&mut self, question: fn(Mips) -> T) -> T {
        let answer = self.app.world_mut().run_system_once(question);
        answer.unwrap_or_else(|error| panic!("mip streaming does not answer: {error}"))
    }
}

/// A rendered app whose textures stream, with time that stands still until [`frame`], and its camera.
pub fn rendered(dir: &Path, settings: MipSettings, feedback: MipFeedback, road: Road) -> (App, Entity) {
    let mut app = studio_large(dir, Transform::IDENTITY, |app| {
        if road == Road::Touch {
            app.init_resource::<TouchAllMaterials>();
        }
        let assets = SeamlessAssetPlugin {
            background: false,
            ..SeamlessAssetPlugin::default()
        };
        let mips = MipPlugin {
            settings: settings.clone(),
            ..MipPlugin::default()
        };
        let feedback = MipFeedbackPlugin {
            settings: feedback.clone(),
        };
        app.add_plugins((SeamlessPlugins.set(assets), mips, feedback));
    });
    app.insert_resource(StreamingTime::stopped());
    app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
    let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
    let camera = cameras.single(app.world()).expect("there is one camera");
    (app, camera)
}

/// A frame, a sixtieth of a second after the last.
pub fn frame(app: &mut App) {
    // The threads that read and stage have a moment to come on.
    thread::sleep(Duration::from_millis(1));
    app.world_mut().resource_mut::<StreamingTime>().advance(FRAME);
    app.update();
}

/// Places in the room, each with another direction.
pub fn pose(number: u32) -> Transform {
    let mut random = Random(u64::from(number) + 7);
    let mut place = |half: f32| (random.below(2001) as f32 / 1000.0 - 1.0) * half;
    let from = Vec3::new(place(HALF - 1.0), 1.2 + place(0.8), place(HALF - 1.0));
    let to = Vec3::new(place(HALF), 1.0 + place(1.0), place(HALF));
    Transform::from_translation(from).looking_at(to, Vec3::Y)
}

/// Writes the room's package.
fn write(dir: &Path, side: fn(usize) -> u32) {
    let app = headless_with(dir, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    let mut writer = new_package(&app, PACKAGE);
    for number in 0..TEXTURES {
        add_asset(&app, &mut writer, &format!("t{number}"), texture(side(number)));
    }
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

/// A texture of one byte a texel, of which each mip has its own grey.
pub fn texture(side: u32) -> Image {
    let mips = side.ilog2() + 1;
    let mip = |mip: u32| vec![(230 - 10 * mip) as u8; (side >> mip).pow(2) as usize];
    let mut image = Image::new_uninit(
        Extent3d {
            width: side,
            height: side,
            depth_or_array_layers: 1,
        },
        TextureDimension::D2,
        TextureFormat::R8Unorm,
        RenderAssetUsages::RENDER_WORLD,
    );
    image.texture_descriptor.mip_level_count = mips;
    image.data_order = TextureDataOrder::MipMajor;
    image.sampler = ImageSampler::Descriptor(bevy::image::ImageSamplerDescriptor {
        address_mode_u: bevy::image::ImageAddressMode::Repeat,
        address_mode_v: bevy::image::ImageAddressMode::Repeat,
        ..bevy::image::ImageSamplerDescriptor::linear()
    });
    image.data = Some((0..mips).flat_map(mip).collect());
    image
}

fn load(app: &mut App) -> Vec<Handle<Image>> {
    let request = ObjectRequest::new((0..TEXTURES).map(|number| format!("{PACKAGE}#t{number}")));
    let load = app.world_mut().resource_mut::<Streamer>().load_objects(request);
    assert!(run_until(app, LOAD_LIMIT, |_| load.is_finished()), "they come");
    let handles = load.result().expect("it is finished").expect("it is sound");
    handles.iter().map(|handle| handle.clone().typed()).collect()
}

/// Walls and a floor with the first textures, and things with the others.
fn furnish(app: &mut App, images: &[Handle<Image>], times: f32) {
    let mut random = Random(1);
    let mut part = move || random.below(1001) as f32 / 1000.0;
    let world = app.world_mut();
    let add = |world: &mut World, mesh: Mesh, at: Transform, image: &Handle<Image>, repeats: f32| {
        let material = StandardMaterial {
            base_color_texture: Some(image.clone()),
            unlit: true,
            cull_mode: None,
            uv_transform: Affine2::from_scale(Vec2::splat(repeats * times)),
            ..default()
        };
        let material = world.resource_mut::<Assets<StandardMaterial>>().add(material);
        let mesh = world.resource_mut::<Assets<Mesh>>().add(mesh);
        world.spawn((Mesh3d(mesh), MeshMaterial3d(material), at));
    };
    let (sides, things) = images.split_at(5);
    let floor = Mesh::from(Plane3d::new(Vec3::Y, Vec2::splat(HALF)));
    add(world, floor, Transform::default(), &sides[0], 8.0);
    for (turn, image) in (0..).zip(&sides[1..]) {
        let turned = Quat::from_rotation_y(turn as f32 * core::f32::consts::FRAC_PI_2);
        let at = Transform::from_translation(turned * Vec3::new(0.0, 2.0, -HALF)).with_rotation(turned);
        add(world, Rectangle::new(2.0 * HALF, 4.0).into(), at, image, 4.0);
    }
    for (number, image) in things.iter().enumerate() {
        let size = 0.3 + 1.2 * part();
        let mesh: Mesh = match number % 3 {
            0 => Cuboid::from_length(size).into(),
            1 => Sphere::new(size / 2.0).into(),
            _ => Rectangle::new(size, size * 0.7).into(),
        };
        let place = Vec3::new(part() * 2.0 - 1.0, part() * 0.5, part() * 2.0 - 1.0) * (HALF - 0.5);
        let turned = Quat::from_euler(EulerRot::YXZ, part() * 6.0, part() * 0.8, part() * 0.4);
        let at = Transform::from_translation(place).with_rotation(turned);
        add(world, mesh, at, image, [0.25, 0.5, 1.0][number % 3]);
    }
}
