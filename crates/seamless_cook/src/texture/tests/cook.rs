//! The whole of it: what changes, what stays, and why.

use core::num::{NonZeroU32, NonZeroUsize};

use bevy::image::{ImageSampler, ImageSamplerDescriptor};
use bevy::render::render_resource::{TextureDimension, TextureFormat, TextureUsages, TextureViewDescriptor};

use super::*;

fn sized(max_size: u32) -> TextureSettings {
    TextureSettings {
        max_size: NonZeroU32::new(max_size),
        ..FAST
    }
}

#[test]
fn everything_but_pixels_stays() {
    let mut image = gradient(32, 16);
    image.texture_descriptor.label = Some("cliff");
    image.texture_descriptor.usage |= TextureUsages::COPY_SRC;
    image.sampler = ImageSampler::nearest();
    image.texture_view_descriptor = Some(TextureViewDescriptor::default());
    image.copy_on_resize = true;
    image.asset_usage = RenderAssetUsages::RENDER_WORLD;
    let cooked = cooked(&image, COLOR, &FAST).image;
    let descriptor = &cooked.texture_descriptor;
    assert_eq!(
        (descriptor.label, descriptor.usage),
        (Some("cliff"), image.texture_descriptor.usage)
    );
    assert_eq!(
        (descriptor.size, descriptor.dimension),
        (image.texture_descriptor.size, TextureDimension::D2)
    );
    assert!(
        matches!(&cooked.sampler, ImageSampler::Descriptor(sampler) if *sampler == ImageSamplerDescriptor::nearest())
    );
    assert_eq!(cooked.texture_view_descriptor, image.texture_view_descriptor);
    assert!(cooked.copy_on_resize);
    assert_eq!(cooked.asset_usage, RenderAssetUsages::RENDER_WORLD);
}

#[test]
fn the_report_tells_what_was_done() {
    let report = cooked(&gradient(64, 32), COLOR, &FAST).report;
    assert_eq!((report.from_size, report.to_size), ([64, 32, 1], [64, 32, 1]));
    assert_eq!((report.from_mips, report.to_mips), (1, 7));
    assert_eq!(
        (&*report.from_format, &*report.to_format),
        ("rgba8unormsrgb", "bc1rgbaunormsrgb")
    );
    // 16 x 8 blocks, then a quarter each, and one for each of the last three.
    let blocks = 16 * 8 + 8 * 4 + 4 * 2 + 2 + 1 + 1 + 1;
    assert_eq!((report.bytes_before, report.bytes_after), (64 * 32 * 4, blocks * 8));
    assert_eq!((report.no_mips, report.no_compression), (None, None));
    assert_eq!(&*report.usage, "color");
    let json = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<TextureReport>(&json).unwrap(), report);
}

/// Mips and format are kept for one reason each.
fn kept(image: &Image, usage: TextureUse, settings: &TextureSettings) -> [Option<Kept>; 2] {
    let cooked = cooked(image, usage, settings);
    if cooked.report.no_mips.is_some() {
        assert_eq!(
            cooked.image.texture_descriptor.mip_level_count,
            image.texture_descriptor.mip_level_count
        );
    }
    if cooked.report.no_compression.is_some() {
        assert_eq!(cooked.image.texture_descriptor.format, image.texture_descriptor.format);
    }
    [cooked.report.no_mips, cooked.report.no_compression]
}

#[test]
fn images_that_cannot_be_worked_with_stay_as_they_are() {
    let stays = |why: Kept, usage: TextureUse, change: &dyn Fn(&mut Image)| {
        let mut image = gradient(16, 16);
        change(&mut image);
        assert_eq!(kept(&image, usage, &FAST), [Some(why); 2]);
        assert_eq!(cooked(&image, usage, &FAST).image.data, image.data);
    };
    stays(Kept::UnknownUse, TextureUse::Unknown, &|_| {});
    stays(Kept::NoPixels, COLOR, &|image| image.data = None);
    stays(Kept::WrongSize, COLOR, &|image| image.data.as_mut().unwrap().push(0));
    stays(Kept::WrongSize, COLOR, &|image| {
        image.texture_descriptor.size.width = u32::MAX
    });
    stays(Kept::WrongSize, COLOR, &|image| {
        image.texture_descriptor.size.width = 0;
        image.data = Some(vec![]);
    });
    stays(Kept::NotFlat, COLOR, &|image| {
        image.texture_descriptor.dimension = TextureDimension::D3
    });
    stays(Kept::Multisampled, COLOR, &|image| {
        image.texture_descriptor.sample_count = 4
    });
    stays(Kept::WrittenByGpu, COLOR, &|image| {
        image.texture_descriptor.usage |= TextureUsages::STORAGE_BINDING;
    });
    stays(Kept::AlreadyCompressed, COLOR, &|image| {
        image.texture_descriptor.format = TextureFormat::Bc1RgbaUnorm
    });
    stays(Kept::AlreadyMipped, COLOR, &|image| {
        image.texture_descriptor.mip_level_count = 5
    });
    stays(Kept::UnknownFormat, COLOR, &|image| {
        image.texture_descriptor.format = TextureFormat::Rgba8Uint
    });
    for value in [f32::NAN, f32::INFINITY] {
        stays(Kept::NotFinite, COLOR, &|image| {
            image.texture_descriptor.format = TextureFormat::R32Float;
            let bytes = image.data.as_mut().unwrap();
            bytes[32..36].copy_from_slice(&value.to_le_bytes());
        });
    }
}

#[test]
fn mips_are_left_out_for_a_reason() {
    let image = gradient(16, 16);
    assert_eq!(
        kept(&image, COLOR, &TextureSettings { mips: false, ..FAST }),
        [Some(Kept::TurnedOff), None]
    );
    let mut clamped = image.clone();
    clamped.sampler = ImageSampler::Descriptor(ImageSamplerDescriptor {
        lod_max_clamp: 0.0,
        ..ImageSamplerDescriptor::linear()
    });
    assert_eq!(kept(&clamped, COLOR, &FAST), [Some(Kept::SamplerWithoutMips), None]);
    let mut viewed = image;
    viewed.texture_view_descriptor = Some(TextureViewDescriptor {
        mip_level_count: Some(1),
        ..TextureViewDescriptor::default()
    });
    assert_eq!(kept(&viewed, COLOR, &FAST), [Some(Kept::ViewWithoutMips), None]);
}

#[test]
fn formats_stay_for_a_reason() {
    let image = gradient(16, 16);
    let no_bc = TextureSettings {
        target: TargetFormats { bc: false },
        ..FAST
    };
    assert_eq!(kept(&image, COLOR, &PLAIN), [None, Some(Kept::TurnedOff)]);
    assert_eq!(kept(&image, COLOR, &no_bc), [None, Some(Kept::NotOnTarget)]);
    assert_eq!(kept(&gradient(18, 16), COLOR, &FAST), [None, Some(Kept::NotBlockSized)]);
    let mut viewed = image.clone();
    viewed.texture_view_descriptor = Some(TextureViewDescriptor {
        format: Some(TextureFormat::Rgba8Unorm),
        ..TextureViewDescriptor::default()
    });
    assert_eq!(kept(&viewed, COLOR, &FAST), [None, Some(Kept::OwnViews)]);
    let mut viewed = image;
    viewed.texture_descriptor.view_formats = &[TextureFormat::Rgba8Unorm];
    assert_eq!(kept(&viewed, COLOR, &FAST), [None, Some(Kept::OwnViews)]);
    let deep = image_of(4, 4, 1, TextureFormat::R16Unorm, vec![7; 32]);
    assert_eq!(
        kept(&deep, TextureUse::Data(Channels::R), &FAST),
        [None, Some(Kept::Precise)]
    );
    assert_eq!(kept(&deep, COLOR, &FAST), [None, Some(Kept::Precise)]);
    assert_eq!(kept(&deep, NORMAL, &FAST), [None, Some(Kept::UnknownFormat)]);
    let light = |texel: [f32; 4]| {
        let data = (0..16).flat_map(|_| texel).flat_map(f32::to_le_bytes).collect();
        image_of(4, 4, 1, TextureFormat::Rgba32Float, data)
    };
    assert_eq!(kept(&light([1.0; 4]), NORMAL, &FAST), [None, Some(Kept::Precise)]);
    assert_eq!(kept(&light([1.0, 2.0, 3.0, 0.5]), COLOR, &FAST), [None, None]);
    assert_eq!(kept(&light([1.0, 2.0, -0.0, 1.0]), BLEND, &FAST), [None, None]);
    for texel in [[1.0, 2.0, 3.0, 0.5], [-1.0, 0.0, 0.0, 1.0], [70_000.0, 0.0, 0.0, 1.0]] {
        assert_eq!(kept(&light(texel), BLEND, &FAST), [None, Some(Kept::OutOfRange)]);
    }
}

/// Answers with what it was given, whatever was asked for.
struct Broken(Option<Vec<u8>>);

impl TextureEncoder for Broken {
    fn id(&self) -> &'static str {
        "broken"
    }

    fn encode(&self, _: BlockFormat, _: Quality, _: &Surface<'_>) -> Option<Vec<u8>> {
        self.0.clone()
    }
}

#[test]
fn encoders_that_do_not_deliver_are_not_believed() {
    for broken in [Broken(None), Broken(Some(vec![0; 5]))] {
        let cooked = cook_texture(&gradient(16, 16), COLOR, &FAST, &broken, NonZeroUsize::MIN);
        assert_eq!(cooked.report.no_compression, Some(Kept::Encoder));
        assert_eq!(cooked.image.texture_descriptor.format, TextureFormat::Rgba8UnormSrgb);
        assert_eq!(cooked.image.texture_descriptor.mip_level_count, 5);
    }
    // Blocks of two zeros each: pairs that no repair brings into the circle.
    let outside = Broken(Some(vec![0; 16]));
    let cooked = cook_texture(
        &linear(rgba8(4, 4, |_, _| [128, 128, 255, 255])),
        NORMAL,
        &FAST,
        &outside,
        NonZeroUsize::MIN,
    );
    assert_eq!(cooked.report.no_compression, Some(Kept::Encoder));
}

#[test]
fn the_encoder_refuses_what_it_does_not_have() {
    let bytes = [0; 64];
    let light = [half::f16::ZERO; 64];
    let encode = |format, width, texels| {
        let surface = Surface {
            width,
            height: 4,
            texels,
            opaque: true,
        };
        CpuEncoder.encode(format, Quality::Fast, &surface).is_some()
    };
    assert!(encode(BlockFormat::Bc7, 4, SurfaceTexels::Rgba8(&bytes)));
    assert!(encode(BlockFormat::Bc6h, 4, SurfaceTexels::RgbaF16(&light)));
    assert!(!encode(BlockFormat::Bc6h, 4, SurfaceTexels::Rgba8(&bytes)));
    assert!(!encode(BlockFormat::Bc7, 4, SurfaceTexels::RgbaF16(&light)));
    assert!(
        !encode(BlockFormat::Bc7, 8, SurfaceTexels::Rgba8(&bytes)),
        "too few texels"
    );
    assert!(
        !encode(BlockFormat::Bc7, 3, SurfaceTexels::Rgba8(&bytes)),
        "no whole blocks"
    );
    assert!(!CpuEncoder.id().is_empty());
}

#[test]
fn large_textures_are_halved_until_they_fit() {
    let image = gradient(128, 64);
    let small = cooked(&image, COLOR, &sized(50));
    assert_eq!(
        (small.report.from_size, small.report.to_size),
        ([128, 64, 1], [32, 16, 1])
    );
    assert_eq!(small.image.texture_descriptor.mip_level_count, 6);
    // The mips are the ones that the whole image has.
    let small = TextureSettings {
        compress: false,
        ..sized(50)
    };
    let small = cooked(&image, COLOR, &small).image.data.unwrap();
    assert!(cooked(&image, COLOR, &PLAIN).image.data.unwrap().ends_with(&small));
    assert_eq!(cooked(&image, COLOR, &sized(128)).report.to_size, [128, 64, 1]);
    let plain = cooked(
        &image,
        COLOR,
        &TextureSettings {
            mips: false,
            compress: false,
            ..sized(1)
        },
    );
    assert_eq!((plain.image.data.unwrap().len(), plain.report.to_size), (4, [1, 1, 1]));
}

#[test]
fn the_same_bytes_always() {
    let images = [gradient(64, 64), noise(60, 20), bumps(64, 32), leaves(48, 48)];
    let uses = [COLOR, BLEND, MASK, NORMAL, TextureUse::Data(Channels::R)];
    let all = || -> Vec<Option<Vec<u8>>> {
        let pairs = images.iter().flat_map(|image| uses.map(|usage| (image, usage)));
        pairs
            .map(|(image, usage)| cooked(image, usage, &FAST).image.data)
            .collect()
    };
    let first = all();
    std::thread::scope(|scope| {
        let others: Vec<_> = (0..4).map(|_| scope.spawn(all)).collect();
        for other in others {
            assert!(other.join().unwrap() == first);
        }
    });
}

#[test]
fn blocks_become_texels_where_the_target_lacks_them() {
    let no_bc = TextureSettings {
        target: TargetFormats { bc: false },
        ..FAST
    };
    // Every mip, down to those that are smaller than a block.
    let blocks = cook_texture(&gradient(16, 8), COLOR, &FAST, &CpuEncoder, NonZeroUsize::MIN).image;
    assert_eq!(blocks.texture_descriptor.format, TextureFormat::Bc1RgbaUnormSrgb);
    let cooked = cook_texture(&blocks, COLOR, &no_bc, &CpuEncoder, NonZeroUsize::MIN);
    assert_eq!(cooked.image.texture_descriptor.format, TextureFormat::Rgba8UnormSrgb);
    assert_eq!(cooked.image.texture_descriptor.mip_level_count, 5);
    assert_eq!(&*cooked.report.from_format, "bc1rgbaunormsrgb");
    assert_eq!(&*cooked.report.to_format, "rgba8unormsrgb");
    // What a level of mips was is what it is: near the one that was never compressed.
    let plain = cook_texture(&gradient(16, 8), COLOR, &no_bc, &CpuEncoder, NonZeroUsize::MIN).image;
    let (a, b) = (plain.data.unwrap(), cooked.image.data.unwrap());
    assert_eq!(a.len(), b.len());
    let worst = a.iter().zip(&b).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(worst <= Some(24), "{worst:?}");
    // Whatever it is used for, and in every format that is there.
    use TextureFormat as F;
    let formats = [
        (F::Bc2RgbaUnorm, F::Rgba8Unorm, 16),
        (F::Bc3RgbaUnorm, F::Rgba8Unorm, 16),
        (F::Bc4RUnorm, F::R8Unorm, 8),
        (F::Bc4RSnorm, F::R8Snorm, 8),
        (F::Bc5RgUnorm, F::Rg8Unorm, 16),
        (F::Bc5RgSnorm, F::Rg8Snorm, 16),
        (F::Bc6hRgbUfloat, F::Rgba16Float, 16),
        (F::Bc6hRgbFloat, F::Rgba16Float, 16),
        (F::Bc7RgbaUnorm, F::Rgba8Unorm, 16),
    ];
    for (from, to, block) in formats {
        // 6 × 5 texels are four blocks, of two layers.
        let image = image_of(6, 5, 2, from, vec![7; 4 * 2 * block]);
        let expanded = cook_texture(&image, TextureUse::Unknown, &no_bc, &CpuEncoder, NonZeroUsize::MIN).image;
        assert_eq!(expanded.texture_descriptor.format, to, "{from:?}");
        let texel = to.block_copy_size(None).unwrap() as usize;
        let data = expanded.data.unwrap();
        assert_eq!(data.len(), 6 * 5 * 2 * texel, "{from:?}");
        match from {
            // Light is opaque.
            F::Bc6hRgbUfloat | F::Bc6hRgbFloat => {
                assert!(data.chunks(8).all(|texel| texel[6..] == [0x00, 0x3C]), "{from:?}");
            }
            F::Bc2RgbaUnorm | F::Bc3RgbaUnorm => {
                assert!(data.chunks(4).all(|texel| texel[..3] == data[..3]), "{from:?}");
            }
            F::Bc7RgbaUnorm => {}
            // Both ends are 7, and so is whatever lies between; the last two indices are the least and the greatest value.
            _ => assert!(
                data.contains(&7) && data.iter().all(|value| [7, 0, 0x7F, 0x81, 0xFF].contains(value)),
                "{from:?}"
            ),
        }
        // Less than it says stays as it is.
        let short = image_of(6, 5, 2, from, vec![7; 4 * 2 * block - 1]);
        let kept = cook_texture(&short, TextureUse::Unknown, &no_bc, &CpuEncoder, NonZeroUsize::MIN).image;
        assert_eq!(kept.texture_descriptor.format, from, "{from:?}");
    }
    // The ends are -127 and 127; all indices are 0, then all are 1.
    for (indices, value) in [([0x00, 0x00, 0x00], 0x81), ([0x49, 0x92, 0x24], 0x7F)] {
        let block = [&[0x81, 0x7F][..], &indices, &indices].concat();
        let image = image_of(4, 4, 1, F::Bc4RSnorm, block);
        let expanded = cook_texture(&image, TextureUse::Unknown, &no_bc, &CpuEncoder, NonZeroUsize::MIN).image;
        assert_eq!(expanded.data.unwrap(), [value; 16]);
    }
}
