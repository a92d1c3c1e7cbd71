//! What is on the GPU is what was cooked, texel by texel, whatever was copied from where.

use bevy::{
    asset::RenderAssetUsages,
    image::Image,
    render::{
        render_resource::{TextureFormat, TextureViewDescriptor, TextureViewDimension, WgpuFeatures},
        renderer::RenderDevice,
    },
};
use bevy_seamless::render::mip::{MipTextures, NotStreamed};
use seamless_tests::{app::run_until, cooked::STREAM_LIMIT, picture::has_driver, random::Random, skip::skipped};

use super::stage::{Stage, assert_texels, image, write};

/// All mips, each with all layers, of random bytes.
fn noise(size: [u32; 3], format: TextureFormat, random: &mut Random) -> Vec<Vec<u8>> {
    let [width, height, layers] = size;
    let (across, down) = format.block_dimensions();
    let block = format.block_copy_size(None).expect("it can be copied");
    let mips = 0..=width.max(height).ilog2();
    let bytes = |mip: u32| {
        let blocks = |side: u32, block: u32| (side >> mip).max(1).div_ceil(block);
        blocks(width, across) * blocks(height, down) * block * layers
    };
    mips.map(|mip| (0..bytes(mip)).map(|_| random.below(256) as u8).collect())
        .collect()
}

const BC: [TextureFormat; 2] = [TextureFormat::Bc1RgbaUnormSrgb, TextureFormat::Bc7RgbaUnorm];

/// Whether the device has block formats; else says so.
fn has_blocks(stage: &Stage) -> bool {
    let device = stage.app.world().resource::<RenderDevice>();
    let has = device.features().contains(WgpuFeatures::TEXTURE_COMPRESSION_BC);
    if !has {
        skipped("the driver has no block formats");
    }
    has
}

/// From each top to each other.
fn check(size: [u32; 3], format: TextureFormat) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let pixels = noise(size, format, &mut Random(7));
    write(dir.path(), [("t".to_owned(), image(size, format, pixels.clone()))]);
    let mut stage = Stage::new(dir.path(), |_| {});
    if format.is_compressed() && !has_blocks(&stage) {
        return;
    }
    let images = stage.load(&["t"]);
    let texture = stage.number(&images[0]);
    let chain = stage.chain(texture);
    assert_eq!(stage.top(texture), chain.floor());
    let tops: Vec<u8> = chain.tops().collect();
    assert!(tops.len() > 1, "{size:?}: {tops:?}");
    for from in &tops {
        for to in tops.iter().chain([from]) {
            if stage.top(texture) != *to {
                let change = stage.begin(texture, *to);
                if *to < chain.floor() && *to < stage.top(texture) {
                    stage.until_staged(&[(texture, change)], |_| {});
                }
                stage.send(texture, change);
                stage.until_idle(|_| {});
            }
            let texels = stage.texels(&images[0]);
            let what = format!("{format:?}, {size:?}, top {to}");
            assert_texels(&texels, &pixels[usize::from(*to)..], &what);
            let bytes = pixels[usize::from(*to)..].iter().map(Vec::len).sum::<usize>();
            assert_eq!(stage.pool().ledger.sums().total(), bytes as u64);
        }
    }
}

#[test]
fn texels_stay_what_they_are() {
    if !has_driver() {
        return;
    }
    check([512, 512, 1], TextureFormat::Rgba8UnormSrgb);
    check([300, 200, 1], TextureFormat::Rgba8Unorm);
    check([1, 300, 1], TextureFormat::R8Unorm);
    check([257, 3, 5], TextureFormat::Rg8Unorm);
    check([256, 256, 6], TextureFormat::Rgba16Float);
}

#[test]
fn blocks_stay_what_they_are() {
    if !has_driver() {
        return;
    }
    for format in BC {
        check([512, 512, 1], format);
        check([1024, 256, 2], format);
        // 258 and 129 are no multiples of four, 64 is one.
        check([516, 516, 1], format);
    }
}

/// Where no mip of the tail may be a base, or no other at all.
#[test]
fn what_cannot_stream_is_whole() {
    if !has_driver() {
        return;
    }
    for size in [[1000, 1000, 1], [1024, 4, 1], [500, 500, 2]] {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let pixels = noise(size, BC[1], &mut Random(9));
        write(dir.path(), [("t".to_owned(), image(size, BC[1], pixels.clone()))]);
        let mut stage = Stage::new(dir.path(), |_| {});
        if !has_blocks(&stage) {
            return;
        }
        let images = stage.load(&["t"]);
        let before = stage.gpu_images();
        let textures = stage.app.world().resource::<MipTextures>();
        assert_eq!(
            (textures.number(images[0].id()), textures.not_streamed().count()),
            (None, 1)
        );
        let all: u64 = pixels.iter().map(|mip| mip.len() as u64).sum();
        let is_there = run_until(&mut stage.app, STREAM_LIMIT, |world| {
            world
                .resource::<bevy_seamless::render::mip::MipPool>()
                .ledger
                .sums()
                .not_streamed
                == all
        });
        assert!(is_there, "it is read");
        stage.until_idle(|_| {});
        assert_texels(&stage.texels(&images[0]), &pixels, &format!("{size:?}"));
        drop(images);
        stage.until_idle(|_| {});
        let is_gone = run_until(&mut stage.app, STREAM_LIMIT, |world| {
            world
                .resource::<bevy_seamless::render::mip::MipPool>()
                .ledger
                .sums()
                .total()
                == 0
        });
        assert!(is_gone, "it goes");
        assert!(stage.gpu_images() <= before);
    }
}

/// What is left of the pool for what streams is less by these.
#[test]
fn what_the_cooker_has_not_marked_is_in_the_books_with_its_reason() {
    if !has_driver() {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let format = TextureFormat::R8Unorm;
    let of = |side: u32, layers: u32| {
        let size = [side, side, layers];
        image(size, format, noise(size, format, &mut Random(3)))
    };
    let cube = Image {
        texture_view_descriptor: Some(TextureViewDescriptor {
            dimension: Some(TextureViewDimension::Cube),
            ..TextureViewDescriptor::default()
        }),
        ..of(256, 6)
    };
    let kept = Image {
        asset_usage: RenderAssetUsages::all(),
        ..of(512, 1)
    };
    let flat = image([4, 4, 1], format, vec![vec![9; 16]]);
    let images = [cube, of(128, 1), kept, of(512, 1), flat];
    let bytes = images
        .each_ref()
        .map(|image| image.data.as_ref().map_or(0, Vec::len) as u64);
    let names = ["cube", "small", "kept", "marked", "flat"];
    write(dir.path(), names.map(str::to_owned).into_iter().zip(images));
    let mut stage = Stage::new(dir.path(), |_| {});
    let images = stage.load(&names);
    let why = |stage: &Stage, at: usize| {
        let textures = stage.app.world().resource::<MipTextures>();
        let mut found = textures.not_streamed().filter(|(id, _)| *id == images[at].id());
        found.next().map(|(_, why)| why)
    };
    let expected = [
        Some(NotStreamed::Cube),
        Some(NotStreamed::Small { side: 128, least: 256 }),
        Some(NotStreamed::InMemory),
        None,
        Some(NotStreamed::Small { side: 4, least: 256 }),
    ];
    assert_eq!([0, 1, 2, 3, 4].map(|at| why(&stage, at)), expected);
    let not_streamed = bytes.iter().sum::<u64>() - bytes[3];
    assert_eq!(stage.pool().ledger.sums().not_streamed, not_streamed);
    let pool = 64 << 20;
    assert_eq!(stage.pool().ledger.room(pool), pool - not_streamed);
    drop(images);
    stage.until_idle(|_| {});
    let is_gone = run_until(&mut stage.app, STREAM_LIMIT, |world| {
        let textures = world.resource::<MipTextures>();
        let pool = world.resource::<bevy_seamless::render::mip::MipPool>();
        textures.not_streamed().len() == 0 && pool.ledger.sums().total() == 0
    });
    assert!(is_gone, "nothing is left of them");
}
