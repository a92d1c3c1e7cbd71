//! A hall of paintings that stream. See [`Hall`].

use std::{fs, path::Path, thread, time::Duration};

use bevy::{
    ecs::system::RunSystemOnce,
    image::{ImageSampler, ImageSamplerDescriptor},
    prelude::*,
    render::{
        render_resource::{AsBindGroup, TextureFormat},
        renderer::RenderDevice,
    },
    shader::ShaderRef,
};
use bevy_seamless::{
    prelude::*,
    render::{
        SeamlessRenderApp,
        mip::{MipPlugin, MipPool, MipSettings, MipTextures, MipWork, Mips},
    },
};
use seamless_tests::{
    footprint::Allocated,
    picture::{Frame, close_up, next_frame, studio_sampling},
};

use super::stage::{QUIET, image, load, write};

/// Paintings, each a square metre, ten metres apart.
pub const PAINTINGS: usize = 4;
/// Of each texture, in texels: mips 0 to 3 are payloads.
const TEXTURE: u32 = 1024;
pub const MIPS: u8 = 11;
pub const FLOOR: u8 = 4;
/// A material whose images only reflection finds, and that is not bindless anywhere.
#[derive(Asset, AsBindGroup, Reflect, Clone)]
pub struct Plain {
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

pub fn colour(mip: u8) -> [u8; 4] {
    [250 - 20 * mip, 40 + 50 * (mip % 4), 60 + 15 * mip, 255]
}

/// Each mip has its own colour.
fn painting() -> Image {
    let mip = |mip: u8| {
        let side = (TEXTURE >> mip).max(1) as usize;
        colour(mip).repeat(side * side)
    };
    let size = [TEXTURE, TEXTURE, 1];
    let painting = image(size, TextureFormat::Rgba8UnormSrgb, (0..MIPS).map(mip).collect());
    Image {
        sampler: ImageSampler::Default,
        ..painting
    }
}

/// A hall of paintings.
pub struct Hall {
    pub app: App,
    /// The number of each painting's texture.
    pub textures: Vec<u32>,
    pub camera: Entity,
    pub paintings: Vec<Entity>,
    /// The pool has become smaller: what is too much goes one by one, each with a copy.
    pub is_too_much: bool,
}

impl Hall {
    pub fn new(dir: &Path, settings: MipSettings) -> Self {
        Self::with(dir, settings, |_| {})
    }

    pub fn with(dir: &Path, settings: MipSettings, configure: fn(&mut App)) -> Self {
        Self::sampling(ImageSamplerDescriptor::linear(), dir, settings, configure)
    }

    /// With this sampler for all paintings.
    pub fn sampling(
        default_sampler: ImageSamplerDescriptor,
        dir: &Path,
        settings: MipSettings,
        configure: fn(&mut App),
    ) -> Self {
        fs::write(dir.join("plain.wgsl"), SHADER).expect("it is written");
        paint(dir);
        let camera = Transform::from_xyz(0.0, 0.0, 1000.0);
        let mut app = studio_sampling(default_sampler, dir, camera, |app| {
            let mips = MipPlugin {
                settings,
                ..MipPlugin::default()
            };
            add_plugins(app, mips);
            configure(app);
        });
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        app.world_mut()
            .entity_mut(camera)
            .insert((close_up(), bevy::core_pipeline::tonemapping::Tonemapping::None));
        let (textures, paintings) = hang(&mut app);
        Self {
            app,
            textures,
            camera,
            paintings,
            is_too_much: false,
        }
    }

    /// The camera looks at a painting from so many metres away.
    pub fn look(&mut self, painting: usize, away: f32) {
        self.app
            .world_mut()
            .entity_mut(self.camera)
            .insert(before(painting, away));
    }

    /// A frame, in which the pool holds, by the books and by what wgpu has allocated.
    pub fn frame(&mut self) -> Frame {
        thread::sleep(Duration::from_millis(1));
        let frame = next_frame(&mut self.app);
        let pool = self.app.world().resource::<MipSettings>().pool;
        let sums = self.app.world().resource::<MipPool>().ledger.sums();
        assert!(sums.total() <= pool || self.is_too_much, "{sums:?}");
        let device = self.app.world().resource::<RenderDevice>();
        let booked = Allocated::must_be_booked(device, "seamless_mip", sums.held());
        assert_eq!(booked, Ok(()), "wgpu has more than the books: {sums:?}");
        frame
    }

    /// Frames until nothing has gone on for a while.
    pub fn settle(&mut self) -> Frame {
        let mut quiet = 0;
        for _ in 0..20_000 {
            let frame = self.frame();
            let world = self.app.world();
            let (ledger, work) = (&world.resource::<MipPool>().ledger, world.resource::<MipWork>());
            let is_quiet = ledger.changing().is_empty() && ledger.retiring() == 0 && work.is_idle();
            let is_settled = self.app.world_mut().run_system_once(|mips: Mips| mips.is_settled());
            quiet = if is_quiet && is_settled.expect("it runs") {
                quiet + 1
            } else {
                0
            };
            if quiet == QUIET {
                return frame;
            }
        }
        panic!("it does not settle: {:?}", self.tops());
    }

    pub fn tops(&self) -> Vec<u8> {
        tops(self.app.world(), &self.textures)
    }
}

/// What the hall needs, with or without somebody who draws it.
pub fn add_plugins(app: &mut App, mips: MipPlugin) {
    let assets = SeamlessAssetPlugin {
        // Tests keep all cores busy.
        background: false,
        ..SeamlessAssetPlugin::default()
    };
    app.add_plugins((SeamlessPlugins.set(assets), MaterialPlugin::<Plain>::default(), mips))
        .add_streamed_material::<Plain>();
    // On a busy machine, the threads that read files get next to nothing of it.
    app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
}

/// Writes the package of the paintings.
pub fn paint(dir: &Path) {
    write(dir, (0..PAINTINGS).map(|number| (format!("t{number}"), painting())));
}

/// So many metres in front of a painting.
pub fn before(painting: usize, away: f32) -> Transform {
    Transform::from_xyz(10.0 * painting as f32, 0.0, away)
}

/// The finest mips of textures.
pub fn tops(world: &World, textures: &[u32]) -> Vec<u8> {
    let ledger = &world.resource::<MipPool>().ledger;
    let tops = textures.iter().map(|texture| ledger.get(*texture));
    tops.map(|of| of.expect("it is there").top).collect()
}

/// Loads the paintings, and hangs them up, half of them with Bevy's material, half with one of the game's: their textures' numbers, and who they are.
pub fn hang(app: &mut App) -> (Vec<u32>, Vec<Entity>) {
    let names: Vec<String> = (0..PAINTINGS).map(|number| format!("t{number}")).collect();
    let images = load(app, &names);
    let world = app.world_mut();
    let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(1.0, 1.0));
    let hung = images.into_iter().enumerate().map(|(number, image)| {
        let texture = world.resource::<MipTextures>().number(image.id());
        let mut painting = world.spawn((Mesh3d(mesh.clone()), before(number, 0.0)));
        if number % 2 == 0 {
            let material = StandardMaterial {
                base_color_texture: Some(image),
                unlit: true,
                ..default()
            };
            let material = painting.world_scope(|world| world.resource_mut::<Assets<StandardMaterial>>().add(material));
            painting.insert(MeshMaterial3d(material));
        } else {
            let material = Plain { picture: image };
            let material = painting.world_scope(|world| world.resource_mut::<Assets<Plain>>().add(material));
            painting.insert(MeshMaterial3d(material));
        }
        (texture.expect("it streams"), painting.id())
    });
    hung.unzip()
}
