//! How different two pictures look to somebody who flips between them. See [`flip`].
//!
//! LDR-FLIP, after P. Andersson and others, "FLIP: A Difference Evaluator for Alternating Images", HPG 2020, with the constants of the paper:
//! colours are blurred as the eye blurs them at a distance and compared in a space that is even to it; where edges or points come or go,
//! differences count for more.

use std::f32::consts::PI;

/// Pixels in a degree of sight: a screen of 0.7 m and 3840 pixels, from 0.7 m.
const PIXELS_PER_DEGREE: f32 = 67.020_64;

/// What a picture is of three numbers for each pixel.
type Pixels = Vec<[f32; 3]>;

/// The mean difference of two pictures, from 0, the same, to 1. Pixels are red, green and blue in sRGB, from 0 to 1, row by row.
///
/// # Panics
/// When the pictures are not of the size that `width` and their lengths say.
#[must_use]
pub fn flip(reference: &[[f32; 3]], test: &[[f32; 3]], width: usize) -> f32 {
    assert!(reference.len() == test.len() && !test.is_empty() && test.len().is_multiple_of(width));
    let [reference, test] = [reference, test].map(|pixels| {
        let opponent: Pixels = pixels.iter().map(|pixel| to_opponent(pixel.map(to_linear))).collect();
        (seen_colours(&opponent, width), features(&opponent, width))
    });
    let colours = reference
        .0
        .iter()
        .zip(&test.0)
        .map(|(one, two)| colour_difference(*one, *two));
    let features = reference.1.iter().zip(&test.1).map(|(one, two)| {
        let most = (one[0] - two[0]).abs().max((one[1] - two[1]).abs());
        (most / 2_f32.sqrt()).sqrt()
    });
    let all = colours
        .zip(features)
        .map(|(colour, feature)| colour.powf(1.0 - feature.min(1.0)));
    all.sum::<f32>() / test.0.len() as f32
}

fn to_linear(value: f32) -> f32 {
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

/// Of linear sRGB, with the white of D65.
const TO_XYZ: [[f32; 3]; 3] = [
    [0.412_386_56, 0.357_591_5, 0.180_450_49],
    [0.212_636_82, 0.715_183, 0.072_180_2],
    [0.019_330_62, 0.119_197_16, 0.950_372_6],
];
const FROM_XYZ: [[f32; 3]; 3] = [
    [3.241_003_2, -1.537_399, -0.498_615_9],
    [-0.969_224_3, 1.875_93, 0.041_554_23],
    [0.055_639_42, -0.204_011_2, 1.057_149],
];

fn times(matrix: &[[f32; 3]; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    matrix.map(|[a, b, c]| a * x + b * y + c * z)
}

fn white() -> [f32; 3] {
    times(&TO_XYZ, [1.0; 3])
}

/// Linear RGB to lightness and two pairs of opposites, without the eye's curve.
fn to_opponent(rgb: [f32; 3]) -> [f32; 3] {
    let (xyz, white) = (times(&TO_XYZ, rgb), white());
    let [x, y, z] = [0, 1, 2].map(|at| xyz[at] / white[at]);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn from_opponent([light, red, blue]: [f32; 3]) -> [f32; 3] {
    let y = (light + 16.0) / 116.0;
    let xyz = [y + red / 500.0, y, y - blue / 200.0];
    let white = white();
    times(&FROM_XYZ, [0, 1, 2].map(|at| xyz[at] * white[at]))
}

/// Linear RGB to CIELAB, where dark colours have less hue (Hunt's effect).
fn to_even(rgb: [f32; 3]) -> [f32; 3] {
    let (xyz, white) = (times(&TO_XYZ, rgb), white());
    let curve = |value: f32| {
        if value > 0.008_856_45 {
            value.cbrt()
        } else {
            value / 0.128_418_55 + 4.0 / 29.0
        }
    };
    let [x, y, z] = [0, 1, 2].map(|at| curve(xyz[at] / white[at]));
    let light = 116.0 * y - 16.0;
    [light, 0.01 * light * 500.0 * (x - y), 0.01 * light * 200.0 * (y - z)]
}

/// How large a difference of colours is that count as one city block of light and a straight line of hue.
fn distance(one: [f32; 3], two: [f32; 3]) -> f32 {
    (one[0] - two[0]).abs() + (one[1] - two[1]).hypot(one[2] - two[2])
}

/// From 0 to 1: small differences take most of the scale.
fn colour_difference(one: [f32; 3], two: [f32; 3]) -> f32 {
    let most = distance(to_even([0.0, 1.0, 0.0]), to_even([0.0, 0.0, 1.0])).powf(0.7);
    let knee = 0.4 * most;
    let found = distance(one, two).powf(0.7);
    if found < knee {
        0.95 / knee * found
    } else {
        0.95 + (found - knee) / (most - knee) * 0.05
    }
}

/// What the eye sees of each pixel: fine patterns of hue are lost first.
fn seen_colours(opponent: &[[f32; 3]], width: usize) -> Pixels {
    let planes = [0, 1, 2].map(|channel| {
        let plane: Vec<f32> = opponent.iter().map(|pixel| pixel[channel]).collect();
        // Weight and width, in degrees, of the bells that the sensitivity of the eye is made of.
        let bells: &[[f32; 2]] = match channel {
            0 => &[[1.0, 0.0047]],
            1 => &[[1.0, 0.0053]],
            _ => &[[34.1, 0.04], [13.5, 0.025]],
        };
        blurred(&plane, width, bells)
    });
    let pixel =
        |at: usize| from_opponent([planes[0][at], planes[1][at], planes[2][at]]).map(|value| value.clamp(0.0, 1.0));
    (0..opponent.len()).map(|at| to_even(pixel(at))).collect()
}

fn blurred(plane: &[f32], width: usize, bells: &[[f32; 2]]) -> Vec<f32> {
    let widest = bells.iter().map(|bell| bell[1]).fold(0.0, f32::max);
    let radius = (3.0 * (widest / (2.0 * PI * PI)).sqrt() * PIXELS_PER_DEGREE).ceil() as i32;
    let mut out = vec![0.0; plane.len()];
    let mut total = 0.0;
    for [weight, width_of_bell] in bells {
        let at = |x: i32| (-PI * PI * (x as f32 / PIXELS_PER_DEGREE).powi(2) / width_of_bell).exp();
        let bell: Vec<f32> = (-radius..=radius).map(at).collect();
        let weight = weight * (PI / width_of_bell).sqrt();
        total += weight * bell.iter().sum::<f32>().powi(2);
        let blurred = filtered(plane, width, &bell, &bell);
        out.iter_mut()
            .zip(blurred)
            .for_each(|(out, value)| *out += weight * value);
    }
    out.iter_mut().for_each(|value| *value /= total);
    out
}

/// How strong the edge and the point at each pixel are.
fn features(opponent: &[[f32; 3]], width: usize) -> Vec<[f32; 2]> {
    let light: Vec<f32> = opponent.iter().map(|pixel| (pixel[0] + 16.0) / 116.0).collect();
    // Half of the width of what is seen as an edge, 0.082 degrees.
    let deviation = 0.5 * 0.082 * PIXELS_PER_DEGREE;
    let radius = (3.0 * deviation).ceil() as i32;
    let bell = |x: f32| (-x * x / (2.0 * deviation * deviation)).exp();
    let of = |weight: &dyn Fn(f32) -> f32| -> Vec<f32> { (-radius..=radius).map(|x| weight(x as f32)).collect() };
    let mut smooth = of(&bell);
    let sum: f32 = smooth.iter().sum();
    smooth.iter_mut().for_each(|value| *value /= sum);
    let edge = balanced(of(&|x| -x * bell(x)));
    let point = balanced(of(&|x| (x * x / (deviation * deviation) - 1.0) * bell(x)));
    let strength = |filter: &[f32]| -> Vec<f32> {
        let across = filtered(&light, width, filter, &smooth);
        let down = filtered(&light, width, &smooth, filter);
        across.into_iter().zip(down).map(|(x, y)| x.hypot(y)).collect()
    };
    strength(&edge)
        .into_iter()
        .zip(strength(&point))
        .map(|(edge, point)| [edge, point])
        .collect()
}

/// Positive weights add up to one, and negative ones to minus one.
fn balanced(mut filter: Vec<f32>) -> Vec<f32> {
    let up: f32 = filter.iter().filter(|value| **value > 0.0).sum();
    let down: f32 = filter.iter().filter(|value| **value < 0.0).sum();
    filter
        .iter_mut()
        .for_each(|value| *value /= if *value > 0.0 { up } else { -down });
    filter
}

/// Filters rows, then columns. Beyond the border, its pixels go on.
fn filtered(plane: &[f32], width: usize, across: &[f32], down: &[f32]) -> Vec<f32> {
    let height = plane.len() / width;
    let pass = |plane: &[f32], filter: &[f32], is_across: bool| -> Vec<f32> {
        let radius = (filter.len() / 2) as isize;
        let clamped = |at: isize, size: usize| at.clamp(0, size as isize - 1) as usize;
        let pixel = |at: usize| {
            let (x, y) = ((at % width) as isize, (at / width) as isize);
            let taps = filter.iter().zip(-radius..=radius);
            let value = |step: isize| {
                if is_across {
                    plane[at - x as usize + clamped(x + step, width)]
                } else {
                    plane[clamped(y + step, height) * width + x as usize]
                }
            };
            taps.map(|(weight, step)| weight * value(step)).sum()
        };
        (0..plane.len()).map(pixel).collect()
    };
    pass(&pass(plane, across, true), down, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIDE: usize = 48;

    fn plain(colour: [f32; 3]) -> Pixels {
        vec![colour; SIDE * SIDE]
    }

    fn close(found: f32, expected: f32) {
        assert!((found - expected).abs() < 2e-3, "{found}, not {expected}");
    }

    #[test]
    fn plain_colours_differ_as_in_the_paper() {
        let (black, white) = (plain([0.0; 3]), plain([1.0; 3]));
        assert_eq!(flip(&white, &white, SIDE), 0.0);
        // 100^0.7 on the scale whose end is 41.276, that of green and blue.
        close(flip(&black, &white, SIDE), 0.9674);
        close(flip(&plain([0.0, 1.0, 0.0]), &plain([0.0, 0.0, 1.0]), SIDE), 1.0);
        let most = distance(to_even([0.0, 1.0, 0.0]), to_even([0.0, 0.0, 1.0])).powf(0.7);
        close(most / 41.276, 1.0);
    }

    #[test]
    fn there_and_back_is_the_same_colour() {
        for colour in [[0.1, 0.5, 0.9], [1.0, 0.0, 0.25], [0.0; 3]] {
            let back = from_opponent(to_opponent(colour));
            assert!(
                colour.iter().zip(back).all(|(one, two)| (one - two).abs() < 1e-4),
                "{back:?}"
            );
        }
        // CIELAB of sRGB's blue is 32.3, 79.2, -107.9.
        let [light, red, blue] = to_even([0.0, 0.0, 1.0]);
        close(light / 32.3, 1.0);
        close(red / (0.323 * 79.19), 1.0);
        close(blue / (0.323 * -107.86), 1.0);
    }

    #[test]
    fn a_feature_counts_for_more_than_a_shade() {
        let grey = plain([0.5; 3]);
        // Every second stripe is brighter: always half of the pixels.
        let striped = |width: usize| -> Pixels {
            let is_bright = |at: usize| (at % SIDE / width).is_multiple_of(2);
            (0..SIDE * SIDE)
                .map(|at| if is_bright(at) { [0.6; 3] } else { [0.5; 3] })
                .collect()
        };
        let [one_edge, many] = [SIDE / 2, SIDE / 8].map(|width| flip(&grey, &striped(width), SIDE));
        assert!(many > 1.2 * one_edge, "{many} and {one_edge}");
        close(flip(&striped(6), &grey, SIDE), many);
    }

    #[test]
    fn fine_patterns_of_hue_are_not_seen() {
        let pattern = |cell: usize| -> Pixels {
            let colour = |at: usize| (at % SIDE / cell + at / SIDE / cell).is_multiple_of(2);
            (0..SIDE * SIDE)
                .map(|at| if colour(at) { [0.62, 0.5, 0.5] } else { [0.5, 0.56, 0.5] })
                .collect()
        };
        let grey = plain([0.562, 0.531, 0.5]);
        assert!(flip(&pattern(1), &grey, SIDE) < 0.4 * flip(&pattern(12), &grey, SIDE));
    }

    #[test]
    fn filters_go_on_at_the_border() {
        let plane = vec![3.0; 20];
        let third = [1.0 / 3.0; 3];
        assert!(
            filtered(&plane, 5, &third, &third)
                .iter()
                .all(|value| (value - 3.0).abs() < 1e-5)
        );
        let edge = balanced(vec![2.0, 0.0, -6.0]);
        assert_eq!(edge, [1.0, 0.0, -1.0]);
    }
}
