//! What is cut out by alpha keeps its share of the texels in each mip; otherwise leaves and fences vanish in the distance.

use super::mips::{Base, Mip};
use super::pixel::{Texel, unorm8};

/// The share of the texels of an image that are drawn.
pub(super) fn share_of_base(base: &Base<'_>, visible: u8) -> f64 {
    share(base.width, base.height, visible, |y, row| base.row(y, row))
}

/// The share of the texels of a mip that are drawn.
pub(super) fn share_of_mip(mip: &Mip<'_>, visible: u8) -> f64 {
    share(mip.width, mip.height, visible, |y, row| mip.row(y, row))
}

fn share(width: u32, height: u32, visible: u8, read: impl Fn(u32, &mut Vec<Texel>)) -> f64 {
    let mut row = Vec::new();
    let drawn: usize = (0..height)
        .map(|y| {
            read(y, &mut row);
            row.iter().filter(|texel| unorm8(texel[3]) >= visible).count()
        })
        .sum();
    drawn as f64 / (f64::from(width) * f64::from(height))
}

/// Scales the alpha of a mip so that `share` of its texels is drawn, as nearly as its values allow.
pub(super) fn keep(mip: &mut Mip<'_>, visible: u8, share: f64) {
    let mut alphas = Vec::with_capacity(mip.width as usize * mip.height as usize);
    let mut row = Vec::new();
    for y in 0..mip.height {
        mip.row(y, &mut row);
        alphas.extend(row.iter().map(|texel| texel[3]));
    }
    alphas.sort_unstable_by(|one, two| two.total_cmp(one));
    let drawn = (share * alphas.len() as f64).round() as usize;
    // What is rounded up to the smallest alpha that is drawn.
    let cutoff = (f32::from(visible) - 0.5) / 255.0;
    mip.alpha_scale = scale(&alphas, drawn, cutoff);
}

/// What to multiply alphas with, the largest first, so that about `drawn` of them reach the cutoff.
fn scale(alphas: &[f32], drawn: usize, cutoff: f32) -> f32 {
    if alphas.partition_point(|alpha| *alpha >= cutoff) == drawn {
        return 1.0;
    }
    let drawn = nearest_cut(alphas, drawn);
    let (above, below) = (drawn.checked_sub(1).and_then(|last| alphas.get(last)), alphas.get(drawn));
    let edge = match (above, below) {
        (Some(above), Some(below)) => f32::midpoint(*above, *below),
        (Some(above), None) => above * 0.99,
        (None, Some(below)) => below * 1.01,
        (None, None) => 0.0,
    };
    if edge > 0.0 { cutoff / edge } else { 1.0 }
}

/// The number near `drawn` at which alphas differ, so that a scale can tell them apart.
fn nearest_cut(alphas: &[f32], drawn: usize) -> usize {
    let Some(last) = drawn.checked_sub(1).and_then(|last| alphas.get(last)) else { return 0 };
    let (before, behind) = (
        alphas.partition_point(|alpha| alpha > last),
        alphas.partition_point(|alpha| alpha >= last),
    );
    // No scale makes nothing into something.
    if *last > 0.0 && behind - drawn <= drawn - before {
        behind
    } else {
        before
    }
}
