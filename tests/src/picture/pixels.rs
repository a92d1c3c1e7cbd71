//! One picture, and how far it is from another.

use std::{collections::BTreeSet, path::Path};

use bevy::prelude::*;
use image::{ImageBuffer, Rgba};
use nv_flip::{DEFAULT_PIXELS_PER_DEGREE, FlipImageRgb8};

/// A channel that is further off than this is seen as wrong.
const FAR: u8 = 8;

/// A square picture, [`SIDE`](super::SIDE) pixels wide or [`LARGE`](super::LARGE), four bytes each: red, green, blue (sRGB), alpha.
#[derive(Clone, PartialEq, Eq)]
pub struct Picture(Vec<u8>);

impl Picture {
    pub(super) fn new(pixels: Vec<u8>) -> Self {
        Self(pixels)
    }

    /// Width and height, in pixels.
    fn side(&self) -> u32 {
        (self.0.len() as u32 / 4).isqrt()
    }

    /// How far two pictures are apart.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Difference {
        let mut sum = 0_u64;
        let mut far = 0_usize;
        for (a, b) in self.0.chunks_exact(4).zip(other.0.chunks_exact(4)) {
            let apart = [0, 1, 2, 3].map(|channel| a[channel].abs_diff(b[channel]));
            sum += apart.iter().map(|value| u64::from(*value)).sum::<u64>();
            far += usize::from(apart.iter().any(|value| *value > FAR));
        }
        Difference {
            mean: sum as f64 / self.0.len() as f64,
            far: far as f64 / (self.0.len() / 4) as f64,
        }
    }

    /// How different it looks from a reference to who flips between them, from 0 to 1: the mean of [`flips`](Self::flips).
    #[must_use]
    pub fn flip(&self, reference: &Self) -> f64 {
        let flips = self.flips(reference);
        flips.iter().map(|apart| f64::from(*apart)).sum::<f64>() / flips.len() as f64
    }

    /// How different each pixel looks, row by row, from 0 to 1: FLIP (Andersson and others, 2020), at the usual 67 pixels a degree.
    #[must_use]
    pub fn flips(&self, reference: &Self) -> Vec<f32> {
        let [test, reference] = [self, reference].map(|picture| {
            let colours: Vec<u8> = picture
                .0
                .chunks_exact(4)
                .flat_map(|pixel| [pixel[0], pixel[1], pixel[2]])
                .collect();
            FlipImageRgb8::with_data(picture.side(), picture.side(), &colours)
        });
        nv_flip::flip(reference, test, DEFAULT_PIXELS_PER_DEGREE).to_vec()
    }

    /// Whether the camera has drawn at all, its clear colour at least: before, everything is transparent.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        self.0.chunks_exact(4).all(|pixel| pixel[3] == u8::MAX)
    }

    /// Red, green, blue (sRGB) and alpha of the pixel in column `x` and row `y`, from the top left.
    ///
    /// # Panics
    /// When there is no such pixel.
    #[must_use]
    pub fn pixel(&self, x: u32, y: u32) -> [u8; 4] {
        let at = ((y * self.side() + x) * 4) as usize;
        [0, 1, 2, 3].map(|channel| self.0[at + channel])
    }

    /// Red, green and blue of each pixel, row by row, in linear light from 0 to 1.
    #[must_use]
    pub fn light(&self) -> Vec<[f32; 3]> {
        let pixels = self.0.chunks_exact(4);
        let light = |pixel: &[u8]| Srgba::rgb_u8(pixel[0], pixel[1], pixel[2]).into();
        pixels
            .map(|pixel| LinearRgba::to_f32_array_no_alpha(light(pixel)))
            .collect()
    }

    /// The picture whose [`light`](Self::light) this is, as near as its bytes are.
    #[must_use]
    pub fn of_light(light: impl Iterator<Item = [f32; 3]>) -> Self {
        let pixel = |[red, green, blue]: [f32; 3]| Srgba::from(LinearRgba::rgb(red, green, blue)).to_u8_array();
        Self(light.flat_map(pixel).collect())
    }

    /// The number of different colours.
    #[must_use]
    pub fn colours(&self) -> usize {
        let colours: BTreeSet<_> = self.0.chunks_exact(4).collect();
        colours.len()
    }

    /// Writes a PNG file, to look at.
    ///
    /// # Panics
    /// When the file cannot be written.
    pub fn save(&self, path: &Path) {
        let image: ImageBuffer<Rgba<u8>, _> =
            ImageBuffer::from_raw(self.side(), self.side(), self.0.clone()).expect("the picture has its size");
        image.save(path).expect("a PNG is written");
    }
}

/// How far two pictures are apart.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// Mean of the absolute differences of all channels, of 255.
    pub mean: f64,
    /// Share of the pixels of which a channel differs by more than 8 of 255.
    pub far: f64,
}

impl Difference {
    /// Whether nobody could tell the pictures apart.
    #[must_use]
    pub fn is_none(self) -> bool {
        self.mean < 0.5 && self.far < 0.001
    }
}
