//! Zstandard frames of files that others wrote. See [`unpack`].

#[cfg(test)]
mod tests;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The most bytes that one byte of a frame can stand for: a block is not shorter than four bytes, and stands for 128 KiB.
const RATIO: u64 = (128 << 10) / 4;
/// The largest window that writers choose by themselves, whatever the frame holds; the decoder takes memory for all of it.
const WINDOW: u64 = 8 << 20;
/// The largest window at all, of the highest level.
const MOST_WINDOW: u64 = 128 << 20;

/// The bytes in a frame, if they are so many. Memory is taken as they are decoded.
pub(super) fn unpack(frame: &[u8], size: u64) -> Option<Vec<u8>> {
    if size > (frame.len() as u64).saturating_mul(RATIO) {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    let mut rest = frame;
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size((size as u64).clamp(WINDOW, MOST_WINDOW));
    decoder.reset(&mut rest).ok()?;
    let mut raw = Vec::new();
    raw.try_reserve_exact(size.min(frame.len().saturating_mul(16))).ok()?;
    loop {
        let is_finished = decoder.is_finished();
        if !is_finished {
            decoder
                .decode_blocks(&mut rest, BlockDecodingStrategy::UptoBlocks(1))
                .ok()?;
        }
        let ready = decoder.can_collect();
        if ready > size - raw.len() {
            return None;
        }
        if ready > 0 {
            raw.try_reserve(ready).ok()?;
            decoder.collect_to_writer(&mut raw).ok()?;
        } else if is_finished {
            return (raw.len() == size).then_some(raw);
        }
    }
}
