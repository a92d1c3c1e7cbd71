//! What the GPU says it samples, against what follows from where things are.

use bevy::{image::ImageSamplerDescriptor, prelude::*, render::render_resource::Face};
use bevy_seamless::asset::assets::MeshUvDensity;
use bevy_seamless::render::mip::{MipFeedback, MipFeedbackPlugin, MipSettings, MipTruth, MipViewpoint, TruthPicture};
use seamless_tests::picture::{SIDE, has_driver};

use super::{
    hall::{FLOOR, Hall, PAINTINGS},
    pictures::{fail_on_purpose, recover},
};

/// Pixels of a metre that is one metre away, as in a picture of 256 pixels for a quarter of a half turn.
const PIXELS: f32 = 309.0;
/// So exact is what a GPU tells, in mips.
const EXACT: f32 = 0.06;

fn hall(feedback: MipFeedback) -> (tempfile::TempDir, Hall) {
    hall_sampling(ImageSamplerDescriptor::linear(), feedback)
}

fn hall_sampling(sampler: ImageSamplerDescriptor, feedback: MipFeedback) -> (tempfile::TempDir, Hall) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let settings = MipSettings {
        pool: 64 << 20,
        headroom: 1 << 20,
        cached: 0.0,
        ..MipSettings::default()
    };
    let mut hall = Hall::sampling(sampler, dir.path(), settings, |app| {
        app.add_plugins(MipFeedbackPlugin {
            settings: MipFeedback {
                every: 0,
                ..MipFeedback::default()
            },
        });
    });
    hall.app.insert_resource(feedback);
    (dir, hall)
}

fn asked_only() -> MipFeedback {
    MipFeedback {
        every: 0,
        ..MipFeedback::default()
    }
}

/// Between the last painting and who looks at it.
const BEFORE_THE_LAST: Transform = Transform::from_xyz(30.0, 0.0, 0.5);

/// A wall of a square metre, and what it is made of.
fn put_wall(hall: &mut Hall, place: Transform) -> (Entity, Handle<StandardMaterial>) {
    let world = hall.app.world_mut();
    let mesh = world.resource_mut::<Assets<Mesh>>().add(Rectangle::new(1.0, 1.0));
    let mut materials = world.resource_mut::<Assets<StandardMaterial>>();
    let material = materials.add(StandardMaterial::default());
    let wall = (Mesh3d(mesh), MeshMaterial3d(material.clone()), place);
    (world.spawn(wall).id(), material)
}

fn picture(hall: &mut Hall, scale: u32) -> TruthPicture {
    let truth = hall.app.world().resource::<MipTruth>().clone();
    truth.request(hall.camera, scale);
    for _ in 0..2000 {
        hall.frame();
        if let Some(picture) = truth.take() {
            return picture;
        }
    }
    panic!("no picture comes");
}

/// The mip that is sampled where a texture of 1024 texels is a metre wide, so many metres away.
fn mip(away: f32) -> f32 {
    (1024.0 * away / PIXELS).log2()
}

#[test]
fn a_picture_tells_which_mip_each_pixel_samples() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(asked_only());
    for (painting, away) in [(2, 1.0), (3, 4.0), (0, 6.0)] {
        hall.look(painting, away);
        hall.settle();
        for scale in [1, 4, 8] {
            let picture = picture(&mut hall, scale);
            let side = SIDE.div_ceil(scale);
            assert_eq!((picture.width, picture.height), (side, side));
            let (entity, mut uses) = picture.at(side / 2, side / 2).expect("it is there");
            assert_eq!(entity, hall.paintings[painting]);
            let (of, found) = uses.next().expect("it streams");
            assert!((found - mip(away)).abs() < EXACT, "{found} and {}", mip(away));
            assert_eq!((of.top, uses.count()), (mip(away) as u8, 0));
            let accuracy = picture.accuracy();
            assert_eq!(accuracy.lacking, 0, "all is there that is sampled");
            let wide = PIXELS / away / scale as f32;
            let expected = wide.min(side as f32).powi(2);
            assert!(
                (accuracy.pixels as f32 / expected - 1.0).abs() < 0.2,
                "{accuracy:?}, {expected}"
            );
            let needed: Vec<u8> = picture.needed().values().copied().collect();
            assert_eq!(needed, [mip(away) as u8]);
        }
    }
}

/// A painting that is seen from the side is sampled finer with anisotropy, which it may have from Bevy's default sampler.
#[test]
fn the_default_sampler_may_be_anisotropic() {
    if !has_driver() {
        return;
    }
    let tops = [1, 16].map(|anisotropy_clamp| {
        let sampler = ImageSamplerDescriptor {
            anisotropy_clamp,
            ..ImageSamplerDescriptor::linear()
        };
        let (_dir, mut hall) = hall_sampling(
            sampler,
            MipFeedback {
                every: 1,
                ..MipFeedback::default()
            },
        );
        let turned = Transform::from_xyz(20.0, 0.0, 0.0).with_rotation(Quat::from_rotation_y(1.4));
        let painting = hall.paintings[2];
        hall.app.world_mut().entity_mut(painting).insert(turned);
        hall.look(2, 2.0);
        hall.settle();
        let picture = picture(&mut hall, 1);
        assert_eq!(picture.accuracy().lacking, 0);
        let (_, mut uses) = picture.at(SIDE / 2, SIDE / 2).expect("it is there");
        let (_, found) = uses.next().expect("it streams");
        (found, hall.tops()[2])
    });
    // Its width is six times as short: 2.5 mips. Drivers round that as they like, up to the sixteen that they may take.
    let [(even, even_top), (fine, fine_top)] = tops;
    assert!((2.0..=4.0).contains(&(even - fine)), "{even} and {fine}");
    assert!(fine_top < even_top, "{fine_top} and {even_top}");
}

/// The texture is at its tail when the camera jumps.
#[test]
fn a_picture_tells_what_pixels_lack() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(asked_only());
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR; PAINTINGS]);
    hall.app.world_mut().resource_mut::<MipSettings>().pool = 0;
    hall.is_too_much = true;
    hall.look(1, 1.0);
    let picture = picture(&mut hall, 2);
    let accuracy = picture.accuracy();
    assert!(accuracy.pixels > 0);
    assert_eq!(accuracy.lacking, accuracy.pixels, "the pool has no room for any");
}

#[test]
fn what_is_behind_something_is_a_mip_coarser() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(MipFeedback {
        every: 2,
        ..MipFeedback::default()
    });
    hall.look(3, 1.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
    let (wall, material) = put_wall(&mut hall, BEFORE_THE_LAST);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2], "nobody sees it");
    // Where somebody is expected, nothing is hidden yet; the camera's picture counts all the same.
    let there = Transform::from_xyz(0.0, 0.0, 1.0);
    let expected = hall.app.world_mut().spawn((MipViewpoint::default(), there)).id();
    hall.settle();
    assert_eq!(hall.tops(), [1, FLOOR, FLOOR, 2]);
    hall.app.world_mut().despawn(expected);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2]);
    // What one can look through hides nothing.
    let through = StandardMaterial {
        alpha_mode: AlphaMode::Blend,
        base_color: Color::srgba(1.0, 1.0, 1.0, 0.1),
        ..default()
    };
    let materials = &mut hall.app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    *materials.get_mut(&material).expect("it is there") = through;
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
    hall.app.world_mut().entity_mut(wall).despawn();
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
}

/// As where a part of a mesh repeats its texture more often than the rest, or a package tells less than is true.
#[test]
fn what_is_sampled_finer_than_was_predicted_becomes_finer() {
    if !has_driver() {
        return;
    }
    for (every, expected) in [(0, FLOOR), (2, 1)] {
        let (_dir, mut hall) = hall(MipFeedback {
            every,
            ..MipFeedback::default()
        });
        // An eighth of a metre has the whole texture, as this goes: three mips less are predicted than are sampled.
        let density = MeshUvDensity {
            uv_0: Some(0.125),
            uv_1: None,
        };
        let last = hall.paintings[3];
        hall.app.world_mut().entity_mut(last).insert(density);
        hall.look(3, 1.0);
        hall.settle();
        assert_eq!(
            hall.tops(),
            [FLOOR, FLOOR, FLOOR, expected],
            "feedback each {every} frames"
        );
    }
}

/// As the example of `MipTruth` does.
#[test]
fn who_asks_in_each_frame_takes_nothing_from_feedback() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(MipFeedback {
        every: 2,
        ..MipFeedback::default()
    });
    put_wall(&mut hall, BEFORE_THE_LAST);
    hall.look(3, 1.0);
    let truth = hall.app.world().resource::<MipTruth>().clone();
    let mut taken = 0;
    let is_hidden = (0..2000).any(|_| {
        truth.request(hall.camera, 8);
        hall.frame();
        taken += usize::from(truth.take().is_some());
        taken > 8 && hall.tops() == [FLOOR, FLOOR, FLOOR, 2]
    });
    assert!(is_hidden, "{:?}, and {taken} pictures", hall.tops());
}

/// As a room that one looks into from without: the wall between is seen from the other side only.
#[test]
fn what_is_behind_faces_that_are_not_drawn_is_seen() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(MipFeedback {
        every: 2,
        ..MipFeedback::default()
    });
    let turned = BEFORE_THE_LAST.with_rotation(Quat::from_rotation_y(core::f32::consts::PI));
    let (_, material) = put_wall(&mut hall, turned);
    hall.look(3, 1.0);
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 1]);
    let picture = picture(&mut hall, 4);
    let (entity, _) = picture.at(picture.width / 2, picture.height / 2).expect("it is there");
    assert_eq!(entity, hall.paintings[3]);
    // From its other side the wall hides it.
    let materials = &mut hall.app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    materials.get_mut(&material).expect("it is there").cull_mode = None;
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2]);
    let materials = &mut hall.app.world_mut().resource_mut::<Assets<StandardMaterial>>();
    materials.get_mut(&material).expect("it is there").cull_mode = Some(Face::Back);
    hall.app
        .world_mut()
        .get_mut::<Camera>(hall.camera)
        .expect("it is one")
        .invert_culling = true;
    hall.settle();
    assert_eq!(hall.tops(), [FLOOR, FLOOR, FLOOR, 2], "it draws the other side");
}

/// All that draws them is of the device that is there.
#[test]
fn pictures_are_taken_on_another_device_too() {
    if !has_driver() {
        return;
    }
    let (_dir, mut hall) = hall(MipFeedback {
        every: 1,
        ..MipFeedback::default()
    });
    recover(&mut hall.app);
    hall.look(2, 1.0);
    hall.settle();
    let needed = picture(&mut hall, 4).needed();
    assert_eq!(needed.len(), 1);
    fail_on_purpose(&hall.app);
    // Everything begins anew there.
    let is_anew = (0..20_000).any(|_| {
        std::thread::sleep(core::time::Duration::from_millis(1));
        hall.app.update();
        hall.tops() == [FLOOR; PAINTINGS]
    });
    assert!(is_anew, "it is another device");
    (0..3).for_each(|_| hall.app.update());
    hall.settle();
    assert_eq!(picture(&mut hall, 4).needed(), needed);
    assert_eq!(hall.tops(), [FLOOR, FLOOR, 1, FLOOR]);
}
