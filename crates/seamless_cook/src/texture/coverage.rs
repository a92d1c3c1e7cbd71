//! What is cut out by alpha keeps its share of the texels in each mip; otherwise leaves and fences vanish in the distance.

use super::mips::{Base, Mip};
use super::pixel::{Texel, unorm8};

/// Scales the alpha of the mips that are not the image itself, so that as large a share of their texels is drawn as of the image's. Tells
/// the largest difference that remains.
pub(super) fn keep(base: &Base<'_>, mips: &mut [Mip<'_>], visible: u8) -> f64 {
    let wanted = share(base.width, base.height, visible, |y, row| base.row(y, row));
    let errors = mips.iter_mut().filter(|mip| mip.stored().is_none()).map(|mip| {
        scale_alpha(mip, visible, wanted);
        (share(mip.width, mip.height, visible, |y, row| mip.row(y, row)) - wanted).abs()
    });
    errors.fold(0.0, f64::max)
}

/// The share of texels that are drawn.
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
fn scale_alpha(mip: &mut Mip<'_>, visible: u8, share: f64) {
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
    let (above, below) = (
        drawn.checked_sub(1).and_then(|last| alphas.get(last)),
        alphas.get(drawn),
    );
    let edge = match (above, below) {
        (Some(above), Some(below)) => f32::midpoint(*above, *below),
        (Some(above), None) => above * 0.99,
        (None, Some(below)) => below * 1.01,
        (None, None) => 0.0,
    };
    if edge > 0.0 { cutoff / edge } else { 1.0 }
}

/// What is less than this is stored as no alpha at all.
const LEAST_ALPHA: f32 = 0.5 / 255.0;

/// The number near `drawn` at which alphas differ, so that a scale can tell them apart.
fn nearest_cut(alphas: &[f32], drawn: usize) -> usize {
    let Some(last) = drawn.checked_sub(1).and_then(|last| alphas.get(last)) else {
        return 0;
    };
    let (before, behind) = (
        alphas.partition_point(|alpha| alpha > last),
        alphas.partition_point(|alpha| alpha >= last),
    );
    // No scale makes something of nothing.
    if *last >= LEAST_ALPHA && behind - drawn <= drawn - before {
        behind
    } else {
        before
    }
}
