//! A door for `seamless_bench`: all that the main world decides about mips in a frame, in an app of its own. Not part of the API.

use core::{marker::PhantomData, time::Duration};
use std::sync::Arc;

use bevy_app::{App, PostUpdate, TaskPoolPlugin};
use bevy_asset::{AssetApp, AssetId, AssetPlugin, Assets, Handle, RenderAssetUsages, uuid::Uuid};
use bevy_camera::{
    Camera, Camera3d, ComputedCameraValues, PerspectiveProjection, Projection, RenderTargetInfo,
    primitives::Aabb,
    visibility::{SetViewVisibility, ViewVisibility, Visibility},
};
use bevy_ecs::{prelude::*, schedule::SingleThreadedExecutor};
use bevy_image::Image;
use bevy_math::{UVec2, Vec3};
use bevy_mesh::{Mesh, Mesh3d, PrimitiveTopology};
use bevy_pbr::{EntitiesNeedingSpecialization, MeshMaterial3d, StandardMaterial};
use bevy_transform::components::{GlobalTransform, Transform};
use seamless_asset::{SeamlessAssetPlugin, StreamingTime, assets::MeshUvDensity};
use wgpu_types::TextureFormat;

use super::{
    MipApp, MipChain, MipDemands, MipGroups, MipPool, MipPoolTooSmall, MipSettings, MipStats, MipSystems, MipTextures,
    MipWork, MipsOverBudget,
    need::MipView,
    plan::{MipPlan, add_plan},
    textures::{MipFile, MipLevel, MipParts, MipRecord},
};

/// Something that is drawn.
pub struct Thing {
    /// The middle of its box.
    pub center: Vec3,
    /// Half of the box's sizes.
    pub half: Vec3,
    /// Metres by which its texture coordinates grow by one.
    pub metres: f32,
    /// The number of its material.
    pub material: u32,
}

/// An app with all that finds out who draws with which textures, and decides which mips are read and swapped: the systems of `MipSystems::Plan`, those before it
/// that follow materials, and those behind it that count and tell. What is asked for has come in the frame after, and the renderer has done what it was told.
///
/// All else of an app is left out: who finds out what is seen, reads, and draws.
pub struct Deciding {
    app: App,
    things: Vec<Entity>,
    camera: Entity,
    /// They live as long as somebody has them.
    _materials: Vec<Handle<StandardMaterial>>,
    swaps: usize,
}

impl Deciding {
    /// All textures are BC7. Material `n` has the textures `n` and, if there are so many, `n` + `materials`.
    pub fn new(chains: &[MipChain], materials: u32, things: impl Iterator<Item = Thing>) -> Self {
        let mut app = app();
        add_textures(app.world_mut(), chains);
        let materials = add_materials(app.world_mut(), materials, chains.len() as u32);
        let world = app.world_mut();
        // Has no vertices that anybody could look at, as what Bevy has given to the renderer.
        let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD);
        let mesh = world.resource_mut::<Assets<Mesh>>().add(mesh);
        let things = things.map(|thing| world.spawn(drawn(&thing, &mesh, &materials)).id());
        let things = things.collect();
        let camera = world.spawn(camera()).id();
        Self {
            app,
            things,
            camera,
            _materials: materials,
            swaps: 0,
        }
    }

    /// What Bevy finds out about one of them.
    pub fn see(&mut self, number: usize, is_seen: bool) {
        let entity = self.things.get(number);
        if let Some(mut seen) = entity.and_then(|entity| self.app.world_mut().get_mut::<ViewVisibility>(*entity)) {
            *seen = ViewVisibility::HIDDEN;
            if is_seen {
                seen.set_visible();
            }
        }
    }

    /// A frame of so many seconds, after which the camera is there.
    pub fn frame(&mut self, seconds: f64, camera: Vec3) {
        let world = self.app.world_mut();
        world
            .resource_mut::<StreamingTime>()
            .advance(Duration::from_secs_f64(seconds));
        if let Some(mut place) = world.get_mut::<GlobalTransform>(self.camera) {
            *place = GlobalTransform::from_translation(camera);
        }
        world.run_schedule(PostUpdate);
        world.clear_trackers();
        let swaps = &mut self.swaps;
        MipWork::scope(world, |work, textures, ledger| {
            work.send(textures);
            *swaps += work.commands().len();
            work.rehearse(ledger);
        });
    }

    /// All that is drawn, in the order in which it was told of, and where it is.
    pub fn world(&mut self) -> (&[Entity], &mut World) {
        (&self.things, self.app.world_mut())
    }

    /// From where the last frame looked.
    pub fn view(&self) -> Option<MipView> {
        self.plan().views().first().copied()
    }

    /// How far ahead the next frame looks, in seconds.
    pub fn lead(&self) -> f32 {
        self.plan().lead(self.app.world().resource::<MipSettings>())
    }

    /// What textures are wanted as.
    pub fn demands(&self) -> &MipDemands {
        &self.plan().demands
    }

    /// The frame's numbers.
    pub fn stats(&self) -> &MipStats {
        self.app.world().resource()
    }

    /// What all textures take with what is on its way, in bytes, and how much of it belongs to nobody.
    pub fn bytes(&self) -> [u64; 2] {
        let ledger = &self.app.world().resource::<MipPool>().ledger;
        [ledger.sums().total(), ledger.stray()]
    }

    /// Textures that were replaced so far.
    pub fn swaps(&self) -> usize {
        self.swaps
    }

    fn plan(&self) -> &MipPlan {
        self.app.world().resource()
    }
}

fn app() -> App {
    let mut app = App::new();
    let seamless = SeamlessAssetPlugin {
        // Makes looking at many entities slower.
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    app.add_plugins((TaskPoolPlugin::default(), AssetPlugin::default(), seamless))
        .init_asset::<Image>()
        .init_asset::<Mesh>()
        .init_asset::<StandardMaterial>()
        .init_resource::<EntitiesNeedingSpecialization<StandardMaterial>>()
        .init_resource::<MipSettings>()
        .init_resource::<MipGroups>()
        .init_resource::<MipPool>()
        .insert_resource(StreamingTime::stopped())
        .insert_resource(MipTextures::new(1 << 16))
        .insert_resource(MipWork::of_pool(MipSettings::default().pool))
        .add_message::<MipsOverBudget>()
        .add_message::<MipPoolTooSmall>()
        .add_mip_material::<StandardMaterial>();
    app.configure_sets(PostUpdate, (MipSystems::Follow, MipSystems::Plan).chain());
    add_plan(&mut app, 1 << 20);
    // The time of the calling thread is measured.
    app.edit_schedule(PostUpdate, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    app
}

fn add_textures(world: &mut World, chains: &[MipChain]) {
    MipWork::scope(world, |_, textures, ledger| {
        for (number, chain) in (0..).zip(chains) {
            if let Ok(record) = MipRecord::new(parts(number, chain)) {
                let texture = textures.insert(image(number), Arc::new(record));
                ledger.insert(texture, chain, chain.floor());
            }
        }
    });
}

/// As of a file, of which nobody reads anything.
fn parts(number: u32, chain: &MipChain) -> MipParts {
    let mut image = Image {
        data: None,
        ..Image::default()
    };
    image.texture_descriptor.size = chain.extent(0);
    image.texture_descriptor.format = TextureFormat::Bc7RgbaUnorm;
    image.texture_descriptor.mip_level_count = chain.mips().into();
    let path = format!("textures/{number}.ktx2");
    let level = MipLevel {
        range: 0..0,
        is_zstd: false,
    };
    MipParts::File(Arc::new(MipFile {
        name: path.clone(),
        path: path.into(),
        head: Arc::new([]),
        image,
        levels: vec![level; chain.floor().into()],
        tail: Vec::new(),
        chain: chain.clone(),
    }))
}

fn image(number: u32) -> AssetId<Image> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number.into()),
    }
}

fn add_materials(world: &mut World, count: u32, textures: u32) -> Vec<Handle<StandardMaterial>> {
    let handle = |number: u32| {
        let is_there = number < textures;
        is_there.then(|| Handle::Uuid(Uuid::from_u128(number.into()), PhantomData))
    };
    let mut materials = world.resource_mut::<Assets<StandardMaterial>>();
    let material = |number: u32| StandardMaterial {
        base_color_texture: handle(number),
        normal_map_texture: handle(number + count),
        ..StandardMaterial::default()
    };
    (0..count).map(|number| materials.add(material(number))).collect()
}

fn drawn(thing: &Thing, mesh: &Handle<Mesh>, materials: &[Handle<StandardMaterial>]) -> impl Bundle {
    let material = materials.get(thing.material as usize).cloned().unwrap_or_default();
    let density = MeshUvDensity {
        uv_0: Some(thing.metres),
        uv_1: None,
    };
    let mesh_box = Aabb {
        half_extents: thing.half.into(),
        ..Aabb::default()
    };
    (
        Mesh3d(mesh.clone()),
        MeshMaterial3d(material),
        Visibility::default(),
        Transform::from_translation(thing.center),
        GlobalTransform::from_translation(thing.center),
        mesh_box,
        density,
    )
}

/// As Bevy leaves one when it has updated all.
fn camera() -> impl Bundle {
    let projection = Projection::Perspective(PerspectiveProjection {
        fov: 1.0,
        ..PerspectiveProjection::default()
    });
    let computed = ComputedCameraValues {
        clip_from_view: projection.get_clip_from_view(),
        target_info: Some(RenderTargetInfo {
            physical_size: UVec2::new(1080, 1080),
            scale_factor: 1.0,
        }),
        ..ComputedCameraValues::default()
    };
    let camera = Camera {
        computed,
        ..Camera::default()
    };
    (Camera3d::default(), camera, projection)
}
