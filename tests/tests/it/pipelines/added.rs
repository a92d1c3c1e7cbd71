//! What lights add to how others are drawn, and deferred views and those of motion to a level.

use bevy::{
    core_pipeline::prepass::{DeferredPrepass, MotionVectorPrepass},
    pbr::DefaultOpaqueRendererMethod,
};
use seamless_tests::{
    cooked::{Ask, Cooked, MANIFEST, ask, spawn_world, state},
    fixtures::write_everything_gltf,
};

use super::*;

/// Nothing but a lamp, or a probe that reflects the sky.
fn write_light(dir: &Path, package: &str, is_probe: bool) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, package);
    let mut references = References::default();
    let mut images = Assets::<Image>::default();
    let sky = EnvironmentMapLight::solid_color(&mut images, Color::WHITE);
    let maps = [(&sky.diffuse_map, "Diffuse"), (&sky.specular_map, "Specular")].map(|(map, name)| {
        let image = images.get(map).expect("it was made").clone();
        let object = add_asset(&app, &mut writer, name, image);
        references.handle::<Image>(&app, object)
    });
    let [diffuse_map, specular_map] = maps;
    add_level(&app, &mut writer, package, &new_ids(1), vec![0], &references, |level| {
        level
            .add([Transform::from_scale(Vec3::splat(20.0))])
            .add([Visibility::default()]);
        if is_probe {
            level.add([LightProbe::default()]).add([EnvironmentMapLight {
                diffuse_map,
                specular_map,
                intensity: 500.0,
                ..sky
            }]);
        } else {
            level.add([PointLight {
                shadow_maps_enabled: true,
                ..PointLight::default()
            }]);
        }
        level.end_group(1);
    });
    fs::write(dir.join(package), writer.finish().expect("the package is small")).expect("it is written");
}

/// The first lamp with shadows, and the first probe, change how everything is drawn that is there.
#[test]
fn what_a_light_adds_to_others_is_compiled_before_it_comes() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_level(dir.path(), many_materials(), false);
    for is_probe in [false, true] {
        write_light(dir.path(), "light.pkg", is_probe);
        let mut app = studio_compiling_later(dir.path(), camera(), add_game);
        app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
        let _ = settled(&mut app);
        let things = load(&mut app);
        until_live(&mut app, things);
        asked_later(&mut app, &[]);
        let before = pipelines(&app).0.len();
        let light = load_package(&mut app, "light.pkg");
        let (asked, _) = until_live(&mut app, light);
        assert!(asked.len() > before, "nothing is drawn in another way");
        let later = asked_later(&mut app, &asked);
        assert!(later.is_empty(), "{later:?}, before {:?}", &asked[before..]);
        assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0);
    }
}

/// Where views draw motion, and where they light what is drawn later.
#[test]
fn deferred_pipelines_and_those_of_bones_are_asked_for() {
    if !has_driver() {
        return;
    }
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let level = "(levels: [(name: \"level\", source: \"everything.gltf\")])";
    let cooked = Cooked::new(write, level, |_| {});
    for is_deferred in [false, true] {
        let mut app = studio(&cooked.out(), camera(), add_game);
        app.world_mut().resource_mut::<StreamingSettings>().gate_deadline_frames = u32::MAX;
        enrich(&mut app, Msaa::Off);
        let ecs = app.world_mut();
        let camera = ecs
            .query_filtered::<Entity, With<Camera3d>>()
            .single(ecs)
            .expect("the studio has one");
        ecs.entity_mut(camera).insert(MotionVectorPrepass);
        if is_deferred {
            ecs.entity_mut(camera).insert(DeferredPrepass);
            ecs.insert_resource(DefaultOpaqueRendererMethod::deferred());
        }
        let world = spawn_world(&mut app, MANIFEST);
        let _ = settled(&mut app);
        ask(&mut app, "level", Ask::Load);
        let mut before = Vec::new();
        for frame in 0.. {
            assert!(frame < MOST_FRAMES, "the level does not come");
            before = pipelines(&app).0;
            let _ = next_frame(&mut app);
            if state(app.world(), world, "level") == LevelState::Visible {
                break;
            }
        }
        let later = asked_later(&mut app, &before);
        // Those of morph targets, which have no last frame in their first one.
        assert!(later.len() <= 2, "{later:?}");
    }
}
