//! Mips against what they must keep: light, length, coverage.

use bevy::render::render_resource::{TextureFormat, TextureViewDescriptor, TextureViewDimension};
use half::f16;

use super::*;
use crate::texture::mips::{Base, Filter, chain, full_count};

/// The largest difference in mean light between two mips that rounding to 8 bits explains, per channel: half a step, where the curve is
/// steepest.
const HALF_STEP: f64 = 0.5 / 255.0 * 2.3;

#[test]
fn colour_keeps_its_light() {
    for image in [
        noise(256, 64),
        text(120, 100),
        gradient(57, 93),
        noise(257, 3),
        noise(1, 40),
    ] {
        let cooked = cooked(&image, COLOR, &PLAIN);
        let mips = &mips_of(&cooked.image)[0];
        assert_eq!(mips.len() as u32, full_count(image.width(), image.height()));
        assert_eq!(
            cooked.image.data.as_ref().unwrap()[..image.data.as_ref().unwrap().len()],
            image.data.unwrap()[..]
        );
        for channel in 0..3 {
            let light = |texels: &[Texel]| mean(texels, |texel| f64::from(texel[channel]));
            let base = light(&mips[0].2);
            for (width, height, texels) in mips {
                let error = (light(texels) - base).abs();
                assert!(error <= HALF_STEP, "{width} x {height}: {error}");
            }
        }
    }
}

/// A board of black and white is half as bright as white, and that is sRGB 188: averaged as stored it would be 128.
#[test]
fn colour_is_averaged_in_linear_light() {
    let board = rgba8(8, 8, |x, y| if (x + y) % 2 == 0 { [255; 4] } else { [0, 0, 0, 255] });
    let cooked_board = cooked(&board, COLOR, &PLAIN).image;
    assert_eq!(cooked_board.data.as_ref().unwrap()[256..260], [188, 188, 188, 255]);
    let cooked_board = cooked(&linear(board), COLOR, &PLAIN).image;
    assert_eq!(cooked_board.data.as_ref().unwrap()[256..260], [128, 128, 128, 255]);
}

/// Before any rounding, for any size.
#[test]
fn means_are_exact() {
    for seed in 0..200 {
        let mut noise = Noise(seed);
        let (width, height) = (noise.within(1, 70), noise.within(1, 70));
        let bytes = noise.bytes(width * height * 4);
        let base = Base {
            bytes: &bytes,
            format: PixelFormat::RGBA8,
            width,
            height,
        };
        for mip in chain(base, Filter::Plain, 0, full_count(width, height), NonZeroUsize::MIN) {
            let mut texels = Vec::new();
            for y in 0..mip.height {
                let mut row = Vec::new();
                mip.row(y, &mut row);
                texels.extend(row);
            }
            assert_eq!(texels.len() as u32, mip.width * mip.height);
            for channel in 0..4 {
                let all = bytes.iter().skip(channel).step_by(4);
                let expected = all.map(|byte| f64::from(*byte) / 255.0).sum::<f64>() / f64::from(width * height);
                let found = mean(&texels, |texel| f64::from(texel[channel]));
                assert!(
                    (found - expected).abs() < 1e-5,
                    "{width} x {height}: {found}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn what_is_seen_of_blended_colour_keeps_its_light() {
    let mut alpha = Noise(11);
    let mut color = Noise(12);
    let image = rgba8(64, 64, |_, _| [color.byte(), color.byte(), 30, alpha.byte()]);
    let mips = &mips_of(&cooked(&image, BLEND, &PLAIN).image)[0];
    let seen = |texels: &[Texel]| mean(texels, |texel| f64::from(texel[0] * texel[3]));
    let base = seen(&mips[0].2);
    for (width, _, texels) in mips {
        assert!((seen(texels) - base).abs() <= HALF_STEP * 2.0, "{width}");
    }
}

#[test]
fn what_is_not_seen_does_not_bleed() {
    let image = rgba8(
        32,
        32,
        |x, _| if x % 2 == 0 { [200, 10, 10, 255] } else { [0, 255, 0, 0] },
    );
    for usage in [BLEND, MASK] {
        for (_, _, texels) in &mips_of(&cooked(&image, usage, &PLAIN).image)[0][1..] {
            for texel in texels {
                assert!(texel[1] < 0.01, "green bleeds: {texel:?}");
            }
        }
    }
    // Where alpha means nothing, all texels count.
    let texels = &mips_of(&cooked(&image, COLOR, &PLAIN).image)[0][1].2;
    assert!((texels[0][1] - 0.5).abs() < 0.01);
    // Where nothing at all is seen, samplers still blend the colour in at the edges.
    let clear = rgba8(4, 4, |_, _| [0, 0, 255, 0]);
    let texels = &mips_of(&cooked(&clear, BLEND, &PLAIN).image)[0][1].2;
    assert_eq!((texels[0][2], texels[0][3]), (1.0, 0.0));
}

#[test]
fn normals_stay_unit_vectors() {
    let length = |texel: &Texel| {
        let [x, y, z] = [texel[0], texel[1], texel[2]].map(|value| f64::from(value) * 2.0 - 1.0);
        (x * x + y * y + z * z).sqrt()
    };
    for image in [bumps(128, 64), linear(noise(65, 33))] {
        for (_, _, texels) in &mips_of(&cooked(&image, NORMAL, &PLAIN).image)[0][1..] {
            // Half a step in each of three channels.
            assert!(texels.iter().all(|texel| (length(texel) - 1.0).abs() < 0.008));
        }
    }
    // Opposite directions.
    let image = linear(rgba8(2, 1, |x, _| {
        if x == 0 {
            [255, 128, 128, 255]
        } else {
            [0, 127, 127, 255]
        }
    }));
    assert_eq!(
        cooked(&image, NORMAL, &PLAIN).image.data.unwrap()[8..],
        [128, 128, 255, 255]
    );
}

/// Two channels mean what three mean.
#[test]
fn two_channel_normals_have_a_third() {
    let image = bumps(64, 64);
    let pairs = image
        .data
        .as_ref()
        .unwrap()
        .chunks(4)
        .flat_map(|texel| [texel[0], texel[1]]);
    let two = image_of(64, 64, 1, TextureFormat::Rg8Unorm, pairs.collect());
    let three = &mips_of(&cooked(&image, NORMAL, &PLAIN).image)[0];
    let two = &mips_of(&cooked(&two, NORMAL, &PLAIN).image)[0];
    for ((.., two), (.., three)) in two.iter().zip(three) {
        for (two, three) in two.iter().zip(three) {
            assert!(
                (two[0] - three[0]).abs() < 0.02 && (two[1] - three[1]).abs() < 0.02,
                "{two:?} {three:?}"
            );
        }
    }
}

#[test]
fn cut_out_alpha_keeps_its_coverage() {
    let mut alpha = Noise(5);
    let grass = rgba8(128, 128, |_, _| [20, 200, 20, if alpha.byte() < 60 { 255 } else { 0 }]);
    let mut soft = Noise(6);
    let soft = rgba8(100, 52, |_, _| [20, 200, 20, soft.byte()]);
    for image in [grass, soft, leaves(144, 96)] {
        for visible in [1, 100, 128, 255] {
            let usage = TextureUse::Color(AlphaUse::Mask { visible });
            let cooked_image = cooked(&image, usage, &PLAIN);
            let mips = &mips_of(&cooked_image.image)[0];
            let unscaled = &mips_of(&cooked(&image, BLEND, &PLAIN).image)[0];
            let drawn = |texel: &Texel| f64::from(u8::from(texel[3] * 255.0 >= f32::from(visible) - 0.01));
            let base = mean(&mips[0].2, drawn);
            for ((width, height, texels), (.., unscaled)) in mips.iter().zip(unscaled) {
                let error = (mean(texels, drawn) - base).abs();
                let allowed = largest_group(unscaled) / 2.0 + 1.0 / texels.len() as f64;
                assert!(error <= allowed, "{width} x {height} at {visible}: {error}, of {base}");
                assert!(error <= cooked_image.report.coverage_error.unwrap() + 1e-9);
            }
        }
    }
}

/// The share of the alpha that most texels have: those come and go together.
fn largest_group(texels: &[Texel]) -> f64 {
    let mut counts = [0_u32; 256];
    for texel in texels {
        counts[(texel[3] * 255.0).round() as usize] += 1;
    }
    f64::from(*counts.iter().max().unwrap()) / texels.len() as f64
}

/// Without the scale, thin grass is gone after a few mips.
#[test]
fn grass_stays_in_the_distance() {
    let mut blade = Noise(17);
    let grass = rgba8(256, 256, |_, _| [20, 200, 20, if blade.byte() < 50 { 255 } else { 0 }]);
    let drawn = |usage| -> Vec<f64> {
        let mips = &mips_of(&cooked(&grass, usage, &PLAIN).image)[0];
        let drawn = |texel: &Texel| f64::from(u8::from(texel[3] >= 0.5));
        mips.iter().map(|(_, _, texels)| mean(texels, drawn)).collect()
    };
    let (blended, masked) = (drawn(BLEND), drawn(MASK));
    for level in 3..7 {
        assert!(blended[level] < 0.01, "{blended:?}");
        assert!((masked[level] - masked[0]).abs() < 0.05, "{masked:?}");
    }
}

#[test]
fn layers_are_images_of_their_own() {
    let faces: Vec<Image> = (0..6)
        .map(|face| rgba8(20, 20, |x, y| [face * 40, (x * y) as u8, 9, 255]))
        .collect();
    let data = faces.iter().flat_map(|face| face.data.clone().unwrap()).collect();
    let mut cube = image_of(20, 20, 6, TextureFormat::Rgba8UnormSrgb, data);
    cube.texture_view_descriptor = Some(TextureViewDescriptor {
        dimension: Some(TextureViewDimension::Cube),
        ..TextureViewDescriptor::default()
    });
    for settings in [PLAIN, FAST] {
        let whole = cooked(&cube, COLOR, &settings);
        let apart: Vec<u8> = faces
            .iter()
            .flat_map(|face| cooked(face, COLOR, &settings).image.data.unwrap())
            .collect();
        assert_eq!(whole.image.data.unwrap(), apart);
        assert_eq!(whole.image.texture_view_descriptor, cube.texture_view_descriptor);
        assert_eq!(whole.report.to_size, [20, 20, 6]);
    }
}

#[test]
fn light_stays_light() {
    let mut noise = Noise(9);
    let numbers: Vec<f32> = (0..48 * 20 * 4)
        .map(|at| {
            if at % 4 == 3 {
                1.0
            } else {
                f32::from(noise.byte()).powi(2) / 50.0
            }
        })
        .collect();
    let single = numbers.iter().flat_map(|value| value.to_le_bytes()).collect();
    let half = numbers
        .iter()
        .flat_map(|value| f16::from_f32(*value).to_le_bytes())
        .collect();
    for (format, data) in [(TextureFormat::Rgba32Float, single), (TextureFormat::Rgba16Float, half)] {
        let mips = &mips_of(&cooked(&image_of(48, 20, 1, format, data), COLOR, &PLAIN).image)[0];
        let light = |texels: &[Texel]| mean(texels, |texel| f64::from(texel[0]));
        let base = light(&mips[0].2);
        assert!(base > 100.0);
        assert!(
            mips.iter()
                .all(|(_, _, texels)| (light(texels) / base - 1.0).abs() < 1e-3)
        );
    }
}

#[test]
fn all_bits_are_kept() {
    let numbers = (0..16_u16).flat_map(|at| (at * 3000 + 7).to_le_bytes()).collect();
    let image = image_of(4, 4, 1, TextureFormat::R16Unorm, numbers);
    let mips = cooked(&image, TextureUse::Data(Channels::R), &PLAIN)
        .image
        .data
        .unwrap();
    let last = u16::from_le_bytes(*mips.last_chunk().unwrap());
    assert_eq!(last, 7 + 3000 * 15 / 2);
}

#[test]
fn blue_may_come_first() {
    let image = gradient(16, 16);
    let swapped = image
        .data
        .as_ref()
        .unwrap()
        .chunks(4)
        .flat_map(|texel| [texel[2], texel[1], texel[0], texel[3]]);
    let swapped = image_of(16, 16, 1, TextureFormat::Bgra8UnormSrgb, swapped.collect());
    assert_eq!(
        mips_of(&cooked(&swapped, COLOR, &PLAIN).image),
        mips_of(&cooked(&image, COLOR, &PLAIN).image)
    );
    assert_eq!(
        cooked(&swapped, COLOR, &FAST).image.data,
        cooked(&image, COLOR, &FAST).image.data
    );
}
