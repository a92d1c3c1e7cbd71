//! A material whose shader asks for it shows finer mips little by little.

use core::time::Duration;
use std::{fs, path::Path, thread};

use bevy::{
    core_pipeline::tonemapping::Tonemapping,
    ecs::system::RunSystemOnce,
    prelude::*,
    render::{
        render_resource::{AsBindGroup, TextureFormat},
        storage::ShaderBuffer,
    },
    shader::ShaderRef,
};
use bevy_seamless::{
    asset::StreamingTime,
    prelude::*,
    render::mip::{MipApp, Mips},
};
use seamless_tests::picture::{SIDE, close_up, has_driver, next_frame, studio};

use super::{
    hall::colour,
    stage::{image, load, write},
};

#[derive(Asset, AsBindGroup, Reflect, Clone)]
struct Wall {
    #[texture(0)]
    #[sampler(1)]
    picture: Handle<Image>,
    #[storage(2, read_only)]
    fades: Handle<ShaderBuffer>,
    #[uniform(3)]
    place: u32,
}

const SHADER: &str = "
#import bevy_pbr::forward_io::VertexOutput
#import seamless_render::mip_fade::sample_faded
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var picture: texture_2d<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var picture_sampler: sampler;
@group(#{MATERIAL_BIND_GROUP}) @binding(2) var<storage, read> fades: array<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(3) var<uniform> place: u32;
@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    return sample_faded(picture, picture_sampler, in.uv, fades[place]);
}
";

impl Material for Wall {
    fn fragment_shader() -> ShaderRef {
        "wall.wgsl".into()
    }
}

const TEXTURE: u32 = 1024;
const FPS: u32 = 60;
/// Metres from which only the tail is wanted.
const FAR: f32 = 20.0;
/// Frames: longer than the wall fades.
const QUIET: u32 = 150;

struct Room {
    app: App,
    camera: Entity,
}

impl Room {
    /// A camera before a wall of a square metre, of which each mip has its own colour.
    fn new(dir: &Path, fade: MipFadePlugin) -> Self {
        fs::write(dir.join("wall.wgsl"), SHADER).expect("it is written");
        let mip = |mip: u8| colour(mip).repeat(((TEXTURE >> mip) as usize).pow(2));
        let picture = image(
            [TEXTURE, TEXTURE, 1],
            TextureFormat::Rgba8UnormSrgb,
            (0..11).map(mip).collect(),
        );
        write(dir, [("wall".to_owned(), picture)]);
        let mips = MipPlugin {
            settings: MipSettings {
                cached: 0.0,
                ..MipSettings::default()
            },
            ..MipPlugin::default()
        };
        let mut app = studio(dir, Transform::from_xyz(0.0, 0.0, FAR), |app| {
            let assets = SeamlessAssetPlugin {
                // Tests keep all cores busy.
                background: false,
                ..SeamlessAssetPlugin::default()
            };
            app.add_plugins((SeamlessPlugins.set(assets), MaterialPlugin::<Wall>::default()))
                .add_plugins((mips, fade))
                .add_mip_material::<Wall>();
        });
        app.insert_resource(StreamingTime::stopped());
        app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        app.world_mut()
            .entity_mut(camera)
            .insert((close_up(), Tonemapping::None));
        let picture = load(&mut app, &["wall"]).remove(0);
        let world = app.world_mut();
        let mut fades = world.resource_mut::<MipFades>();
        let wall = Wall {
            fades: fades.buffer().clone(),
            place: fades.place(picture.id()),
            picture,
        };
        assert!(wall.place > 0, "it streams");
        let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(1.0, 1.0));
        let wall = world.resource_mut::<Assets<Wall>>().add(wall);
        world.spawn((Mesh3d(mesh), MeshMaterial3d(wall)));
        Self { app, camera }
    }

    fn look(&mut self, away: f32) {
        let at = Transform::from_xyz(0.0, 0.0, away);
        self.app.world_mut().entity_mut(self.camera).insert(at);
    }

    /// What the middle of the wall shows in the next frame.
    fn frame(&mut self) -> [u8; 4] {
        thread::sleep(Duration::from_millis(1));
        let mut time = self.app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs(1) / FPS);
        next_frame(&mut self.app).picture.pixel(SIDE / 2, SIDE / 2)
    }

    /// All that is shown until nothing goes on, one after the other.
    fn settle(&mut self) -> Vec<[u8; 4]> {
        let (mut shown, mut quiet) = (Vec::new(), 0);
        while quiet < QUIET {
            shown.push(self.frame());
            let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
            quiet = if is_settled.expect("it runs") { quiet + 1 } else { 0 };
            assert!(shown.len() < 5000, "it does not settle");
        }
        shown
    }
}

/// By how much a channel changes from one to the next at most.
fn jump(shown: &[[u8; 4]]) -> u8 {
    let jumps = shown.windows(2).map(|pair| {
        let apart = pair[0].iter().zip(&pair[1]).map(|(a, b)| a.abs_diff(*b));
        apart.max().unwrap_or_default()
    });
    jumps.max().unwrap_or_default()
}

#[test]
fn a_shader_that_asks_for_it_shows_finer_mips_little_by_little() {
    if !has_driver() {
        return;
    }
    // Mip 4 is all that is there from afar. A metre away, a metre has 309 pixels: a bit finer than mip 2.
    for (seconds, is_soft) in [(1.0, true), (0.0, false)] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut room = Room::new(dir.path(), MipFadePlugin { seconds, ..default() });
        room.settle();
        room.look(1.0);
        let shown = room.settle();
        let [first, last] = [shown[0], shown[shown.len() - 1]];
        let is_near = |found: [u8; 4], expected: [u8; 4]| jump(&[found, expected]) <= 4;
        assert!(is_near(first, colour(4)), "{first:?}");
        assert!(jump(&[last, colour(4)]) > 60, "it is finer than that: {last:?}");
        assert_eq!(jump(&shown) <= 16, is_soft, "{shown:?}");
    }
}
