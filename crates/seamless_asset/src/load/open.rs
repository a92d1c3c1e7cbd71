//! Opens packages: summary and tables into a linker, the data behind them into memory. See [`open`].

use std::sync::Arc;

use bevy_asset::{AssetPath, io::Reader};
use futures_lite::AsyncReadExt;
use seamless_package::{Package, SUMMARY_SIZE, Summary};

use super::task::{LoadServices, Read};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
};

/// A package whose tables are read, and the rest of its file.
pub(super) struct Opened<'s> {
    pub linker: Arc<Linker>,
    reader: Box<dyn Reader + 's>,
    path: &'s AssetPath<'static>,
}

/// Opens the package at `path` with one forward read, up to its data. Tables that are open already are not read twice.
pub(super) async fn open<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    read: &mut Read,
) -> Result<Opened<'s>, Box<LoadError>> {
    let bad = |error| LoadError::package(path.to_string(), LoadErrorKind::Package(error));
    let source = services.server.get_source(path.source());
    let source = source.map_err(|error| io_error(path, &error))?;
    let reader = source.reader().read(path.path()).await;
    let mut reader: Box<dyn Reader + 's> = Box::new(reader.map_err(|error| io_error(path, &error))?);

    let mut header = vec![0; SUMMARY_SIZE];
    let got = fill(&mut *reader, &mut header, read).await;
    header.truncate(got.map_err(|error| io_error(path, &error))?);
    let summary = Summary::parse(&header, &services.limits).map_err(bad)?;
    let rest = summary.header_len().saturating_sub(SUMMARY_SIZE as u64);
    let rest = read_at_most(&mut *reader, rest, read).await;
    let linker = match services.linkers.find(path) {
        Some(known) if known.package().summary() == &summary => known,
        _ => {
            header.extend_from_slice(&rest.map_err(|error| io_error(path, &error))?);
            let package = Package::parse(&header, &services.limits).map_err(bad)?;
            let linker = Linker::open(path.clone(), package, &services.codecs);
            let linker = linker.map_err(|kind| LoadError::package(path.to_string(), kind))?;
            services.linkers.add(linker)
        }
    };
    Ok(Opened { linker, reader, path })
}

impl Opened<'_> {
    /// Reads the data, from the end of the header up to the file's byte `end`.
    pub async fn data(mut self, end: u64, read: &mut Read) -> Result<(Arc<Linker>, Vec<u8>), Box<LoadError>> {
        let length = end.saturating_sub(self.linker.package().summary().header_len());
        let data = read_at_most(&mut *self.reader, length, read).await;
        Ok((self.linker, data.map_err(|error| io_error(self.path, &error))?))
    }
}

fn io_error(path: &AssetPath, error: &dyn core::fmt::Display) -> LoadError {
    LoadError::package(path.to_string(), LoadErrorKind::Io(error.to_string()))
}

/// Fills `buffer` as far as the file goes; returns how far.
async fn fill(reader: &mut dyn Reader, buffer: &mut [u8], read: &mut Read) -> std::io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match reader.read(rest).await? {
            0 => break,
            count => filled += count,
        }
    }
    read.bytes += filled as u64;
    Ok(filled)
}

/// Reads up to `length` bytes. Memory grows with what really arrives, not with what a header promises.
async fn read_at_most(reader: &mut dyn Reader, length: u64, read: &mut Read) -> std::io::Result<Vec<u8>> {
    const CHUNK: u64 = 4 << 20;
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < length {
        let start = bytes.len();
        let step = CHUNK.min(length - start as u64) as usize;
        bytes.resize(start + step, 0);
        let got = fill(reader, bytes.get_mut(start..).unwrap_or_default(), read).await?;
        bytes.truncate(start + got);
        if got < step {
            break;
        }
    }
    Ok(bytes)
}
