//! A room of textures that stream, beside the same room with all of their mips: how different they look.
//!
//! By FLIP (Andersson and others, 2020), which tells how much an observer sees who flips between two pictures.

use core::time::Duration;
use std::{path::Path, thread};

use bevy::{
    core_pipeline::tonemapping::Tonemapping,
    ecs::system::RunSystemOnce,
    image::{ImageAddressMode, ImageSampler, ImageSamplerDescriptor},
    math::Affine2,
    prelude::*,
    render::render_resource::TextureFormat,
};
use bevy_seamless::{asset::StreamingTime, prelude::*, render::mip::Mips};
use seamless_tests::picture::{Frame, LARGE, Picture, has_driver, next_frame, studio_large};

use super::stage::{image, load, write};

const TEXTURES: usize = 16;
/// In two sizes and three tints.
const KINDS: usize = 6;
/// Half of the room's sides, in metres.
const HALF: f32 = 6.0;
/// What is seen at once does not all fit.
const POOL: u64 = 12 << 20;
/// Frames of a walk, and the one that it begins at.
const FRAMES: u32 = 110;
const FIRST: u32 = 90;
/// How much more a frame may differ from the last one than it does with all mips: what is more pops.
const POP: Pop = Pop {
    mean: 0.005,
    most: 0.02,
};
/// How different a frame of the walk may look, and all of them in the mean.
const WALKED: [f64; 2] = [0.02, 0.002];
/// How different a settled picture may look from the one with all mips, in the mean.
const SETTLED: f64 = 0.02;

/// How much more pixels differ from those of the frame before than they do with all mips.
#[derive(Clone, Copy, Debug, Default)]
struct Pop {
    /// Of all pixels.
    mean: f64,
    /// Of one pixel in a hundred at most: so a texture that is small in the picture counts as well.
    most: f32,
}

impl Pop {
    /// What was seen of each pixel from one frame to the next, and what is with all mips.
    fn new(seen: &[f32], whole: &[f32]) -> Self {
        let mut more: Vec<f32> = seen.iter().zip(whole).map(|(seen, whole)| seen - whole).collect();
        let mean = more.iter().map(|more| f64::from(*more)).sum::<f64>() / more.len() as f64;
        let at = more.len() - more.len() / 100 - 1;
        let (_, most, _) = more.select_nth_unstable_by(at, f32::total_cmp);
        Self { mean, most: *most }
    }

    fn max(self, other: Self) -> Self {
        Self {
            mean: self.mean.max(other.mean),
            most: self.most.max(other.most),
        }
    }
}

fn name(number: usize) -> String {
    format!("t{number}")
}

/// Waves and edges of all sizes, so that each mip shows something of its own.
fn texture(number: usize) -> Image {
    let side = [512_usize, 1024][number % 2];
    let texel = |x: usize, y: usize| {
        let (u, v) = (x as f32 / side as f32, y as f32 / side as f32);
        let turn = core::f32::consts::TAU;
        let wave = |waves: f32| (turn * waves * (u + 0.3 * v)).sin() * (turn * waves * (v - 0.2 * u)).cos();
        let octaves: f32 = (0..8).map(|octave| wave(2.0_f32.powi(octave))).sum();
        let brick = if (x / 16 + y / 8).is_multiple_of(2) {
            30.0
        } else {
            -30.0
        };
        let line = if x % 64 < 2 || y % 64 < 2 { -60.0 } else { 0.0 };
        let tint = [[20.0, 0.0, -20.0], [-20.0, 15.0, 0.0], [0.0, -20.0, 25.0]][number % 3];
        tint.map(|tint: f32| (128.0 + octaves * 14.0 + brick + line + tint).clamp(0.0, 255.0) as u8)
    };
    let finest = (0..side * side).flat_map(|at| {
        let [red, green, blue] = texel(at % side, at / side);
        [red, green, blue, 255]
    });
    let mut mips: Vec<Vec<u8>> = vec![finest.collect()];
    let mut width = side;
    while width > 1 {
        let last = &mips[mips.len() - 1];
        mips.push(halved(last, width));
        width /= 2;
    }
    let mut image = image([side as u32, side as u32, 1], TextureFormat::Rgba8UnormSrgb, mips);
    image.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        address_mode_u: ImageAddressMode::Repeat,
        address_mode_v: ImageAddressMode::Repeat,
        ..ImageSamplerDescriptor::linear()
    });
    image
}

/// The next mip: each texel is the mean of four.
fn halved(texels: &[u8], side: usize) -> Vec<u8> {
    let half = side / 2;
    let mean = |at: usize, channel: usize| {
        let (x, y) = (at % half * 2, at / half * 2);
        let corners = [(x, y), (x + 1, y), (x, y + 1), (x + 1, y + 1)];
        let sum: u32 = corners
            .iter()
            .map(|(x, y)| u32::from(texels[(y * side + x) * 4 + channel]))
            .sum();
        (sum / 4) as u8
    };
    (0..half * half)
        .flat_map(|at| [0, 1, 2, 3].map(|channel| mean(at, channel)))
        .collect()
}

struct Room {
    app: App,
    camera: Entity,
    /// Frames in a row in which nothing goes on, until it is settled.
    quiet: u32,
}

impl Room {
    /// All textures stream, or none does.
    fn new(dir: &Path, enabled: bool) -> Self {
        let settings = MipSettings {
            enabled,
            pool: if enabled { POOL } else { 1 << 30 },
            headroom: 4 << 20,
            cached: 0.0,
            ..MipSettings::default()
        };
        let mut app = studio_large(dir, Transform::IDENTITY, |app| {
            let assets = SeamlessAssetPlugin {
                // Tests keep all cores busy.
                background: false,
                ..SeamlessAssetPlugin::default()
            };
            let mips = MipPlugin { settings, ..default() };
            app.add_plugins((SeamlessPlugins.set(assets), mips, MipFeedbackPlugin::default()));
        });
        app.insert_resource(StreamingTime::stopped());
        app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        app.world_mut().entity_mut(camera).insert(Tonemapping::None);
        // Where textures stream, longer than the GPU's own answer takes.
        let quiet = if enabled { 30 } else { 3 };
        let mut room = Self { app, camera, quiet };
        room.furnish();
        room
    }

    /// A floor, walls, and things that stand between them.
    fn furnish(&mut self) {
        let names: Vec<String> = (0..TEXTURES).map(name).collect();
        let images = load(&mut self.app, &names);
        let world = self.app.world_mut();
        let mut add = |mesh: Mesh, at: Transform, image: &Handle<Image>, repeats: f32| {
            let material = StandardMaterial {
                base_color_texture: Some(image.clone()),
                unlit: true,
                cull_mode: None,
                uv_transform: Affine2::from_scale(Vec2::splat(repeats)),
                ..default()
            };
            let material = world.resource_mut::<Assets<StandardMaterial>>().add(material);
            let mesh = world.resource_mut::<Assets<Mesh>>().add(mesh);
            world.spawn((Mesh3d(mesh), MeshMaterial3d(material), at));
        };
        add(
            Plane3d::new(Vec3::Y, Vec2::splat(HALF)).into(),
            Transform::IDENTITY,
            &images[0],
            3.0,
        );
        for (turn, image) in (0..4).zip(&images[1..]) {
            let turned = Quat::from_rotation_y(turn as f32 * core::f32::consts::FRAC_PI_2);
            let at = Transform::from_translation(turned * Vec3::new(0.0, 2.0, -HALF)).with_rotation(turned);
            add(Rectangle::new(2.0 * HALF, 4.0).into(), at, image, 1.0);
        }
        for (number, image) in images[5..].iter().enumerate() {
            let turned = number as f32 * 2.4;
            let place = Vec3::new(turned.cos(), 0.0, turned.sin()) * (1.5 + 0.35 * number as f32);
            let at = Transform::from_translation(place + Vec3::Y * 0.8).with_rotation(Quat::from_rotation_y(turned));
            let mesh: Mesh = match number % 3 {
                0 => Cuboid::from_length(1.0).into(),
                1 => Sphere::new(0.6).into(),
                _ => Rectangle::new(1.2, 1.6).into(),
            };
            add(mesh, at, image, [1.0, 0.5][number % 2]);
        }
    }

    /// A frame, a sixtieth of a second after the last.
    fn frame(&mut self) -> Frame {
        thread::sleep(Duration::from_millis(1));
        let mut time = self.app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs(1) / 60);
        next_frame(&mut self.app)
    }

    fn look(&mut self, from: Transform) {
        self.app.world_mut().entity_mut(self.camera).insert(from);
    }

    /// What is seen when nothing has gone on for a while.
    fn settle(&mut self) -> Picture {
        let mut quiet = 0;
        for _ in 0..5000 {
            let frame = self.frame();
            let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
            let is_quiet = is_settled.expect("it runs") && frame.waiting == 0;
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == self.quiet {
                return frame.picture;
            }
        }
        panic!("the room does not settle");
    }

    /// What textures take, copies and buffers included, in bytes.
    fn taken(&mut self) -> u64 {
        let taken = self.app.world_mut().run_system_once(|mips: Mips| mips.sums().total());
        taken.expect("it runs")
    }
}

/// Where the visitor is after so many frames, at a walk; taller than all things.
fn pose(frame: f32) -> Transform {
    let seconds = frame / 60.0;
    let at = Vec3::new((seconds * 0.5).sin() * 4.0, 2.5, (seconds * 0.37).cos() * 4.0);
    let ahead = Vec3::new((seconds * 0.8).cos(), -0.35, (seconds * 0.8).sin());
    Transform::from_translation(at).looking_to(ahead, Vec3::Y)
}

fn rooms() -> (tempfile::TempDir, [Room; 2]) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let kinds: Vec<Image> = (0..KINDS).map(texture).collect();
    write(
        dir.path(),
        (0..TEXTURES).map(|number| (name(number), kinds[number % KINDS].clone())),
    );
    let rooms = [true, false].map(|enabled| Room::new(dir.path(), enabled));
    (dir, rooms)
}

#[test]
fn a_settled_picture_looks_as_if_all_mips_were_there() {
    if !has_driver() {
        return;
    }
    let (_dir, [mut streamed, mut whole]) = rooms();
    let mut short = 0;
    for place in 0..8 {
        let from = pose(place as f32 * 300.0);
        let [found, expected] = [&mut streamed, &mut whole].map(|room| {
            room.look(from);
            room.settle()
        });
        short += usize::from(streamed.app.world().resource::<MipStats>().under_resolved > 0);
        let apart = found.flip(&expected);
        assert!(apart <= SETTLED, "place {place}: {apart}");
        assert!(expected.colours() > 500, "place {place}: there is nothing to see");
    }
    assert!(short > 0, "the pool has room for all that is wanted");
    let [ours, all] = [&mut streamed, &mut whole].map(Room::taken);
    assert!(ours * 2 < all, "{ours} of {all} bytes");

    // Mips that lack are seen to lack.
    let expected = whole.settle();
    streamed.app.world_mut().resource_mut::<MipSettings>().bias = 2.0;
    let apart = streamed.settle().flip(&expected);
    assert!(apart > SETTLED, "{apart}");
}

#[test]
fn no_frame_of_a_walk_changes_by_more_than_the_walk_does() {
    if !has_driver() {
        return;
    }
    let (_dir, mut rooms) = rooms();
    let mut last = rooms.each_mut().map(|room| {
        room.look(pose(FIRST as f32));
        room.settle()
    });
    let swaps = |room: &Room| room.app.world().resource::<MipStats>().swaps;
    let before = swaps(&rooms[0]);
    let (mut pop, mut worst, mut sum) = (Pop::default(), 0.0_f64, 0.0_f64);
    for frame in 1..=FRAMES {
        let pictures = rooms.each_mut().map(|room| {
            room.look(pose((FIRST + frame) as f32));
            room.frame().picture
        });
        let [streamed, whole] = &pictures;
        // Those that are the same have no difference, and none has changed more than the other.
        if streamed != whole || last[0] != last[1] {
            let apart = streamed.flip(whole);
            (worst, sum) = (worst.max(apart), sum + apart);
            pop = pop.max(Pop::new(&streamed.flips(&last[0]), &whole.flips(&last[1])));
        }
        last = pictures;
    }
    let mean = sum / f64::from(FRAMES);
    let replaced = swaps(&rooms[0]) - before;
    assert!(replaced >= 8, "{replaced} textures were replaced on the way");
    assert!(pop.mean <= POP.mean && pop.most <= POP.most, "a texture pops: {pop:?}");
    assert!(worst <= WALKED[0] && mean <= WALKED[1], "worst {worst}, mean {mean}");

    // What pops is seen to pop.
    let [mut room, _] = rooms;
    room.app.world_mut().resource_mut::<MipSettings>().bias = 2.0;
    let (mut last, mut pop) = (last[0].clone(), Pop::default());
    let still = vec![0.0; (LARGE * LARGE) as usize];
    for _ in 0..30 {
        let picture = room.frame().picture;
        pop = pop.max(Pop::new(&picture.flips(&last), &still));
        last = picture;
    }
    assert!(pop.mean > POP.mean && pop.most > POP.most, "{pop:?}");
}
