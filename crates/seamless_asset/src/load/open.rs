//! Opens packages: summary and tables into a linker, the data behind them into memory. See [`open`].

use core::{fmt, ops::Range};
use std::{io::SeekFrom, sync::Arc};

use bevy_asset::{AssetPath, AssetServerMode, io::Reader};
use bevy_log::{debug_span, tracing::Instrument};
use futures_lite::AsyncSeekExt;
use seamless_package::{Package, SUMMARY_SIZE, Summary};

use super::{
    Progress,
    intake::Intake,
    objects::Outcome,
    stall::Pulse,
    task::{LoadServices, Read, Stop},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
};

/// The tables of a package to open, without its objects.
#[derive(Debug, Clone, Default)]
pub struct OpenRequest {
    /// The package.
    pub package: AssetPath<'static>,
    /// Larger goes first, among levels, objects and payloads alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
}

/// What became of an [`OpenRequest`].
///
/// It keeps the linker open. Dropping it before the end cancels the request.
#[derive(Clone)]
#[must_use = "dropping it before the end cancels the request"]
pub struct PackageOpen(pub(super) Arc<Outcome<Arc<Linker>>>);

impl PackageOpen {
    /// The open package, or what went wrong. `None` while it is under way.
    #[must_use]
    pub fn result(&self) -> Option<Result<&Arc<Linker>, &Arc<LoadError>>> {
        Some(self.0.result.get()?.as_ref())
    }
}

impl fmt::Debug for PackageOpen {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let path = self.result().map(|result| result.map(|linker| linker.path()));
        f.debug_tuple("PackageOpen").field(&path).finish()
    }
}

/// What a task is to do for an [`OpenRequest`].
pub(super) struct OpenJob {
    pub path: AssetPath<'static>,
    pub progress: Arc<Progress>,
}

/// Opens the tables of one package.
pub(super) async fn open_tables(
    services: &LoadServices,
    job: &OpenJob,
    pulse: &Pulse,
    read: &mut Read,
) -> Result<Arc<Linker>, Stop> {
    job.progress.check()?;
    let intake = &mut Intake::new(&job.progress, pulse, read);
    let opened = open_for_part(services, &job.path, intake);
    let span = debug_span!("open_tables", package = %job.path);
    Ok(opened.instrument(span).await?.linker)
}

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
    intake: &mut Intake<'_>,
) -> Result<Opened<'s>, Stop> {
    begin(services, path, intake).await?.tables(intake).await
}

/// As [`open`], for a look at a part of the data: of a package that is open only the summary is read again, which tells whether the
/// file is still the same.
pub(super) async fn open_for_part<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    intake: &mut Intake<'_>,
) -> Result<Opened<'s>, Stop> {
    let begun = begin(services, path, intake).await?;
    match begun.known() {
        Some(linker) => Ok(Opened {
            linker,
            reader: begun.reader,
            path,
            position: SUMMARY_SIZE as u64,
        }),
        None => begun.tables(intake).await,
    }
}

async fn begin<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    intake: &mut Intake<'_>,
) -> Result<Begun<'s>, Stop> {
    let mut reader = open_reader(services, path, intake).await?;
    let mut header = vec![0; SUMMARY_SIZE];
    let got = intake.fill(path, &mut *reader, &mut header).await?;
    header.truncate(got);
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
    async fn tables(mut self, intake: &mut Intake<'_>) -> Result<Opened<'s>, Stop> {
        let (path, services) = (self.path, self.services);
        let position = self.summary.header_len();
        let rest = position.saturating_sub(SUMMARY_SIZE as u64);
        let header = std::mem::take(&mut self.header);
        let header = read_more(path, &mut *self.reader, header, rest, intake).await?;
        let linker = match self.known() {
            Some(known) => known,
            None => services.linkers.add(linker_of(services, path, header)?),
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
    /// How many bytes [`data`](Self::data) reads.
    pub fn data_length(&self, end: u64) -> u64 {
        end.saturating_sub(self.linker.package().summary().header_len())
    }

    /// Reads the data, from the end of the header up to the file's byte `end`.
    pub async fn data(mut self, end: u64, intake: &mut Intake<'_>) -> Result<(Arc<Linker>, Vec<u8>), Stop> {
        let length = self.data_length(end);
        let data = read_more(self.path, &mut *self.reader, Vec::new(), length, intake).await?;
        Ok((self.linker, data))
    }

    /// Reads these bytes of the file, which lie behind the header, as far as the file goes.
    pub async fn part(mut self, part: Range<u64>, intake: &mut Intake<'_>) -> Result<Vec<u8>, Stop> {
        let length = part.end.saturating_sub(part.start);
        skip_to(self.path, &mut *self.reader, self.position, part.start, intake).await?;
        read_more(self.path, &mut *self.reader, Vec::new(), length, intake).await
    }
}

/// Goes on from one byte of a file to another that is not before it: by a seek where the reader can do that; else what is in between is read and
/// thrown away.
pub(super) async fn skip_to(
    path: &AssetPath<'static>,
    reader: &mut dyn Reader,
    position: u64,
    offset: u64,
    intake: &mut Intake<'_>,
) -> Result<(), Stop> {
    const CHUNK: usize = 64 << 10;
    let mut gap = offset.saturating_sub(position);
    if gap == 0 {
        return Ok(());
    }
    if let Ok(seekable) = reader.seekable() {
        let sought = intake.wait(path, seekable.seek(SeekFrom::Start(offset))).await?;
        sought.map_err(|error| io_error(path, &error))?;
        return Ok(());
    }
    let mut chunk = vec![0; CHUNK];
    while gap > 0 {
        let step = (CHUNK as u64).min(gap) as usize;
        let wanted = chunk.get_mut(..step).unwrap_or_default();
        let got = intake.fill(path, reader, wanted).await?;
        gap -= got as u64;
        if got < step {
            break;
        }
    }
    Ok(())
}

/// The linker of the package whose header these bytes are.
pub(super) fn linker_of(
    services: &LoadServices,
    path: &AssetPath<'static>,
    header: Vec<u8>,
) -> Result<Linker, Box<LoadError>> {
    let package = Package::parse(header, &services.limits);
    let package = package.map_err(|error| LoadError::package(path.to_string(), error))?;
    let linker = Linker::open(path.clone(), package, &services.codecs);
    linker.map_err(|kind| LoadError::package(path.to_string(), kind).into())
}

/// Opens the file at `path`, and reads nothing.
pub(super) async fn open_reader<'s>(
    services: &'s LoadServices,
    path: &'s AssetPath<'static>,
    intake: &Intake<'_>,
) -> Result<Box<dyn Reader + 's>, Stop> {
    let source = services.server.get_source(path.source());
    let source = source.map_err(|error| io_error(path, &error))?;
    let from = match services.server.mode() {
        AssetServerMode::Unprocessed => source.reader(),
        // Where the manifest is from, too: a game may be shipped with processed assets only.
        AssetServerMode::Processed => source.processed_reader().map_err(|error| io_error(path, &error))?,
    };
    let reader = intake.wait(path, from.read(path.path())).await?;
    Ok(Box::new(reader.map_err(|error| io_error(path, &error))?))
}

pub(super) fn io_error(path: &AssetPath, error: &dyn core::fmt::Display) -> LoadError {
    LoadError::package(path.to_string(), LoadErrorKind::Io(error.to_string()))
}

/// Reads up to `length` bytes behind those that are there. Memory grows with what really arrives, not with what a header
/// promises.
pub(super) async fn read_more(
    path: &AssetPath<'static>,
    reader: &mut dyn Reader,
    mut bytes: Vec<u8>,
    length: u64,
    intake: &mut Intake<'_>,
) -> Result<Vec<u8>, Stop> {
    const CHUNK: u64 = 4 << 20;
    let mut left = length;
    while left > 0 {
        let start = bytes.len();
        let step = CHUNK.min(left) as usize;
        bytes.reserve_exact(step);
        bytes.resize(start + step, 0);
        let rest = bytes.get_mut(start..).unwrap_or_default();
        let got = intake.fill(path, reader, rest).await?;
        bytes.truncate(start + got);
        left -= got as u64;
        if got < step {
            break;
        }
    }
    Ok(bytes)
}
