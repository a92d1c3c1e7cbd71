use bevy_asset::{AssetId, AssetIndex, RenderAssetUsages};
use bevy_image::{Image, ImageSamplerDescriptor};
use bevy_reflect::TypeRegistry;
use seamless_asset::{
    assets::{ImageApart, ImageCodec},
    codec::{AssetCodec, EncodeContext, EntityRows},
};
use wgpu_types::{Extent3d, TextureDataOrder, TextureDimension, TextureFormat};

use super::*;

/// Parts of an image with all mips, of which all bytes of mip `n` are `n`.
pub(in crate::mip) fn apart(width: u32, height: u32, format: TextureFormat) -> ImageApart {
    let size = Extent3d {
        width,
        height,
        depth_or_array_layers: 1,
    };
    apart_of(size, TextureDimension::D2, format)
}

/// The same of any dimension.
pub(in crate::mip) fn apart_of(size: Extent3d, dimension: TextureDimension, format: TextureFormat) -> ImageApart {
    let Extent3d { width, height, .. } = size;
    let mut image = Image::new_uninit(size, dimension, format, RenderAssetUsages::RENDER_WORLD);
    let mips = width.max(height).ilog2() + 1;
    image.texture_descriptor.mip_level_count = mips;
    image.data_order = TextureDataOrder::MipMajor;
    let block = format.block_copy_size(None).unwrap();
    let (across, down) = format.block_dimensions();
    let mip = |mip: u32| {
        let blocks = |side: u32, block: u32| (side >> mip).max(1).div_ceil(block);
        let layers = size.mip_level_size(mip, dimension).depth_or_array_layers;
        vec![mip as u8; (blocks(width, across) * blocks(height, down) * layers * block) as usize]
    };
    image.data = Some((0..mips).flat_map(mip).collect());
    let (registry, rows) = (TypeRegistry::empty(), EntityRows::default());
    let encoded = ImageCodec::encode(&image, &mut EncodeContext::new(&registry, &rows)).unwrap();
    ImageApart::read(&encoded.data).unwrap().unwrap()
}

/// What is known of a texture of 256 texels, whose mips 0 and 1 are payloads.
pub(in crate::mip) fn record() -> Arc<MipRecord> {
    let apart = apart(256, 256, TextureFormat::R8Unorm);
    Arc::new(MipRecord::new(parts(apart)).unwrap())
}

/// The parts as an object of a package.
pub(in crate::mip) fn parts(apart: ImageApart) -> MipParts {
    let (apart, path) = (Box::new(apart), "a.pkg#bark".into());
    MipParts::Package { apart, path }
}

pub(in crate::mip) fn id(number: u32) -> AssetId<Image> {
    AssetId::from(AssetIndex::from_bits(number.into()))
}

fn news(textures: &mut MipTextures) -> Vec<MipTextureNews> {
    let mut news = Vec::new();
    textures.take_news(&mut news);
    news
}

#[test]
fn numbers_are_the_lowest_that_are_free() {
    use MipTextureNews::{Come, Gone};
    let mut textures = MipTextures::new(9);
    for number in 0..4 {
        assert_eq!(textures.insert(id(number), record()), number);
    }
    assert_eq!(news(&mut textures), [Come(0), Come(1), Come(2), Come(3)]);
    assert_eq!((textures.remove(id(2)), textures.remove(id(0))), (Some(2), Some(0)));
    assert_eq!((textures.remove(id(2)), textures.len()), (None, 2));
    assert_eq!((textures.number(id(0)), textures.id(0)), (None, None));
    assert_eq!(
        (textures.insert(id(7), record()), textures.insert(id(8), record())),
        (0, 2)
    );
    assert_eq!((textures.number(id(8)), textures.id(2)), (Some(2), Some(id(8))));
    assert_eq!(news(&mut textures), [Gone(2), Gone(0), Come(0), Come(2)]);
    assert_eq!(
        textures.iter().map(|(number, ..)| number).collect::<Vec<_>>(),
        [0, 1, 2, 3]
    );
    assert_eq!(news(&mut textures), []);
}

#[test]
fn a_limit_is_news_when_it_changes_and_goes_with_its_texture() {
    use MipTextureNews::{Come, Gone, Limited};
    let mut textures = MipTextures::new(9);
    textures.insert(id(1), record());
    textures.limit(0, 1);
    textures.limit(0, 1);
    textures.limit(5, 1);
    assert_eq!((textures.finest(0), textures.finest(5)), (1, 0));
    assert_eq!(news(&mut textures), [Come(0), Limited(0)]);
    textures.remove(id(1));
    textures.insert(id(1), record());
    assert_eq!(textures.finest(0), 0);
    assert_eq!(news(&mut textures), [Gone(0), Come(0)]);
}

#[test]
fn another_device_has_refused_nothing() {
    use MipTextureNews::{Come, Limited};
    let mut textures = MipTextures::new(9);
    (0..3).for_each(|number| assert_eq!(textures.insert(id(number), record()), number));
    textures.refuse(0, 2);
    textures.limit(1, 1);
    textures.refuse(1, 2);
    textures.limit(1, 2);
    assert!(textures.is_first_refusal(0) && !textures.is_first_refusal(0));
    assert_eq!(
        news(&mut textures),
        [Come(0), Come(1), Come(2), Limited(0), Limited(1), Limited(1)]
    );
    // What can be read again may be refused still.
    textures.limit(1, 1);
    assert_eq!((textures.finest(1), news(&mut textures)), (2, vec![]));
    textures.forget_refusals();
    assert_eq!([0, 1, 2].map(|texture| textures.finest(texture)), [0, 1, 0]);
    assert_eq!(news(&mut textures), [Limited(0), Limited(1)]);
    assert!(textures.is_first_refusal(0));
}

#[test]
fn a_record_has_the_tail_behind_its_floor() {
    let record = record();
    let chain = record.chain();
    assert_eq!((chain.floor(), chain.mips()), (2, 9));
    assert_eq!(record.tail().len() as u64, chain.bytes(2));
    assert_eq!((record.tail()[0], *record.tail().last().unwrap()), (2, 8));
    assert_eq!(record.path(), "a.pkg#bark");
    assert_eq!(record.descriptor().size.width, 256);
}

#[test]
fn what_stands_for_a_texture_is_told_from_others() {
    let apart = apart(256, 256, TextureFormat::R8Unorm);
    let stand_in = MipRecord::stand_in(&apart.image);
    assert!(is_stand_in(&stand_in) && stand_in.data.is_none());
    assert_eq!(
        (stand_in.width(), stand_in.texture_descriptor.mip_level_count),
        (256, 9)
    );
    assert!(!is_stand_in(&apart.image));
    let record = MipRecord::new(parts(apart)).unwrap();
    let (drawn, own) = (record.drawn_descriptor(), record.descriptor());
    assert_eq!((drawn.size, drawn.mip_level_count), (own.size, own.mip_level_count));
    for image in [own, &stand_in.texture_descriptor] {
        assert_ne!(drawn, *image, "Bevy writes into what it takes for the image's own");
    }
    let of_the_game = Image {
        asset_usage: RenderAssetUsages::all(),
        ..stand_in
    };
    assert!(!is_stand_in(&of_the_game));
}

#[test]
fn textures_whose_tail_cannot_be_drawn_do_not_stream() {
    let why = |width, height| {
        let apart = apart(width, height, TextureFormat::Bc7RgbaUnorm);
        MipRecord::new(parts(apart)).err()
    };
    assert_eq!(why(1000, 1000), Some(NotStreamed::Floor { floor: 1, tail: 4 }));
    assert_eq!(why(1024, 4), Some(NotStreamed::OneTop));
    assert_eq!(why(1024, 512), None);
}

#[test]
fn what_is_not_marked_has_a_reason() {
    use wgpu_types::{TextureUsages, TextureViewDescriptor, TextureViewDimension};
    let image = |side: u32, change: fn(&mut Image)| {
        let mut image = apart(side, side, TextureFormat::R8Unorm).image;
        change(&mut image);
        image
    };
    let view = |dimension, base_mip_level| {
        Some(TextureViewDescriptor {
            dimension,
            base_mip_level,
            ..TextureViewDescriptor::default()
        })
    };
    let cases: [(Image, u32, NotStreamed); 8] = [
        (image(512, |_| {}), 3, NotStreamed::Unmarked),
        (image(512, |_| {}), 0, NotStreamed::OneTop),
        (image(128, |_| {}), 1, NotStreamed::Small { side: 128, least: 256 }),
        (
            image(512, |image| image.asset_usage = RenderAssetUsages::all()),
            3,
            NotStreamed::InMemory,
        ),
        (
            image(512, |image| {
                image.texture_descriptor.usage |= TextureUsages::STORAGE_BINDING;
            }),
            3,
            NotStreamed::Written,
        ),
        (
            Image {
                texture_view_descriptor: view(Some(TextureViewDimension::Cube), 0),
                ..image(512, |_| {})
            },
            3,
            NotStreamed::Cube,
        ),
        (
            Image {
                texture_view_descriptor: view(None, 1),
                ..image(512, |_| {})
            },
            3,
            NotStreamed::View,
        ),
        (
            image(512, |image| image.texture_descriptor.dimension = TextureDimension::D3),
            3,
            NotStreamed::Dimension,
        ),
    ];
    for (image, payloads, why) in cases {
        assert_eq!(unmarked::why_unmarked(&image, payloads), why);
        assert!(!why.to_string().is_empty());
    }
}

#[test]
fn a_sampler_of_its_own_comes_before_the_default_one() {
    let mut textures = MipTextures::new(9);
    let with = |sampler: ImageSampler| {
        let mut apart = apart(256, 256, TextureFormat::R8Unorm);
        apart.image.sampler = sampler;
        Arc::new(MipRecord::new(parts(apart)).unwrap())
    };
    let mut sharp = ImageSamplerDescriptor::linear();
    sharp.anisotropy_clamp = 4;
    textures.insert(id(0), with(ImageSampler::Default));
    textures.insert(id(1), with(ImageSampler::Descriptor(sharp)));
    textures.insert(id(2), with(ImageSampler::linear()));
    let found = |textures: &MipTextures| [0, 1, 2].map(|texture| textures.anisotropy(texture));
    assert_eq!(found(&textures), [1, 4, 1]);
    textures.set_default_anisotropy(16);
    assert_eq!(found(&textures), [16, 4, 1]);
}
