//! Any size, format, use and content.

use core::num::{NonZeroU32, NonZeroUsize};

use bevy::render::render_resource::TextureFormat;

use super::*;

const FORMATS: [TextureFormat; 18] = [
    TextureFormat::R8Unorm,
    TextureFormat::Rg8Unorm,
    TextureFormat::Rgba8Unorm,
    TextureFormat::Rgba8UnormSrgb,
    TextureFormat::Bgra8Unorm,
    TextureFormat::Bgra8UnormSrgb,
    TextureFormat::R16Unorm,
    TextureFormat::Rg16Unorm,
    TextureFormat::Rgba16Unorm,
    TextureFormat::R16Float,
    TextureFormat::Rg16Float,
    TextureFormat::Rgba16Float,
    TextureFormat::R32Float,
    TextureFormat::Rg32Float,
    TextureFormat::Rgba32Float,
    TextureFormat::R16Uint,
    TextureFormat::Rgba8Snorm,
    TextureFormat::Rgb9e5Ufloat,
];

fn any_use(noise: &mut Noise) -> TextureUse {
    let visible = noise.byte().max(1);
    let channels = noise.pick(&[Channels::R, Channels::G, Channels::A, Channels::RG, Channels::RGBA]);
    noise.pick(&[
        COLOR,
        BLEND,
        TextureUse::Color(AlphaUse::Mask { visible }),
        TextureUse::Color(AlphaUse::Independent),
        NORMAL,
        TextureUse::Normal(NormalUse::ThreeChannels),
        TextureUse::Data(channels),
    ])
}

fn any_settings(noise: &mut Noise) -> TextureSettings {
    TextureSettings {
        quality: noise.pick(&[Quality::Fast, Quality::Best]),
        mips: noise.pick(&[false, true, true]),
        compress: noise.pick(&[false, true, true]),
        max_size: NonZeroU32::new(noise.pick(&[0, 0, 1, 7, 16, 30])),
        ..FAST
    }
}

fn any_image(noise: &mut Noise) -> Image {
    let format = noise.pick(&FORMATS);
    let step = noise.pick(&[1, 4]);
    let [width, height] = [0; 2].map(|_| noise.within(1, 40 / step) * step);
    let layers = noise.within(1, 3);
    // Floats of random bits are often no numbers; with bits masked out they are small.
    let mask = noise.pick(&[0xff_u8, 0x3b, 0x0f]);
    let bytes = noise.bytes(width * height * layers * format.block_copy_size(None).unwrap());
    image_of(
        width,
        height,
        layers,
        format,
        bytes.iter().map(|byte| byte & mask).collect(),
    )
}

/// Bytes that the descriptor of an image says.
fn needed(image: &Image) -> u32 {
    let descriptor = &image.texture_descriptor;
    let (block_width, block_height) = descriptor.format.block_dimensions();
    let mips = (0..descriptor.mip_level_count).map(|level| {
        let size = descriptor.mip_level_size(level).unwrap();
        let blocks = size.width.div_ceil(block_width) * size.height.div_ceil(block_height);
        blocks * descriptor.format.block_copy_size(None).unwrap()
    });
    mips.sum::<u32>() * descriptor.size.depth_or_array_layers
}

#[test]
fn anything_is_cooked() {
    let mut compressed = 0;
    for seed in 0..1500 {
        let mut noise = Noise(seed * 7919);
        let image = any_image(&mut noise);
        let (usage, settings) = (any_use(&mut noise), any_settings(&mut noise));
        let Cooked { image, report } = cooked(&image, usage, &settings);
        let descriptor = &image.texture_descriptor;
        let what = format!("seed {seed}: {settings:?} {report:?}");
        assert_eq!(
            image.data.as_ref().map(Vec::len),
            Some(needed(&image) as usize),
            "{what}"
        );
        assert!(
            descriptor.mip_level_count <= descriptor.size.max_mips(descriptor.dimension),
            "{what}"
        );
        let is_compressed = descriptor.format.is_compressed();
        compressed += u32::from(is_compressed);
        if is_compressed {
            assert_eq!(
                (descriptor.size.width % 4, descriptor.size.height % 4),
                (0, 0),
                "{what}"
            );
        }
        assert_eq!(report.no_compression.is_none(), is_compressed, "{what}");
        let measured = [
            report.psnr_db,
            report.psnr_alpha_db,
            report.psnr_log_db,
            report.normal_error_degrees,
        ];
        assert_eq!(measured.iter().any(Option::is_some), is_compressed, "{what}");
        assert!(measured.iter().flatten().all(|value| value.is_finite()), "{what}");
    }
    assert!(compressed > 100, "{compressed} of 1500");
}

#[test]
fn odd_sizes_are_cooked() {
    for (width, height) in [
        (1, 1),
        (1, 257),
        (257, 3),
        (2, 2),
        (3, 5),
        (4, 4),
        (4, 1),
        (100, 4),
        (255, 255),
    ] {
        for usage in [COLOR, BLEND, MASK, NORMAL, TextureUse::Data(Channels::R)] {
            let image = cooked(&noise(width, height), usage, &FAST).image;
            assert_eq!(image.texture_descriptor.mip_level_count, width.max(height).ilog2() + 1);
            let last = mips_of(&image)[0]
                .last()
                .map(|(width, height, texels)| (*width, *height, texels.len()));
            assert_eq!(last, Some((1, 1, 1)));
        }
    }
}

/// Bytes and report, down to the last bit of what was measured.
#[test]
fn any_number_of_threads_makes_the_same() {
    for (width, height, layers) in [(68, 300, 1), (256, 128, 2), (75, 201, 1)] {
        let bytes = Noise(width).bytes(width * height * layers * 4);
        let image = image_of(width, height, layers, TextureFormat::Rgba8UnormSrgb, bytes);
        for (usage, settings) in [
            (COLOR, FAST),
            (MASK, FAST),
            (BLEND, BEST),
            (NORMAL, FAST),
            (NORMAL, PLAIN),
        ] {
            let cooked = |threads| {
                let threads = NonZeroUsize::new(threads).unwrap();
                let cooked = cook_texture(&image, usage, &settings, &CpuEncoder, threads);
                (cooked.image.data, cooked.report)
            };
            let one = cooked(1);
            for threads in [2, 3, 64] {
                assert_eq!(cooked(threads), one, "{threads} threads, {usage:?}");
            }
        }
    }
}
