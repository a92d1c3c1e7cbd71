mod absent;
mod boxes;

use bevy_app::App;
use bevy_asset::{Asset, AssetId, Handle, RenderAssetUsages, uuid::Uuid};
use bevy_camera::visibility::{SetViewVisibility, Visibility};
use bevy_ecs::schedule::Schedule;
use bevy_image::Image;
use bevy_math::{Vec3, Vec3A};
use bevy_mesh::PrimitiveTopology;
use bevy_pbr::{MeshMaterial3d, StandardMaterial};
use bevy_tasks::{AsyncComputeTaskPool, TaskPool};

use super::*;
use crate::mip::{
    DemandRule, MipImage,
    need::{MipView, SurfaceSphere},
    users::{
        material::Streamed,
        notes::note_users,
        surfaces::{spheres_of, tests::gates},
    },
};

/// A world in which textures 0 to 4 stream, and materials of the same numbers have one each.
struct Bed {
    app: App,
    schedule: Schedule,
    mesh: Handle<Mesh>,
}

fn id<A: Asset>(number: u128) -> AssetId<A> {
    AssetId::Uuid {
        uuid: Uuid::from_u128(number),
    }
}

fn material(number: u128) -> MeshMaterial3d<StandardMaterial> {
    MeshMaterial3d(Handle::Uuid(Uuid::from_u128(number), core::marker::PhantomData))
}

fn streamed(image: AssetId<Image>) -> Option<Streamed> {
    let texture = (0..5).find(|number| id::<Image>(u128::from(*number)) == image)?;
    Some(Streamed {
        texture,
        is_anisotropic: false,
    })
}

impl Bed {
    fn new() -> Self {
        AsyncComputeTaskPool::get_or_init(TaskPool::default);
        let mut app = App::new();
        app.init_resource::<MipUsers>()
            .init_resource::<MipPlan>()
            .init_resource::<StreamingClock>()
            .init_resource::<Assets<Mesh>>()
            .add_message::<AssetEvent<Mesh>>();
        app.world_mut().register_disabling_component::<InHiddenLevel>();
        app.world_mut().resource_mut::<MipUsers>().seats.most = 1000;
        let mut schedule = Schedule::default();
        let (note, follow) = (
            note_users::<StandardMaterial>(app.world_mut()),
            follow_users(app.world_mut()),
        );
        schedule.add_systems((note, follow).chain());
        let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::RENDER_WORLD);
        let mesh = app.world_mut().resource_mut::<Assets<Mesh>>().add(mesh);
        let mut bed = Self { app, schedule, mesh };
        let chain = crate::mip::MipChain::new(
            wgpu_types::Extent3d {
                width: 1024,
                height: 1024,
                depth_or_array_layers: 1,
            },
            wgpu_types::TextureDimension::D2,
            1,
            wgpu_types::TextureFormat::Bc7RgbaUnorm,
            11,
            4,
        );
        let chain = chain.expect("it streams");
        for number in 0..5 {
            bed.plan()
                .demands
                .insert(number, chain.clone(), DemandRule::default(), 0.0);
            bed.has(u128::from(number), u128::from(number));
        }
        bed
    }

    fn plan(&mut self) -> Mut<'_, MipPlan> {
        self.app.world_mut().resource_mut()
    }

    /// A material has an image.
    fn has(&mut self, material: u128, image: u128) {
        let mut users = self.app.world_mut().resource_mut::<MipUsers>();
        let images = [MipImage::new(id(image))].into_iter().collect();
        users.materials.note(id::<StandardMaterial>(material).untyped(), images);
    }

    fn spawn(&mut self, at: f32, of: u128) -> Entity {
        let mesh_box = Aabb {
            center: Vec3A::ZERO,
            half_extents: Vec3A::splat(0.5),
        };
        let drawn = (
            Mesh3d(self.mesh.clone()),
            material(of),
            Visibility::default(),
            GlobalTransform::from_xyz(at, 0.0, 0.0),
            mesh_box,
            MeshUvDensity {
                uv_0: Some(1.0),
                uv_1: None,
            },
        );
        self.app.world_mut().spawn(drawn).id()
    }

    fn see(&mut self, entity: Entity, is_seen: bool) {
        let mut visibility = self
            .app
            .world_mut()
            .get_mut::<ViewVisibility>(entity)
            .expect("it has one");
        // Counts as a change in any case, as when a level is shown.
        *visibility = ViewVisibility::HIDDEN;
        if is_seen {
            visibility.set_visible();
        }
    }

    /// A frame; then the distance from the origin of the nearest seen and unseen user of each material.
    fn frame(&mut self) -> [[f32; 2]; 5] {
        self.app.world_mut().resource_scope(|world, mut users: Mut<MipUsers>| {
            let mut plan = world.resource_mut::<MipPlan>();
            let MipUsers { materials, seats, .. } = &mut *users;
            let MipPlan { demands, watch, .. } = &mut *plan;
            materials.link(demands, streamed, |user| seats.watch_again(user, watch));
        });
        self.schedule.run(self.app.world_mut());
        self.app.world_mut().clear_trackers();
        let mut plan = self.plan();
        let MipPlan { demands, watch, .. } = &mut *plan;
        demands.set_limits(watch, 0.0);
        let mut view = MipView::perspective(1, Vec3::ZERO, 1.0, 1000.0, 0.01);
        view.pixels = PIXELS;
        watch.update(&[view], 0.0);
        assert!(!watch.is_waiting());
        let mut users = self.app.world_mut().resource_mut::<MipUsers>();
        let layers = [0, 1, 2, 3, 4].map(|number| {
            let slot = users.materials.number(id::<StandardMaterial>(number).untyped());
            users.materials.layers(slot).first().map(|layer| layer.number)
        });
        let watch = &self.app.world().resource::<MipPlan>().watch;
        // One metre a unit, so a distance d is log2(d / pixels); the box begins half a metre before.
        let distance = |lod: f32| 0.5 + PIXELS * lod.exp2();
        layers.map(|layer| {
            let [seen, unseen, _] = layer.map_or([f32::INFINITY; 3], |layer| watch.least(layer, 0));
            [seen, unseen].map(distance)
        })
    }

    /// So many frames that it was everybody's turn.
    fn turns(&mut self) -> [[f32; 2]; 5] {
        for _ in 1..TURNS {
            self.frame();
        }
        self.frame()
    }

    fn len(&self) -> usize {
        self.app.world().resource::<MipUsers>().seats.len()
    }
}

/// So many that nothing within a kilometre is at its floor, and nothing beyond two metres at its finest mip.
const PIXELS: f32 = 1e5;
const NOBODY: f32 = f32::INFINITY;

#[track_caller]
fn assert_near(found: [f32; 2], expected: [f32; 2]) {
    for (found, expected) in found.into_iter().zip(expected) {
        let is_near = found == expected || (found - expected).abs() < 0.03 * expected;
        assert!(is_near, "{found} is not {expected}");
    }
}

#[test]
fn users_come_are_seen_move_and_go() {
    let mut bed = Bed::new();
    assert_eq!(bed.frame()[0], [NOBODY; 2]);
    let (near, far) = (bed.spawn(10.0, 0), bed.spawn(-40.0, 0));
    assert_near(bed.frame()[0], [NOBODY, 10.0]);
    bed.see(far, true);
    assert_near(bed.frame()[0], [40.0, 10.0]);
    bed.app
        .world_mut()
        .entity_mut(near)
        .insert(GlobalTransform::from_xyz(0.0, 90.0, 0.0));
    bed.see(far, false);
    assert_near(bed.frame()[0], [NOBODY, 40.0]);
    bed.see(near, true);
    bed.app.world_mut().despawn(far);
    assert_near(bed.frame()[0], [90.0, NOBODY]);
    bed.app
        .world_mut()
        .entity_mut(near)
        .remove::<MeshMaterial3d<StandardMaterial>>();
    assert_eq!(bed.frame()[0], [NOBODY; 2]);
    assert_eq!(bed.len(), 0);
}

#[test]
fn an_entity_follows_its_material_and_its_mesh() {
    let mut bed = Bed::new();
    let entity = bed.spawn(20.0, 0);
    bed.see(entity, true);
    assert_near(bed.frame()[0], [20.0, NOBODY]);
    bed.app.world_mut().entity_mut(entity).insert(material(1));
    let found = bed.frame();
    assert_eq!(found[0], [NOBODY; 2]);
    assert_near(found[1], [20.0, NOBODY]);
    // The material's only texture is one that does not stream, then another that does.
    bed.has(1, 77);
    assert_eq!(bed.frame()[1], [NOBODY; 2]);
    bed.has(1, 3);
    assert_near(bed.frame()[1], [20.0, NOBODY]);
    bed.app.world_mut().entity_mut(entity).remove::<Mesh3d>();
    assert_eq!(bed.frame()[1], [NOBODY; 2]);
    let mesh = Mesh3d(bed.mesh.clone());
    bed.app.world_mut().entity_mut(entity).insert(mesh);
    assert_near(bed.turns()[1], [20.0, NOBODY]);
    // Twice as many metres a unit need a texture that is as fine as at half of the distance.
    let density = MeshUvDensity {
        uv_0: Some(2.0),
        uv_1: None,
    };
    bed.app.world_mut().entity_mut(entity).insert(density);
    assert_near(bed.turns()[1], [10.25, NOBODY]);
    assert_eq!(bed.len(), 1);
}

#[test]
fn an_entity_comes_in_parts() {
    let mut bed = Bed::new();
    let entity = bed.app.world_mut().spawn((material(2), Visibility::default())).id();
    assert_eq!((bed.frame()[2], bed.len()), ([NOBODY; 2], 0));
    let mesh = (Mesh3d(bed.mesh.clone()), GlobalTransform::from_xyz(5.0, 0.0, 0.0));
    bed.app.world_mut().entity_mut(entity).insert(mesh);
    assert_eq!(bed.frame()[2], [NOBODY; 2], "it has no box");
    let mesh_box = Aabb {
        center: Vec3A::ZERO,
        half_extents: Vec3A::splat(0.5),
    };
    bed.app.world_mut().entity_mut(entity).insert(mesh_box);
    assert!(bed.turns()[2][1] < 5.1);
    bed.app
        .world_mut()
        .entity_mut(entity)
        .remove::<MeshMaterial3d<StandardMaterial>>()
        .insert(material(3));
    let found = bed.frame();
    assert!(found[2][1] == NOBODY && found[3][1] < 5.1, "{found:?}");
}

#[test]
fn hidden_levels_are_unseen() {
    let mut bed = Bed::new();
    let entity = bed.spawn(10.0, 0);
    bed.see(entity, true);
    assert_near(bed.frame()[0], [10.0, NOBODY]);
    MipHider.hide(bed.app.world_mut(), &[entity]);
    bed.app.world_mut().entity_mut(entity).insert(InHiddenLevel);
    assert_near(bed.frame()[0], [NOBODY, 10.0]);
    bed.app.world_mut().entity_mut(entity).remove::<InHiddenLevel>();
    bed.see(entity, true);
    assert_near(bed.frame()[0], [10.0, NOBODY]);
    MipHider.hide(bed.app.world_mut(), &[entity]);
    bed.app.world_mut().entity_mut(entity).insert(InHiddenLevel);
    bed.app.world_mut().despawn(entity);
    assert_eq!((bed.frame()[0], bed.len()), ([NOBODY; 2], 0));
}

#[test]
fn many_come_over_several_frames_and_at_rest_nobody_is_looked_up() {
    let mut bed = Bed::new();
    bed.app.world_mut().resource_mut::<MipUsers>().seats.most = 100_000;
    for number in 0..5000 {
        bed.spawn(5.0 + number as f32 / 100.0, number % 5);
    }
    for expected in [2048, 4096, 5000, 5000] {
        bed.frame();
        assert_eq!(bed.len(), expected);
    }
    bed.frame();
    let looks = bed.plan().watch.looks();
    assert_eq!(looks, 0);
    // Bevy marks meshes as changed whose materials are touched: nobody has moved for that.
    let mut meshes = bed.app.world_mut().query::<&mut Mesh3d>();
    meshes
        .iter_mut(bed.app.world_mut())
        .for_each(|mut mesh| mesh.set_changed());
    bed.turns();
    assert_eq!(bed.plan().watch.looks(), 0);
    // When a level is shown, materials count as changed that are the same.
    let mut materials = bed.app.world_mut().query::<&mut MeshMaterial3d<StandardMaterial>>();
    materials
        .iter_mut(bed.app.world_mut())
        .for_each(|mut material| material.set_changed());
    bed.frame();
    assert!(!bed.app.world().resource::<MipUsers>().seats.is_waiting());
}

/// A mesh whose texture lies once on so many metres.
fn triangle(metres: f32) -> Mesh {
    let mut mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::MAIN_WORLD);
    let corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]];
    let positions = corners.map(|[x, y]| [x * metres, y * metres, 0.0]);
    mesh.insert_attribute(Mesh::ATTRIBUTE_POSITION, positions.to_vec());
    mesh.insert_attribute(Mesh::ATTRIBUTE_UV_0, corners.to_vec());
    mesh
}

#[test]
fn another_mesh_is_measured_when_there_is_time() {
    let mut bed = Bed::new();
    let entities: Vec<Entity> = (0..100).map(|_| bed.spawn(20.0, 0)).collect();
    assert_near(bed.turns()[0], [NOBODY, 20.0]);
    for entity in &entities {
        let mesh = bed.app.world_mut().resource_mut::<Assets<Mesh>>().add(triangle(4.0));
        bed.app.world_mut().entity_mut(*entity).insert(Mesh3d(mesh));
    }
    // It is others' turn first. Then, four times as many metres a unit as the cooker has told of the mesh that they had.
    for (measured, nearest) in [
        (0, 20.0),
        (0, 20.0),
        (MEASURED, 5.375),
        (100 - MEASURED, 5.375),
        (0, 5.375),
    ] {
        assert_near(bed.frame()[0], [NOBODY, nearest]);
        assert_eq!(bed.app.world().resource::<MipUsers>().densities.computed(), measured);
    }
    for entity in &entities {
        let mesh = Mesh3d(bed.mesh.clone());
        bed.app.world_mut().entity_mut(*entity).insert(mesh);
    }
    assert_near(bed.turns()[0], [NOBODY, 20.0]);
}

/// Whoever gives an entity another mesh soon after it has come, and leaves what the cooker has told of the first.
#[test]
fn what_was_told_of_a_mesh_is_of_no_other_one() {
    let mut bed = Bed::new();
    let entity = bed.spawn(20.0, 0);
    assert_near(bed.frame()[0], [NOBODY, 20.0]);
    let mesh = bed.app.world_mut().resource_mut::<Assets<Mesh>>().add(triangle(4.0));
    bed.app.world_mut().entity_mut(entity).insert(Mesh3d(mesh));
    assert_near(bed.turns()[0], [NOBODY, 5.375]);
    // Told again, it is of the mesh that is there.
    let density = MeshUvDensity {
        uv_0: Some(2.0),
        uv_1: None,
    };
    bed.app.world_mut().entity_mut(entity).insert(density);
    assert_near(bed.turns()[0], [NOBODY, 10.25]);
}

#[test]
fn who_draws_with_nothing_that_streams_takes_no_place() {
    let mut bed = Bed::new();
    bed.app.world_mut().resource_mut::<MipUsers>().seats.most = 1;
    bed.has(4, 77);
    bed.spawn(10.0, 4);
    bed.spawn(20.0, 0);
    assert_near(bed.frame()[0], [NOBODY, 20.0]);
    let refused = |bed: &Bed| bed.app.world().resource::<MipUsers>().seats.refused;
    assert_eq!((bed.len(), refused(&bed)), (1, 0));
    bed.has(4, 3);
    bed.frame();
    bed.frame();
    assert_eq!((bed.len(), refused(&bed)), (1, 1));
    assert!(bed.app.world().resource::<MipUsers>().materials.is_whole(3));
}

#[test]
fn who_is_refused_makes_textures_whole() {
    let mut bed = Bed::new();
    bed.app.world_mut().resource_mut::<MipUsers>().seats.most = 2;
    let entities = [0, 1, 2].map(|number| bed.spawn(10.0, number));
    bed.frame();
    bed.frame();
    let users = bed.app.world().resource::<MipUsers>();
    assert_eq!((users.seats.len(), users.seats.refused), (2, 1));
    assert_eq!(
        [0, 1, 2].map(|texture| users.materials.is_whole(texture)),
        [false, false, true]
    );
    bed.app.world_mut().despawn(entities[0]);
    assert_near(bed.frame()[2], [NOBODY, 10.0]);
    bed.frame();
    let users = bed.app.world().resource::<MipUsers>();
    assert_eq!((users.seats.len(), users.seats.refused), (2, 1));
    assert!(!users.materials.is_whole(2), "it has the place of who has gone");
}

#[test]
fn within_a_large_box_the_surface_is_what_is_drawn() {
    let mut bed = Bed::new();
    let entity = bed.spawn(0.0, 0);
    let mesh_box = Aabb {
        center: Vec3A::ZERO,
        half_extents: Vec3A::new(100.0, 100.0, 100.0),
    };
    bed.app.world_mut().entity_mut(entity).insert(mesh_box);
    assert!(bed.turns()[0][1] < 2.1, "it may be where the camera is");
    let sphere = SurfaceSphere {
        center: Vec3::new(20.0, 0.0, 0.0),
        radius: 1.0,
        metres: [1.0; 2],
    };
    let mesh = bed.mesh.id();
    bed.app
        .world_mut()
        .resource_mut::<MipUsers>()
        .surfaces
        .set(mesh, vec![sphere]);
    // Twice as large as the mesh: it begins 38 metres away, and has two metres a unit.
    let transform = GlobalTransform::from_scale(Vec3::splat(2.0));
    bed.app.world_mut().entity_mut(entity).insert(transform);
    assert_near(bed.frame()[0], [NOBODY, 19.5]);
}

/// As one makes by hand, or by Bevy's loaders.
#[test]
fn within_a_mesh_that_no_package_has_brought_it_is_so_too() {
    let mut bed = Bed::new();
    let room = gates(40.0);
    // Two metres a unit, so the walls are ten away where it is one.
    let spheres = spheres_of(&room);
    let handles = {
        let mut meshes = bed.app.world_mut().resource_mut::<Assets<Mesh>>();
        [meshes.add(room), meshes.add(gates(40.0))]
    };
    for (number, mesh) in (0..).zip(&handles) {
        let mesh_box = Aabb {
            center: Vec3A::new(20.0, 0.5, 0.5),
            half_extents: Vec3A::new(20.0, 0.5, 0.5),
        };
        let place = GlobalTransform::from_xyz(-20.0, -0.5, -0.5);
        let drawn = (
            Mesh3d(mesh.clone()),
            material(number),
            Visibility::default(),
            place,
            mesh_box,
        );
        bed.app.world_mut().spawn(drawn);
    }
    // The first comes from a package.
    bed.app
        .world_mut()
        .resource_mut::<MipUsers>()
        .surfaces
        .set(handles[0].id(), spheres);
    assert!(bed.frame()[1][1] < 2.1, "it may be where the camera is");
    for _ in 0..10_000 {
        bed.frame();
        if !bed.app.world().resource::<MipUsers>().surfaces.is_seeking() {
            break;
        }
        std::thread::sleep(core::time::Duration::from_millis(1));
    }
    bed.frame();
    let found = bed.frame();
    assert!(found[1][1] > 9.0, "{found:?}");
    assert_eq!(found[1], found[0], "as if it came from a package");
    // It is another: the camera is in its wall.
    let id = handles[1].id();
    let mut meshes = bed.app.world_mut().resource_mut::<Assets<Mesh>>();
    meshes.insert(id, gates(20.0)).expect("it is there");
    bed.app.world_mut().write_message(AssetEvent::Modified { id });
    let is_known = |bed: &Bed| bed.app.world().resource::<MipUsers>().surfaces.get(id).is_some();
    assert!(is_known(&bed));
    bed.frame();
    assert!(!is_known(&bed), "it has another surface, which nobody knows yet");
}
