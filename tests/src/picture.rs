//! Pictures rendered off-screen, one of every frame, with what the render world holds in that frame.

mod pixels;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use bevy::{
    app::{PluginGroupBuilder, PluginsState},
    asset::RenderAssetUsages,
    camera::RenderTarget,
    image::ImageSamplerDescriptor,
    pbr::{PbrPlugin, PreparedMaterial, RenderMeshInstances},
    prelude::*,
    render::{
        Render, RenderApp, RenderPlugin, RenderSystems,
        erased_render_asset::ErasedRenderAssets,
        mesh::RenderMesh,
        pipelined_rendering::PipelinedRenderingPlugin,
        render_asset::RenderAssets,
        render_resource::{
            BufferDescriptor, BufferUsages, CommandEncoderDescriptor, MapMode, PipelineCache, PollType,
            TexelCopyBufferInfo, TexelCopyBufferLayout, TextureFormat, TextureUsages, WgpuFeatures,
        },
        renderer::{RenderDevice, RenderQueue},
        settings::{RenderCreation, WgpuSettings},
        texture::GpuImage,
    },
};
use wgpu::Backends;

pub use self::pixels::{Difference, Picture};

use crate::{
    app::{LOAD_LIMIT, default_plugins, on_one_thread},
    skip::skipped_unless_required,
};

/// Width and height of pictures, in pixels. A row of it is a multiple of 256 bytes, as a copy to a buffer needs. No more than
/// tests need to see: a driver in software takes long for each.
pub const SIDE: u32 = 128;

/// The same of a [`studio_large`]: for what is seen as a whole.
pub const LARGE: u32 = 2 * SIDE;

/// Whether a Vulkan driver is there, a software one for instance. Where it is not, says on stderr that a test is skipped.
///
/// # Panics
/// When there is none and the environment variable `SEAMLESS_REQUIRE_GPU` is `1`.
#[must_use]
pub fn has_driver() -> bool {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.backends = Backends::VULKAN;
    let adapters = bevy::tasks::block_on(wgpu::Instance::new(descriptor).enumerate_adapters(Backends::VULKAN));
    if !adapters.is_empty() {
        return true;
    }
    let why = "no Vulkan driver (Debian's `mesa-vulkan-drivers` and `libvulkan1` bring one in software)";
    skipped_unless_required("SEAMLESS_REQUIRE_GPU", why);
    false
}

/// What one frame showed, and what the render world held when it was over.
#[derive(Clone)]
pub struct Frame {
    /// What the camera saw.
    pub picture: Picture,
    /// Mesh instances that the render world had for this frame.
    pub instances: usize,
    /// Pipelines that wait for their shaders; what they draw is missing.
    pub waiting: usize,
    /// Assets that are on the GPU.
    pub prepared: Prepared,
}

/// How many assets are prepared for rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// Meshes.
    pub meshes: usize,
    /// Images; Bevy's own and the render target too.
    pub images: usize,
    /// Materials of all types.
    pub materials: usize,
}

/// The render target, in both worlds.
#[derive(Resource, Clone)]
struct Target(Handle<Image>);

/// What was rendered last and nobody has taken yet, in both worlds. They may be on two threads.
#[derive(Resource, Clone, Default)]
struct Shown(Arc<Mutex<Option<Frame>>>);

impl Shown {
    fn put(&self, frame: Frame) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(frame);
    }

    fn take(&self) -> Option<Frame> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How an app renders.
struct Renderer {
    /// Runs before Bevy's plugins are added.
    prepare: fn(&mut App),
    /// Which of them are.
    plugins: fn(PluginGroupBuilder) -> PluginGroupBuilder,
    backends: Option<Backends>,
    /// Width and height of its pictures.
    side: u32,
    /// What its device does not have, though the driver may.
    disabled: Option<WgpuFeatures>,
    images: ImagePlugin,
    compiles_at_once: bool,
    is_pipelined: bool,
    /// Whether its systems run on the calling thread: they are short, and other tests keep the other cores busy, so to wake threads for them would
    /// take most of a frame.
    is_on_one_thread: bool,
}

impl Default for Renderer {
    fn default() -> Self {
        Self {
            prepare: |_| {},
            plugins: |plugins| plugins,
            backends: Some(Backends::VULKAN),
            side: SIDE,
            disabled: None,
            images: ImagePlugin::default(),
            compiles_at_once: true,
            is_pipelined: false,
            is_on_one_thread: true,
        }
    }
}

/// An app without a window that reads assets from `asset_dir` and renders what `camera` sees, lit by one directional light.
/// Main world and render world take turns in `update`, on one thread, and pipelines are compiled at once, so a frame is done when it returns.
///
/// `configure` runs after `DefaultPlugins` and before `finish`.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio(asset_dir: &Path, camera: Transform, configure: impl FnOnce(&mut App)) -> App {
    furnished(Renderer::default(), asset_dir, camera, configure)
}

/// As [`studio`]; `prepare` runs before Bevy's plugins are added.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_after(
    prepare: fn(&mut App),
    asset_dir: &Path,
    camera: Transform,
    configure: impl FnOnce(&mut App),
) -> App {
    let renderer = Renderer {
        prepare,
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// As [`studio`], with another sampler for images that have none of their own.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_sampling(
    default_sampler: ImageSamplerDescriptor,
    asset_dir: &Path,
    camera: Transform,
    configure: impl FnOnce(&mut App),
) -> App {
    let renderer = Renderer {
        images: ImagePlugin { default_sampler },
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// As [`studio`], with [`LARGE`] pictures, and systems on all threads, as in games.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_large(asset_dir: &Path, camera: Transform, configure: impl FnOnce(&mut App)) -> App {
    let renderer = Renderer {
        side: LARGE,
        is_on_one_thread: false,
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// As [`studio`], on a device without these features, which the driver may have.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_without(
    features: WgpuFeatures,
    asset_dir: &Path,
    camera: Transform,
    configure: impl FnOnce(&mut App),
) -> App {
    let renderer = Renderer {
        disabled: Some(features),
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// As [`studio`], with pipelines that are compiled on other threads, as in games: what they draw is missing until they are there.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_compiling_later(asset_dir: &Path, camera: Transform, configure: impl FnOnce(&mut App)) -> App {
    let renderer = Renderer {
        compiles_at_once: false,
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// As [`studio`], with a renderer on a thread of its own, as in games: it draws a frame while the main world makes the next one, and nobody gets at its world.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_pipelined(asset_dir: &Path, camera: Transform, configure: impl FnOnce(&mut App)) -> App {
    let renderer = Renderer {
        is_pipelined: true,
        is_on_one_thread: false,
        ..Renderer::default()
    };
    furnished(renderer, asset_dir, camera, configure)
}

/// What is in the middle of a picture twice as wide and high: things are as large in pixels as there.
#[must_use]
pub fn close_up() -> Projection {
    let usual = PerspectiveProjection::default();
    Projection::Perspective(PerspectiveProjection {
        fov: 2.0 * ((usual.fov / 2.0).tan() / 2.0).atan(),
        ..usual
    })
}

fn furnished(renderer: Renderer, asset_dir: &Path, camera: Transform, configure: impl FnOnce(&mut App)) -> App {
    let side = renderer.side;
    let mut app = start(renderer, asset_dir, |app| {
        configure(app);
        // Later, the render world may be on another thread.
        add_target(app, side);
    });
    let target = target_of(&app);
    app.world_mut().spawn((Camera3d::default(), Msaa::Off, target, camera));
    let light = Transform::from_xyz(2.0, 4.0, 3.0).looking_at(Vec3::ZERO, Vec3::Y);
    app.world_mut().spawn((DirectionalLight::default(), light));
    app
}

/// As [`studio`], for a game of sprites alone: without Bevy's `PbrPlugin`, and with a [`Camera2d`] that sees a world unit as a pixel.
///
/// # Panics
/// When there is no Vulkan driver; see [`has_driver`].
pub fn studio_flat(asset_dir: &Path, configure: impl FnOnce(&mut App)) -> App {
    let renderer = Renderer {
        plugins: |plugins| plugins.disable::<PbrPlugin>(),
        ..Renderer::default()
    };
    let mut app = start(renderer, asset_dir, |app| {
        configure(app);
        add_target(app, SIDE);
    });
    let target = target_of(&app);
    app.world_mut().spawn((Camera2d, Msaa::Off, target));
    app
}

fn target_of(app: &App) -> RenderTarget {
    RenderTarget::Image(app.world().resource::<Target>().0.clone().into())
}

/// As [`studio`], without camera and light; and without a renderer, where `backends` is `None`.
pub fn windowless(asset_dir: &Path, backends: Option<Backends>, configure: impl FnOnce(&mut App)) -> App {
    let renderer = Renderer {
        backends,
        is_on_one_thread: false,
        ..Renderer::default()
    };
    start(renderer, asset_dir, configure)
}

fn start(renderer: Renderer, asset_dir: &Path, configure: impl FnOnce(&mut App)) -> App {
    let mut app = App::new();
    (renderer.prepare)(&mut app);
    let plugins = (renderer.plugins)(rendered_plugins(&renderer, asset_dir)).set(renderer.images);
    app.add_plugins(if renderer.is_pipelined {
        plugins
    } else {
        plugins.disable::<PipelinedRenderingPlugin>()
    });
    configure(&mut app);
    while app.plugins_state() == PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    if renderer.is_on_one_thread {
        let sub_apps = app.sub_apps_mut();
        let worlds = sub_apps.sub_apps.values_mut().chain([&mut sub_apps.main]);
        worlds.for_each(|app| on_one_thread(app.world_mut()));
    }
    app
}

fn rendered_plugins(renderer: &Renderer, asset_dir: &Path) -> PluginGroupBuilder {
    let settings = WgpuSettings {
        backends: renderer.backends,
        disabled_features: renderer.disabled,
        ..default()
    };
    let render = RenderPlugin {
        render_creation: RenderCreation::Automatic(Box::new(settings)),
        synchronous_pipeline_compilation: renderer.compiles_at_once,
        ..default()
    };
    default_plugins(asset_dir, render)
}

fn add_target(app: &mut App, side: u32) {
    let mut image = Image::new_target_texture(side, side, TextureFormat::Rgba8UnormSrgb, None);
    image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    image.asset_usage = RenderAssetUsages::all();
    let target = app.world_mut().resource_mut::<Assets<Image>>().add(image);
    let (target, shown) = (Target(target), Shown::default());
    app.insert_resource(target.clone()).insert_resource(shown.clone());
    app.sub_app_mut(RenderApp)
        .insert_resource(target)
        .insert_resource(shown)
        .add_systems(Render, note_frame.in_set(RenderSystems::Cleanup));
}

/// Updates `app` once, and returns what it rendered; where the renderer has a thread of its own, what that has shown since, after two updates at most.
///
/// # Panics
/// When nothing was rendered.
#[must_use]
pub fn next_frame(app: &mut App) -> Frame {
    let shown = app.world().resource::<Shown>().clone();
    shown.take();
    let mut next = || {
        app.update();
        shown.take()
    };
    let frame = next().or_else(next);
    frame.expect("the render target is there from the first frame on")
}

/// The first frame that is complete and equal to the one before it.
///
/// # Panics
/// When there is none for [`LOAD_LIMIT`].
#[must_use]
pub fn settled(app: &mut App) -> Frame {
    let start = Instant::now();
    let mut last = next_frame(app);
    while start.elapsed() < LOAD_LIMIT {
        let frame = next_frame(app);
        if frame.waiting == 0 && frame.picture.is_drawn() && frame.picture == last.picture {
            return frame;
        }
        last = frame;
        // Shaders are loaded on another thread.
        thread::sleep(Duration::from_millis(1));
    }
    panic!("the picture does not settle");
}

fn note_frame(
    target: Res<Target>,
    device: Res<RenderDevice>,
    queue: Res<RenderQueue>,
    images: Res<RenderAssets<GpuImage>>,
    meshes: Res<RenderAssets<RenderMesh>>,
    materials: Option<Res<ErasedRenderAssets<PreparedMaterial>>>,
    instances: Option<Res<RenderMeshInstances>>,
    pipelines: Res<PipelineCache>,
    shown: Res<Shown>,
) {
    let Some(image) = images.get(&target.0) else { return };
    shown.put(Frame {
        picture: read_back(&device, &queue, image),
        instances: match instances.as_deref() {
            Some(RenderMeshInstances::CpuBuilding(instances)) => instances.len(),
            Some(RenderMeshInstances::GpuBuilding(instances)) => instances.len(),
            None => 0,
        },
        waiting: pipelines.waiting_pipelines().count(),
        prepared: Prepared {
            meshes: meshes.iter().count(),
            images: images.iter().count(),
            materials: materials.map_or(0, |materials| materials.iter().count()),
        },
    });
}

/// Copies the texture and waits for it, and so for all that was rendered before.
fn read_back(device: &RenderDevice, queue: &RenderQueue, image: &GpuImage) -> Picture {
    let size = image.texture.size();
    let buffer = device.create_buffer(&BufferDescriptor {
        label: None,
        size: u64::from(size.width * size.height * 4),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let layout = TexelCopyBufferLayout {
        bytes_per_row: Some(size.width * 4),
        ..default()
    };
    encoder.copy_texture_to_buffer(
        image.texture.as_image_copy(),
        TexelCopyBufferInfo {
            buffer: &buffer,
            layout,
        },
        size,
    );
    queue.submit([encoder.finish()]);
    let (sender, receiver) = mpsc::channel();
    buffer.slice(..).map_async(MapMode::Read, move |mapped| {
        sender.send(mapped).expect("the receiver waits");
    });
    device.poll(PollType::wait_indefinitely()).expect("the device works");
    receiver
        .recv()
        .expect("the poll has called back")
        .expect("the buffer is mapped");
    Picture::new(buffer.slice(..).get_mapped_range().to_vec())
}
