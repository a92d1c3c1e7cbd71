//! What a hidden level leaves in the picture: nothing, in the very frame; and what it looks like in the frame in which it is shown again.

mod twins;

use std::{fs, path::Path, thread, time::Duration};

use bevy::{
    asset::AssetPath,
    camera::{
        ClearColorConfig, RenderTarget,
        visibility::{NoCpuCulling, VisibilityRange},
    },
    core_pipeline::tonemapping::Tonemapping,
    ecs::entity_disabling::Disabled,
    pbr::ExtractedPointLight,
    prelude::*,
    render::{RenderApp, camera::ExtractedCamera, render_resource::TextureFormat, view::RenderVisibilityRanges},
};
use bevy_seamless::{
    asset::{InstanceId, InstanceRequest, LevelInstance, LoadState, package::ObjectId},
    prelude::*,
};
use seamless_tests::{
    app::headless_with,
    handmade::{References, add_asset, add_level, new_ids, new_package},
    picture::{Frame, has_driver, next_frame, settled, studio},
};

const PACKAGE: &str = "stage.pkg";
/// More than a level takes on a busy machine.
const MOST_FRAMES: usize = 20_000;
/// Frames after a change in which the picture is looked at.
const FRAMES: usize = 4;
/// Where the balls are.
const LEFT: Vec3 = Vec3::new(-2.0, 1.0, 0.0);
const RIGHT: Vec3 = Vec3::new(2.0, 1.0, 0.0);
/// A place on the floor that is nobody's but the game's.
const FLOOR: Vec3 = Vec3::new(0.0, 0.0, 1.0);
/// The rows of the level.
const LAMP: usize = 0;
const BALL: usize = 1;
const CULLED: usize = 2;

const RED: Color = Color::srgb(1.0, 0.0, 0.0);
const BLUE: Color = Color::srgb(0.0, 0.0, 1.0);
const GREEN: Color = Color::srgb(0.0, 1.0, 0.0);

fn plain(colour: Color) -> StandardMaterial {
    StandardMaterial {
        base_color: colour,
        unlit: true,
        ..StandardMaterial::default()
    }
}

fn add_game(app: &mut App) {
    app.add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    }));
    // Every level comes and goes in slices.
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
}

/// A package with a level of a lamp and two balls.
fn write_level(dir: &Path) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, PACKAGE);
    let mut references = References::default();
    let mesh = add_asset(&app, &mut writer, "Ball", Sphere::new(0.8).mesh().build());
    let material = add_asset(&app, &mut writer, "Paint", plain(RED));
    let mesh = references.handle::<Mesh>(&app, mesh);
    let material = references.handle::<StandardMaterial>(&app, material);
    let ids = new_ids(3);
    add_level(&app, &mut writer, PACKAGE, &ids, vec![0, 1, 2], &references, |level| {
        level
            .add([Transform::from_xyz(0.0, 2.0, 1.0)])
            .add([Visibility::default()])
            .add([PointLight {
                intensity: 4.0e6,
                ..PointLight::default()
            }]);
        level.end_group(1);
        level
            .add([LEFT, RIGHT].map(Transform::from_translation))
            .add([Visibility::default(); 2])
            .add([Mesh3d(mesh.clone()), Mesh3d(mesh.clone())])
            .add([MeshMaterial3d(material.clone()), MeshMaterial3d(material.clone())]);
        level.end_group(2);
    });
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

/// A stage with a floor of the game's own, that nothing but the level lights.
struct Stage {
    app: App,
    id: InstanceId,
    rows: [Entity; 3],
    camera: Entity,
    /// Without the level.
    empty: Frame,
    _dir: tempfile::TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        write_level(dir.path());
        let camera = Transform::from_xyz(0.0, 5.0, 8.0).looking_at(Vec3::Y, Vec3::Y);
        let mut app = studio(dir.path(), camera, add_game);
        let ecs = app.world_mut();
        let sun = ecs.query_filtered::<Entity, With<DirectionalLight>>().single(ecs);
        ecs.despawn(sun.expect("the studio has one"));
        let camera = ecs.query_filtered::<Entity, With<Camera3d>>().single(ecs);
        let camera = camera.expect("the studio has one");
        // Colours are what they are.
        ecs.entity_mut(camera).insert(Tonemapping::None);
        let floor = ecs
            .resource_mut::<Assets<Mesh>>()
            .add(Plane3d::default().mesh().size(20.0, 20.0));
        let grey = ecs
            .resource_mut::<Assets<StandardMaterial>>()
            .add(Color::srgb(0.5, 0.5, 0.5));
        ecs.spawn((Mesh3d(floor), MeshMaterial3d(grey)));
        let empty = settled(&mut app);
        let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
            name: "stage".into(),
            package: AssetPath::parse(PACKAGE).into_owned(),
            ..InstanceRequest::default()
        });
        let mut stage = Self {
            app,
            id,
            rows: [Entity::PLACEHOLDER; 3],
            camera,
            empty,
            _dir: dir,
        };
        stage.until(LoadState::Live);
        let ecs = stage.app.world_mut();
        let level = ecs.query::<&LevelInstance>().single(ecs).expect("it is live");
        let row = |row: usize| level.entity(ObjectId::new(PACKAGE, &row.to_string()));
        stage.rows = [LAMP, BALL, CULLED].map(|at| row(at).expect("the level has it"));
        stage
    }

    /// The frame in which the level is there.
    fn until(&mut self, state: LoadState) -> Frame {
        for _ in 0..MOST_FRAMES {
            let frame = next_frame(&mut self.app);
            if self.app.world().resource::<Streamer>().state(self.id) == Some(state) {
                return frame;
            }
            thread::sleep(Duration::from_millis(1));
        }
        panic!("the level does not come, or go");
    }

    fn hide(&mut self) -> Frame {
        self.set(InstanceTarget::Loaded, LoadState::Hidden)
    }

    fn show(&mut self) -> Frame {
        self.set(InstanceTarget::Shown, LoadState::Live)
    }

    fn set(&mut self, target: InstanceTarget, state: LoadState) -> Frame {
        let mut streamer = self.app.world_mut().resource_mut::<Streamer>();
        streamer.set_target(self.id, target);
        self.until(state)
    }

    /// The colour of what is seen at a place.
    fn colour(&self, frame: &Frame, at: Vec3) -> [u8; 3] {
        let ecs = self.app.world();
        let camera = ecs.get::<Camera>(self.camera).expect("it stays");
        let place = ecs.get::<GlobalTransform>(self.camera).expect("it has a place");
        let pixel = camera.world_to_viewport(place, at).expect("the camera sees it");
        let [red, green, blue, _] = frame.picture.pixel(pixel.x as u32, pixel.y as u32);
        [red, green, blue]
    }

    /// How many frames after this one something red is seen at a place, if it is soon.
    fn frames_until_red(&mut self, mut frame: Frame, at: Vec3) -> Option<usize> {
        let red = RED.to_srgba().to_u8_array_no_alpha();
        (0..FRAMES).find(|_| {
            let colour = self.colour(&frame, at);
            let is_red = colour.iter().zip(red).all(|(a, b)| a.abs_diff(b) < 60);
            if !is_red {
                frame = next_frame(&mut self.app);
            }
            is_red
        })
    }

    /// Entities of the render world with this.
    fn extracted<C: Component>(&mut self) -> usize {
        let ecs = self.app.sub_app_mut(RenderApp).world_mut();
        ecs.query::<&C>().iter(ecs).count()
    }

    #[track_caller]
    fn assert_empty(&self, frame: &Frame, when: &str) {
        let difference = frame.picture.difference(&self.empty.picture);
        assert!(difference.is_none(), "{when}: {difference:?}");
    }
}

#[track_caller]
fn assert_is(colour: [u8; 3], expected: Color) {
    let expected = expected.to_srgba().to_u8_array_no_alpha();
    let is_near = colour.iter().zip(expected).all(|(a, b)| a.abs_diff(b) < 60);
    assert!(is_near, "{colour:?}, not {expected:?}");
}

fn brightness(colour: [u8; 3]) -> u32 {
    colour.iter().map(|channel| u32::from(*channel)).sum()
}

/// Bevy begins to fade all of them anew when any of them changes, and finds no hidden ones then.
#[test]
fn what_fades_with_the_distance_does_so_after_it_was_hidden() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let range = || VisibilityRange {
        start_margin: 0.0..0.0,
        end_margin: 50.0..60.0,
        use_aabb: false,
    };
    let ball = stage.rows[BALL];
    stage.app.world_mut().entity_mut(ball).insert(range());
    let _ = settled(&mut stage.app);
    let fades = |stage: &Stage| {
        let ranges = stage
            .app
            .sub_app(RenderApp)
            .world()
            .resource::<RenderVisibilityRanges>();
        ranges.entity_has_crossfading_visibility_ranges(ball.into())
    };
    assert!(fades(&stage));
    stage.hide();
    stage.app.world_mut().spawn(range());
    let _ = next_frame(&mut stage.app);
    assert!(!fades(&stage), "nobody can see it");
    stage.show();
    assert!(fades(&stage));
}

/// It has missed that its target has another size by now.
#[test]
fn a_camera_that_is_shown_again_knows_its_target() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let ecs = stage.app.world_mut();
    let image = Image::new_target_texture(64, 64, TextureFormat::Rgba8UnormSrgb, None);
    let screen = ecs.resource_mut::<Assets<Image>>().add(image);
    let camera = stage.rows[LAMP];
    let target = RenderTarget::Image(screen.clone().into());
    stage
        .app
        .world_mut()
        .entity_mut(camera)
        .insert((Camera3d::default(), target));
    let _ = settled(&mut stage.app);
    let size = |stage: &Stage| {
        let camera = stage.app.world().get::<Camera>(camera);
        camera.and_then(Camera::physical_target_size)
    };
    assert_eq!(size(&stage), Some(UVec2::new(64, 64)));
    // What has just changed would count as changed again.
    (0..FRAMES).for_each(|_| _ = next_frame(&mut stage.app));
    stage.hide();
    let wide = Image::new_target_texture(128, 32, TextureFormat::Rgba8UnormSrgb, None);
    let mut images = stage.app.world_mut().resource_mut::<Assets<Image>>();
    images.insert(screen.id(), wide).expect("it is there");
    (0..FRAMES).for_each(|_| _ = next_frame(&mut stage.app));
    stage.show();
    assert_eq!(size(&stage), Some(UVec2::new(128, 32)));
}

/// The floor is the game's own, and in the picture all the time.
#[test]
fn the_light_of_a_hidden_level_shines_on_nothing() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let lit = settled(&mut stage.app);
    let dark = brightness(stage.colour(&stage.empty, FLOOR));
    assert!(brightness(stage.colour(&lit, FLOOR)) > dark + 60, "the lamp shines");
    assert_eq!(stage.extracted::<ExtractedPointLight>(), 1);
    for _ in 0..3 {
        let mut frame = stage.hide();
        for after in 0..FRAMES {
            stage.assert_empty(&frame, &format!("{after} frames after the hide"));
            assert_eq!(stage.extracted::<ExtractedPointLight>(), 0);
            frame = next_frame(&mut stage.app);
        }
        let shown = stage.show();
        let difference = shown.picture.difference(&lit.picture);
        assert!(
            difference.is_none(),
            "in the frame in which it is shown: {difference:?}"
        );
        assert_eq!(stage.extracted::<ExtractedPointLight>(), 1);
    }
    let id = stage.id;
    stage.app.world_mut().resource_mut::<Streamer>().unload(id);
    let gone = |stage: &Stage| stage.app.world().resource::<Streamer>().state(id).is_none();
    let mut frame = next_frame(&mut stage.app);
    while !gone(&stage) {
        frame = next_frame(&mut stage.app);
    }
    stage.assert_empty(
        &frame,
        "in the frame in which it has left, and is still to be despawned",
    );
    assert_eq!(stage.extracted::<ExtractedPointLight>(), 0);
}

/// Bevy by itself passes over what is disabled when it clears up, and such a lamp would shine for ever.
#[test]
fn a_lamp_that_was_disabled_leaves_nothing_behind() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    drop(settled(&mut stage.app));
    assert_eq!(stage.extracted::<ExtractedPointLight>(), 1);
    let (id, lamp) = (stage.id, stage.rows[LAMP]);
    stage.app.world_mut().entity_mut(lamp).insert(Disabled);
    drop(next_frame(&mut stage.app));
    stage.app.world_mut().resource_mut::<Streamer>().unload(id);
    while stage.app.world().get_entity(lamp).is_ok() {
        drop(next_frame(&mut stage.app));
    }
    let frame = next_frame(&mut stage.app);
    assert_eq!(stage.extracted::<ExtractedPointLight>(), 0);
    stage.assert_empty(&frame, "after the lamp has left");
}

/// The CPU does not look at these, and so does not find that they are hidden.
#[test]
fn what_only_the_gpu_culls_is_hidden_too() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let ball = stage.rows[CULLED];
    stage.app.world_mut().entity_mut(ball).insert(NoCpuCulling);
    let lit = settled(&mut stage.app);
    assert_is(stage.colour(&lit, RIGHT), RED);
    let seen_by_itself = |stage: &mut Stage, visibility| {
        stage.app.world_mut().entity_mut(ball).insert(visibility);
        next_frame(&mut stage.app)
    };
    drop(seen_by_itself(&mut stage, Visibility::Hidden));
    let frame = seen_by_itself(&mut stage, Visibility::Inherited);
    let usual = stage.frames_until_red(frame, RIGHT);
    for _ in 0..3 {
        let mut frame = stage.hide();
        for after in 0..FRAMES {
            stage.assert_empty(&frame, &format!("{after} frames after the hide"));
            frame = next_frame(&mut stage.app);
        }
        let frame = stage.show();
        assert_is(stage.colour(&frame, LEFT), RED);
        let late = stage.frames_until_red(frame, RIGHT);
        assert!(
            late.is_some() && late <= usual,
            "{late:?} frames late, Bevy itself {usual:?}"
        );
    }
}

/// Nobody has told Bevy of it when it is shown.
#[test]
fn a_material_that_was_changed_meanwhile_shows_at_once() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let ball = stage.rows[BALL];
    let paint = |stage: &Stage| {
        let material = stage.app.world().get::<MeshMaterial3d<StandardMaterial>>(ball);
        material.expect("it has one").0.clone()
    };
    let first = stage.show();
    assert_is(stage.colour(&first, LEFT), RED);
    for colour in [BLUE, GREEN] {
        // The asset is another.
        stage.hide();
        let handle = paint(&stage);
        let mut materials = stage.app.world_mut().resource_mut::<Assets<StandardMaterial>>();
        *materials.get_mut(&handle).expect("it is live").into_inner() = plain(colour);
        for _ in 0..FRAMES {
            let frame = next_frame(&mut stage.app);
            stage.assert_empty(&frame, "while it is hidden");
        }
        let frame = stage.show();
        assert_is(stage.colour(&frame, LEFT), colour);
        assert_is(stage.colour(&frame, RIGHT), colour);
    }
    // It has another; that is prepared by then, as the other has been.
    stage.hide();
    let other = stage
        .app
        .world_mut()
        .resource_mut::<Assets<StandardMaterial>>()
        .add(plain(RED));
    stage.app.world_mut().entity_mut(ball).insert(MeshMaterial3d(other));
    (0..FRAMES).for_each(|_| _ = next_frame(&mut stage.app));
    let frame = stage.show();
    assert_is(stage.colour(&frame, LEFT), RED);
    assert_is(stage.colour(&frame, RIGHT), GREEN);
}

/// One that fills the whole picture, after the studio's own.
#[test]
fn the_camera_of_a_hidden_level_renders_nothing() {
    if !has_driver() {
        return;
    }
    let mut stage = Stage::new();
    let target = stage
        .app
        .world()
        .get::<RenderTarget>(stage.camera)
        .expect("it has one")
        .clone();
    let lamp = stage.rows[LAMP];
    stage.app.world_mut().entity_mut(lamp).insert((
        Camera3d::default(),
        Camera {
            order: 1,
            clear_color: ClearColorConfig::Custom(GREEN),
            ..Camera::default()
        },
        Msaa::Off,
        target,
        bevy::camera::visibility::RenderLayers::layer(7),
    ));
    for _ in 0..3 {
        let frame = settled(&mut stage.app);
        assert_eq!(stage.extracted::<ExtractedCamera>(), 2);
        assert_is(stage.colour(&frame, FLOOR), GREEN);
        let mut frame = stage.hide();
        for after in 0..FRAMES {
            stage.assert_empty(&frame, &format!("{after} frames after the hide"));
            assert_eq!(stage.extracted::<ExtractedCamera>(), 1);
            frame = next_frame(&mut stage.app);
        }
        let frame = stage.show();
        assert_is(stage.colour(&frame, FLOOR), GREEN);
    }
}
