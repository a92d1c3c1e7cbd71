//! Levels come when the pipelines that draw them are compiled: none is asked for later, and none that is broken holds a level.

mod added;

use std::{fs, path::Path};

use bevy::{
    asset::{AssetPath, RenderAssetUsages},
    camera::RenderTarget,
    core_pipeline::prepass::{DepthPrepass, NormalPrepass},
    light::NotShadowCaster,
    mesh::PrimitiveTopology,
    prelude::*,
    render::{
        RenderApp,
        render_resource::{AsBindGroup, CachedPipelineState, PipelineCache, PipelineDescriptor},
    },
    shader::ShaderRef,
};
use bevy_seamless::{
    asset::{InHiddenLevel, InstanceId, InstanceRequest, InstanceTarget, LoadState, RevealGates, SeamlessAssetPlugin},
    prelude::*,
};
use seamless_asset::doubles::LevelDoor;
use seamless_tests::{
    app::{LOAD_LIMIT, headless_with, run_until},
    handmade::{References, add_asset, add_level, new_ids, new_package},
    picture::{has_driver, next_frame, settled, studio, studio_compiling_later},
};

const PACKAGE: &str = "level.pkg";
/// Frames after the reveal in which nothing new is asked for.
const FRAMES: usize = 8;
/// More than a level with its pipelines takes on a busy machine.
const MOST_FRAMES: usize = 20_000;

/// Its shader is no shader.
#[derive(Asset, AsBindGroup, Reflect, Clone, Default)]
struct Broken {}

impl Material for Broken {
    fn fragment_shader() -> ShaderRef {
        "broken.wgsl".into()
    }
}

/// Its shader is not there.
#[derive(Asset, AsBindGroup, Reflect, Clone, Default)]
struct Missing {}

impl Material for Missing {
    fn fragment_shader() -> ShaderRef {
        "missing.wgsl".into()
    }
}

fn add_game(app: &mut App) {
    let sliced = SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    };
    app.add_plugins((
        SeamlessPlugins.set(sliced),
        MaterialPlugin::<Broken>::default(),
        MaterialPlugin::<Missing>::default(),
    ))
    .cook_by_reflection::<Broken>()
    .cook_by_reflection::<Missing>()
    .add_streamed_material::<Broken>()
    .add_streamed_material::<Missing>();
}

fn triangle(has_colours: bool) -> Mesh {
    let corners = vec![[-1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.5, 0.0]];
    let mesh = Mesh::new(PrimitiveTopology::TriangleList, RenderAssetUsages::default())
        .with_inserted_attribute(Mesh::ATTRIBUTE_POSITION, corners)
        .with_inserted_attribute(Mesh::ATTRIBUTE_NORMAL, vec![[0.0, 0.0, 1.0]; 3])
        .with_inserted_attribute(Mesh::ATTRIBUTE_UV_0, vec![[0.0, 0.0]; 3]);
    if has_colours {
        mesh.with_inserted_attribute(Mesh::ATTRIBUTE_COLOR, vec![[1.0, 0.5, 0.2, 1.0]; 3])
    } else {
        mesh
    }
}

/// A package with a level whose triangles each have another of these materials, and every second a mesh of its own.
fn write_level<M: Material + Reflect>(dir: &Path, materials: Vec<M>, has_light: bool) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, PACKAGE);
    let mut references = References::default();
    let meshes = [false, true].map(|has_colours| {
        let name = if has_colours { "Coloured" } else { "Plain" };
        add_asset(&app, &mut writer, name, triangle(has_colours))
    });
    let meshes = meshes.map(|mesh| references.handle::<Mesh>(&app, mesh));
    let count = materials.len();
    let mut handles = Vec::new();
    for (number, material) in materials.into_iter().enumerate() {
        let object = add_asset(&app, &mut writer, &format!("Material{number}"), material);
        handles.push(references.handle::<M>(&app, object));
    }
    let ids = new_ids(count + usize::from(has_light));
    let roots = (0..ids.len() as u32).collect();
    add_level(&app, &mut writer, PACKAGE, &ids, roots, &references, |level| {
        // The last one casts no shadow.
        for range in [0..count - 1, count - 1..count] {
            let rows = || range.clone();
            level
                .add(rows().map(|row| Transform::from_xyz(row as f32 - 2.0, 0.0, 0.0)))
                .add(rows().map(|_| Visibility::default()))
                .add(rows().map(|row| Mesh3d(meshes[row % 2].clone())))
                .add(rows().map(|row| MeshMaterial3d(handles[row].clone())));
            if range.end == count {
                level.add([NotShadowCaster]);
            }
            level.end_group(range.len());
        }
        if has_light {
            let light = PointLight {
                shadow_maps_enabled: true,
                ..PointLight::default()
            };
            level
                .add([Transform::from_xyz(0.0, 3.0, 3.0)])
                .add([Visibility::default()])
                .add([light]);
            level.end_group(1);
        }
    });
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

/// Materials that need pipelines of their own.
fn many_materials() -> Vec<StandardMaterial> {
    let material = |alpha_mode, double_sided| StandardMaterial {
        alpha_mode,
        double_sided,
        cull_mode: None,
        ..StandardMaterial::default()
    };
    vec![
        material(AlphaMode::Opaque, false),
        material(AlphaMode::Opaque, true),
        material(AlphaMode::Mask(0.5), false),
        material(AlphaMode::Blend, true),
        material(AlphaMode::Opaque, false),
    ]
}

fn camera() -> Transform {
    Transform::from_xyz(0.0, 1.0, 6.0).looking_at(Vec3::ZERO, Vec3::Y)
}

/// Everything that makes views draw more: shadows, a prepass, samples.
fn enrich(app: &mut App, msaa: Msaa) {
    let ecs = app.world_mut();
    let cameras: Vec<Entity> = ecs.query_filtered::<Entity, With<Camera3d>>().iter(ecs).collect();
    for camera in cameras {
        ecs.entity_mut(camera).insert((msaa, DepthPrepass, NormalPrepass));
    }
    for mut light in ecs.query::<&mut DirectionalLight>().iter_mut(ecs) {
        light.shadow_maps_enabled = true;
    }
}

fn load(app: &mut App) -> InstanceId {
    load_package(app, PACKAGE)
}

fn load_package(app: &mut App, package: &str) -> InstanceId {
    app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        name: package.into(),
        package: AssetPath::parse(package).into_owned(),
        ..InstanceRequest::default()
    })
}

fn is_live(app: &App, id: InstanceId) -> bool {
    app.world().resource::<Streamer>().state(id) == Some(LoadState::Live)
}

/// Labels of all pipelines that Bevy was asked for, and how many of them it still works on.
fn pipelines(app: &App) -> (Vec<String>, usize) {
    let cache = app.sub_app(RenderApp).world().resource::<PipelineCache>();
    let label = |descriptor: &PipelineDescriptor| match descriptor {
        PipelineDescriptor::RenderPipelineDescriptor(of) => format!("{:?}", of.label),
        PipelineDescriptor::ComputePipelineDescriptor(of) => format!("{:?}", of.label),
    };
    let is_open =
        |state: &CachedPipelineState| matches!(state, CachedPipelineState::Queued | CachedPipelineState::Creating(_));
    let open = cache.pipelines().filter(|pipeline| is_open(&pipeline.state)).count();
    (
        cache.pipelines().map(|pipeline| label(&pipeline.descriptor)).collect(),
        open,
    )
}

/// Updates until the level is live, and has all pipelines in that frame; what pipelines there were before it, and the number of frames.
fn until_live(app: &mut App, id: InstanceId) -> (Vec<String>, usize) {
    let came = until_live_somehow(app, id);
    assert_eq!(
        pipelines(app).1,
        0,
        "a pipeline is not there in the frame of the reveal"
    );
    came
}

/// The same of one that may lack some: Bevy tries in every second frame whether a shader has come that it lacks.
fn until_live_somehow(app: &mut App, id: InstanceId) -> (Vec<String>, usize) {
    for frame in 0..MOST_FRAMES {
        let before = pipelines(app).0;
        let _ = next_frame(app);
        if is_live(app, id) {
            return (before, frame);
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!(
        "the level does not come: {:?}",
        app.world().resource::<StreamingStats>()
    );
}

/// What was asked for in the first frames of a level that was not there `before`.
fn asked_later(app: &mut App, before: &[String]) -> Vec<String> {
    (0..FRAMES).for_each(|_| _ = next_frame(app));
    pipelines(app).0.split_off(before.len())
}

#[test]
fn no_pipeline_is_asked_for_after_the_reveal() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), true);
    for studio in [studio, studio_compiling_later] {
        let mut app = studio(dir.path(), camera(), add_game);
        // However long it takes to compile them.
        app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
        enrich(&mut app, Msaa::Sample4);
        let _ = settled(&mut app);
        let empty = pipelines(&app).0.len();
        let id = load(&mut app);
        let (before, _) = until_live(&mut app, id);
        assert!(before.len() >= empty + 8, "few were asked for: {:?}", &before[empty..]);
        let later = asked_later(&mut app, &before);
        assert!(later.is_empty(), "{later:?}, before {:?}", &before[empty..]);
        assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
    }
}

/// What is asked for from the load of a level on, until some frames after its reveal.
fn asked_for(dir: &Path, furnish: impl FnOnce(&mut App)) -> Vec<String> {
    let mut app = studio(dir, camera(), add_game);
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    furnish(&mut app);
    let _ = settled(&mut app);
    let before = pipelines(&app).0;
    let id = load(&mut app);
    until_live(&mut app, id);
    let mut asked = asked_later(&mut app, &before);
    asked.sort_unstable();
    asked
}

/// A camera that draws no meshes, above the one that does: that of a user interface, for instance.
fn add_overlay(app: &mut App) {
    let ecs = app.world_mut();
    let mut targets = ecs.query_filtered::<&RenderTarget, With<Camera3d>>();
    let target = targets.single(ecs).expect("the studio has a camera").clone();
    let above = Camera {
        order: 1,
        clear_color: ClearColorConfig::None,
        ..default()
    };
    ecs.spawn((Camera2d, above, target, Msaa::Off));
}

#[test]
fn for_cameras_that_draw_no_meshes_nothing_is_asked() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), false);
    let alone = asked_for(dir.path(), |_| {});
    assert!(alone.len() >= 3, "{alone:?}");
    assert_eq!(asked_for(dir.path(), add_overlay), alone);
}

/// The measure itself: it sees what comes late.
#[test]
fn without_the_gate_pipelines_come_late() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), false);
    let mut app = studio(dir.path(), camera(), add_game);
    let _ = settled(&mut app);
    // The last that was added.
    app.world_mut().resource_mut::<RevealGates>().0.pop();
    let id = load(&mut app);
    let (before, _) = until_live(&mut app, id);
    assert!(asked_later(&mut app, &before).len() >= 3);
}

/// What was compiled for other views is not enough.
#[test]
fn views_that_change_while_a_level_waits() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), true);
    let mut app = studio(dir.path(), camera(), add_game);
    let door = LevelDoor::default();
    let mut gates = app.world_mut().resource_mut::<RevealGates>();
    // Before the one that is tried: that one must not forget what it has found out.
    gates.0.insert(0, Box::new(door.clone()));
    enrich(&mut app, Msaa::Off);
    let _ = settled(&mut app);
    let id = load(&mut app);
    let is_staged = run_until(&mut app, LOAD_LIMIT, |world| {
        world.resource::<Streamer>().state(id) == Some(LoadState::Staged)
    });
    assert!(is_staged);
    for _ in 0..40 {
        let _ = next_frame(&mut app);
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert!(!is_live(&app, id));
    let asked = pipelines(&app).0.len();
    enrich(&mut app, Msaa::Sample4);
    for _ in 0..10 {
        let _ = next_frame(&mut app);
    }
    assert!(pipelines(&app).0.len() > asked, "the new views need others");
    door.open();
    let (before, _) = until_live(&mut app, id);
    let later = asked_later(&mut app, &before);
    assert!(later.is_empty(), "{later:?}");
}

#[test]
fn a_shader_with_an_error_holds_no_level() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    fs::write(dir.path().join("broken.wgsl"), "this is no shader").expect("it is written");
    write_level(dir.path(), vec![Broken::default(), Broken::default()], false);
    let mut app = studio(dir.path(), camera(), add_game);
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    let _ = settled(&mut app);
    let id = load(&mut app);
    until_live(&mut app, id);
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
}

#[test]
fn a_shader_that_does_not_come_holds_a_level_until_its_deadline() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), vec![Missing::default(), Missing::default()], false);
    let mut app = studio(dir.path(), camera(), add_game);
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = 30;
    let _ = settled(&mut app);
    let id = load(&mut app);
    let (_, frames) = until_live_somehow(&mut app, id);
    assert!(frames >= 30, "{frames} frames");
    // Others are all there: where nobody tries whether the shader has come, none is worked on.
    let open = pipelines(&app).1;
    let _ = next_frame(&mut app);
    assert_eq!(open.min(pipelines(&app).1), 0, "another pipeline is not there");
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 1);
}

/// What a mesh and a material were there for is gone, and so are they: nobody has to wait for them.
#[test]
fn a_hidden_level_comes_back_without_what_is_gone() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), false);
    let mut app = studio(dir.path(), camera(), add_game);
    app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
    let _ = settled(&mut app);
    let id = load(&mut app);
    until_live(&mut app, id);
    set_target(&mut app, id, InstanceTarget::Loaded);
    let is_hidden = |world: &World| world.resource::<Streamer>().state(id) == Some(LoadState::Hidden);
    assert!(run_until(&mut app, LOAD_LIMIT, is_hidden));
    let mut meshes = app.world_mut().resource_mut::<Assets<Mesh>>();
    let mesh = meshes.ids().next().expect("the level has two");
    meshes.remove(mesh);
    let drawn = drawn_with(&mut app);
    app.world_mut().resource_mut::<Assets<StandardMaterial>>().remove(drawn);
    (0..FRAMES).for_each(|_| _ = next_frame(&mut app));
    set_target(&mut app, id, InstanceTarget::Shown);
    until_live(&mut app, id);
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
}

/// The material of some entity of a hidden level.
fn drawn_with(app: &mut App) -> AssetId<StandardMaterial> {
    let ecs = app.world_mut();
    let mut drawn = ecs.query_filtered::<&MeshMaterial3d<StandardMaterial>, With<InHiddenLevel>>();
    drawn.iter(ecs).next().expect("the level is hidden").id()
}

fn set_target(app: &mut App, id: InstanceId, target: InstanceTarget) {
    app.world_mut().resource_mut::<Streamer>().set_target(id, target);
}
