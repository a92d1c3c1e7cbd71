//! Of what a level has in the render world nothing stays there, however often the level comes, is hidden, shown and swept away, and whichever came first,
//! the renderer or the marker of hidden levels.

use std::collections::BTreeMap;

use bevy::{
    ecs::resource::IS_RESOURCE,
    light::{CascadeShadowConfig, CascadeShadowConfigBuilder, DirectionalLightShadowMap, FogVolume},
    pbr::{ExtractedDirectionalLight, ExtractedRectLight, RenderMeshInstances, RenderViewLightProbes, ShadowView},
    render::{sync_world::MainEntity, view::ExtractedView},
};
use seamless_tests::{handmade::LevelWriter, picture::studio_after};

use super::*;

/// Visits of the level in the usual order, and in the other one.
const VISITS: usize = 30;
const VISITS_AFTER_THE_MARKER: usize = 20;
/// Frames after a reveal, until all that follows from it is there: lists of lights for a new camera, for instance.
const LATER: usize = 2;
/// Enough to bring the level in one frame.
const ROOMY: Duration = Duration::from_millis(50);
/// Width and height of pictures that nobody looks at, and of shadow maps.
const SMALL: u32 = 64;

/// What the level has in the render world, by how it is found there.
const KINDS: [(&str, fn(&mut World) -> usize); 10] = [
    ("twins", having::<MainEntity>),
    ("lamps", having::<ExtractedPointLight>),
    ("spots among the lamps", spots),
    ("suns", having::<ExtractedDirectionalLight>),
    ("areas that shine", having::<ExtractedRectLight>),
    ("cameras", having::<ExtractedCamera>),
    ("Camera3d", having::<Camera3d>),
    ("views", having::<ExtractedView>),
    ("views of shadows", having::<ShadowView>),
    // Probes have no twins. What they reflect is noted at each camera.
    (
        "cameras with reflections",
        having::<RenderViewLightProbes<EnvironmentMapLight>>,
    ),
];

fn having<C: Component>(ecs: &mut World) -> usize {
    ecs.query::<&C>().iter(ecs).count()
}

fn spots(ecs: &mut World) -> usize {
    let mut lamps = ecs.query::<&ExtractedPointLight>();
    let lamps = lamps.iter(ecs);
    lamps.filter(|lamp| lamp.spot_light_angles.is_some()).count()
}

/// Who is in the render world.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Census {
    /// All entities, whatever they have. Resources are entities as well, some of which Bevy makes late, and are not counted.
    entities: usize,
    of: BTreeMap<&'static str, usize>,
    /// Meshes have no twins.
    meshes: usize,
}

impl Census {
    fn of(app: &mut App) -> Self {
        let ecs = app.sub_app_mut(RenderApp).world_mut();
        let archetypes = ecs.archetypes().iter();
        let others = archetypes.filter(|archetype| !archetype.contains(IS_RESOURCE));
        Self {
            entities: others.map(|archetype| archetype.len() as usize).sum(),
            of: BTreeMap::from(KINDS.map(|(kind, count)| (kind, count(ecs)))),
            meshes: match ecs.resource::<RenderMeshInstances>() {
                RenderMeshInstances::CpuBuilding(instances) => instances.len(),
                RenderMeshInstances::GpuBuilding(instances) => instances.len(),
            },
        }
    }
}

/// One with shadows, in one map for each camera.
fn sun() -> (DirectionalLight, CascadeShadowConfig) {
    let light = DirectionalLight {
        shadow_maps_enabled: true,
        ..DirectionalLight::default()
    };
    let cascades = CascadeShadowConfigBuilder {
        num_cascades: 1,
        ..CascadeShadowConfigBuilder::default()
    };
    (light, cascades.build())
}

/// Begins a group of one.
fn place<'l, 'w>(level: &'l mut LevelWriter<'w>, at: Transform) -> &'l mut LevelWriter<'w> {
    level.add([at]).add([Visibility::default()])
}

fn write_lights(level: &mut LevelWriter) {
    place(level, Transform::from_xyz(0.0, 2.0, 1.0)).add([PointLight::default()]);
    level.end_group(1);
    place(level, Transform::from_xyz(0.0, 1.0, 3.0)).add([SpotLight {
        shadow_maps_enabled: true,
        ..SpotLight::default()
    }]);
    level.end_group(1);
    let (light, cascades) = sun();
    place(level, Transform::default()).add([light]).add([cascades]);
    level.end_group(1);
    place(level, Transform::from_xyz(0.0, 1.0, 2.0)).add([RectLight::default()]);
    level.end_group(1);
    place(level, Transform::default()).add([FogVolume::default()]);
    level.end_group(1);
}

/// One that makes views, and has no picture.
fn write_camera(level: &mut LevelWriter) {
    place(level, Transform::from_xyz(0.0, 1.0, 6.0))
        .add([Camera3d::default()])
        .add([Msaa::Off])
        .add([RenderTarget::None {
            size: UVec2::splat(SMALL),
        }]);
    level.end_group(1);
}

/// A package with a level of all kinds of lights, a camera, a probe, fog, and balls for them to see.
fn write_everything(dir: &Path) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, PACKAGE);
    let mut references = References::default();
    let mesh = add_asset(&app, &mut writer, "Ball", Sphere::new(0.8).mesh().build());
    let mesh = references.handle::<Mesh>(&app, mesh);
    let paint = add_asset(&app, &mut writer, "Paint", StandardMaterial::default());
    let paint = references.handle::<StandardMaterial>(&app, paint);
    let mut images = Assets::<Image>::default();
    let sky = EnvironmentMapLight::solid_color(&mut images, Color::WHITE);
    let map = images.get(&sky.diffuse_map).expect("it was made").clone();
    let map = add_asset(&app, &mut writer, "Sky", map);
    let map = references.handle::<Image>(&app, map);
    let rows = (0..9).collect();
    add_level(&app, &mut writer, PACKAGE, &new_ids(9), rows, &references, |level| {
        write_lights(level);
        write_camera(level);
        let probe = EnvironmentMapLight {
            diffuse_map: map.clone(),
            specular_map: map,
            ..sky
        };
        // All that the cameras see is in it.
        let at = Transform::from_scale(Vec3::splat(40.0));
        place(level, at).add([LightProbe::default()]).add([probe]);
        level.end_group(1);
        level
            .add([LEFT, RIGHT].map(Transform::from_translation))
            .add([Visibility::default(); 2])
            .add([Mesh3d(mesh.clone()), Mesh3d(mesh)])
            .add([MeshMaterial3d(paint.clone()), MeshMaterial3d(paint)]);
        level.end_group(2);
    });
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

fn view() -> Transform {
    Transform::from_xyz(0.0, 5.0, 8.0).looking_at(Vec3::Y, Vec3::Y)
}

/// The renderer is there when the game opts in, and hears of hidden entities.
fn renderer_first(dir: &Path) -> App {
    studio(dir, view(), add_game)
}

/// The marker is known when Bevy's plugins come, so all of Bevy's observers pass over who has it.
fn marker_first(dir: &Path) -> App {
    let know = |app: &mut App| app.world_mut().register_disabling_component::<InHiddenLevel>();
    studio_after(know, dir, view(), add_game)
}

/// Hidden entities in the main world: of a level on its way in, of a hidden one, and of one that is swept away.
fn hidden(ecs: &mut World) -> usize {
    let mut hidden = ecs.query_filtered::<Entity, With<InHiddenLevel>>();
    hidden.iter(ecs).count()
}

/// An app that the level visits, time and again.
struct Show {
    app: App,
    /// Before the first visit.
    empty: Census,
    /// In the first visit.
    first: Option<Census>,
    _dir: tempfile::TempDir,
}

impl Show {
    fn new(open: impl FnOnce(&Path) -> App) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        write_everything(dir.path());
        let mut app = open(dir.path());
        let ecs = app.world_mut();
        ecs.insert_resource(DirectionalLightShadowMap { size: SMALL as usize });
        // It has a view of shadows for each camera, the level's too.
        let light = ecs.query_filtered::<Entity, With<DirectionalLight>>().single(ecs);
        ecs.entity_mut(light.expect("there is one sun")).insert(sun());
        (0..FRAMES).for_each(|_| app.update());
        Self {
            empty: Census::of(&mut app),
            app,
            first: None,
            _dir: dir,
        }
    }

    fn load(&mut self, budget: Duration) -> InstanceId {
        let ecs = self.app.world_mut();
        ecs.resource_mut::<StreamingSettings>().budget = budget;
        ecs.resource_mut::<Streamer>().load(InstanceRequest {
            name: "everything".into(),
            package: AssetPath::parse(PACKAGE).into_owned(),
            ..InstanceRequest::default()
        })
    }

    /// Goes on to the first frame in which this holds of the main world.
    #[track_caller]
    fn until(&mut self, wanted: &str, holds: impl Fn(&mut World) -> bool) {
        for _ in 0..MOST_FRAMES {
            self.app.update();
            if holds(self.app.world_mut()) {
                return;
            }
            // Loads run on other threads.
            thread::sleep(Duration::from_millis(1));
        }
        panic!("the level is never {wanted}");
    }

    #[track_caller]
    fn until_state(&mut self, id: InstanceId, state: LoadState) {
        self.until(&format!("{state:?}"), |ecs| {
            ecs.resource::<Streamer>().state(id) == Some(state)
        });
    }

    fn set_target(&mut self, id: InstanceId, target: InstanceTarget) {
        self.app.world_mut().resource_mut::<Streamer>().set_target(id, target);
    }

    /// In the very frame nobody of it is left, and nothing that was made for them.
    #[track_caller]
    fn hide(&mut self, id: InstanceId, visit: usize) {
        self.set_target(id, InstanceTarget::Loaded);
        self.until_state(id, LoadState::Hidden);
        let hidden = Census {
            // Bevy does not forget meshes that it does not draw.
            meshes: self.empty.meshes,
            ..Census::of(&mut self.app)
        };
        assert_eq!(hidden, self.empty, "hidden, in visit {visit}");
    }

    /// There is one of each kind at least, and no more than in the first visit.
    #[track_caller]
    fn assert_shown(&mut self, visit: usize) {
        (0..LATER).for_each(|_| self.app.update());
        let shown = Census::of(&mut self.app);
        for (kind, count) in &shown.of {
            assert!(*count > self.empty.of[kind], "no {kind}: {shown:?}");
        }
        assert!(shown.meshes > self.empty.meshes, "{shown:?}");
        let first = self.first.get_or_insert_with(|| shown.clone());
        assert_eq!(shown, *first, "shown, in visit {visit}");
    }

    /// Until its last entity is despawned.
    #[track_caller]
    fn leave(&mut self, id: InstanceId, visit: usize) {
        self.set_target(id, InstanceTarget::Gone);
        self.until("gone", |ecs| {
            ecs.resource::<Streamer>().state(id).is_none() && hidden(ecs) == 0
        });
        self.app.update();
        assert_eq!(Census::of(&mut self.app), self.empty, "gone, in visit {visit}");
    }

    /// The level is shown, hidden, shown and swept away.
    #[track_caller]
    fn visit(&mut self, visit: usize) {
        // In slices, or in one frame.
        let budget = if visit.is_multiple_of(5) { Duration::ZERO } else { ROOMY };
        let id = self.load(budget);
        self.until_state(id, LoadState::Live);
        self.assert_shown(visit);
        self.hide(id, visit);
        self.set_target(id, InstanceTarget::Shown);
        self.until_state(id, LoadState::Live);
        self.assert_shown(visit);
        // Few leave while they are seen.
        if visit % 4 != 3 {
            self.hide(id, visit);
        }
        self.leave(id, visit);
    }

    /// The level is not wanted any more when its entities are there and nobody has seen it.
    #[track_caller]
    fn turn_away(&mut self, visit: usize) {
        let id = self.load(Duration::ZERO);
        self.until("on its way", |ecs| {
            let state = ecs.resource::<Streamer>().state(id);
            state == Some(LoadState::Revealing) && hidden(ecs) > 0
        });
        assert_eq!(Census::of(&mut self.app), self.empty, "on its way, in visit {visit}");
        self.leave(id, visit);
    }
}

/// Lights of all kinds, with their shadows, cameras, and all else that has a twin: as many as in the first visit each time, and none when it is over.
#[test]
fn after_thirty_visits_the_render_world_is_as_it_was() {
    if !has_driver() {
        return;
    }
    let mut show = Show::new(renderer_first);
    (0..VISITS).for_each(|visit| show.visit(visit));
}

/// Bevy then passes over the twins of what is despawned while it is hidden, so nothing may have one by then.
#[test]
fn twins_go_where_the_marker_was_known_before_the_renderer() {
    if !has_driver() {
        return;
    }
    let mut show = Show::new(marker_first);
    (0..VISITS_AFTER_THE_MARKER).for_each(|visit| show.visit(visit));
    // That is so: of what nobody but the marker hides, the twin stays.
    let lamp = show.app.world_mut().spawn(PointLight::default()).id();
    show.app.update();
    show.app.world_mut().entity_mut(lamp).insert(InHiddenLevel);
    show.app.world_mut().despawn(lamp);
    show.app.update();
    assert_eq!(Census::of(&mut show.app).entities, show.empty.entities + 1);
}

/// It has been spawned, hidden, and has to be despawned as it is.
#[test]
fn a_level_that_turns_back_on_its_way_leaves_no_twin() {
    if !has_driver() {
        return;
    }
    let orders: [fn(&Path) -> App; 2] = [renderer_first, marker_first];
    for open in orders {
        let mut show = Show::new(open);
        (0..5).for_each(|visit| show.turn_away(visit));
    }
}
