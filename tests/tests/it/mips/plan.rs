//! An app in which textures become finer as the camera comes, and coarser when it goes.

use bevy::{
    camera::{RenderTarget, Viewport},
    core_pipeline::tonemapping::Tonemapping,
    prelude::*,
    render::render_resource::TextureFormat,
};
use bevy_seamless::{
    asset::{ObjectRequest, Streamer},
    render::mip::{
        MipApp, MipForce, MipPool, MipPoolTooSmall, MipSettings, MipStats, MipTextures, MipViewpoint, MipWork,
        MipsOverBudget, TouchAllMaterials,
    },
};
use seamless_tests::picture::{Frame, SIDE, close_up, has_driver};

use super::{
    hall::{FLOOR, Hall, PAINTINGS, Plain, colour},
    stage::{image, write_as},
};

/// As many bytes as a painting takes from a mip on, less than.
const WHOLE: u64 = 4 * 1024 * 1024 * 4 / 3;

#[track_caller]
pub fn assert_shows(frame: &Frame, mip: u8) {
    let (found, expected) = (frame.picture.pixel(SIDE / 2, SIDE / 2), colour(mip));
    let is_near = found
        .iter()
        .zip(expected)
        .all(|(found, expected)| found.abs_diff(expected) <= 2);
    assert!(is_near, "{found:?}, and mip {mip} is {expected:?}");
}

/// No copy is left for a time, and little of the pool is free.
pub fn settings(pool: u64) -> MipSettings {
    MipSettings {
        pool,
        headroom: 1 << 20,
        cached: 0.0,
        ..MipSettings::default()
    }
}

#[test]
fn textures_are_fine_where_the_camera_is_and_coarse_where_it_was() {
    if has_driver() {
        walk(|_| {});
    }
}

/// Two players before one screen.
#[test]
fn each_half_of_a_split_screen_has_the_mips_that_it_shows() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    let half = |from| {
        Some(Viewport {
            physical_position: UVec2::new(from, 0),
            physical_size: UVec2::new(SIDE / 2, SIDE),
            ..default()
        })
    };
    hall.look(0, 0.25);
    let first = hall.camera;
    let world = hall.app.world_mut();
    let target = world.get::<RenderTarget>(first).expect("it has one").clone();
    world.get_mut::<Camera>(first).expect("it is one").viewport = half(0);
    let camera = Camera {
        order: 1,
        viewport: half(SIDE / 2),
        ..default()
    };
    let before_the_third = Transform::from_xyz(20.0, 0.0, 0.25);
    let second = world.spawn((
        Camera3d::default(),
        close_up(),
        Tonemapping::None,
        camera,
        target,
        before_the_third,
    ));
    let second = second.id();
    let frame = hall.settle();
    assert_eq!(hall.tops(), [0, FLOOR, 0, FLOOR]);
    for middle in [SIDE / 4, 3 * SIDE / 4] {
        let found = frame.picture.pixel(middle, SIDE / 2);
        assert!(
            found.iter().zip(colour(0)).all(|(a, b)| a.abs_diff(b) <= 2),
            "{found:?}"
        );
    }
    hall.app.world_mut().despawn(second);
    hall.settle();
    assert_eq!(
        hall.tops(),
        [0, FLOOR, FLOOR, FLOOR],
        "nobody looks at the third any more"
    );
}

/// As with bindless materials, wherever this runs.
#[test]
fn so_they_are_where_materials_are_touched() {
    if has_driver() {
        walk(|app| {
            app.init_resource::<TouchAllMaterials>();
        });
    }
}

fn walk(configure: fn(&mut App)) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::with(dir.path(), settings(64 << 20), configure);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS], "a kilometre away");
    // 309 pixels a metre at one metre: a texel a pixel at 0.3 m, of one material, then of the other.
    for painting in [0, 1, 2] {
        hall.look(painting, 0.25);
        assert_shows(&hall.settle(), 0);
        let mut expected = [FLOOR; PAINTINGS];
        expected[painting] = 0;
        assert_eq!(hall.tops(), expected);
    }
    // Mips 1.7 and 2.7: what is sampled is there, and nothing else.
    hall.look(3, 1.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
    hall.look(3, 2.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2]);
    // Each frame on the way there and back shows a mip that is there, and none is black.
    for step in (0..40).chain((0..40).rev()) {
        hall.look(2, 4.0 - step as f32 * 0.0925);
        let pixel = hall.frame().picture.pixel(SIDE / 2, SIDE / 2);
        assert!(pixel[0] > 80 && pixel[3] == 255, "step {step}: {pixel:?}");
    }
    hall.look(0, 1000.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
}

/// As a teleport: nothing that is seen there is coarser, in any frame.
#[test]
fn where_somebody_is_expected_nothing_changes_when_they_come() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.look(2, 1.0);
    hall.settle();
    let seen = hall.tops();
    assert_eq!(seen, [FLOOR, FLOOR, 1, FLOOR]);
    hall.look(0, 1000.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
    let there = Transform::from_xyz(20.0, 0.0, 1.0);
    let expected = hall.app.world_mut().spawn((MipViewpoint::default(), there)).id();
    hall.settle();
    assert_eq!(hall.tops(), seen, "it is as fine as for a camera");
    hall.app.world_mut().despawn(expected);
    hall.look(2, 1.0);
    for _ in 0..60 {
        hall.frame();
        assert_eq!(hall.tops(), seen);
    }
    hall.settle();
    assert_eq!(hall.tops(), seen);
}

#[test]
fn a_pool_that_is_too_small_for_all_holds() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(4 * WHOLE));
    gather(&mut hall);
    hall.settle();
    let tops = hall.tops();
    assert!(
        tops.iter().any(|top| *top > 0),
        "four, with a copy, are more than the pool: {tops:?}"
    );
    assert!(tops.iter().all(|top| *top < FLOOR), "and each has something: {tops:?}");
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 16 * WHOLE;
    hall.settle();
    assert_eq!(hall.tops(), [0; PAINTINGS]);
    // A smaller one holds again, and as much is shown.
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 4 * WHOLE;
    hall.is_too_much = true;
    hall.settle();
    let sums = hall.app.world().resource::<MipPool>().ledger.sums();
    assert!(sums.total() <= 4 * WHOLE, "{sums:?}");
    assert!(hall.tops().iter().all(|top| *top < FLOOR), "{:?}", hall.tops());
}

/// Hangs all paintings before the camera, beside each other.
fn gather(hall: &mut Hall) {
    for (number, painting) in hall.paintings.clone().into_iter().enumerate() {
        let at = Transform::from_xyz(number as f32 * 0.05, 0.0, -0.01 * number as f32);
        hall.app.world_mut().entity_mut(painting).insert(at);
    }
    hall.look(0, 0.25);
}

#[test]
fn what_comes_into_a_full_pool_waits_for_room() {
    const COMERS: usize = 40;
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mip = |mip: u32| vec![mip as u8; (256 >> mip) * (256 >> mip) * 4];
    let comers = (0..COMERS).map(|number| {
        let pixels = (0..9).map(mip).collect();
        (
            format!("c{number}"),
            image([256, 256, 1], TextureFormat::Rgba8Unorm, pixels),
        )
    });
    write_as(dir.path(), "more.pkg", comers);
    let settings = MipSettings {
        headroom: 0,
        max_size: Some(256),
        ..settings(64 << 20)
    };
    let mut hall = Hall::new(dir.path(), settings);
    gather(&mut hall);
    hall.settle();
    assert_eq!(hall.tops(), [2; PAINTINGS]);
    // The pool is as good as full: what is left is enough for the copy of one painting that makes room, and not for the tails that come.
    let full = hall.app.world().resource::<MipPool>().ledger.sums().total();
    hall.app.world_mut().resource_mut::<MipSettings>().pool = full + 100_000;
    let request = ObjectRequest::new((0..COMERS).map(|number| format!("more.pkg#c{number}")));
    let load = hall.app.world_mut().resource_mut::<Streamer>().load_objects(request);
    // In each frame the pool holds.
    for _ in 0..5000 {
        hall.frame();
        if load.is_finished() && hall.app.world().resource::<MipTextures>().len() == PAINTINGS + COMERS {
            break;
        }
    }
    hall.settle();
    let textures = hall.app.world().resource::<MipTextures>();
    let images = load.result().expect("it is finished").expect("it is sound");
    let ledger = &hall.app.world().resource::<MipPool>().ledger;
    for image in images {
        let texture = textures.number(image.id().typed()).expect("it has come");
        assert!(ledger.get(texture).is_some_and(|resident| resident.top <= 2));
    }
    assert!(hall.tops().iter().any(|top| *top > 2), "some have made room");
}

/// What was told of a pool that is too small.
#[derive(Resource, Default)]
struct Told {
    over: Vec<MipsOverBudget>,
    too_small: Vec<MipPoolTooSmall>,
}

fn take_told(
    mut over: MessageReader<MipsOverBudget>,
    mut too_small: MessageReader<MipPoolTooSmall>,
    mut told: ResMut<Told>,
) {
    told.over.extend(over.read().cloned());
    told.too_small.extend(too_small.read().cloned());
}

#[test]
fn a_pool_that_is_too_small_is_told_with_what_lacks_most() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.app.init_resource::<Told>().add_systems(Last, take_told);
    hall.look(2, 0.25);
    hall.settle();
    let told = |hall: &Hall| {
        let told = hall.app.world().resource::<Told>();
        (told.over.clone(), told.too_small.clone())
    };
    assert_eq!(told(&hall), (vec![], vec![]), "there is room for it");
    hall.is_too_much = true;
    hall.app.world_mut().resource_mut::<MipSettings>().pool = WHOLE;
    hall.settle();
    let (over, too_small) = told(&hall);
    assert_eq!((over.len(), too_small), (1, vec![]));
    let textures = hall.app.world().resource::<MipTextures>();
    let image = textures.id(hall.textures[2]).expect("it is there");
    assert_eq!(over[0].worst, [image], "the others are as fine as they are wanted");
    assert!(over[0].perfect > over[0].pool, "{over:?}");
    // Smaller than all tails: it goes on, and says so.
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 1000;
    hall.settle();
    let (_, too_small) = told(&hall);
    assert_eq!(too_small.len(), 1);
    assert!(too_small[0].resident > too_small[0].pool, "{too_small:?}");
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
    let stats = hall.app.world().resource::<MipStats>();
    assert_eq!((stats.under_resolved, stats.cached), (1, 0));
    assert_eq!(stats.visible + stats.hidden, stats.resident);
}

#[test]
fn at_rest_nothing_is_done() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.look(1, 0.25);
    let settled = hall.settle();
    let bytes = |hall: &Hall| {
        let stats = hall.app.world().resource::<MipStats>();
        (stats.read_bytes, stats.sent_bytes)
    };
    let (read, sent) = bytes(&hall);
    assert!(read > 0 && sent > 0, "{read} and {sent}");
    for _ in 0..60 {
        hall.app.world_mut().clear_trackers();
        let frame = hall.frame();
        assert!(frame.picture == settled.picture);
        let world = hall.app.world();
        assert!(world.resource::<MipWork>().commands().is_empty());
        assert!(!world.is_resource_changed::<Assets<StandardMaterial>>());
        assert!(!world.is_resource_changed::<Assets<Plain>>());
        assert!(!world.is_resource_changed::<Assets<Image>>());
        assert_eq!(bytes(&hall), (read, sent));
    }
}

#[test]
fn what_is_forced_is_fine_from_afar() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::new(dir.path(), settings(64 << 20));
    hall.settle();
    let force = MipForce::default();
    hall.app.world_mut().entity_mut(hall.paintings[1]).insert(force);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, 0, FLOOR, FLOOR]);
    let stats = hall.app.world().resource::<MipStats>();
    assert_eq!(
        (stats.swaps, stats.textures, stats.under_resolved),
        (1, 4, 0),
        "in one step"
    );
    hall.app.world_mut().entity_mut(hall.paintings[1]).remove::<MipForce>();
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
}

/// What shows an image beside the hall, as UI does.
#[derive(Component)]
struct Icon(Handle<Image>);

#[test]
fn what_is_drawn_as_it_is_is_whole_while_it_is_visible() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut hall = Hall::with(dir.path(), settings(64 << 20), |app| {
        app.add_mip_drawn::<Icon>(|icon, images| images(icon.0.id()));
    });
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS], "a kilometre away");
    let materials = hall.app.world().resource::<Assets<StandardMaterial>>();
    let painting = hall
        .app
        .world()
        .get::<MeshMaterial3d<StandardMaterial>>(hall.paintings[2]);
    let painting = materials.get(&painting.expect("it is there").0).expect("it is there");
    let image = painting.base_color_texture.clone().expect("it has one");
    let icon = hall.app.world_mut().spawn((Icon(image), Visibility::Inherited)).id();
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, 0, FLOOR]);
    let stats = hall.app.world().resource::<MipStats>();
    assert!(stats.visible >= WHOLE - (1 << 20), "it counts as seen: {stats:?}");
    hall.app.world_mut().entity_mut(icon).insert(Visibility::Hidden);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, 1, FLOOR], "a mip less for what is hidden");
    let force = MipForce::default();
    hall.app.world_mut().entity_mut(icon).insert(force);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, 0, FLOOR]);
    hall.app.world_mut().entity_mut(icon).despawn();
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
}
