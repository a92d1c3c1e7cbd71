//! In each frame, each tile shows the finest mip that is there: never nothing, never another.

mod extended;
mod slabs;

use bevy::{
    asset::UntypedAssetId,
    pbr::{RenderMaterialBindings, material_uses_bindless_resources},
    prelude::*,
    render::{
        RenderApp,
        error_handler::{RenderErrorHandler, RenderErrorPolicy},
        render_resource::{Extent3d, TextureDescriptor, TextureDimension, TextureFormat, TextureUsages, WgpuFeatures},
        renderer::RenderDevice,
        settings::{RenderCreation, WgpuSettings},
    },
};
use bevy_seamless::render::mip::{MipFailed, MipPlugin, MipPool};
use seamless_tests::{
    app::run_until,
    cooked::STREAM_LIMIT,
    footprint::Allocated,
    picture::{Frame, Picture, SIDE, has_driver, settled},
    random::Random,
    skip::skipped_unless_required,
};
use wgpu::Backends;

use super::stage::{Stage, image, unlit, write};

/// Tiles in a row and in a column.
pub const COLUMNS: usize = 4;
pub const TEXTURES: usize = COLUMNS * COLUMNS;
/// Of each texture, in texels: mips 0 to 3 are payloads.
pub const TEXTURE: u32 = 1024;
const MIPS: u32 = 11;
pub const FLOOR: u8 = 4;

/// The colour of a mip of a texture: none is black, white, or another's.
pub fn colour(texture: usize, mip: u8) -> [u8; 4] {
    [60 + 12 * texture as u8, 250 - 15 * mip, 40 + 50 * (mip % 4), 255]
}

/// A texture of which each mip has its own colour.
pub fn coloured(texture: usize) -> Image {
    let mip = |mip: u32| {
        let side = (TEXTURE >> mip).max(1) as usize;
        colour(texture, mip as u8).repeat(side * side)
    };
    let size = [TEXTURE, TEXTURE, 1];
    image(size, TextureFormat::Rgba8UnormSrgb, (0..MIPS).map(mip).collect())
}

/// What the middle of a tile shows.
pub fn shown(picture: &Picture, tile: usize) -> [u8; 4] {
    let side = SIDE / COLUMNS as u32;
    let x = (tile % COLUMNS) as u32 * side + side / 2;
    // Pictures begin at the top.
    let y = SIDE - 1 - ((tile / COLUMNS) as u32 * side + side / 2);
    picture.pixel(x, y)
}

/// Whether these are the same colour, but for rounding.
pub fn is_near(found: [u8; 4], expected: [u8; 4]) -> bool {
    let mut channels = found.iter().zip(expected);
    channels.all(|(found, expected)| found.abs_diff(expected) <= 1)
}

#[track_caller]
pub fn assert_shows(frame: &Frame, tops: &[u8], when: &str) {
    assert_eq!(frame.instances, tops.len(), "{when}: each tile is drawn");
    for (tile, top) in tops.iter().enumerate() {
        let (found, expected) = (shown(&frame.picture, tile), colour(tile, *top));
        assert!(
            is_near(found, expected),
            "{when}: tile {tile} shows {found:?}, and mip {top} is {expected:?}"
        );
    }
}

/// Goes through tops, all up and down, then at random, some at once.
pub fn walk<M: Material>(stage: &mut Stage, material: fn(Handle<Image>) -> M) {
    let images = load_all(stage);
    stage.hang_with(&images, COLUMNS, material);
    let booked = (bindings(stage), textures(stage));
    let numbers: Vec<u32> = images.iter().map(|image| stage.number(image)).collect();
    let mut tops = [FLOOR; TEXTURES];
    assert_shows(&stage.frame(), &tops, "with tails alone");
    let mut random = Random(3);
    let mut steps: Vec<Vec<(usize, u8)>> = [3, 2, 1, 0, 1, 2, 3, 4, 0, 4]
        .map(|top| (0..TEXTURES).map(|tile| (tile, top)).collect())
        .into();
    steps.extend((0..12).map(|_| {
        let first = random.below(TEXTURES as u64) as usize;
        let top = |tile: usize| (tile, ((tile as u64 + random.below(4)) % 5) as u8);
        (first..TEXTURES.min(first + 5)).map(top).collect()
    }));
    for (number, step) in steps.iter().enumerate() {
        let step: Vec<_> = step.iter().filter(|(tile, top)| tops[*tile] != *top).collect();
        let begin = |(tile, top): &&(usize, u8)| (*tile, numbers[*tile], stage.begin(numbers[*tile], *top), *top);
        let begun: Vec<_> = step.iter().map(begin).collect();
        let reads = begun.iter().filter(|(tile, .., top)| *top < tops[*tile]);
        let reads: Vec<_> = reads.map(|(_, texture, id, _)| (*texture, *id)).collect();
        stage.until_staged(&reads, |frame| assert_shows(frame, &tops, "while it is read"));
        for (tile, texture, id, top) in begun {
            stage.send(texture, id);
            tops[tile] = top;
        }
        assert_shows(
            &stage.frame(),
            &tops,
            &format!("step {number}, in the frame of the swap"),
        );
        stage.until_idle(|frame| assert_shows(frame, &tops, &format!("step {number}, afterwards")));
        assert_eq!(
            numbers.iter().map(|texture| stage.top(*texture)).collect::<Vec<_>>(),
            tops
        );
    }
    assert_eq!(stage.pool().ledger.stray(), 0, "each report was for a change");
    // Each tile has a tail again.
    for (texture, top) in numbers.iter().zip(&mut tops).filter(|(_, top)| **top != FLOOR) {
        let change = stage.begin(*texture, FLOOR);
        stage.send(*texture, change);
        *top = FLOOR;
    }
    stage.until_idle(|frame| assert_shows(frame, &tops, "at the end"));
    assert_nothing_is_left::<M>(stage, &booked);
}

/// Whether there are as many textures, and materials are bound, as they were.
#[track_caller]
fn assert_nothing_is_left<M: Material>(stage: &mut Stage, booked: &(Vec<(UntypedAssetId, u32)>, Option<u64>)) {
    // What wgpu was given back it lets go of when it is polled.
    (0..5).for_each(|_| drop(stage.frame()));
    let left = (bindings(stage), textures(stage));
    let device = stage.app.world().resource::<RenderDevice>();
    let is_bindless = material_uses_bindless_resources::<M>(device);
    if is_bindless && M::bindless_descriptor().is_some_and(|of| of.index_tables.len() > 1) {
        // Bevy 0.19 does not find what is bound by the first of several tables, and so never lets go of it.
        assert!(left.1 > booked.1, "Bevy is mended: say so where it is told of");
        return;
    }
    assert_eq!(left.1, booked.1, "textures on the GPU, as wgpu counts them");
    if !is_bindless {
        assert_eq!(left.0, booked.0, "each material is bound as it was");
    }
}

/// By what materials are bound.
fn bindings(stage: &Stage) -> Vec<(UntypedAssetId, u32)> {
    let world = stage.app.sub_app(RenderApp).world();
    let bindings = world.resource::<RenderMaterialBindings>().iter();
    let mut bindings: Vec<_> = bindings.map(|(id, binding)| (*id, binding.group.0)).collect();
    bindings.sort_unstable();
    bindings
}

/// How many textures of ours wgpu has.
pub fn textures(stage: &Stage) -> Option<u64> {
    let device = stage.app.world().resource::<RenderDevice>();
    Some(Allocated::labelled(device, "seamless_mip")?.count)
}

/// Loads what [`write_all`] wrote.
pub fn load_all(stage: &mut Stage) -> Vec<Handle<Image>> {
    let names: Vec<String> = (0..TEXTURES).map(|texture| format!("t{texture}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    stage.load(&names)
}

pub fn write_all(dir: &std::path::Path) {
    write(
        dir,
        (0..TEXTURES)
            .map(|texture| (format!("t{texture}"), coloured(texture)))
            .chain([("whole".to_owned(), coloured(0))]),
    );
}

#[test]
fn each_frame_shows_the_mips_that_are_there() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    let mut stage = Stage::new(dir.path(), |_| {});
    let device = stage.app.world().resource::<RenderDevice>();
    if !material_uses_bindless_resources::<StandardMaterial>(device) {
        let why = "the driver has no arrays of textures, so this is the same as without them";
        return skipped_unless_required("SEAMLESS_REQUIRE_BINDLESS", why);
    }
    walk(&mut stage, unlit);
}

/// Each material with a bind group of its own.
#[test]
fn each_frame_shows_the_mips_that_are_there_without_bindless() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    let mut stage = Stage::without(WgpuFeatures::TEXTURE_BINDING_ARRAY, dir.path(), |_| {});
    let device = stage.app.world().resource::<RenderDevice>();
    assert!(!material_uses_bindless_resources::<StandardMaterial>(device));
    walk(&mut stage, unlit);
}

/// There is another device.
#[derive(Resource, Default)]
struct Recovered(bool);

/// How many mips could not be read, as a game is told.
#[derive(Resource, Default)]
struct Failed(usize);

/// Another device in place of one that was lost: a game may do that. What that one refuses ends the test.
pub fn recover(app: &mut App) {
    let count = |mut failed: MessageReader<MipFailed>, mut count: ResMut<Failed>| count.0 += failed.read().count();
    app.init_resource::<Recovered>()
        .init_resource::<Failed>()
        .add_systems(Last, count);
    app.insert_resource(RenderErrorHandler(|error, main_world, _| {
        let is_second = core::mem::replace(&mut main_world.resource_mut::<Recovered>().0, true);
        assert!(!is_second, "{error:?}");
        let settings = WgpuSettings {
            backends: Some(Backends::VULKAN),
            ..default()
        };
        RenderErrorPolicy::Recover(RenderCreation::Automatic(Box::new(settings)))
    }));
}

/// What wgpu refuses.
pub fn fail_on_purpose(app: &App) {
    let device = app.world().resource::<RenderDevice>();
    device.create_texture(&TextureDescriptor {
        label: Some("wrong on purpose"),
        size: Extent3d {
            width: 0,
            height: 1,
            depth_or_array_layers: 1,
        },
        mip_level_count: 1,
        sample_count: 1,
        dimension: TextureDimension::D2,
        format: TextureFormat::R8Unorm,
        usage: TextureUsages::TEXTURE_BINDING,
        view_formats: &[],
    });
}

#[test]
fn on_another_device_all_tails_are_there_again() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    write_all(dir.path());
    let mips = MipPlugin {
        max_textures: TEXTURES,
        ..MipPlugin::default()
    };
    let mut stage = Stage::of(mips, WgpuFeatures::empty(), dir.path(), recover);
    let images = load_all(&mut stage);
    stage.hang(&images, COLUMNS);
    let numbers: Vec<u32> = images.iter().map(|image| stage.number(image)).collect();
    // One has come too late to stream.
    let whole = stage.load(&["whole"]);
    stage.until_idle(|_| {});
    let texels = stage.texels(&whole[0]);
    assert!(texels.len() == MIPS as usize && texels[0][..4] == colour(0, 0));
    // One is finer, one is about to be, one is staged, and one is read.
    let changes: Vec<_> = (0..3)
        .map(|tile| (numbers[tile], stage.begin(numbers[tile], 2)))
        .collect();
    stage.until_staged(&changes, |_| {});
    stage.send(changes[0].0, changes[0].1);
    drop(stage.frame());
    stage.send(changes[1].0, changes[1].1);
    stage.begin(numbers[3], 0);
    fail_on_purpose(&stage.app);
    let (floor, chain) = (FLOOR, stage.chain(numbers[0]));
    let is_there = run_until(&mut stage.app, STREAM_LIMIT, |world| {
        let ledger = &world.resource::<MipPool>().ledger;
        let streamed = ledger.sums().total() - ledger.sums().not_streamed;
        streamed == TEXTURES as u64 * chain.bytes(floor) && ledger.changing().is_empty()
    });
    assert!(is_there, "all begin anew: {:?}", stage.pool().ledger.sums());
    let settled = settled(&mut stage.app);
    assert_shows(&settled, &[FLOOR; TEXTURES], "on another device");
    stage.until_idle(|_| {});
    drop(stage.frame());
    assert!(stage.texels(&whole[0]) == texels, "what is whole was read again");
    let change = stage.begin(numbers[5], 1);
    stage.until_staged(&[(numbers[5], change)], |_| {});
    stage.send(numbers[5], change);
    let mut tops = [FLOOR; TEXTURES];
    tops[5] = 1;
    assert_shows(&stage.frame(), &tops, "finer on another device");
    stage.until_idle(|frame| assert_shows(frame, &tops, "finer on another device"));
    assert_eq!(stage.app.world().resource::<Failed>().0, 0, "no mip is to blame");
}
