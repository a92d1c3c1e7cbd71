//! Textures that go while they change, and payloads that cannot be read.

use std::{fs, path::Path, time::Duration};

use bevy::{
    image::ImageAddressMode,
    prelude::*,
    render::{
        RenderApp,
        render_asset::RenderAssets,
        render_resource::{TextureFormat, WgpuFeatures},
        texture::GpuImage,
    },
};
use bevy_seamless::{
    asset::StreamingTime,
    render::mip::{LedgerSums, MipFailed, MipPlugin, MipPool, MipTextures, MipWork},
};
use seamless_tests::{
    app::run_until,
    cooked::STREAM_LIMIT,
    picture::{self, Frame, has_driver},
};

use super::stage::{PACKAGE, Stage, image, unlit, write};

const SIDE: u32 = 1024;
const FLOOR: u8 = 4;

fn write_grey(dir: &Path) {
    let mip = |mip: u32| vec![100 + mip as u8; ((SIDE >> mip).max(1) as usize).pow(2)];
    let pixels = (0..11).map(mip).collect();
    write(
        dir,
        [("t".to_owned(), image([SIDE, SIDE, 1], TextureFormat::R8Unorm, pixels))],
    );
}

/// Waits until nothing of the texture is left, in the books and on the GPU.
#[track_caller]
pub fn assert_leaves(stage: &mut Stage, gpu_images: usize, when: &str) {
    let is_gone = run_until(&mut stage.app, STREAM_LIMIT, |world| {
        world.resource::<MipTextures>().is_empty()
            && world.resource::<MipWork>().is_idle()
            && world.resource::<MipPool>().ledger.sums() == LedgerSums::default()
    });
    assert!(is_gone, "{when}: {:?}", stage.pool().ledger.sums());
    let _ = stage.frame();
    assert_eq!(stage.gpu_images(), gpu_images, "{when}");
}

/// How far a change is when its texture goes.
#[derive(Clone, Copy, Debug)]
enum When {
    AtRest,
    /// So many frames after its read has begun.
    Reading(usize),
    Staged,
    Planned,
    Swapped,
}

#[test]
fn nothing_is_left_of_textures_that_go_while_they_change() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    let mut stage = Stage::new(dir.path(), |_| {});
    let _ = stage.frame();
    let gpu_images = stage.gpu_images();
    let reading = (0..12).map(When::Reading);
    for when in [When::AtRest, When::Staged, When::Planned, When::Swapped]
        .into_iter()
        .chain(reading)
    {
        let images = stage.load(&["t"]);
        let texture = stage.number(&images[0]);
        assert_eq!(stage.gpu_images(), gpu_images + 1, "its tail is there with it");
        match when {
            When::AtRest => {}
            When::Reading(frames) => {
                stage.begin(texture, 0);
                (0..frames).for_each(|_| drop(stage.frame()));
            }
            When::Staged | When::Planned | When::Swapped => {
                let change = stage.begin(texture, 1);
                stage.until_staged(&[(texture, change)], |_| {});
                if !matches!(when, When::Staged) {
                    stage.send(texture, change);
                }
                if matches!(when, When::Swapped) {
                    drop(stage.frame());
                }
            }
        }
        drop(images);
        assert_leaves(&mut stage, gpu_images, &format!("{when:?}"));
    }
}

/// What was told to have failed.
#[derive(Resource, Default)]
pub struct Failures(pub Vec<String>);

pub fn listen(mut failed: MessageReader<MipFailed>, mut failures: ResMut<Failures>) {
    failures.0.extend(failed.read().map(|failed| failed.error.to_string()));
}

fn failing_stage(dir: &Path) -> Stage {
    failing_stage_of(dir, MipPlugin::default())
}

fn failing_stage_of(dir: &Path, mips: MipPlugin) -> Stage {
    Stage::of(mips, WgpuFeatures::empty(), dir, |app| {
        app.init_resource::<Failures>().add_systems(Last, listen);
        app.insert_resource(StreamingTime::stopped());
    })
}

/// Begins a change that cannot be read, and waits until it is given up; what was told so far.
fn fail(stage: &mut Stage, texture: u32, to: u8) -> Vec<String> {
    stage.begin(texture, to);
    let is_over = run_until(&mut stage.app, STREAM_LIMIT, |world| {
        let resident = world.resource::<MipPool>().ledger.get(texture);
        resident.expect("it is there").change.is_none()
    });
    assert!(is_over, "it is given up");
    drop(stage.frame());
    assert_eq!(stage.top(texture), FLOOR, "it stays as it is");
    stage.app.world().resource::<Failures>().0.clone()
}

fn finest(stage: &Stage, texture: u32) -> u8 {
    stage.app.world().resource::<MipTextures>().finest(texture)
}

/// Spoils the finest mip, which has three quarters of all bytes, or mends it again.
fn flip(dir: &Path) {
    let file = dir.join(PACKAGE);
    let mut bytes = fs::read(&file).expect("it was written");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&file, bytes).expect("it is written");
}

#[test]
fn a_corrupt_mip_is_told_once_and_the_next_one_is_the_finest() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    flip(dir.path());
    let mut stage = failing_stage(dir.path());
    let _ = stage.frame();
    let gpu_images = stage.gpu_images();
    let images = stage.load(&["t"]);
    let texture = stage.number(&images[0]);
    let told = fail(&mut stage, texture, 0);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains(&format!("mip 0 of the texture `{PACKAGE}#t`")),
        "{told:?}"
    );
    assert_eq!(finest(&stage, texture), 1);
    assert_eq!(
        stage.texels(&images[0])[0][0],
        100 + FLOOR,
        "the tail is there all the same"
    );
    let change = stage.begin(texture, 1);
    stage.until_staged(&[(texture, change)], |_| {});
    stage.send(texture, change);
    stage.until_idle(|_| {});
    assert_eq!((stage.top(texture), stage.texels(&images[0])[0][0]), (1, 101));
    drop(images);
    assert_leaves(&mut stage, gpu_images, "a mip was corrupt");
}

#[test]
fn a_package_that_is_not_there_is_tried_again() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    let mut stage = failing_stage(dir.path());
    let images = stage.load(&["t"]);
    let texture = stage.number(&images[0]);
    let (file, away) = (dir.path().join(PACKAGE), dir.path().join("away"));
    fs::rename(&file, &away).expect("it is moved");
    for seconds in [1, 4, 16] {
        assert_eq!(fail(&mut stage, texture, 0).len(), 1, "it is told once");
        assert_eq!(finest(&stage, texture), FLOOR);
        stage
            .app
            .world_mut()
            .resource_mut::<StreamingTime>()
            .advance(Duration::from_secs(seconds));
        drop(stage.frame());
        assert_eq!(finest(&stage, texture), 0, "it is tried again");
    }
    fs::rename(&away, &file).expect("it is moved back");
    let change = stage.begin(texture, 0);
    stage.until_staged(&[(texture, change)], |_| {});
    stage.send(texture, change);
    stage.until_idle(|_| {});
    assert_eq!((stage.top(texture), stage.texels(&images[0])[0][0]), (0, 100));
}

#[test]
fn a_texture_that_is_to_be_whole_is_drawn_with_its_tail_until_it_can_be_read() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    flip(dir.path());
    let none = MipPlugin {
        max_textures: 0,
        ..MipPlugin::default()
    };
    let mut stage = failing_stage_of(dir.path(), none);
    let images = stage.load(&["t"]);
    // Nothing is drawn with it before that.
    stage.until_idle(|_| {});
    stage.hang(&images, 1);
    let told = |stage: &Stage| stage.app.world().resource::<Failures>().0.len();
    let tail = stage.frame().picture;
    assert_eq!((told(&stage), stage.texels(&images[0])[0][0]), (1, 104));
    let advance = |stage: &mut Stage, seconds: u64| {
        let mut time = stage.app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs(seconds));
        stage.until_idle(|_| {});
        stage.frame().picture
    };
    assert!(advance(&mut stage, 1) == tail, "it cannot be read still");
    flip(dir.path());
    assert!(advance(&mut stage, 1) == tail, "it is not tried before its time");
    let whole = advance(&mut stage, 3);
    assert_eq!((told(&stage), stage.texels(&images[0])[0][0]), (1, 100), "told once");
    assert!(whole != tail, "its material is made again");
    assert_eq!(stage.app.world().resource::<MipTextures>().not_streamed().count(), 1);
}

/// A change of the texture to a finer mip that is carried out in the next frame.
fn sent(stage: &mut Stage, image: &Handle<Image>) -> u32 {
    let texture = stage.number(image);
    let change = stage.begin(texture, 1);
    stage.until_staged(&[(texture, change)], |_| {});
    stage.send(texture, change);
    texture
}

#[test]
fn an_image_that_the_game_puts_there_in_the_frame_of_a_swap_stays() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    let mut stage = Stage::new(dir.path(), |_| {});
    let images = stage.load(&["t"]);
    sent(&mut stage, &images[0]);
    let own = image([1, 1, 1], TextureFormat::R8Unorm, vec![vec![7]]);
    let mut all = stage.app.world_mut().resource_mut::<Assets<Image>>();
    all.insert(images[0].id(), own).expect("it is there");
    stage.until_idle(|_| {});
    assert_eq!(stage.texels(&images[0]), [[7]]);
    assert_eq!(stage.pool().ledger.sums(), LedgerSums::default());
}

/// Of a plugin of the game's, for instance.
#[test]
fn what_else_is_drawn_in_the_place_of_a_texture_stays() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_grey(dir.path());
    let mut stage = Stage::new(dir.path(), |_| {});
    let images = stage.load(&["t"]);
    let own = image([1, 1, 1], TextureFormat::R8Unorm, vec![vec![7]]);
    let own = stage.app.world_mut().resource_mut::<Assets<Image>>().add(own);
    let texture = sent(&mut stage, &images[0]);
    let world = stage.app.sub_app_mut(RenderApp).world_mut();
    let mut drawn = world.resource_mut::<RenderAssets<GpuImage>>();
    let other = drawn.get(&own).expect("it is drawn").clone();
    drawn.insert(images[0].id(), other);
    stage.until_idle(|_| {});
    assert_eq!(stage.texels(&images[0]), [[7]]);
    assert_eq!(stage.top(texture), FLOOR, "it was not replaced");
}

#[test]
fn a_sampler_that_the_game_changes_is_sampled_with() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    // Dark on the left, bright on the right.
    let mip = |mip: u32| {
        let side = SIDE >> mip;
        let row = (0..side).flat_map(|x| if 2 * x < side { [60; 4] } else { [200; 4] });
        row.collect::<Vec<u8>>().repeat(side as usize)
    };
    let pixels = (0..11).map(mip).collect();
    let halves = image([SIDE, SIDE, 1], TextureFormat::Rgba8UnormSrgb, pixels);
    write(dir.path(), [("t".to_owned(), halves)]);
    let mut stage = Stage::new(dir.path(), |_| {});
    let images = stage.load(&["t"]);
    // A quarter behind its right edge.
    stage.hang_with(&images, 1, |image| {
        let mut material = unlit(image);
        material.uv_transform.translation = Vec2::new(1.25, 0.5);
        material
    });
    let middle = picture::SIDE / 2;
    let is_bright = |frame: &Frame| frame.picture.pixel(middle, middle)[0] > 130;
    assert!(is_bright(&stage.frame()), "it ends there");
    let mut all = stage.app.world_mut().resource_mut::<Assets<Image>>();
    let mut image = all.get_mut(&images[0]).expect("it is there");
    let repeat = ImageAddressMode::Repeat;
    image.sampler.get_or_init_descriptor().set_address_mode(repeat);
    drop(image);
    drop(stage.frame());
    assert!(!is_bright(&stage.frame()), "it begins again");
    // It goes on so when it is finer.
    let texture = sent(&mut stage, &images[0]);
    stage.until_idle(|frame| assert!(!is_bright(frame)));
    assert_eq!(stage.top(texture), 1);
}
