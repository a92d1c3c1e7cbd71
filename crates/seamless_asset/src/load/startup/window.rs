//! The part of a file that is held while it is decoded, and the order in which its parts are needed. See [`Held`] and [`steps`].

use core::ops::Range;

use bevy_log::debug_span;
use seamless_package::Package;

use super::{LoadError, read::Windows};
use crate::load::link::Tail;

/// A window that slides over the file: what has arrived and is still needed.
pub(super) struct Held {
    windows_left: Windows,
    bytes: Vec<u8>,
    /// Where in the file the bytes start.
    start: u64,
    /// Windows that were taken.
    pub windows: u32,
    /// The most bytes that were held at once.
    pub peak: u64,
}

impl Held {
    pub fn new(windows_left: Windows) -> Self {
        Self {
            windows_left,
            bytes: Vec::new(),
            start: 0,
            windows: 0,
            peak: 0,
        }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What is held, as a part of the file.
    pub fn tail(&self) -> Tail<'_> {
        Tail {
            bytes: &self.bytes,
            start: self.start,
        }
    }

    /// Up to where the file has arrived.
    pub fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }

    /// Takes windows until the file is there up to its byte `end`, or ends before: whoever parses it says so.
    pub fn fill(&mut self, end: u64) -> Result<(), Box<LoadError>> {
        if self.end() >= end {
            return Ok(());
        }
        // The thread that reads has to get so far.
        let _span = debug_span!("read").entered();
        while self.end() < end {
            let Ok(window) = self.windows_left.recv() else { break };
            self.bytes.extend_from_slice(&window?);
            self.windows += 1;
            self.peak = self.peak.max(self.bytes.len() as u64);
        }
        Ok(())
    }

    /// Nothing before the file's byte `offset` is needed any more.
    pub fn forget_before(&mut self, offset: u64) {
        let gone = offset.saturating_sub(self.start).min(self.bytes.len() as u64);
        self.bytes.drain(..gone as usize);
        self.start += gone;
    }
}

/// A part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Data,
    Payload(usize),
}

/// A part of an object, and the bytes of the file that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub export: usize,
    pub part: Part,
    pub range: Range<u64>,
}

/// The parts of all objects that are needed, in the order of the file. `payloads` tells how many payloads an object is decoded with,
/// if it is needed at all.
pub(super) fn steps(package: &Package, payloads: impl Fn(usize) -> Option<usize>) -> Vec<Step> {
    let exports = 0..package.exports().len();
    let needed: Vec<(usize, usize)> = exports.filter_map(|export| Some((export, payloads(export)?))).collect();
    let data = needed.iter().filter_map(|&(export, _)| {
        let (part, range) = (Part::Data, package.export_range(export)?);
        Some(Step { export, part, range })
    });
    // All payloads lie behind all data, in the order of the exports.
    let bulk = needed
        .iter()
        .flat_map(|&(export, count)| (0..count).map(move |payload| (export, payload)));
    let bulk = bulk.filter_map(|(export, payload)| {
        let location = package.bulk_location(export, payload)?;
        // One that lies in another file takes nothing of this one.
        let range = if location.origin.is_some() {
            0..0
        } else {
            location.range
        };
        let part = Part::Payload(payload);
        Some(Step { export, part, range })
    });
    data.chain(bulk).collect()
}
