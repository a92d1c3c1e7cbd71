//! A level with many lights is lit right in the frame in which it comes. Bevy lists on the GPU which lights shine where, and asks it afterwards whether the
//! lists were long enough.

use std::{fs, path::Path, time::Instant};

use bevy::{asset::AssetPath, prelude::*};
use bevy_seamless::{
    asset::{InstanceId, InstanceRequest, InstanceTarget, LoadState, SeamlessAssetPlugin},
    prelude::*,
};
use seamless_tests::{
    app::{LOAD_LIMIT, headless_with},
    handmade::{References, add_asset, add_level, new_ids, new_package},
    picture::{Frame, has_driver, next_frame, settled, studio},
};

const PACKAGE: &str = "street.pkg";
/// Lamps along each side of the ground, of this length in metres.
const SIDE: usize = 16;
const LENGTH: f32 = 48.0;
/// Frames that are looked at.
const FRAMES: usize = 4;

fn add_game(app: &mut App) {
    app.add_plugins(SeamlessPlugins.set(SeamlessAssetPlugin {
        sliced_levels: true,
        ..SeamlessAssetPlugin::default()
    }));
}

/// A ground, and a lamp over each part of it.
fn write_street(dir: &Path) {
    let app = headless_with(dir, add_game);
    let mut writer = new_package(&app, PACKAGE);
    let mut references = References::default();
    let ground = Mesh::from(Plane3d::default().mesh().size(LENGTH, LENGTH));
    let ground = add_asset(&app, &mut writer, "Ground", ground);
    let ground = references.handle::<Mesh>(&app, ground);
    let grey = add_asset(&app, &mut writer, "Grey", StandardMaterial::default());
    let grey = references.handle::<StandardMaterial>(&app, grey);
    let ids = new_ids(SIDE * SIDE + 1);
    let roots = (0..ids.len() as u32).collect();
    let cells = || (0..SIDE * SIDE).map(|cell| (cell % SIDE, cell / SIDE));
    let at = |cell: usize| (cell as f32 + 0.5) * LENGTH / SIDE as f32 - LENGTH / 2.0;
    add_level(&app, &mut writer, PACKAGE, &ids, roots, &references, |level| {
        level
            .add([Transform::default()])
            .add([Visibility::default()])
            .add([Mesh3d(ground)])
            .add([MeshMaterial3d(grey)]);
        level.end_group(1);
        level
            .add(cells().map(|(x, z)| Transform::from_xyz(at(x), 0.7, at(z))))
            .add(cells().map(|_| Visibility::default()))
            .add(cells().map(|(x, z)| PointLight {
                color: Color::hsl(360.0 * (x + 3 * z) as f32 / (4 * SIDE) as f32, 1.0, 0.5),
                intensity: 8_000.0,
                range: 14.0,
                ..PointLight::default()
            }));
        level.end_group(SIDE * SIDE);
    });
    fs::write(dir.join(PACKAGE), writer.finish().expect("the package is small")).expect("it is written");
}

/// The first frame in which the level is there as is wanted.
fn until(app: &mut App, id: InstanceId, wanted: LoadState) -> Frame {
    let start = Instant::now();
    loop {
        let frame = next_frame(app);
        if app.world().resource::<Streamer>().state(id) == Some(wanted) {
            return frame;
        }
        assert!(
            start.elapsed() < LOAD_LIMIT,
            "the level does not come so far as {wanted:?}"
        );
    }
}

/// A stage with nothing on it.
fn studio_of(dir: &Path) -> App {
    let camera = Transform::from_xyz(0.0, 9.0, 30.0).looking_at(Vec3::new(0.0, 0.0, 4.0), Vec3::Y);
    let mut app = studio(dir, camera, add_game);
    let ecs = app.world_mut();
    let sun = ecs.query_filtered::<Entity, With<DirectionalLight>>().single(ecs);
    ecs.despawn(sun.expect("the studio has one"));
    let _ = settled(&mut app);
    app
}

/// What is seen in the first frame in which the level is there as is wanted, and in some after it.
fn frames(app: &mut App, id: InstanceId, wanted: LoadState) -> Vec<Frame> {
    let first = until(app, id, wanted);
    let later = (1..FRAMES).map(|_| next_frame(app));
    core::iter::once(first).chain(later.collect::<Vec<_>>()).collect()
}

#[test]
fn many_lights_shine_from_the_first_frame_on() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_street(dir.path());
    let mut app = studio_of(dir.path());
    let id = app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        name: "street".into(),
        package: AssetPath::parse(PACKAGE).into_owned(),
        ..InstanceRequest::default()
    });
    let first = frames(&mut app, id, LoadState::Live);
    let whole = settled(&mut app).picture;
    assert!(whole.colours() > 1000, "the lamps shine");
    let is_whole = |frames: &[Frame], when: &str| {
        for (after, frame) in frames.iter().enumerate() {
            let apart = frame.picture.difference(&whole);
            if !apart.is_none() {
                let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
                frame.picture.save(&dir.join("lights_wrong.png"));
                whole.save(&dir.join("lights_whole.png"));
                panic!(
                    "{after} frames after {when}: {apart:?}; see lights_wrong.png in {}",
                    dir.display()
                );
            }
        }
    };
    is_whole(&first, "the reveal");
    let set_target = |app: &mut App, target| app.world_mut().resource_mut::<Streamer>().set_target(id, target);
    set_target(&mut app, InstanceTarget::Loaded);
    until(&mut app, id, LoadState::Hidden);
    // Bevy hears of it that no lamp is there.
    let _ = settled(&mut app);
    (0..10).for_each(|_| _ = next_frame(&mut app));
    set_target(&mut app, InstanceTarget::Shown);
    is_whole(&frames(&mut app, id, LoadState::Live), "it was shown again");
}
