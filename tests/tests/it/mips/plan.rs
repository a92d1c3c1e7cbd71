//! An app in which textures become finer as the camera comes, and coarser when it goes.

use std::{fs, path::Path, thread, time::Duration};

use bevy::{
    ecs::system::RunSystemOnce,
    prelude::*,
    render::render_resource::{AsBindGroup, TextureFormat},
    shader::ShaderRef,
};
use bevy_seamless::{
    asset::{ObjectRequest, Streamer},
    prelude::*,
    render::{
        SeamlessRenderApp,
        mip::{MipForce, MipPlugin, MipPool, MipSettings, MipStats, MipTextures, MipWork, Mips, TouchAllMaterials},
    },
};
use seamless_tests::{
    app::{LOAD_LIMIT, run_until},
    picture::{Frame, SIDE, has_driver, next_frame, studio},
};

use super::stage::{PACKAGE, image, write};

/// Paintings, each a square metre, ten metres apart.
const PAINTINGS: usize = 4;
/// Of each texture, in texels: mips 0 to 3 are payloads.
const TEXTURE: u32 = 1024;
const MIPS: u8 = 11;
const FLOOR: u8 = 4;
/// As many bytes as a painting takes from a mip on, less than.
const WHOLE: u64 = 4 * 1024 * 1024 * 4 / 3;

/// A material whose images only reflection finds, and that is not bindless anywhere.
#[derive(Asset, AsBindGroup, Reflect, Clone)]
struct Plain {
    #[texture(0)]
    #[sampler(1)]
    picture: Handle<Image>,
}

const SHADER: &str = "
#import bevy_pbr::forward_io::VertexOutput
@group(#{MATERIAL_BIND_GROUP}) @binding(0) var picture: texture_2d<f32>;
@group(#{MATERIAL_BIND_GROUP}) @binding(1) var picture_sampler: sampler;
@fragment
fn fragment(in: VertexOutput) -> @location(0) vec4<f32> {
    return textureSample(picture, picture_sampler, in.uv);
}
";

impl Material for Plain {
    fn fragment_shader() -> ShaderRef {
        "plain.wgsl".into()
    }
}

fn colour(mip: u8) -> [u8; 4] {
    [250 - 20 * mip, 40 + 50 * (mip % 4), 60 + 15 * mip, 255]
}

/// Each mip has its own colour.
fn painting() -> Image {
    let mip = |mip: u8| {
        let side = (TEXTURE >> mip).max(1) as usize;
        colour(mip).repeat(side * side)
    };
    let size = [TEXTURE, TEXTURE, 1];
    image(size, TextureFormat::Rgba8UnormSrgb, (0..MIPS).map(mip).collect())
}

/// A hall of paintings.
struct Hall {
    app: App,
    /// The number of each painting's texture.
    textures: Vec<u32>,
    camera: Entity,
    paintings: Vec<Entity>,
    /// The pool has become smaller: what is too much goes one by one, each with a copy.
    is_too_much: bool,
}

impl Hall {
    fn new(dir: &Path, settings: MipSettings) -> Self {
        Self::with(dir, settings, |_| {})
    }

    fn with(dir: &Path, settings: MipSettings, configure: fn(&mut App)) -> Self {
        fs::write(dir.join("plain.wgsl"), SHADER).expect("it is written");
        write(dir, (0..PAINTINGS).map(|number| (format!("t{number}"), painting())));
        let mut app = studio(dir, Transform::from_xyz(0.0, 0.0, 1000.0), |app| {
            let assets = SeamlessAssetPlugin {
                // Tests keep all cores busy.
                background: false,
                ..SeamlessAssetPlugin::default()
            };
            let mips = MipPlugin {
                settings,
                ..MipPlugin::default()
            };
            app.add_plugins((SeamlessPlugins.set(assets), MaterialPlugin::<Plain>::default(), mips))
                .add_streamed_material::<Plain>();
            configure(app);
        });
        // On a busy machine, the threads that read files get next to nothing of it.
        app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        app.world_mut()
            .entity_mut(camera)
            .insert(bevy::core_pipeline::tonemapping::Tonemapping::None);
        let mut hall = Self {
            app,
            textures: vec![],
            camera,
            paintings: vec![],
            is_too_much: false,
        };
        hall.hang();
        hall
    }

    /// Half of the paintings have Bevy's material, half one of the game's.
    fn hang(&mut self) {
        let request = ObjectRequest::new((0..PAINTINGS).map(|number| format!("{PACKAGE}#t{number}")));
        let load = self.app.world_mut().resource_mut::<Streamer>().load_objects(request);
        let has_come = run_until(&mut self.app, LOAD_LIMIT, |_| load.is_finished());
        assert!(has_come, "they come");
        let handles = load.result().expect("it is finished").expect("it is sound");
        let world = self.app.world_mut();
        let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(1.0, 1.0));
        for (number, handle) in handles.iter().enumerate() {
            let image: Handle<Image> = handle.clone().typed();
            let texture = world.resource::<MipTextures>().number(image.id());
            self.textures.push(texture.expect("it streams"));
            let at = Transform::from_xyz(10.0 * number as f32, 0.0, 0.0);
            let mut painting = world.spawn((Mesh3d(mesh.clone()), at));
            self.paintings.push(painting.id());
            if number % 2 == 0 {
                let material = StandardMaterial {
                    base_color_texture: Some(image),
                    unlit: true,
                    ..default()
                };
                let material =
                    painting.world_scope(|world| world.resource_mut::<Assets<StandardMaterial>>().add(material));
                painting.insert(MeshMaterial3d(material));
            } else {
                let material = Plain { picture: image };
                let material = painting.world_scope(|world| world.resource_mut::<Assets<Plain>>().add(material));
                painting.insert(MeshMaterial3d(material));
            }
        }
    }

    /// The camera looks at a painting from so many metres away.
    fn look(&mut self, painting: usize, away: f32) {
        let at = Transform::from_xyz(10.0 * painting as f32, 0.0, away);
        self.app.world_mut().entity_mut(self.camera).insert(at);
    }

    /// A frame, in which the pool holds, and what is drawn is a painting's colour or the wall's.
    fn frame(&mut self) -> Frame {
        thread::sleep(Duration::from_millis(1));
        let frame = next_frame(&mut self.app);
        let pool = self.app.world().resource::<MipSettings>().pool;
        let sums = self.app.world().resource::<MipPool>().ledger.sums();
        assert!(sums.total() <= pool || self.is_too_much, "{sums:?}");
        frame
    }

    /// Frames until nothing has gone on for a while.
    fn settle(&mut self) -> Frame {
        let mut quiet = 0;
        for _ in 0..20_000 {
            let frame = self.frame();
            let world = self.app.world();
            let (ledger, work) = (&world.resource::<MipPool>().ledger, world.resource::<MipWork>());
            let is_quiet = ledger.changing().is_empty() && ledger.retiring() == 0 && work.is_idle();
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if quiet == 30 {
                let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
                assert!(is_settled.expect("it runs"));
                return frame;
            }
        }
        panic!("it does not settle: {:?}", self.tops());
    }

    fn tops(&self) -> Vec<u8> {
        let ledger = &self.app.world().resource::<MipPool>().ledger;
        let tops = self.textures.iter().map(|texture| ledger.get(*texture));
        tops.map(|of| of.expect("it is there").top).collect()
    }
}

#[track_caller]
fn assert_shows(frame: &Frame, mip: u8) {
    let (found, expected) = (frame.picture.pixel(SIDE / 2, SIDE / 2), colour(mip));
    let is_near = found
        .iter()
        .zip(expected)
        .all(|(found, expected)| found.abs_diff(expected) <= 2);
    assert!(is_near, "{found:?}, and mip {mip} is {expected:?}");
}

/// No copy is left for a time, and little of the pool is free.
fn settings(pool: u64) -> MipSettings {
    MipSettings {
        pool,
        headroom: 1 << 20,
        cached: 0.0,
        ..MipSettings::default()
    }
}

#[test]
fn textures_are_fine_where_the_camera_is_and_coarse_where_it_was() {
    if has_driver() {
        walk(|_| {});
    }
}

/// As with bindless materials, wherever this runs.
#[test]
fn so_they_are_where_materials_are_touched() {
    if has_driver() {
        walk(|app| {
            app.init_resource::<TouchAllMaterials>();
        });
    }
}

fn walk(configure: fn(&mut App)) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::with(dir.path(), settings(64 << 20), configure);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS], "a kilometre away");
    // 309 pixels a metre at one metre: a texel a pixel at 0.3 m, of one material, then of the other.
    for painting in [0, 1, 2] {
        hall.look(painting, 0.25);
        assert_shows(&hall.settle(), 0);
        let mut expected = [FLOOR; PAINTINGS];
        expected[painting] = 0;
        assert_eq!(hall.tops(), expected);
    }
    // Mips 1.7 and 2.7: what is sampled is there, and nothing else.
    hall.look(3, 1.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
    hall.look(3, 2.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2]);
    // Each frame on the way there and back shows a mip that is there, and none is black.
    for step in (0..40).chain((0..40).rev()) {
        hall.look(2, 4.0 - step as f32 * 0.0925);
        let pixel = hall.frame().picture.pixel(SIDE / 2, SIDE / 2);
        assert!(pixel[0] > 80 && pixel[3] == 255, "step {step}: {pixel:?}");
    }
    hall.look(0, 1000.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
}

#[test]
fn a_pool_that_is_too_small_for_all_holds() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(4 * WHOLE));
    // All paintings are beside each other, before the camera.
    for (number, painting) in hall.paintings.clone().into_iter().enumerate() {
        let at = Transform::from_xyz(number as f32 * 0.05, 0.0, -0.01 * number as f32);
        hall.app.world_mut().entity_mut(painting).insert(at);
    }
    hall.look(0, 0.25);
    hall.settle();
    let tops = hall.tops();
    assert!(
        tops.iter().any(|top| *top > 0),
        "four, with a copy, are more than the pool: {tops:?}"
    );
    assert!(tops.iter().all(|top| *top < FLOOR), "and each has something: {tops:?}");
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 16 * WHOLE;
    hall.settle();
    assert_eq!(hall.tops(), [0; PAINTINGS]);
    // A smaller one holds again, and as much is shown.
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 4 * WHOLE;
    hall.is_too_much = true;
    hall.settle();
    let sums = hall.app.world().resource::<MipPool>().ledger.sums();
    assert!(sums.total() <= 4 * WHOLE, "{sums:?}");
    assert!(hall.tops().iter().all(|top| *top < FLOOR), "{:?}", hall.tops());
}

#[test]
fn at_rest_nothing_is_done() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.look(1, 0.25);
    let settled = hall.settle();
    for _ in 0..60 {
        hall.app.world_mut().clear_trackers();
        let frame = hall.frame();
        assert!(frame.picture == settled.picture);
        let world = hall.app.world();
        assert!(world.resource::<MipWork>().commands().is_empty());
        assert!(!world.is_resource_changed::<Assets<StandardMaterial>>());
        assert!(!world.is_resource_changed::<Assets<Plain>>());
        assert!(!world.is_resource_changed::<Assets<Image>>());
    }
}

#[test]
fn what_is_forced_is_fine_from_afar() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.settle();
    let force = MipForce::default();
    hall.app.world_mut().entity_mut(hall.paintings[1]).insert(force);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, 0, FLOOR, FLOOR]);
    let stats = hall.app.world().resource::<MipStats>();
    assert_eq!(
        (stats.swaps, stats.textures, stats.under_resolved),
        (2, 4, 0),
        "in two steps"
    );
    hall.app.world_mut().entity_mut(hall.paintings[1]).remove::<MipForce>();
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
}
