//! Mips: each texel is the mean of exactly the area that it covers. See [`chain`].

use core::num::NonZeroUsize;
use core::ops::Range;

use super::parts::rows;
use super::pixel::{PixelFormat, Texel};
use crate::parts::in_parts;

/// The space in which texels are averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Filter {
    /// All channels as they are.
    Plain,
    /// Colour weighted by alpha, so that what is not seen does not bleed into what is.
    Weighted,
    /// Directions, which are of length one again afterwards.
    Directions {
        /// The third channel is not stored, but follows from the other two.
        from_two: bool,
    },
}

/// The weight that texels without alpha have: where nothing is seen the colour still has to be something that fits its
/// surroundings, because samplers blend it in at the edges.
const LEAST_WEIGHT: f32 = 1.0 / 1024.0;

impl Filter {
    /// A texel in the space of the means.
    fn enter(self, [r, g, b, a]: Texel) -> Texel {
        match self {
            Self::Plain => [r, g, b, a],
            Self::Weighted => {
                let weight = a + LEAST_WEIGHT;
                [r * weight, g * weight, b * weight, weight]
            }
            Self::Directions { from_two } => {
                let (x, y) = (r * 2.0 - 1.0, g * 2.0 - 1.0);
                let z = if from_two {
                    (1.0 - x * x - y * y).max(0.0).sqrt()
                } else {
                    b * 2.0 - 1.0
                };
                [x, y, z, a]
            }
        }
    }

    /// A mean as a texel.
    fn leave(self, [r, g, b, a]: Texel) -> Texel {
        match self {
            Self::Plain => [r, g, b, a],
            Self::Weighted => [r / a, g / a, b / a, (a - LEAST_WEIGHT).max(0.0)],
            Self::Directions { .. } => {
                let length = (r * r + g * g + b * b).sqrt();
                // Opposite directions have no mean: flat is as good as any.
                let [x, y, z] = if length > 1e-6 {
                    [r / length, g / length, b / length]
                } else {
                    [0.0, 0.0, 1.0]
                };
                [x * 0.5 + 0.5, y * 0.5 + 0.5, z * 0.5 + 0.5, a]
            }
        }
    }
}

/// One layer of an image, as it is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub bytes: &'a [u8],
    pub format: PixelFormat,
    pub width: u32,
    pub height: u32,
}

impl<'a> Base<'a> {
    /// The bytes of a row; none behind the last.
    fn row_bytes(&self, y: u32) -> &'a [u8] {
        let row = self.width as usize * self.format.bytes();
        let start = y as usize * row;
        self.bytes.get(start..start + row).unwrap_or_default()
    }

    /// Reads a row.
    pub fn row(&self, y: u32, texels: &mut Vec<Texel>) {
        texels.clear();
        self.format.read(self.row_bytes(y), texels);
    }
}

enum Texels<'a> {
    Stored(Base<'a>),
    /// Means, in the filter's space.
    Means(Vec<Texel>),
}

/// One mip of one layer.
pub(super) struct Mip<'a> {
    pub width: u32,
    pub height: u32,
    /// What alpha is multiplied with at the end.
    pub alpha_scale: f32,
    filter: Filter,
    texels: Texels<'a>,
}

impl<'a> Mip<'a> {
    fn base(base: Base<'a>, filter: Filter) -> Self {
        Self {
            width: base.width,
            height: base.height,
            alpha_scale: 1.0,
            filter,
            texels: Texels::Stored(base),
        }
    }

    /// A row in the space of the means.
    fn means(&self, y: u32, row: &mut Vec<Texel>) {
        match &self.texels {
            Texels::Stored(base) => {
                base.row(y, row);
                row.iter_mut().for_each(|texel| *texel = self.filter.enter(*texel));
            }
            Texels::Means(means) => {
                let (start, width) = (y as usize * self.width as usize, self.width as usize);
                row.clear();
                row.extend_from_slice(means.get(start..start + width).unwrap_or_default());
            }
        }
    }

    /// A row as it is shown.
    pub fn row(&self, y: u32, row: &mut Vec<Texel>) {
        self.means(y, row);
        for texel in row {
            *texel = self.filter.leave(*texel);
            texel[3] *= self.alpha_scale;
        }
    }

    /// The bytes as they are stored, if this is the image itself.
    pub fn stored(&self) -> Option<&'a [u8]> {
        match self.texels {
            Texels::Stored(base) => Some(base.bytes),
            Texels::Means(_) => None,
        }
    }

    /// The next mip.
    fn halved(&self, threads: NonZeroUsize) -> Mip<'static> {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let (columns, lines) = (taps(self.width, width), taps(self.height, height));
        let parts: Vec<Range<u32>> = rows(height).collect();
        let means = in_parts(threads, &parts, |rows| {
            let lines = lines.get(rows.start as usize..rows.end as usize);
            self.means_of(lines.unwrap_or_default(), &columns)
        });
        let means = means.concat();
        Mip {
            width,
            height,
            alpha_scale: 1.0,
            filter: self.filter,
            texels: Texels::Means(means),
        }
    }

    /// Rows of the next mip.
    fn means_of(&self, lines: &[Taps], columns: &[Taps]) -> Vec<Texel> {
        let mut means = Vec::with_capacity(lines.len() * columns.len());
        let mut row = Vec::with_capacity(self.width as usize);
        let mut sum = vec![[0.0; 4]; columns.len()];
        for sources in lines {
            sum.fill([0.0; 4]);
            for (source, weight) in sources {
                self.means(*source, &mut row);
                add_row(&row, *weight, columns, &mut sum);
            }
            means.extend_from_slice(&sum);
        }
        means
    }
}

/// The texels of a side of the larger mip that one of the smaller covers, with their shares of it.
type Taps = Vec<(u32, f32)>;

/// For each texel of the smaller side the texels of the larger one that it covers, with their shares of it, which add up to
/// one. In units of `1 / to` texels everything is whole.
fn taps(from: u32, to: u32) -> Vec<Taps> {
    let (larger, smaller) = (u64::from(from), u64::from(to));
    let covered = |at: u64| {
        let (start, end) = (at * larger, (at + 1) * larger);
        let sources = start / smaller..end.div_ceil(smaller);
        let share = |source: u64| end.min((source + 1) * smaller) - start.max(source * smaller);
        sources
            .map(|source| (source as u32, share(source) as f32 / larger as f32))
            .collect()
    };
    (0..smaller).map(covered).collect()
}

/// Adds a row, made smaller, to `sum`.
fn add_row(row: &[Texel], weight: f32, taps: &[Taps], sum: &mut [Texel]) {
    for (taps, sum) in taps.iter().zip(sum) {
        for (source, share) in taps {
            let Some(texel) = row.get(*source as usize) else {
                continue;
            };
            for (sum, value) in sum.iter_mut().zip(texel) {
                *sum += value * (share * weight);
            }
        }
    }
}

/// How many mips a texture has down to one texel.
pub(super) fn full_count(width: u32, height: u32) -> u32 {
    width.max(height).max(1).ilog2() + 1
}

/// `count` mips of a layer, from the one that is `skip` times half the image, made on so many threads.
pub(super) fn chain(base: Base<'_>, filter: Filter, skip: u32, count: u32, threads: NonZeroUsize) -> Vec<Mip<'_>> {
    let mut first = Mip::base(base, filter);
    for _ in 0..skip {
        first = first.halved(threads);
    }
    let mut mips = vec![first];
    for _ in 1..count {
        if let Some(next) = mips.last().map(|mip| mip.halved(threads)) {
            mips.push(next);
        }
    }
    mips
}
