//! A wall of textures that stream from a package, each as fine as a test says. See [`Stage`].

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use bevy::{
    asset::RenderAssetUsages,
    image::ImageSampler,
    prelude::*,
    render::{
        RenderApp,
        error_handler::RenderErrorHandler,
        render_asset::RenderAssets,
        render_resource::{
            BufferDescriptor, BufferUsages, CommandEncoderDescriptor, Extent3d, MapMode, Origin3d, PollType,
            TexelCopyBufferInfo, TexelCopyBufferLayout, TexelCopyTextureInfo, TextureAspect, TextureDataOrder,
            TextureDescriptor, TextureDimension, TextureFormat, TextureUsages, WgpuFeatures,
        },
        renderer::{RenderDevice, RenderQueue},
        texture::GpuImage,
    },
};
use bevy_seamless::{
    asset::{ObjectRequest, Streamer},
    prelude::*,
    render::mip::{ChangeId, MipChain, MipPlugin, MipPool, MipRead, MipSwap, MipSystems, MipTextures, MipWork},
};
use seamless_tests::{
    app::{LOAD_LIMIT, headless_with, run_until},
    handmade::{add_asset, new_package},
    picture::{Frame, next_frame, settled, studio_pipelined, studio_without},
};

pub const PACKAGE: &str = "textures.pkg";
/// So many frames in a row in which nothing goes on are enough: where materials are touched, textures are replaced in each fourth.
pub const QUIET: u32 = 12;

/// An image that the cooker marks: `pixels` has all mips, each with all layers, the finest first.
pub fn image(size: [u32; 3], format: TextureFormat, pixels: Vec<Vec<u8>>) -> Image {
    let [width, height, layers] = size;
    let mut image = Image::new_uninit(
        Extent3d {
            width,
            height,
            depth_or_array_layers: layers,
        },
        TextureDimension::D2,
        format,
        RenderAssetUsages::RENDER_WORLD,
    );
    image.texture_descriptor = TextureDescriptor {
        mip_level_count: pixels.len() as u32,
        // Tests look at those that are whole as well.
        usage: TextureUsages::TEXTURE_BINDING | TextureUsages::COPY_DST | TextureUsages::COPY_SRC,
        ..image.texture_descriptor
    };
    image.data_order = TextureDataOrder::MipMajor;
    image.sampler = ImageSampler::linear();
    image.data = Some(pixels.concat());
    image
}

/// Writes the package with these images.
pub fn write(dir: &Path, images: impl IntoIterator<Item = (String, Image)>) {
    write_as(dir, PACKAGE, images);
}

/// Writes a package of this name with these images.
pub fn write_as(dir: &Path, name: &str, images: impl IntoIterator<Item = (String, Image)>) {
    let app = headless_with(dir, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    let mut writer = new_package(&app, name);
    for (name, image) in images {
        add_asset(&app, &mut writer, &name, image);
    }
    fs::write(dir.join(name), writer.finish().expect("the package is small")).expect("it is written");
}

/// Loads images of the package.
pub fn load(app: &mut App, names: &[impl AsRef<str>]) -> Vec<Handle<Image>> {
    let paths = names.iter().map(|name| format!("{PACKAGE}#{}", name.as_ref()));
    let request = ObjectRequest::new(paths);
    let load = app.world_mut().resource_mut::<Streamer>().load_objects(request);
    assert!(run_until(app, LOAD_LIMIT, |_| load.is_finished()), "they come");
    let handles = load.result().expect("it is finished").expect("it is sound");
    handles.iter().map(|handle| handle.clone().typed()).collect()
}

/// A material that shows a 64th of its image.
pub fn unlit(image: Handle<Image>) -> StandardMaterial {
    StandardMaterial {
        base_color_texture: Some(image),
        unlit: true,
        uv_transform: bevy::math::Affine2::from_scale(Vec2::splat(1.0 / 64.0)),
        ..default()
    }
}

/// The middle of a tile, of so many in a row.
pub fn tile_at(place: usize, columns: usize) -> Vec3 {
    let side = 2.0 / columns as f32;
    let at = |index: usize| (index as f32 + 0.5) * side - 1.0;
    Vec3::new(at(place % columns), at(place / columns), 0.0)
}

/// Mips are planned while it is there; else, the test decides.
#[derive(Resource)]
pub struct Planned;

/// An app that draws a wall.
pub struct Stage {
    pub app: App,
}

impl Stage {
    /// An empty wall, and packages in `dir`.
    pub fn new(dir: &Path, configure: impl FnOnce(&mut App)) -> Self {
        Self::without(WgpuFeatures::empty(), dir, configure)
    }

    /// The same on a device without these features.
    pub fn without(features: WgpuFeatures, dir: &Path, configure: impl FnOnce(&mut App)) -> Self {
        Self::of(MipPlugin::default(), features, dir, configure)
    }

    /// The same with this plugin.
    pub fn of(mips: MipPlugin, features: WgpuFeatures, dir: &Path, configure: impl FnOnce(&mut App)) -> Self {
        Self::in_studio(
            |camera, furnish| studio_without(features, dir, camera, furnish),
            mips,
            configure,
        )
    }

    /// An empty wall that is drawn on another thread.
    pub fn pipelined(dir: &Path) -> Self {
        Self::in_studio(
            |camera, furnish| studio_pipelined(dir, camera, furnish),
            MipPlugin::default(),
            |_| {},
        )
    }

    fn in_studio<'a>(
        studio: impl FnOnce(Transform, Box<dyn FnOnce(&mut App) + 'a>) -> App,
        mips: MipPlugin,
        configure: impl FnOnce(&mut App) + 'a,
    ) -> Self {
        let furnish = |app: &mut App| {
            let assets = SeamlessAssetPlugin {
                // Tests keep all cores busy.
                background: false,
                // Levels can be hidden.
                sliced_levels: true,
                ..SeamlessAssetPlugin::default()
            };
            app.add_plugins((SeamlessPlugins.set(assets), mips))
                // Tests decide here.
                .configure_sets(PostUpdate, MipSystems::Plan.run_if(resource_exists::<Planned>));
            // What wgpu refuses ends the test.
            app.insert_resource(RenderErrorHandler(|error, _, _| panic!("{error:?}")));
            configure(app);
        };
        let mut app = studio(Transform::from_xyz(0.0, 0.0, 5.0), Box::new(furnish));
        // On a busy machine, the threads that read files get next to nothing of it.
        app.world_mut().resource_mut::<StreamingSettings>().read_timeout = Duration::ZERO;
        let orthographic = OrthographicProjection {
            scaling_mode: bevy::camera::ScalingMode::Fixed {
                width: 2.0,
                height: 2.0,
            },
            ..OrthographicProjection::default_3d()
        };
        let mut cameras = app.world_mut().query_filtered::<Entity, With<Camera3d>>();
        let camera = cameras.single(app.world()).expect("there is one camera");
        app.world_mut().entity_mut(camera).insert((
            Projection::Orthographic(orthographic),
            bevy::core_pipeline::tonemapping::Tonemapping::None,
        ));
        Self { app }
    }

    /// Loads images of the package.
    pub fn load(&mut self, names: &[&str]) -> Vec<Handle<Image>> {
        load(&mut self.app, names)
    }

    /// Tiles the wall with the images, `columns` in a row, each with a material of its own. Of each texture so little is on a tile that its finest mip is drawn.
    pub fn hang(&mut self, images: &[Handle<Image>], columns: usize) {
        self.hang_with(images, columns, unlit);
    }

    /// The same with other materials.
    pub fn hang_with<M: Material>(
        &mut self,
        images: &[Handle<Image>],
        columns: usize,
        material: fn(Handle<Image>) -> M,
    ) {
        let world = self.app.world_mut();
        let side = 2.0 / columns as f32;
        let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(side, side));
        for (place, image) in images.iter().enumerate() {
            let material = world.resource_mut::<Assets<M>>().add(material(image.clone()));
            let at = Transform::from_translation(tile_at(place, columns));
            world.spawn((Mesh3d(mesh.clone()), MeshMaterial3d(material), at));
        }
        let settled = settled(&mut self.app);
        assert_eq!(settled.instances, images.len());
    }

    /// The next frame, with what waits on other threads having a moment to come on.
    pub fn frame(&mut self) -> Frame {
        thread::sleep(Duration::from_millis(1));
        next_frame(&mut self.app)
    }

    pub fn number(&self, image: &Handle<Image>) -> u32 {
        let textures = self.app.world().resource::<MipTextures>();
        textures.number(image.id()).expect("it streams")
    }

    pub fn chain(&self, texture: u32) -> MipChain {
        let textures = self.app.world().resource::<MipTextures>();
        textures.get(texture).expect("it is there").chain().clone()
    }

    pub fn pool(&mut self) -> Mut<'_, MipPool> {
        self.app.world_mut().resource_mut()
    }

    pub fn top(&mut self, texture: u32) -> u8 {
        self.pool().ledger.get(texture).expect("it is there").top
    }

    /// Begins a change, and has its mips read.
    pub fn begin(&mut self, texture: u32, to: u8) -> ChangeId {
        let (chain, from) = (self.chain(texture), self.top(texture));
        let change = self.pool().ledger.begin(texture, &chain, to);
        let id = change.expect("it can begin").id;
        if to < from {
            let read = MipRead {
                id,
                texture,
                mips: to..from,
            };
            self.app.world_mut().resource_mut::<MipWork>().read(&read, 10.0);
        }
        id
    }

    /// Has a change that is staged carried out in the next frame.
    pub fn send(&mut self, texture: u32, id: ChangeId) {
        let resident = self.pool().ledger.get(texture).expect("it is there");
        let to = resident.change.expect("it changes").to;
        self.pool().ledger.sent(texture, id);
        let swap = MipSwap {
            id,
            texture,
            from: resident.top,
            to,
        };
        self.app.world_mut().resource_mut::<MipWork>().swap(&swap);
    }

    /// Updates until the changes are staged; with a look at each frame.
    pub fn until_staged(&mut self, changes: &[(u32, ChangeId)], mut look: impl FnMut(&Frame)) {
        let mut waiting = changes.to_vec();
        let start = Instant::now();
        while !waiting.is_empty() {
            let mut ready = Vec::new();
            self.app.world_mut().resource_mut::<MipWork>().take_ready(&mut ready);
            for (texture, id) in &ready {
                self.pool().ledger.staged(*texture, *id);
            }
            waiting.retain(|change| !ready.contains(change));
            look(&self.frame());
            assert!(start.elapsed() < LOAD_LIMIT, "{waiting:?} are not staged");
        }
    }

    /// Updates until nothing goes on, on the GPU neither; with a look at each frame.
    pub fn until_idle(&mut self, mut look: impl FnMut(&Frame)) {
        let start = Instant::now();
        loop {
            look(&self.frame());
            let sums = self.pool().ledger.sums();
            if sums.in_flight() + sums.reserved == 0 && self.app.world().resource::<MipWork>().is_idle() {
                return;
            }
            assert!(start.elapsed() < LOAD_LIMIT, "something goes on: {sums:?}");
        }
    }

    /// The texels of each mip that is on the GPU, tight, and the number of images that are there.
    pub fn texels(&mut self, image: impl Into<AssetId<Image>>) -> Vec<Vec<u8>> {
        let world = self.app.sub_app(RenderApp).world();
        let images = world.resource::<RenderAssets<GpuImage>>();
        let image = images.get(image).expect("it is on the GPU");
        let (device, queue) = (world.resource::<RenderDevice>(), world.resource::<RenderQueue>());
        let mips = 0..image.texture.mip_level_count();
        mips.map(|mip| read_mip(device, queue, image, mip)).collect()
    }

    /// How many images the render world has.
    pub fn gpu_images(&self) -> usize {
        let world = self.app.sub_app(RenderApp).world();
        world.resource::<RenderAssets<GpuImage>>().iter().count()
    }
}

/// Whether texels of a texture are those of these mips.
#[track_caller]
pub fn assert_texels(found: &[Vec<u8>], expected: &[Vec<u8>], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: mips");
    for (mip, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert_eq!(found.len(), expected.len(), "{what}: size of mip {mip}");
        let wrong = found.iter().zip(expected).filter(|(found, expected)| found != expected);
        let first = found
            .iter()
            .zip(expected)
            .position(|(found, expected)| found != expected);
        assert_eq!(
            first,
            None,
            "{what}: mip {mip}, {} bytes of {} are wrong",
            wrong.count(),
            found.len()
        );
    }
}

fn read_mip(device: &RenderDevice, queue: &RenderQueue, image: &GpuImage, mip: u32) -> Vec<u8> {
    let format = image.texture.format();
    let (width, height) = format.block_dimensions();
    let block = format.block_copy_size(None).expect("it can be copied");
    let size = image.texture.size();
    let blocks = |side: u32, block: u32| (side >> mip).max(1).div_ceil(block);
    let (columns, rows) = (blocks(size.width, width), blocks(size.height, height));
    let padded = (columns * block).next_multiple_of(256);
    let layers = size.depth_or_array_layers;
    let buffer = device.create_buffer(&BufferDescriptor {
        label: None,
        size: u64::from(padded * rows * layers),
        usage: BufferUsages::COPY_DST | BufferUsages::MAP_READ,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&CommandEncoderDescriptor::default());
    let source = TexelCopyTextureInfo {
        texture: &image.texture,
        mip_level: mip,
        origin: Origin3d::ZERO,
        aspect: TextureAspect::All,
    };
    let layout = TexelCopyBufferLayout {
        offset: 0,
        bytes_per_row: Some(padded),
        rows_per_image: Some(rows),
    };
    let extent = Extent3d {
        width: columns * width,
        height: rows * height,
        depth_or_array_layers: layers,
    };
    let buffer_info = TexelCopyBufferInfo {
        buffer: &buffer,
        layout,
    };
    encoder.copy_texture_to_buffer(source, buffer_info, extent);
    queue.submit([encoder.finish()]);
    buffer
        .slice(..)
        .map_async(MapMode::Read, |mapped| mapped.expect("it is mapped"));
    device.poll(PollType::wait_indefinitely()).expect("the device works");
    let mapped = buffer.slice(..).get_mapped_range();
    let rows = mapped.chunks(padded as usize);
    rows.flat_map(|row| row[..(columns * block) as usize].to_vec())
        .collect()
}
