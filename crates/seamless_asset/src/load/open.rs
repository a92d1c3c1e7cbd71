//! Opens packages: summary and tables into a linker, the data behind them into memory. See [`open`].

use core::ops::Range;
use std::{io::SeekFrom, sync::Arc};

use bevy_asset::{AssetPath, io::Reader};
use futures_lite::{AsyncReadExt, AsyncSeekExt};
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
    /// Bytes of the file that are behind the reader.
    position: u64,
}

/// A package of which the summary is read, and nothing else.
struct Begun<'s> {
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    reader: Box<dyn Reader + 's>,
    header: Vec<u8>,
    summary: Summary,
}

/// Opens the package at `path` with one forward read, up to its data. Tables that are open already are not kept twice.
pub(super) async fn open<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    read: &mut Read,
) -> Result<Opened<'s>, Box<LoadError>> {
    begin(services, path, read).await?.tables(read).await
}

/// As [`open`], for a look at a part of the data: of a package that is open only the summary is read again, which tells whether the
/// file is still the same.
pub(super) async fn open_for_part<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    read: &mut Read,
) -> Result<Opened<'s>, Box<LoadError>> {
    let begun = begin(services, path, read).await?;
    match begun.known() {
        Some(linker) => Ok(Opened {
            linker,
            reader: begun.reader,
            path,
            position: SUMMARY_SIZE as u64,
        }),
        None => begun.tables(read).await,
    }
}

async fn begin<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    read: &mut Read,
) -> Result<Begun<'s>, Box<LoadError>> {
    let source = services.server.get_source(path.source());
    let source = source.map_err(|error| io_error(path, &error))?;
    let reader = source.reader().read(path.path()).await;
    let mut reader: Box<dyn Reader + 's> = Box::new(reader.map_err(|error| io_error(path, &error))?);
    let mut header = vec![0; SUMMARY_SIZE];
    let got = fill(&mut *reader, &mut header, read).await;
    header.truncate(got.map_err(|error| io_error(path, &error))?);
    let summary = Summary::parse(&header, &services.limits);
    let summary = summary.map_err(|error| LoadError::package(path.to_string(), error))?;
    Ok(Begun {
        services,
        path,
        reader,
        header,
        summary,
    })
}

impl<'s> Begun<'s> {
    /// The linker of the package, if it is open and the file is still the same.
    fn known(&self) -> Option<Arc<Linker>> {
        let known = self.services.linkers.find(self.path)?;
        (known.package().summary() == &self.summary).then_some(known)
    }

    /// Reads on to the end of the tables.
    async fn tables(mut self, read: &mut Read) -> Result<Opened<'s>, Box<LoadError>> {
        let (path, services) = (self.path, self.services);
        let position = self.summary.header_len();
        let rest = position.saturating_sub(SUMMARY_SIZE as u64);
        let rest = read_at_most(&mut *self.reader, rest, read).await;
        let linker = match self.known() {
            Some(known) => known,
            None => {
                let mut header = self.header;
                header.extend_from_slice(&rest.map_err(|error| io_error(path, &error))?);
                services.linkers.add(linker_of(services, path, &header)?)
            }
        };
        Ok(Opened {
            linker,
            reader: self.reader,
            path,
            position,
        })
    }
}

impl Opened<'_> {
    /// Reads the data, from the end of the header up to the file's byte `end`.
    pub async fn data(mut self, end: u64, read: &mut Read) -> Result<(Arc<Linker>, Vec<u8>), Box<LoadError>> {
        let length = end.saturating_sub(self.linker.package().summary().header_len());
        let data = read_at_most(&mut *self.reader, length, read).await;
        Ok((self.linker, data.map_err(|error| io_error(self.path, &error))?))
    }

    /// Reads these bytes of the file, which lie behind the header, as far as the file goes.
    pub async fn part(mut self, part: Range<u64>, read: &mut Read) -> Result<Vec<u8>, Box<LoadError>> {
        let length = part.end.saturating_sub(part.start);
        let skipped = self.skip_to(part.start, read).await;
        skipped.map_err(|error| io_error(self.path, &error))?;
        let bytes = read_at_most(&mut *self.reader, length, read).await;
        bytes.map_err(|error| io_error(self.path, &error).into())
    }

    /// By a seek where the reader can do that; else what is in between is read and thrown away.
    async fn skip_to(&mut self, offset: u64, read: &mut Read) -> std::io::Result<()> {
        const CHUNK: usize = 64 << 10;
        let mut gap = offset.saturating_sub(self.position);
        if gap == 0 {
            return Ok(());
        }
        if let Ok(seekable) = self.reader.seekable() {
            return seekable.seek(SeekFrom::Start(offset)).await.map(drop);
        }
        let mut chunk = vec![0; CHUNK];
        while gap > 0 {
            let step = (CHUNK as u64).min(gap) as usize;
            let wanted = chunk.get_mut(..step).unwrap_or_default();
            let got = fill(&mut *self.reader, wanted, read).await?;
            gap -= got as u64;
            if got < step {
                break;
            }
        }
        Ok(())
    }
}

/// The linker of the package whose header these bytes are.
pub(super) fn linker_of(
    services: &LoadServices,
    path: &AssetPath<'static>,
    header: &[u8],
) -> Result<Linker, Box<LoadError>> {
    let package = Package::parse(header, &services.limits);
    let package = package.map_err(|error| LoadError::package(path.to_string(), error))?;
    let linker = Linker::open(path.clone(), package, &services.codecs);
    linker.map_err(|kind| LoadError::package(path.to_string(), kind).into())
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
