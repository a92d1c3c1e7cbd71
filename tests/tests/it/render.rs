//! A cooked level looks as Bevy's own spawn of the same source does, from its first frame to its last; before and after
//! there is nothing of it, neither in the picture nor in the render world.

use std::{
    fs,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use bevy::prelude::*;
use bevy_seamless::prelude::*;
use seamless_tests::{
    app::{LOAD_LIMIT, bevy_spawn},
    cooked::{Ask, Cooked, MANIFEST, ask, spawn_world},
    fixtures::write_everything_gltf,
    picture::{Frame, Picture, has_driver, next_frame, studio},
};

/// How many frames are compared after the reveal, and after the leave.
const FRAMES: usize = 8;

fn looking(from: Vec3, at: Vec3) -> Transform {
    Transform::from_translation(from).looking_at(at, Vec3::Y)
}

/// Where the pictures are put, to look at.
fn save(picture: &Picture, name: &str) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR"));
    picture.save(&dir.join(format!("{name}.png")));
}

/// The first picture that is equal to the two before it.
fn settled(app: &mut App) -> Frame {
    let mut frames = vec![next_frame(app), next_frame(app)];
    for _ in 0..60 {
        frames.push(next_frame(app));
        if let [.., a, b, c] = frames.as_slice()
            && a.picture == b.picture
            && b.picture == c.picture
        {
            return c.clone();
        }
    }
    panic!("the picture does not settle within 60 frames");
}

#[track_caller]
fn assert_shows(frame: &Frame, expected: &Picture, name: &str, when: &str) {
    let difference = frame.picture.difference(expected);
    if !difference.is_none() {
        save(&frame.picture, &format!("{name}_wrong"));
        panic!("{name}, {when}: {difference:?}; see {name}_wrong.png in {}", env!("CARGO_TARGET_TMPDIR"));
    }
}

/// What Bevy shows of the source, and how many mesh instances that takes.
fn bevy_shows(dir: &Path, scene: &str, camera: Transform) -> Frame {
    let mut app = studio(dir, camera, |_| {});
    bevy_spawn(&mut app, scene);
    settled(&mut app)
}

/// Updates until a message of type `M` was sent in that very update; returns its frame, and those before it.
fn until<M: Message>(app: &mut App) -> (Vec<Frame>, Frame) {
    let start = Instant::now();
    let mut before = Vec::new();
    loop {
        let frame = next_frame(app);
        let failures = app.world().resource::<Messages<LevelFailed>>();
        let failed = failures.iter_current_update_messages().next();
        assert!(failed.is_none(), "{}", failed.map(|failed| failed.error.to_string()).unwrap_or_default());
        if app.world().resource::<Messages<M>>().iter_current_update_messages().next().is_some() {
            return (before, frame);
        }
        assert!(start.elapsed() < LOAD_LIMIT, "nothing happens");
        before.push(frame);
        thread::sleep(Duration::from_millis(1));
    }
}

/// Streams the level in and out, and looks at every frame.
fn compare(write: impl FnOnce(&Path), source: &str, name: &str, camera: Transform) {
    if !has_driver() {
        return;
    }
    let cooked = Cooked::new(write, &format!("(levels: [(name: \"level\", source: \"{source}\")])"), |_| {});
    let expected = bevy_shows(cooked.sources(), &format!("{source}#Scene0"), camera);
    save(&expected.picture, &format!("{name}_bevy"));

    let mut app = studio(&cooked.out(), camera, |app| {
        app.add_plugins(SeamlessPlugins);
    });
    spawn_world(&mut app, MANIFEST);
    let empty = settled(&mut app);
    assert_eq!((empty.picture.colours(), empty.instances), (1, 0), "nothing but the clear colour");
    let drawn = expected.picture.difference(&empty.picture);
    assert!(drawn.far > 0.05 && expected.picture.colours() > 100, "{name} shows too little to tell: {drawn:?}");

    ask(&mut app, "level", Ask::Load);
    let (before, first) = until::<LevelRevealed>(&mut app);
    for frame in &before {
        assert_shows(frame, &empty.picture, name, "before the reveal");
        assert_eq!(frame.instances, 0, "before the reveal");
    }
    save(&first.picture, &format!("{name}_ours"));
    assert!(first.instances > 0);
    let mut frame = first;
    for after in 0..FRAMES {
        let when = format!("{after} frames after the reveal");
        assert_shows(&frame, &expected.picture, name, &when);
        assert_eq!(frame.instances, expected.instances, "{when}");
        frame = next_frame(&mut app);
    }
    assert_eq!(app.world().resource::<StreamingStats>().gate_deadlines, 0, "every asset was prepared in time");

    ask(&mut app, "level", Ask::Unload);
    let (staying, gone) = until::<LevelLeft>(&mut app);
    for frame in &staying {
        assert_shows(frame, &expected.picture, name, "before the leave");
        assert_eq!(frame.instances, expected.instances, "before the leave");
    }
    check_gone(&mut app, &empty, gone, name);
}

/// Nothing of the level is left: at once in the picture, and soon on the GPU.
fn check_gone(app: &mut App, empty: &Frame, first: Frame, name: &str) {
    let mut frame = first;
    for after in 0..FRAMES {
        let when = format!("{after} frames after the leave");
        assert_shows(&frame, &empty.picture, name, &when);
        assert_eq!(frame.instances, 0, "{when}");
        // Handles are dropped on a task.
        thread::sleep(Duration::from_millis(10));
        frame = next_frame(app);
    }
    assert_eq!(frame.prepared, empty.prepared, "assets stay on the GPU {FRAMES} frames after the leave");
}

#[test]
fn everything_gltf_looks_the_same() {
    let write = |dir: &Path| {
        write_everything_gltf(dir);
    };
    let camera = looking(Vec3::new(4.0, 11.0, 5.0), Vec3::new(1.2, 0.5, 0.0));
    compare(write, "everything.gltf", "everything", camera);
}

/// A real model, where it is at hand.
#[test]
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn flight_helmet_looks_the_same() {
    let models = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/gltf/FlightHelmet");
    if !models.is_dir() {
        eprintln!("skipped: ../shared/data/gltf/FlightHelmet is not there");
        return;
    }
    let write = |dir: &Path| {
        for file in fs::read_dir(&models).expect("the folder is there").flatten() {
            fs::copy(file.path(), dir.join(file.file_name())).expect("a file is copied");
        }
    };
    let camera = looking(Vec3::new(0.5, 0.5, 0.8), Vec3::new(0.0, 0.33, 0.0));
    compare(write, "FlightHelmet.gltf", "flight_helmet", camera);
}
