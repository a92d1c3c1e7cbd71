//! Arrays of vectors in a form that packs well: differences in place of values, and bytes of one meaning side by side.
//!
//! A [`Value`] is a vector of *lanes*, each a word of one, two, four or eight bytes. Lane after lane, each word is taken as an integer, less
//! the word before it (wrapping); in zigzag, so that small differences of either sign are small numbers; and of these first the lowest
//! byte of all, then the next. That is the delta and zigzag coding of Protocol Buffers and meshoptimizer, and the byte shuffle of HDF5.
//! It has as many bytes as before. The meshes of the example `open_world` pack to half of what they pack to without it by LZ4, and to 0.6 by zstd in
//! the order of their sources; where they were put in order for a GPU, to 0.8.

use bevy_mesh::morph::MorphAttributes;
use bytemuck::Pod;
use half::f16;

use super::arrays::Arrays;
use crate::codec::DecodeError;

/// What arrays are of: numbers of one size, which is that of a word, on every machine.
pub(super) trait Value: Pod {
    /// Bytes of a word.
    const WORD: usize;
    /// How many words.
    const LANES: usize = size_of::<Self>() / Self::WORD;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Value for $number {
            const WORD: usize = size_of::<Self>();
        }
    )*};
}

number!(u8, i8, u16, i16, f16, u32, i32, f32, f64);

impl<T: Value, const N: usize> Value for [T; N]
where
    Self: Pod,
{
    const WORD: usize = T::WORD;
}

/// Differences of position, normal and tangent, each with a number that is padding.
impl Value for MorphAttributes {
    const WORD: usize = size_of::<f32>();
}

/// A word of a lane.
trait Word: Pod {
    /// The words of one lane out of their bytes.
    fn merge<'a>(bytes: &[u8], words: impl Iterator<Item = &'a mut Self>);
    /// The opposite of [`merge`](Self::merge).
    #[cfg(feature = "write")]
    fn split<'a>(words: impl Iterator<Item = &'a Self>, bytes: &mut [u8]);
}

macro_rules! word {
    ($($word:ty, $signed:ty;)*) => {$(
        impl Word for $word {
            #[inline]
            fn merge<'a>(bytes: &[u8], words: impl Iterator<Item = &'a mut Self>) {
                let count = bytes.len() / size_of::<Self>();
                let planes: [&[u8]; size_of::<Self>()] = core::array::from_fn(|byte| &bytes[byte * count..][..count]);
                let mut last: Self = 0;
                for (index, word) in words.take(count).enumerate() {
                    let zigzag = Self::from_le_bytes(core::array::from_fn(|byte| planes[byte][index]));
                    last = last.wrapping_add((zigzag >> 1) ^ (zigzag & 1).wrapping_neg());
                    *word = last;
                }
            }

            #[cfg(feature = "write")]
            #[inline]
            fn split<'a>(words: impl Iterator<Item = &'a Self>, bytes: &mut [u8]) {
                let count = bytes.len() / size_of::<Self>();
                let mut last: Self = 0;
                for (index, word) in words.enumerate() {
                    let difference = word.wrapping_sub(last);
                    let zigzag = (difference << 1) ^ ((difference as $signed) >> (Self::BITS - 1)) as Self;
                    for (byte, value) in zigzag.to_le_bytes().into_iter().enumerate() {
                        bytes[byte * count + index] = value;
                    }
                    last = *word;
                }
            }
        }
    )*};
}

word! {
    u8, i8;
    u16, i16;
    u32, i32;
    u64, i64;
}

/// The next `count` values of `arrays`, stored by [`push`]. Memory is taken only for what is there.
pub(super) fn values<T: Value>(arrays: &mut Arrays, count: u32) -> Result<Vec<T>, DecodeError> {
    let bytes = arrays.bytes_of::<T>(count)?;
    let mut values = vec![T::zeroed(); count as usize];
    match T::WORD {
        1 => merge::<u8>(bytes, bytemuck::cast_slice_mut(&mut values), T::LANES),
        2 => merge::<u16>(bytes, bytemuck::cast_slice_mut(&mut values), T::LANES),
        4 => merge::<u32>(bytes, bytemuck::cast_slice_mut(&mut values), T::LANES),
        _ => merge::<u64>(bytes, bytemuck::cast_slice_mut(&mut values), T::LANES),
    }
    Ok(values)
}

/// Appends an array.
#[cfg(feature = "write")]
pub(super) fn push<T: Value>(values: &[T], arrays: &mut Vec<u8>) {
    let start = arrays.len();
    arrays.resize(start + size_of_val(values), 0);
    let bytes = &mut arrays[start..];
    match T::WORD {
        1 => split::<u8>(bytemuck::cast_slice(values), bytes, T::LANES),
        2 => split::<u16>(bytemuck::cast_slice(values), bytes, T::LANES),
        4 => split::<u32>(bytemuck::cast_slice(values), bytes, T::LANES),
        _ => split::<u64>(bytemuck::cast_slice(values), bytes, T::LANES),
    }
}

fn merge<W: Word>(bytes: &[u8], words: &mut [W], lanes: usize) {
    let bytes_of_lane = (bytes.len() / lanes).max(1);
    for (lane, bytes) in bytes.chunks_exact(bytes_of_lane).enumerate() {
        W::merge(bytes, words[lane..].iter_mut().step_by(lanes));
    }
}

#[cfg(feature = "write")]
fn split<W: Word>(words: &[W], bytes: &mut [u8], lanes: usize) {
    let bytes_of_lane = (bytes.len() / lanes).max(1);
    for (lane, bytes) in bytes.chunks_exact_mut(bytes_of_lane).enumerate() {
        W::split(words[lane..].iter().step_by(lanes), bytes);
    }
}

#[cfg(test)]
mod tests;
