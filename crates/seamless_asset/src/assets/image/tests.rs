//! How images are stored: any image comes back as it was, from where its mips lie, and forged ones are refused.

use bevy_asset::RenderAssetUsages;
use bevy_ecs::entity::EntityHashMap;
use bevy_image::Image;
use bevy_reflect::TypeRegistry;
use proptest::prelude::*;
use wgpu_types::{
    Extent3d, TextureDataOrder, TextureDimension, TextureFormat, TextureUsages, TextureViewDescriptor,
    TextureViewDimension,
};

use super::{ImageApart, ImageCodec, StoredImage, StoredPixels};
use crate::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset};

fn encoded(image: &Image) -> EncodedAsset {
    let (registry, rows) = (TypeRegistry::default(), EntityHashMap::default());
    ImageCodec::encode(image, &mut EncodeContext::new(&registry, &rows)).unwrap()
}

fn with_context<T>(decode: impl FnOnce(&DecodeContext) -> T) -> T {
    decode(&DecodeContext {
        registry: &TypeRegistry::default(),
        entities: &[],
        handles: &[],
        mesh_attributes: &[],
        object: None,
    })
}

fn decoded(stored: EncodedAsset) -> Result<Image, DecodeError> {
    with_context(|context| ImageCodec::decode(&stored.data, stored.bulk, context))
}

/// Bytes of the mips of one layer, by hand.
fn mip_bytes(width: u32, height: u32, mips: u32, block: u32, side: u32) -> Vec<usize> {
    let blocks = |size: u32, level: u32| (size >> level).max(1).div_ceil(side);
    (0..mips)
        .map(|level| (blocks(width, level) * blocks(height, level) * block) as usize)
        .collect()
}

fn image(size: [u32; 3], mips: u32, format: TextureFormat, order: TextureDataOrder, bytes: usize) -> Image {
    let mut image = Image {
        data: Some((0..bytes).map(|at| (at * 31 + at / 251) as u8).collect()),
        data_order: order,
        asset_usage: RenderAssetUsages::RENDER_WORLD,
        ..Image::default()
    };
    image.texture_descriptor.size = Extent3d {
        width: size[0],
        height: size[1],
        depth_or_array_layers: size[2],
    };
    image.texture_descriptor.mip_level_count = mips;
    image.texture_descriptor.format = format;
    image
}

/// A chain of 256 texels with nine mips, in two layers of one byte per texel.
fn two_layers(order: TextureDataOrder) -> Image {
    let bytes: usize = mip_bytes(256, 4, 9, 1, 1).iter().sum();
    image([256, 4, 2], 9, TextureFormat::R8Unorm, order, bytes * 2)
}

#[test]
fn large_mips_are_payloads_and_the_tail_lies_inline() {
    let header = encoded(&image(
        [1, 1, 1],
        1,
        TextureFormat::R8Unorm,
        TextureDataOrder::LayerMajor,
        1,
    ));
    let image = two_layers(TextureDataOrder::LayerMajor);
    let pixels = image.data.as_ref().unwrap();
    let stored = encoded(&image);
    let layer = pixels.len() / 2;
    let mip_of_both = |start: usize, size: usize| {
        let second = &pixels[layer + start..layer + start + size];
        [&pixels[start..start + size], second].concat()
    };
    assert_eq!(stored.bulk, [mip_of_both(0, 1024), mip_of_both(1024, 256)]);
    let tail: Vec<u8> = [
        (1280, 64),
        (1344, 32),
        (1376, 16),
        (1392, 8),
        (1400, 4),
        (1404, 2),
        (1406, 1),
    ]
    .iter()
    .flat_map(|&(start, size)| mip_of_both(start, size))
    .collect();
    assert!(stored.data.ends_with(&tail));
    // The sizes take two bytes each instead of one.
    assert!(stored.data.len() - tail.len() - header.data.len() <= 2);
    assert_eq!(header.bulk, [vec![0]], "without mips: one payload");
}

#[test]
fn small_images_with_mips_have_no_payload() {
    let bytes = mip_bytes(64, 64, 7, 4, 1).iter().sum();
    let image = image(
        [64, 64, 1],
        7,
        TextureFormat::Rgba8Unorm,
        TextureDataOrder::LayerMajor,
        bytes,
    );
    let stored = encoded(&image);
    assert!(stored.bulk.is_empty());
    assert_eq!(decoded(stored).unwrap().data, image.data);
}

#[test]
fn pixels_beyond_the_mips_stay() {
    let mut image = two_layers(TextureDataOrder::MipMajor);
    image.data.as_mut().unwrap().extend([1, 2, 3]);
    let stored = encoded(&image);
    assert_eq!(stored.bulk.len(), 1, "as a whole");
    assert_eq!(decoded(stored).unwrap().data, image.data);
}

/// What version 1 wrote of an image with mips: all of it in one payload, and `true` for "has data".
#[test]
fn version_1_stays_readable() {
    let image = two_layers(TextureDataOrder::LayerMajor);
    let stored = StoredImage {
        pixels: StoredPixels::Whole,
        ..StoredImage::of(&image)
    };
    let data = postcard::to_allocvec(&stored).unwrap();
    assert_eq!(data[0], 1, "as a bool");
    let bulk = vec![image.data.clone().unwrap()];
    let read = |version| with_context(|context| ImageCodec::decode_version(version, &data, bulk.clone(), context));
    assert_eq!(read(1).unwrap().data, image.data);
    let error = read(3).unwrap_err();
    assert!(
        matches!(error, DecodeError::NewerVersion { was: 3, is: 2, .. }),
        "{error}"
    );
}

#[test]
fn forged_sizes_are_refused() {
    let good = encoded(&two_layers(TextureDataOrder::LayerMajor));
    let refused = |what: &str, part: &str, forge: &dyn Fn(&mut EncodedAsset)| {
        let mut bad = good.clone();
        forge(&mut bad);
        let error = decoded(bad).unwrap_err();
        assert!(matches!(error, DecodeError::Malformed(_)), "{what}: {error}");
        assert!(error.to_string().contains(part), "{what}: {error}");
    };
    refused("a short payload", "2047 bytes in the mip 0, which needs 2048", &|bad| {
        bad.bulk[0].pop();
    });
    refused("a long payload", "mip 1", &|bad| bad.bulk[1].push(0));
    refused("no payload", "1 payloads", &|bad| {
        bad.bulk.pop();
    });
    refused("a payload too many", "3 payloads", &|bad| bad.bulk.push(vec![0; 128]));
    refused("a short tail", "mip tail", &|bad| {
        bad.data.pop();
    });
    refused("a long tail", "mip tail", &|bad| bad.data.push(0));
    refused("a header cut off", "header", &|bad| bad.data.truncate(5));
    refused("payloads of an image without pixels", "2 payloads", &|bad| {
        bad.data[0] = 0
    });
    refused("mips of a whole image", "2 payloads", &|bad| bad.data[0] = 1);
}

#[test]
fn forged_descriptors_are_refused_before_anything_is_allocated() {
    let image = two_layers(TextureDataOrder::LayerMajor);
    let refused = |what: &str, forge: &dyn Fn(&mut StoredImage)| {
        for pixels in [StoredPixels::Whole, StoredPixels::Mips] {
            let mut stored = StoredImage::of(&image);
            stored.pixels = pixels;
            forge(&mut stored);
            let data = postcard::to_allocvec(&stored).unwrap();
            let bulk = vec![vec![0; 64]];
            let error = decoded(EncodedAsset { data, bulk }).unwrap_err();
            assert!(matches!(error, DecodeError::Malformed(_)), "{what}: {error}");
        }
    };
    refused("no mips", &|stored| stored.mip_level_count = 0);
    refused("33 mips", &|stored| stored.mip_level_count = 33);
    refused("more bytes than 64 bits count", &|stored| {
        stored.size.width = u32::MAX;
        stored.size.height = u32::MAX;
        stored.size.depth_or_array_layers = u32::MAX;
    });
    refused("an unknown usage", &|stored| {
        stored.asset_usage = 0x80;
        stored.size.width = 1;
        stored.mip_level_count = 1;
    });
}

/// A format without a size in memory: mips of it cannot lie anywhere.
#[test]
fn mips_without_a_size_are_refused() {
    let mut stored = StoredImage::of(&two_layers(TextureDataOrder::LayerMajor));
    stored.pixels = StoredPixels::Mips;
    stored.format = TextureFormat::Depth24PlusStencil8;
    let data = postcard::to_allocvec(&stored).unwrap();
    let error = decoded(EncodedAsset { data, bulk: vec![] }).unwrap_err();
    assert!(error.to_string().contains("Depth24PlusStencil8"), "{error}");
}

#[test]
fn textures_that_nothing_can_hold_are_not_written() {
    let (registry, rows) = (TypeRegistry::default(), EntityHashMap::default());
    let refused = |size, mips, bytes| {
        let image = image(size, mips, TextureFormat::R8Unorm, TextureDataOrder::LayerMajor, bytes);
        ImageCodec::encode(&image, &mut EncodeContext::new(&registry, &rows)).map(|_| ())
    };
    assert!(matches!(refused([4, 4, 1], 3, 21), Ok(())));
    for size in [[0, 4, 1], [4, 0, 1], [4, 4, 0]] {
        assert!(
            matches!(refused(size, 1, 16), Err(EncodeError::EmptyImage { .. })),
            "{size:?}"
        );
    }
    for mips in [0, 4, u32::MAX] {
        let error = refused([4, 4, 1], mips, 100);
        assert!(
            matches!(error, Err(EncodeError::WrongMips { found, most: 3 }) if found == mips),
            "{mips} mips"
        );
    }
    let error = refused([4, 4, 1], 3, 20);
    assert!(matches!(
        error,
        Err(EncodeError::TooFewPixels { found: 20, needed: 21 })
    ));
}

fn formats() -> impl Strategy<Value = (TextureFormat, u32, u32)> {
    prop::sample::select(vec![
        (TextureFormat::R8Unorm, 1, 1),
        (TextureFormat::Rgba8UnormSrgb, 4, 1),
        (TextureFormat::Rgba16Float, 8, 1),
        (TextureFormat::Bc1RgbaUnorm, 8, 4),
        (TextureFormat::Bc7RgbaUnormSrgb, 16, 4),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_image_comes_back(
        (format, block, side) in formats(),
        width in 1_u32..200,
        height in 1_u32..200,
        layers in 1_u32..7,
        mips in 1_u32..9,
        mip_major in any::<bool>(),
        extra in prop::sample::select(vec![0_usize, 0, 1, 100]),
    ) {
        let order = if mip_major { TextureDataOrder::MipMajor } else { TextureDataOrder::LayerMajor };
        let mips = mips.min(width.max(height).ilog2() + 1);
        let bytes: usize = mip_bytes(width, height, mips, block, side).iter().sum();
        let image = image([width, height, layers], mips, format, order, bytes * layers as usize + extra);
        let stored = encoded(&image);
        if mips > 1 && extra == 0 {
            let large = (0..mips).filter(|level| (width.max(height) >> level) > 64).count();
            prop_assert_eq!(stored.bulk.len(), large);
        }
        let read = decoded(stored).unwrap();
        prop_assert_eq!(&read.data, &image.data);
        prop_assert_eq!(&read.texture_descriptor, &image.texture_descriptor);
        prop_assert_eq!(matches!(read.data_order, TextureDataOrder::MipMajor), mip_major);
        prop_assert_eq!(read.asset_usage, image.asset_usage);
    }

    #[test]
    fn volumes_come_back(size in prop::array::uniform3(1_u32..130), mips in 1_u32..8, mip_major in any::<bool>()) {
        let order = if mip_major { TextureDataOrder::MipMajor } else { TextureDataOrder::LayerMajor };
        let mips = mips.min(size.iter().max().unwrap().ilog2() + 1);
        let at = |level: u32| size.iter().map(|side| (side >> level).max(1) as usize).product::<usize>();
        let mut image = image(size, mips, TextureFormat::R8Unorm, order, (0..mips).map(at).sum());
        image.texture_descriptor.dimension = TextureDimension::D3;
        let stored = encoded(&image);
        if mips > 1 {
            let side = size.iter().max().unwrap();
            prop_assert_eq!(stored.bulk.len(), (0..mips).filter(|level| (side >> level) > 64).count());
        }
        prop_assert_eq!(decoded(stored).unwrap().data, image.data);
    }
}

/// A chain of so many mips, of one byte per texel.
fn chain(width: u32, height: u32, layers: u32, mips: u32) -> Image {
    let bytes: usize = mip_bytes(width, height, mips, 1, 1).iter().sum();
    let order = TextureDataOrder::LayerMajor;
    image(
        [width, height, layers],
        mips,
        TextureFormat::R8Unorm,
        order,
        bytes * layers as usize,
    )
}

fn is_marked(image: &Image) -> bool {
    ImageCodec::marks(image, &encoded(image))
}

#[test]
fn large_images_with_mips_are_marked() {
    for (width, height, layers, mips) in [
        (256, 256, 1, 9),
        (1024, 4, 1, 11),
        (1, 300, 1, 9),
        (256, 256, 6, 9),
        (512, 512, 1, 5),
    ] {
        assert!(
            is_marked(&chain(width, height, layers, mips)),
            "{width} x {height} x {layers}"
        );
    }
    // Too small; all in one; without a tail that could stand for it.
    for (side, mips) in [(255, 8), (128, 8), (64, 7), (256, 1), (256, 2)] {
        assert!(!is_marked(&chain(side, side, 1, mips)), "{side}, {mips} mips");
    }
}

/// Each for a reason of its own.
#[test]
fn images_that_are_more_than_read_by_shaders_are_not_marked() {
    let changed = |change: fn(&mut Image)| {
        let mut image = chain(256, 256, 1, 9);
        change(&mut image);
        is_marked(&image)
    };
    assert!(!changed(|image| image.asset_usage = RenderAssetUsages::default()));
    assert!(!changed(|image| image.asset_usage = RenderAssetUsages::MAIN_WORLD));
    assert!(!changed(|image| image.texture_descriptor.sample_count = 4));
    assert!(!changed(
        |image| image.texture_descriptor.usage |= TextureUsages::STORAGE_BINDING
    ));
    assert!(changed(
        |image| image.texture_descriptor.usage |= TextureUsages::COPY_SRC
    ));
    let view = |base_mip_level| TextureViewDescriptor {
        base_mip_level,
        ..TextureViewDescriptor::default()
    };
    let mut image = chain(256, 256, 1, 9);
    image.texture_view_descriptor = Some(view(0));
    assert!(is_marked(&image));
    image.texture_view_descriptor = Some(view(1));
    assert!(!is_marked(&image));
    let mut cube = chain(256, 256, 6, 9);
    assert!(is_marked(&cube), "pictures side by side");
    cube.texture_view_descriptor = Some(TextureViewDescriptor {
        dimension: Some(TextureViewDimension::Cube),
        ..TextureViewDescriptor::default()
    });
    assert!(!is_marked(&cube));
    // A volume, whose depth has mips as well.
    let texels = |mip: u32| [256_u32, 4, 2].map(|side| (side >> mip).max(1)).iter().product::<u32>();
    let bytes = (0..9).map(texels).sum::<u32>() as usize;
    let order = TextureDataOrder::LayerMajor;
    let mut volume = self::image([256, 4, 2], 9, TextureFormat::R8Unorm, order, bytes);
    volume.texture_descriptor.dimension = TextureDimension::D3;
    assert_eq!(encoded(&volume).bulk.len(), 2);
    assert!(!is_marked(&volume));
}

/// Its payloads come later, or never.
#[test]
fn an_image_apart_is_the_whole_but_for_its_payloads() {
    for order in [TextureDataOrder::MipMajor, TextureDataOrder::LayerMajor] {
        let image = two_layers(order);
        let stored = encoded(&image);
        let apart = ImageApart::read(&stored.data).unwrap().unwrap();
        assert_eq!(apart.payloads(), 2);
        assert!(apart.image.data.is_none());
        assert_eq!(apart.image.texture_descriptor, image.texture_descriptor);
        // From 64 texels on.
        let tail: usize = mip_bytes(256, 4, 9, 1, 1)[2..].iter().sum();
        assert_eq!(apart.tail().len(), tail * 2);
        let whole = apart.whole(stored.bulk.clone()).unwrap();
        assert_eq!((whole.data, whole.data_order), (image.data, image.data_order));
        let missing = apart.whole(stored.bulk[..1].to_vec());
        assert!(missing.is_err(), "a payload is missing");
    }
}

#[test]
fn what_has_no_payloads_or_no_right_tail_is_not_read_apart() {
    let stored = encoded(&two_layers(TextureDataOrder::MipMajor));
    let short = &stored.data[..stored.data.len() - 1];
    assert!(ImageApart::read(short).is_err());
    assert!(ImageApart::read(&stored.data[..3]).is_err());
    // All of it is the tail; there are no mips; there are no pixels.
    for mut image in [chain(64, 64, 1, 7), chain(256, 256, 1, 1), chain(256, 256, 1, 9)] {
        if image.texture_descriptor.mip_level_count == 9 {
            image.data = None;
        }
        assert!(ImageApart::read(&encoded(&image).data).unwrap().is_none());
    }
}
