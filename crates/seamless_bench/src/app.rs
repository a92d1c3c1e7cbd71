//! The app in which everything is measured, and the assets that its entities show. See [`app`].

use core::any::TypeId;
use std::{path::Path, time::Duration};

use bevy_app::{App, HierarchyPropagatePlugin, PostUpdate, TaskPoolPlugin};
use bevy_asset::{
    Asset, AssetApp, AssetMetaCheck, AssetPath, AssetPlugin, Assets, Handle, LoadFromPath, RenderAssetUsages,
    UntypedHandle,
    io::{
        AssetSourceBuilder, AssetSourceId,
        memory::{Dir, MemoryAssetReader},
    },
};
use bevy_camera::CameraPlugin;
use bevy_ecs::{component::Component, world::World};
use bevy_image::ImagePlugin;
use bevy_mesh::{Indices, Mesh, MeshPlugin, PrimitiveTopology};
use bevy_pbr::{MeshMaterial3d, StandardMaterial};
use bevy_reflect::TypePath;
use bevy_transform::TransformPlugin;
use bevy_world_serialization::WorldSerializationPlugin;
use cpu_time::ThreadTime;
use seamless_asset::{
    LiveId, LiveObjectsResource, SeamlessAssetPlugin,
    codec::Codecs,
    package::{ObjectRef, PackageWriter, Role, WriteError},
};
use seamless_level::SeamlessLevelPlugin;
use seamless_render::SeamlessRenderPlugin;

use crate::scene::Crate;

/// The package of the assets that all levels share.
pub const KIT: &str = "kit.pkg";
/// Meshes in it.
pub const MESHES: usize = 12;
/// Materials in it.
pub const MATERIALS: usize = 6;

/// Bevy's UI has children inherit two components, and hears of each parent in the world for it, whether it is of the UI or not. This stands for
/// one of them.
#[derive(Component, Clone, PartialEq)]
struct UiCamera;

/// The other one.
#[derive(Component, Clone, PartialEq)]
struct UiTarget;

/// What the app has besides the pipeline.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Plugins {
    /// What every game has: transforms and visibility, with Bevy's own observers, those of its UI among them.
    Game,
    /// The same in an app that has opted in to levels in slices.
    Sliced,
    /// That, and the levels of worlds.
    Levels,
    /// Only what entities need to be there.
    Bare,
    /// What entities need, and textures.
    Scenes,
}

/// A headless app that reads its packages below `root`.
pub fn app(plugins: Plugins, root: &Path) -> App {
    let mut app = App::new();
    let assets = AssetPlugin {
        file_path: root.to_string_lossy().into_owned(),
        watch_for_changes_override: Some(false),
        use_asset_processor_override: Some(false),
        ..AssetPlugin::default()
    };
    app.add_plugins((TaskPoolPlugin::default(), assets, MeshPlugin, WorldSerializationPlugin))
        .init_asset::<StandardMaterial>()
        .register_asset_reflect::<StandardMaterial>();
    match plugins {
        Plugins::Game | Plugins::Sliced | Plugins::Levels => app.add_plugins((
            TransformPlugin,
            CameraPlugin,
            HierarchyPropagatePlugin::<UiCamera>::new(PostUpdate),
            HierarchyPropagatePlugin::<UiTarget>::new(PostUpdate),
        )),
        Plugins::Scenes => app.add_plugins(ImagePlugin::default()),
        Plugins::Bare => &mut app,
    };
    let assets = SeamlessAssetPlugin {
        sliced_levels: matches!(plugins, Plugins::Sliced | Plugins::Levels),
        ..SeamlessAssetPlugin::default()
    };
    app.add_plugins((assets, SeamlessRenderPlugin));
    if plugins == Plugins::Levels {
        app.add_plugins(SeamlessLevelPlugin::default());
    }
    register_types(&mut app);
    app.finish();
    app.cleanup();
    app
}

/// A headless app that reads its files from memory, without the pipeline.
pub fn in_memory(files: &Dir) -> App {
    let mut app = App::new();
    let reader = MemoryAssetReader { root: files.clone() };
    let source = AssetSourceBuilder::new(move || Box::new(reader.clone()));
    let assets = AssetPlugin {
        watch_for_changes_override: Some(false),
        use_asset_processor_override: Some(false),
        // There are none, and to look for them takes time.
        meta_check: AssetMetaCheck::Never,
        ..AssetPlugin::default()
    };
    app.register_asset_source(AssetSourceId::Default, source)
        .add_plugins((TaskPoolPlugin::default(), assets));
    app
}

/// `bevy` registers every type by itself; the sub-crates do not.
fn register_types(app: &mut App) {
    use bevy_camera::visibility::{InheritedVisibility, ViewVisibility, Visibility};
    use bevy_ecs::{
        hierarchy::{ChildOf, Children},
        name::Name,
    };
    use bevy_mesh::Mesh3d;
    use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
    app.register_type::<Transform>()
        .register_type::<GlobalTransform>()
        .register_type::<TransformTreeChanged>()
        .register_type::<Visibility>()
        .register_type::<InheritedVisibility>()
        .register_type::<ViewVisibility>()
        .register_type::<Mesh3d>()
        .register_type::<MeshMaterial3d<StandardMaterial>>()
        .register_type::<Name>()
        .register_type::<ChildOf>()
        .register_type::<Children>()
        .register_type::<Crate>();
}

/// An empty package, at the latest versions of the app's types.
pub fn writer(world: &World, package: &str) -> PackageWriter {
    let mut writer = PackageWriter::new(package);
    let codecs = world.resource::<Codecs>().read();
    writer
        .versions(codecs.migrations().versions())
        .expect("an app's lists have different ids");
    writer
}

/// The shared assets: live, with one handle each.
pub struct Kit {
    /// By number.
    pub meshes: Vec<Handle<Mesh>>,
    /// By number.
    pub materials: Vec<Handle<StandardMaterial>>,
}

impl Kit {
    /// Takes the handles under which packages import the kit, and gives them their values.
    pub fn live(app: &mut App) -> Self {
        let objects = app.world().resource::<LiveObjectsResource>().0.clone();
        let handle = |name: &str, type_id| {
            objects
                .acquire(LiveId::new("", KIT, name), type_id)
                .expect("the type is known")
        };
        let kit = Self {
            meshes: (0..MESHES)
                .map(|index| handle(&mesh_name(index), TypeId::of::<Mesh>()).typed())
                .collect(),
            materials: (0..MATERIALS)
                .map(|index| handle(&material_name(index), TypeId::of::<StandardMaterial>()).typed())
                .collect(),
        };
        kit.fill(app);
        kit
    }

    /// The same assets under file names, as Bevy's text scenes name them. They have no values.
    pub fn named(app: &App) -> Self {
        let server = app.world().resource::<bevy_asset::AssetServer>();
        Self {
            meshes: (0..MESHES).map(|index| server.load(mesh_name(index))).collect(),
            materials: (0..MATERIALS).map(|index| server.load(material_name(index))).collect(),
        }
    }

    fn fill(&self, app: &mut App) {
        let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
        for (index, handle) in self.meshes.iter().enumerate() {
            let inserted = meshes.insert(handle.id(), grid(4 + index as u32));
            assert!(inserted.is_ok(), "the kit's handles are alive");
        }
        let mut materials = app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        for (index, handle) in self.materials.iter().enumerate() {
            let inserted = materials.insert(handle.id(), material(index));
            assert!(inserted.is_ok(), "the kit's handles are alive");
        }
    }

    /// The imports that stand for `handles` of this kit.
    pub fn import(&self, writer: &mut PackageWriter, handle: &UntypedHandle) -> Result<Option<ObjectRef>, WriteError> {
        let mesh = self.meshes.iter().position(|mesh| mesh.id().untyped() == handle.id());
        let material = self
            .materials
            .iter()
            .position(|material| material.id().untyped() == handle.id());
        let object = match (mesh, material) {
            (Some(index), _) => writer.import(KIT, &mesh_name(index), Mesh::type_path(), Role::ALL)?,
            (_, Some(index)) => {
                writer.import(KIT, &material_name(index), StandardMaterial::type_path(), Role::CLIENT)?
            }
            _ => return Ok(None),
        };
        Ok(Some(object))
    }
}

/// The peer resolves file names by looking them up here, which is less work than Bevy's asset server does.
impl LoadFromPath for &Kit {
    fn load_from_path_erased(&mut self, type_id: TypeId, path: AssetPath<'static>) -> UntypedHandle {
        let name = path.path().to_str().unwrap_or_default();
        let number = name
            .chars()
            .filter(char::is_ascii_digit)
            .collect::<String>()
            .parse::<usize>();
        let index = number.expect("the kit's names end in a number");
        if type_id == TypeId::of::<Mesh>() {
            self.meshes[index].clone().untyped()
        } else {
            self.materials[index].clone().untyped()
        }
    }
}

/// The name of a mesh of the kit.
pub fn mesh_name(index: usize) -> String {
    format!("mesh{index}")
}

/// The name of a material of the kit.
pub fn material_name(index: usize) -> String {
    format!("material{index}")
}

/// A material of the kit.
pub fn material(index: usize) -> StandardMaterial {
    StandardMaterial {
        perceptual_roughness: index as f32 / MATERIALS as f32,
        ..StandardMaterial::default()
    }
}

/// A square of `cells` × `cells` quads, one unit wide.
pub fn grid(cells: u32) -> Mesh {
    let side = cells + 1;
    let corner = |index: u32| {
        [
            (index % side) as f32 / cells as f32,
            (index / side) as f32 / cells as f32,
        ]
    };
    let corners: Vec<[f32; 2]> = (0..side * side).map(corner).collect();
    let quads = (0..cells * cells).map(|quad| quad / cells * side + quad % cells);
    let indices = quads
        .flat_map(|a| [a, a + side, a + 1, a + 1, a + side, a + side + 1])
        .collect();
    Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(
            Mesh::ATTRIBUTE_POSITION,
            corners.iter().map(|c| [c[0], 0.0, c[1]]).collect::<Vec<_>>(),
        )
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 1.0, 0.0]; corners.len()])
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, corners)
        .with_inserted_indices(Indices::U32(indices))
}

/// The CPU time that the calling thread needs for `work`, in nanoseconds.
pub fn cpu_ns<R>(work: impl FnOnce() -> R) -> (f64, R) {
    let start = ThreadTime::now();
    let result = work();
    let took: Duration = start.elapsed();
    (took.as_nanos() as f64, result)
}

/// How many values of `A` the app has.
pub fn count<A: Asset>(app: &App) -> usize {
    app.world().resource::<Assets<A>>().len()
}
