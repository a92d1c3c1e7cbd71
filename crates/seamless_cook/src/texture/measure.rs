//! How far compressed texels are from what they were. See [`Errors`].

use super::encoder::{BlockFormat, SurfaceTexels};
use super::pixel::Texel;
use super::report::TextureReport;
use super::usage::Channels;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Measure {
    /// These channels.
    Channels(Channels),
    /// Angles, of directions whose third coordinate is stored or is not.
    Angles { two: bool },
    /// Light, in log space.
    Light,
}

/// Nothing differs.
const BEST_DB: f64 = 100.0;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Sum {
    total: f64,
    count: u64,
}

impl Sum {
    fn add(&mut self, value: f64) {
        self.total += value;
        self.count += 1;
    }

    fn add_all(&mut self, other: Self) {
        self.total += other.total;
        self.count += other.count;
    }

    fn mean(self) -> Option<f64> {
        (self.count > 0).then(|| self.total / self.count as f64)
    }

    /// Of squared differences.
    fn psnr(self, peak: f64) -> Option<f64> {
        let mean = self.mean()?;
        Some((10.0 * (peak * peak / mean).log10()).min(BEST_DB))
    }
}

/// Sums of errors over mips and layers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Errors {
    color: Sum,
    alpha: Sum,
    angle: Sum,
    light: Sum,
    brightest: f64,
    coverage: Option<f64>,
}

impl Errors {
    /// Notes by how much the mips of a layer differ in what alpha cuts out of them.
    pub fn add_coverage(&mut self, error: f64) {
        self.coverage = Some(self.coverage.map_or(error, |largest| largest.max(error)));
    }

    /// Adds those of another part.
    pub fn add_all(&mut self, other: &Self) {
        self.color.add_all(other.color);
        self.alpha.add_all(other.alpha);
        self.angle.add_all(other.angle);
        self.light.add_all(other.light);
        self.brightest = self.brightest.max(other.brightest);
        self.coverage = self.coverage.into_iter().chain(other.coverage).reduce(f64::max);
    }

    /// Whether colour and alpha are at least this good.
    pub fn reach(&self, floor_db: f64) -> bool {
        [self.color, self.alpha]
            .iter()
            .all(|sum| sum.psnr(1.0).is_none_or(|psnr| psnr >= floor_db))
    }

    /// Writes what was measured.
    pub fn tell(&self, report: &mut TextureReport) {
        report.psnr_db = self.color.psnr(1.0);
        report.psnr_alpha_db = self.alpha.psnr(1.0);
        report.psnr_log_db = self.light.psnr(self.brightest);
        report.normal_error_degrees = self.angle.mean();
        report.coverage_error = self.coverage;
    }

    /// Compares blocks with the surface of `width * height` texels that they were made from, which is filled up to whole blocks.
    pub fn add(&mut self, measure: Measure, blocks: &Blocks<'_>, surface: SurfaceTexels<'_>, width: u32, height: u32) {
        let mut decoded = Vec::new();
        let stride = width.div_ceil(4) as usize * 4;
        for y in 0..height as usize {
            if y % 4 == 0 {
                blocks.decode_row(y / 4, stride, &mut decoded);
            }
            let row = decoded.get(y % 4 * stride..).unwrap_or_default();
            for (x, decoded) in row.iter().enumerate().take(width as usize) {
                self.add_texel(measure, texel_at(surface, y * stride + x), *decoded);
            }
        }
    }

    fn add_texel(&mut self, measure: Measure, was: Texel, is: Texel) {
        let difference = |channel: usize| f64::from(is[channel]) - f64::from(was[channel]);
        match measure {
            Measure::Channels(channels) => {
                let colors = [(Channels::R, 0), (Channels::G, 1), (Channels::B, 2)];
                for (_, channel) in colors.into_iter().filter(|(color, _)| color.is_within(channels)) {
                    self.color.add(difference(channel).powi(2));
                }
                if Channels::A.is_within(channels) {
                    self.alpha.add(difference(3).powi(2));
                }
            }
            Measure::Angles { two } => self.angle.add(angle(direction(was, two), direction(is, two))),
            Measure::Light => {
                for (was, is) in was.into_iter().zip(is).take(3) {
                    let (was, is) = (f64::from(was).ln_1p(), f64::from(is).ln_1p());
                    self.brightest = self.brightest.max(was);
                    self.light.add((was - is).powi(2));
                }
            }
        }
    }
}

/// A texel of a surface, in the space that is stored.
fn texel_at(surface: SurfaceTexels<'_>, at: usize) -> Texel {
    match surface {
        SurfaceTexels::Rgba8(bytes) => match bytes.as_chunks::<4>().0.get(at) {
            Some(bytes) => bytes.map(|byte| f32::from(byte) / 255.0),
            None => Texel::default(),
        },
        SurfaceTexels::RgbaF16(numbers) => match numbers.as_chunks::<4>().0.get(at) {
            Some(numbers) => numbers.map(half::f16::to_f32),
            None => Texel::default(),
        },
    }
}

/// The direction that Bevy's shader makes of a texel.
pub(super) fn direction(texel: Texel, two: bool) -> [f64; 3] {
    let [x, y, z, _] = texel.map(|value| f64::from(value) * 2.0 - 1.0);
    let z = if two { (1.0 - x * x - y * y).max(0.0).sqrt() } else { z };
    let length = (x * x + y * y + z * z).sqrt().max(1e-9);
    [x / length, y / length, z / length]
}

fn angle(one: [f64; 3], two: [f64; 3]) -> f64 {
    let dot: f64 = one.iter().zip(two).map(|(one, two)| one * two).sum();
    dot.clamp(-1.0, 1.0).acos().to_degrees()
}

/// Compressed texels, decoded by a crate of its own, so that an encoder cannot be its own judge.
pub(super) struct Blocks<'a> {
    pub format: BlockFormat,
    pub bytes: &'a [u8],
}

impl Blocks<'_> {
    /// Decodes the four rows of texels, `stride` each, of a row of blocks.
    pub fn decode_row(&self, row: usize, stride: usize, texels: &mut Vec<Texel>) {
        texels.clear();
        texels.resize(stride * 4, Texel::default());
        let size = self.format.block_bytes();
        let blocks = self.bytes.chunks_exact(size).skip(row * (stride / 4)).take(stride / 4);
        for (column, block) in blocks.enumerate() {
            let decoded = decode_block(self.format, block);
            for (y, decoded) in decoded.as_chunks::<4>().0.iter().enumerate() {
                let start = y * stride + column * 4;
                if let Some(texels) = texels.get_mut(start..start + 4) {
                    texels.copy_from_slice(decoded);
                }
            }
        }
    }
}

/// The 16 texels of a block, in the space that is stored.
pub(super) fn decode_block(format: BlockFormat, block: &[u8]) -> [Texel; 16] {
    let mut texels = [[0.0, 0.0, 0.0, 1.0]; 16];
    match format {
        BlockFormat::Bc1 | BlockFormat::Bc3 | BlockFormat::Bc7 => {
            let mut bytes = [0; 64];
            match format {
                BlockFormat::Bc1 => bcdec_rs::bc1(block, &mut bytes, 16),
                BlockFormat::Bc3 => bcdec_rs::bc3(block, &mut bytes, 16),
                _ => bcdec_rs::bc7(block, &mut bytes, 16),
            }
            fill(&mut texels, &bytes.map(|byte| f32::from(byte) / 255.0), 4);
        }
        BlockFormat::Bc4 => {
            let mut numbers = [0.0; 16];
            bcdec_rs::bc4_float(block, &mut numbers, 4, false);
            fill(&mut texels, &numbers, 1);
        }
        BlockFormat::Bc5 => {
            let mut numbers = [0.0; 32];
            bcdec_rs::bc5_float(block, &mut numbers, 8, false);
            fill(&mut texels, &numbers, 2);
        }
        BlockFormat::Bc6h => {
            let mut numbers = [0.0; 48];
            bcdec_rs::bc6h_float(block, &mut numbers, 12, false);
            fill(&mut texels, &numbers, 3);
        }
    }
    texels
}

fn fill(texels: &mut [Texel; 16], numbers: &[f32], channels: usize) {
    for (texel, numbers) in texels.iter_mut().zip(numbers.chunks_exact(channels)) {
        for (value, number) in texel.iter_mut().zip(numbers) {
            *value = *number;
        }
    }
}
