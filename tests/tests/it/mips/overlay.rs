//! The overlay draws boxes around what is seen, in colours that tell how fine its textures are.

use std::{any::TypeId, collections::BTreeSet};

use bevy::{ecs::system::RunSystemOnce, prelude::*};
use bevy_gizmos::{GizmoAsset, GizmoHandles, config::GizmoConfigStore};
use bevy_seamless::{
    prelude::*,
    render::mip::{MipFeedback, MipFeedbackPlugin},
};
use seamless_tests::picture::{SIDE, has_driver};

use super::hall::{Hall, colour};

/// The colours of all lines that were drawn in the last frame, and the corners of what they frame.
fn drawn(hall: &Hall) -> (BTreeSet<[u8; 3]>, [Vec3; 2]) {
    let world = hall.app.world();
    let handle = &world.resource::<GizmoHandles>().handles()[&TypeId::of::<MipOverlaySettings>()];
    let lines = handle
        .as_ref()
        .and_then(|handle| world.resource::<Assets<GizmoAsset>>().get(handle));
    let Some(lines) = lines.map(GizmoAsset::buffer) else {
        return default();
    };
    let colours = lines.list_colors.iter().chain(&lines.strip_colors);
    let colours = colours.filter(|colour| colour.red.is_finite());
    let places = lines.list_positions.iter().chain(&lines.strip_positions);
    let places = places.filter(|place| place.is_finite());
    let nothing = [Vec3::INFINITY, Vec3::NEG_INFINITY];
    (
        colours
            .map(|colour| {
                let [red, green, blue, _] = Srgba::from(*colour).to_u8_array();
                [red, green, blue]
            })
            .collect(),
        places.fold(nothing, |[low, high], place| [low.min(*place), high.max(*place)]),
    )
}

fn set(hall: &mut Hall, change: impl FnOnce(&mut MipOverlaySettings)) {
    let mut store = hall.app.world_mut().resource_mut::<GizmoConfigStore>();
    change(store.config_mut::<MipOverlaySettings>().1);
    hall.frame();
}

/// A hall in which nothing is kept that is not wanted.
fn hall(configure: fn(&mut App)) -> (tempfile::TempDir, Hall) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let settings = MipSettings {
        cached: 0.0,
        ..MipSettings::default()
    };
    let hall = Hall::with(dir.path(), settings, configure);
    (dir, hall)
}

const GREEN: [u8; 3] = [60, 170, 80];
const RED: [u8; 3] = [200, 30, 40];

#[test]
fn boxes_tell_how_fine_textures_are() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(|app| {
        app.add_plugins(MipOverlayPlugin::default());
    });
    hall.look(1, 1.0);
    hall.settle();
    assert!(drawn(&hall).0.is_empty(), "it is turned off");
    set(&mut hall, |settings| settings.is_on = true);
    let (colours, [low, high]) = drawn(&hall);
    assert_eq!(colours, BTreeSet::from([GREEN]), "all that is wanted is there");
    // The second painting, and no other: a square metre, and flat.
    assert!(low.abs_diff_eq(Vec3::new(9.5, -0.5, 0.0), 1e-3), "from {low} to {high}");
    assert!(high.abs_diff_eq(Vec3::new(10.5, 0.5, 0.0), 1e-3));
    set(&mut hall, |settings| settings.only_coarse = true);
    assert!(drawn(&hall).0.is_empty());

    // A pool that has room for none of its finer mips.
    hall.is_too_much = true;
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 64 << 10;
    hall.settle();
    let lacks = |mips: Mips, paintings: Query<Entity, With<Mesh3d>>| {
        let lacks: Vec<_> = paintings.iter().filter_map(|painting| mips.lack(painting)).collect();
        lacks.into_iter().max()
    };
    let lacks = hall.app.world_mut().run_system_once(lacks).expect("it runs");
    assert!(lacks >= Some(3), "{lacks:?}");
    assert_eq!(drawn(&hall).0, BTreeSet::from([RED]));

    set(&mut hall, |settings| settings.is_on = false);
    assert!(drawn(&hall).0.is_empty());
}

/// Six tenths of a colour over another, as light adds up.
fn over(above: [u8; 3], below: [u8; 3]) -> [u8; 3] {
    let light = |[red, green, blue]: [u8; 3]| Color::srgb_u8(red, green, blue).to_linear().to_vec3();
    let mixed = light(below).lerp(light(above), 0.6);
    let [red, green, blue, _] = Srgba::from(LinearRgba::from_vec3(mixed)).to_u8_array();
    [red, green, blue]
}

fn is_like(found: [u8; 3], expected: [u8; 3]) -> bool {
    found
        .iter()
        .zip(expected)
        .all(|(found, expected)| found.abs_diff(expected) <= 2)
}

/// Frames until the middle of the picture is like that.
fn until_middle(hall: &mut Hall, is: impl Fn([u8; 3]) -> bool, what: &str) {
    let mut last = [0; 3];
    for _ in 0..2000 {
        let [red, green, blue, _] = hall.frame().picture.pixel(SIDE / 2, SIDE / 2);
        last = [red, green, blue];
        if is(last) {
            return;
        }
    }
    panic!("{what}, and the middle is {last:?}");
}

#[test]
fn surfaces_have_the_colours_of_their_mips() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(|app| {
        let settings = MipFeedback {
            every: 0,
            ..MipFeedback::default()
        };
        app.add_plugins((MipOverlayPlugin::default(), MipFeedbackPlugin { settings }));
    });
    // It fills the picture, and all of it is there.
    hall.look(0, 0.4);
    let plain = hall.settle().picture.pixel(SIDE / 2, SIDE / 2);
    let entities = hall.app.world().entities().count_spawned();
    let below = [plain[0], plain[1], plain[2]];
    set(&mut hall, |settings| settings.surfaces = true);
    until_middle(&mut hall, |found| is_like(found, over(GREEN, below)), "all is there");

    // 64 texels a side, and twelve times as many are sampled.
    hall.is_too_much = true;
    hall.app.world_mut().resource_mut::<MipSettings>().max_size = Some(64);
    let [red, green, blue, _] = colour(4);
    let lacking = over(RED, [red, green, blue]);
    until_middle(&mut hall, |found| is_like(found, lacking), "much is lacking");

    set(&mut hall, |settings| settings.surfaces = false);
    until_middle(
        &mut hall,
        |found| is_like(found, [red, green, blue]),
        "it is turned off",
    );
    assert_eq!(hall.app.world().entities().count_spawned(), entities);
}
