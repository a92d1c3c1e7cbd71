//! A world in which one level comes and goes, by our road, by Bevy's and by typed code. See [`Bed`].

use std::path::Path;

use bevy_app::App;
use bevy_asset::AssetPath;
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry};
use bevy_mesh::Mesh;
use bevy_pbr::StandardMaterial;
use bevy_transform::components::Transform;
use bevy_world_serialization::DynamicWorld;
use seamless_asset::{
    InstanceRequest,
    bench_support::{Decoded, Live, Services, leave},
};

use crate::{
    app::{Kit, MATERIALS, MESHES, Plugins, app, count, cpu_ns},
    scene::{Bundles, Scene, from_ron, package, ron, write_dynamic},
};

const LEVEL: &str = "level.pkg";

/// One level in every form, and the world that it enters and leaves.
pub struct Bed {
    app: App,
    kit: Kit,
    services: Services,
    scene: Scene,
    request: InstanceRequest,
    package: Vec<u8>,
    ron: String,
    /// Entities without any level.
    empty: u32,
    /// How often the level is in the world.
    live: u32,
}

impl Bed {
    /// Makes `scene`.
    pub fn new(scene: Scene, plugins: Plugins) -> Self {
        let mut app = app(plugins, Path::new("."));
        let kit = Kit::live(&mut app);
        let package = package(app.world(), &scene, &kit, LEVEL);
        let named = Kit::named(&app);
        let ron = ron(app.world(), &scene, &named);
        drop(named);
        app.update();
        let services = Services::new(app.world()).expect("the app has the plugin");
        assert_eq!(
            (count::<Mesh>(&app), count::<StandardMaterial>(&app)),
            (MESHES, MATERIALS)
        );
        let request = InstanceRequest {
            name: "level".to_owned(),
            package: AssetPath::from(LEVEL),
            dependencies: Vec::new(),
            placement: Transform::default(),
            ..InstanceRequest::default()
        };
        let empty = app.world().entities().count_spawned();
        Self {
            app,
            kit,
            services,
            scene,
            request,
            package,
            ron,
            empty,
            live: 0,
        }
    }

    /// How many entities the level has, its root not counted.
    pub fn entities(&self) -> usize {
        self.scene.len()
    }

    /// Decodes the package.
    pub fn decode(&self) -> Decoded {
        self.services
            .decode(&self.request.package, &self.package)
            .expect("the package is sound")
    }

    /// Decodes the text.
    pub fn parse(&self) -> DynamicWorld {
        let registry = self.app.world().resource::<AppTypeRegistry>().read();
        from_ron(&registry, self.ron.as_bytes(), &self.kit)
    }

    /// Takes ids, and makes the bundles for them.
    pub fn bundles(&mut self) -> (Entity, Bundles) {
        let count = self.entities() as u32 + 1;
        let mut ids: Vec<Entity> = self.app.world().entity_allocator().alloc_many(count).collect();
        let root = ids.remove(0);
        (root, self.scene.bundles(root, &ids, &self.kit))
    }

    /// Our reveal; the time in nanoseconds.
    pub fn reveal(&mut self, decoded: Decoded) -> (f64, Live) {
        let (services, world, request) = (&self.services, self.app.world_mut(), &self.request);
        let (took, live) = cpu_ns(|| services.reveal(world, decoded, request));
        self.check(1);
        (took, live)
    }

    /// Our leave; the time in nanoseconds.
    pub fn leave(&mut self, live: &Live) -> f64 {
        let world = self.app.world_mut();
        let (took, ()) = cpu_ns(|| leave(world, live));
        self.settle();
        took
    }

    /// Bevy's own scene; the time in nanoseconds, and the root.
    pub fn write(&mut self, dynamic: &DynamicWorld) -> (f64, Entity) {
        let world = self.app.world_mut();
        let (took, map) = cpu_ns(|| write_dynamic(world, dynamic));
        let root = dynamic
            .entities
            .iter()
            .map(|entity| map[&entity.entity])
            .find(|id| world.get::<ChildOf>(*id).is_none());
        self.check(1);
        (took, root.expect("the scene has a root"))
    }

    /// Typed bundles; the time in nanoseconds.
    pub fn spawn(&mut self, bundles: Bundles) -> f64 {
        let world = self.app.world_mut();
        let (took, ()) = cpu_ns(|| bundles.spawn(world));
        self.check(1);
        took
    }

    /// Bevy's own despawn; the time in nanoseconds.
    pub fn despawn(&mut self, root: Entity) -> f64 {
        let world = self.app.world_mut();
        let (took, _) = cpu_ns(|| world.entity_mut(root).despawn());
        self.settle();
        took
    }

    /// What happens between two measurements: a frame, so that buffers do not grow.
    fn settle(&mut self) {
        self.check(-1);
        self.services.free_returned(self.app.world_mut());
        self.app.update();
    }

    /// Whoever measures less work than there is measures nothing. `levels` is how many more there are now.
    fn check(&mut self, levels: i32) {
        self.live = self.live.saturating_add_signed(levels);
        let expected = self.empty + self.live * (self.entities() as u32 + 1);
        let is = self.app.world().entities().count_spawned();
        assert_eq!(is, expected, "all entities of each level are there, or none");
    }
}
