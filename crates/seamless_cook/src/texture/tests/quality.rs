//! Compression, measured here by itself, against floors.

use std::time::Instant;

use bevy::render::render_resource::TextureFormat;
use half::f16;

use super::*;
use crate::texture::measure::{Errors, Measure, direction};
use crate::texture::normals::is_inside;

/// PSNR of red, green and blue over all mips, in the space that is stored.
fn psnr(image: &Image, other: &Image) -> f64 {
    let (mut total, mut count) = (0.0, 0.0);
    let stored = |value: f32| f64::from(to_srgb(value));
    for (one, two) in mips_of(image).iter().flatten().zip(mips_of(other).iter().flatten()) {
        assert_eq!((one.0, one.1), (two.0, two.1));
        for (one, two) in one.2.iter().zip(&two.2) {
            for channel in 0..3 {
                total += (stored(one[channel]) - stored(two[channel])).powi(2);
                count += 1.0;
            }
        }
    }
    -10.0 * (total / f64::max(count, 1.0)).max(1e-10).log10()
}

/// The inverse of the curve, of all numbers and not only of bytes.
fn to_srgb(linear: f32) -> f32 {
    if linear <= 0.003_130_8 {
        linear * 12.92
    } else {
        1.055 * linear.powf(1.0 / 2.4) - 0.055
    }
}

#[test]
fn colour_reaches_its_floor_at_each_quality() {
    for (image, fast_db, best_db) in [
        (gradient(128, 96), 36.0, 41.0),
        (text(128, 64), 33.0, 50.0),
        (noise(64, 64), 14.0, 17.0),
        (leaves(64, 64), 33.0, 45.0),
    ] {
        let plain = cooked(&image, COLOR, &PLAIN).image;
        let [fast, best] = [FAST, BEST].map(|settings| cooked(&image, COLOR, &settings));
        let measured = [&fast, &best].map(|cooked| psnr(&cooked.image, &plain));
        assert!(
            measured[0] >= fast_db && measured[1] >= best_db,
            "{measured:?} below {fast_db}, {best_db}"
        );
        assert!(measured[1] >= measured[0] - 0.1, "{measured:?}");
        for (cooked, measured) in [fast, best].iter().zip(measured) {
            let told = cooked.report.psnr_db.unwrap();
            assert!(
                (told - measured).abs() < 0.1,
                "the report says {told}, and it is {measured}"
            );
        }
    }
}

#[test]
fn fast_colour_is_bc1_where_that_is_good_enough() {
    let format = |image: &Image, settings| cooked(image, COLOR, settings).image.texture_descriptor.format;
    assert_eq!(format(&gradient(64, 64), &FAST), TextureFormat::Bc1RgbaUnormSrgb);
    assert_eq!(format(&noise(64, 64), &FAST), TextureFormat::Bc7RgbaUnormSrgb);
    assert_eq!(format(&gradient(64, 64), &BEST), TextureFormat::Bc7RgbaUnormSrgb);
    assert_eq!(format(&linear(gradient(64, 64)), &FAST), TextureFormat::Bc1RgbaUnorm);
    let soft = leaves(64, 64);
    assert_eq!(
        cooked(&soft, BLEND, &FAST).image.texture_descriptor.format,
        TextureFormat::Bc3RgbaUnormSrgb
    );
    assert_eq!(
        cooked(&soft, BLEND, &BEST).image.texture_descriptor.format,
        TextureFormat::Bc7RgbaUnormSrgb
    );
}

#[test]
fn alpha_is_measured_apart() {
    for (settings, floor_db) in [(FAST, 33.0), (BEST, 35.0)] {
        let cooked_leaves = cooked(&leaves(128, 128), BLEND, &settings);
        assert!(
            cooked_leaves.report.psnr_alpha_db.unwrap() >= floor_db,
            "{:?}",
            cooked_leaves.report
        );
        let plain = cooked(&leaves(128, 128), BLEND, &PLAIN).image;
        for (one, two) in mips_of(&cooked_leaves.image)[0].iter().zip(&mips_of(&plain)[0]) {
            let [one, two] = [&one.2, &two.2].map(|texels| mean(texels, |texel| f64::from(texel[3])));
            assert!((one - two).abs() < 0.03, "{one} {two}");
        }
    }
    assert_eq!(
        cooked(&gradient(64, 64), BLEND, &FAST).report.psnr_alpha_db,
        None,
        "nothing shows through"
    );
}

/// Soft holes, no two alike.
fn foliage(width: u32, height: u32) -> Image {
    rgba8(width, height, |x, y| {
        let (x, y) = (x as f32, y as f32);
        let wave = (x * 0.371).sin() * (y * 0.293).cos() + 0.5 * (x * 0.117 + y * 0.171).sin();
        [40, 160, 30, (wave * 120.0 + 110.0).clamp(0.0, 255.0) as u8]
    })
}

/// Ripples, as steep as most normal maps get.
fn ripples(width: u32, height: u32) -> Image {
    linear(rgba8(width, height, |x, y| {
        let slope = |at: u32, speed: f32| (at as f32 * speed).sin() * 0.7;
        let (x, y) = (slope(x, 0.05), slope(y, 0.07));
        let length = (x * x + y * y + 1.0).sqrt();
        [x, y, 1.0, length].map(|value| (value / length * 127.5 + 127.5).round() as u8)
    }))
}

/// What is cut out stays cut out after compression.
#[test]
fn coverage_survives_compression() {
    for settings in [FAST, BEST] {
        let image = cooked(&foliage(256, 128), MASK, &settings).image;
        let shares: Vec<f64> = mips_of(&image)[0]
            .iter()
            .map(|(_, _, texels)| mean(texels, |texel| f64::from(u8::from(texel[3] >= 127.5 / 255.0))))
            .collect();
        assert!(shares[0] > 0.2 && shares[0] < 0.8);
        for share in &shares[..5] {
            assert!((share - shares[0]).abs() < 0.04, "{shares:?}");
        }
    }
}

/// In BC1 a block can have a transparent colour; opaque textures have none.
#[test]
fn bc1_is_opaque() {
    let mut color = Noise(1);
    let flat = rgba8(64, 64, |x, y| [(x / 4 * 16) as u8, (y / 4 * 16) as u8, 77, 255]);
    let two = rgba8(64, 64, |x, _| {
        if x % 2 == 0 {
            [0, 0, 0, 255]
        } else {
            [color.byte() & 1, 0, 0, 255]
        }
    });
    for image in [flat, two, gradient(60, 44)] {
        let image = cooked(&image, COLOR, &FAST).image;
        assert_eq!(image.texture_descriptor.format, TextureFormat::Bc1RgbaUnormSrgb);
        assert!(
            mips_of(&image)[0]
                .iter()
                .all(|(_, _, texels)| texels.iter().all(|texel| texel[3] == 1.0))
        );
    }
}

#[test]
fn data_gets_a_channel_for_each_that_is_used() {
    let image = linear(gradient(64, 64));
    for (channels, format) in [
        (Channels::R, TextureFormat::Bc4RUnorm),
        (Channels::G, TextureFormat::Bc5RgUnorm),
        (Channels::RG, TextureFormat::Bc5RgUnorm),
        (Channels::RGB, TextureFormat::Bc7RgbaUnorm),
    ] {
        let cooked_image = cooked(&image, TextureUse::Data(channels), &BEST);
        assert_eq!(cooked_image.image.texture_descriptor.format, format);
        assert!(cooked_image.report.psnr_db.unwrap() > 38.0, "{:?}", cooked_image.report);
    }
    // No format of one channel has the curve.
    let curved = cooked(&gradient(64, 64), TextureUse::Data(Channels::R), &BEST);
    assert_eq!(curved.image.texture_descriptor.format, TextureFormat::Bc7RgbaUnormSrgb);
}

#[test]
fn normals_keep_their_direction() {
    for (usage, format) in [
        (NORMAL, TextureFormat::Bc5RgUnorm),
        (
            TextureUse::Normal(NormalUse::ThreeChannels),
            TextureFormat::Bc7RgbaUnorm,
        ),
    ] {
        let image = ripples(128, 128);
        let cooked_ripples = cooked(&image, usage, &BEST);
        assert_eq!(cooked_ripples.image.texture_descriptor.format, format);
        let told = cooked_ripples.report.normal_error_degrees.unwrap();
        assert!(told < 1.5, "{told} degrees");
        // Measured here as well, on the image itself.
        let was = &mips_of(&image)[0][0].2;
        let is = &mips_of(&cooked_ripples.image)[0][0].2;
        let two = format == TextureFormat::Bc5RgUnorm;
        let angles = was.iter().zip(is).map(|(was, is)| {
            let (was, is) = (direction(*was, false), direction(*is, two));
            let dot: f64 = was.iter().zip(is).map(|(was, is)| was * is).sum();
            dot.clamp(-1.0, 1.0).acos().to_degrees()
        });
        assert!(angles.sum::<f64>() / (was.len() as f64) < 1.5);
    }
    // A normal into the surface has no third channel to follow from.
    let back = linear(rgba8(8, 8, |_, _| [128, 128, 0, 255]));
    assert_eq!(
        cooked(&back, NORMAL, &BEST).image.texture_descriptor.format,
        TextureFormat::Bc7RgbaUnorm
    );
}

/// Bevy's shader takes the root of `1 - x² - y²`.
#[test]
fn no_normal_leaves_the_unit_circle() {
    let mut angle = Noise(21);
    let rim = linear(rgba8(64, 64, |_, _| {
        let angle = f32::from(angle.byte()) / 40.0;
        [
            (angle.cos() * 127.0 + 128.0) as u8,
            (angle.sin() * 127.0 + 128.0) as u8,
            128,
            255,
        ]
    }));
    let raw = {
        let bytes = rim.data.as_ref().unwrap();
        let surface = Surface {
            width: 64,
            height: 64,
            texels: SurfaceTexels::Rgba8(bytes),
            opaque: true,
        };
        CpuEncoder.encode(BlockFormat::Bc5, Quality::Best, &surface).unwrap()
    };
    assert!(!raw.chunks(16).all(is_inside), "else nothing is repaired");
    for image in [rim, bumps(64, 64), linear(noise(64, 64))] {
        let blocks = cooked(&image, NORMAL, &FAST).image;
        if blocks.texture_descriptor.format == TextureFormat::Bc5RgUnorm {
            assert!(blocks.data.unwrap().chunks(16).all(is_inside));
        }
    }
}

#[test]
fn light_is_compressed_in_bc6h() {
    let light = |x: u32, y: u32| ((x as f32 * 0.1).sin() * (y as f32 * 0.07).cos() + 1.1) * 40.0;
    let numbers = (0..64 * 64_u32).flat_map(|at| {
        let value = light(at % 64, at / 64);
        [value, value * 0.5, 0.01 * value, 1.0]
    });
    let data = numbers.flat_map(|value| f16::from_f32(value).to_le_bytes()).collect();
    let image = image_of(64, 64, 1, TextureFormat::Rgba16Float, data);
    let plain = cooked(&image, COLOR, &PLAIN).image;
    for settings in [FAST, BEST] {
        let cooked_light = cooked(&image, COLOR, &settings);
        assert_eq!(
            cooked_light.image.texture_descriptor.format,
            TextureFormat::Bc6hRgbUfloat
        );
        assert!(
            cooked_light.report.psnr_log_db.unwrap() > 38.0,
            "{:?}",
            cooked_light.report
        );
        let (is, was) = (&mips_of(&cooked_light.image)[0][0].2, &mips_of(&plain)[0][0].2);
        let apart = mean(is, |texel| f64::from(texel[0])) / mean(was, |texel| f64::from(texel[0]));
        assert!((apart - 1.0).abs() < 0.01, "{apart}");
    }
}

/// 16 bits become 8 on the sRGB curve, so that dark colours are kept.
#[test]
fn deep_colour_keeps_its_darks() {
    let numbers = (0..64 * 4_u16).flat_map(|at| [at * 8, at * 4, at * 2, u16::MAX]);
    let image = image_of(
        64,
        4,
        1,
        TextureFormat::Rgba16Unorm,
        numbers.flat_map(u16::to_le_bytes).collect(),
    );
    let cooked_image = cooked(&image, COLOR, &BEST);
    assert_eq!(
        cooked_image.image.texture_descriptor.format,
        TextureFormat::Bc7RgbaUnormSrgb
    );
    let (was, is) = (&mips_of(&image)[0][0].2, &mips_of(&cooked_image.image)[0][0].2);
    assert!(was.iter().zip(is).all(|(was, is)| (was[0] - is[0]).abs() < 0.004));
}

#[test]
fn what_does_not_differ_has_a_hundred_decibels() {
    let flat = rgba8(8, 8, |_, _| [255, 255, 255, 255]);
    assert_eq!(cooked(&flat, COLOR, &BEST).report.psnr_db, Some(100.0));
    assert!(Errors::default().reach(1000.0), "nothing was measured");
}

/// The measure is right about a difference that is known: one step in each channel is 48.13 dB.
#[test]
fn one_step_is_48_decibels() {
    let bytes: Vec<u8> = (0..16).flat_map(|_| [100_u8, 100, 100, 255]).collect();
    let texels = SurfaceTexels::Rgba8(&bytes);
    let mut surface = Surface {
        width: 4,
        height: 4,
        texels,
        opaque: true,
    };
    let other: Vec<u8> = (0..16).flat_map(|_| [101_u8, 99, 101, 255]).collect();
    surface.texels = SurfaceTexels::Rgba8(&other);
    let blocks = CpuEncoder.encode(BlockFormat::Bc7, Quality::Best, &surface).unwrap();
    let blocks = Blocks {
        format: BlockFormat::Bc7,
        bytes: &blocks,
    };
    let mut errors = Errors::default();
    errors.add(Measure::Channels(Channels::RGB), &blocks, texels, 4, 4);
    let mut report = cooked(&noise(4, 4), TextureUse::Unknown, &FAST).report;
    errors.tell(&mut report);
    assert!((report.psnr_db.unwrap() - 48.13).abs() < 0.5, "{:?}", report.psnr_db);
}

/// `cargo test -p seamless_cook --release texture_rates -- --ignored --nocapture`.
#[test]
#[ignore = "prints how fast each quality is"]
#[expect(clippy::print_stderr, reason = "its only result")]
fn texture_rates() {
    let image = gradient(1024, 1024);
    for (name, usage, settings) in [
        ("mips", COLOR, PLAIN),
        ("fast", COLOR, FAST),
        ("fast alpha", BLEND, FAST),
        ("best", COLOR, BEST),
    ] {
        let start = Instant::now();
        let cooked = cooked(&image, usage, &settings);
        eprintln!(
            "{name}: {:.0} ms, {:?} dB",
            start.elapsed().as_secs_f64() * 1e3,
            cooked.report.psnr_db
        );
    }
    let start = Instant::now();
    let cooked = cooked(&bumps(1024, 1024), NORMAL, &FAST);
    eprintln!(
        "normals: {:.0} ms, {:?}",
        start.elapsed().as_secs_f64() * 1e3,
        cooked.report.normal_error_degrees
    );
}
