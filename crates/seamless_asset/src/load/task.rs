//! One package on its way: opened, linked, read, decoded. Runs off the main thread; see [`load_package`].

use std::sync::Arc;

use bevy_asset::{AssetPath, AssetServer, io::Reader};
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_mesh::MeshVertexAttribute;
use futures_lite::AsyncReadExt;
use seamless_package::{Limits, Package, Role, SUMMARY_SIZE, Summary};

use super::{
    LoadState, Progress,
    link::{LoadedPackage, decode},
};
use crate::{
    codec::Codecs,
    entities::EntityPool,
    error::{LoadError, LoadErrorKind},
    objects::LiveObjects,
};

/// What tasks share with the app.
#[derive(Clone)]
pub(crate) struct LoadServices {
    pub server: AssetServer,
    pub codecs: Codecs,
    pub registry: AppTypeRegistry,
    pub objects: LiveObjects,
    pub pool: EntityPool,
    pub limits: Limits,
    pub max_entities: u32,
    pub role: Role,
    pub mesh_attributes: Arc<[MeshVertexAttribute]>,
}

/// What one task is to do.
pub(super) struct Job {
    pub path: AssetPath<'static>,
    /// Decode the assets (the first load of a package), or only find their handles.
    pub assets: bool,
    /// Decode the level table, for a new instance.
    pub level: bool,
    pub progress: Arc<Progress>,
}

/// How a task can end without a package.
pub(super) enum Stop {
    Failed(Box<LoadError>),
    Cancelled,
}

impl From<LoadError> for Stop {
    fn from(error: LoadError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// What a task read, whether or not it came to an end.
#[derive(Default, Clone, Copy)]
pub(super) struct Read {
    pub bytes: u64,
}

/// Loads one package: reads it in one forward pass, and decodes it.
pub(super) async fn load_package(services: &LoadServices, job: Job, read: &mut Read) -> Result<LoadedPackage, Stop> {
    let name = job.path.to_string();
    if job.progress.is_cancelled() {
        return Err(Stop::Cancelled);
    }
    let (package, tail) = open_and_read(services, &job, &name, read).await?;
    if job.progress.is_cancelled() {
        return Err(Stop::Cancelled);
    }
    decode(services, &job, &name, package, &tail)
}

async fn open_and_read(
    services: &LoadServices,
    job: &Job,
    name: &str,
    read: &mut Read,
) -> Result<(Package, Vec<u8>), Stop> {
    let io_error = |error: &dyn core::fmt::Display| LoadError::package(name, LoadErrorKind::Io(error.to_string()));
    let bad = |error| LoadError::package(name, LoadErrorKind::Package(error));
    job.progress.set(LoadState::Opening);
    let source = services
        .server
        .get_source(job.path.source())
        .map_err(|error| io_error(&error))?;
    let mut reader = source
        .reader()
        .read(job.path.path())
        .await
        .map_err(|error| io_error(&error))?;

    let mut header = vec![0; SUMMARY_SIZE];
    let got = fill(&mut *reader, &mut header, read)
        .await
        .map_err(|error| io_error(&error))?;
    let summary = Summary::parse(header.get(..got).unwrap_or_default(), &services.limits).map_err(bad)?;
    let rest = summary.header_len().saturating_sub(SUMMARY_SIZE as u64);
    let rest = read_at_most(&mut *reader, rest, read)
        .await
        .map_err(|error| io_error(&error))?;
    header.extend_from_slice(&rest);
    let package = Package::parse(&header, &services.limits).map_err(bad)?;
    if job.progress.is_cancelled() {
        return Err(Stop::Cancelled);
    }

    job.progress.set(LoadState::Reading);
    let length = summary.file_len().saturating_sub(summary.header_len());
    let tail = read_at_most(&mut *reader, length, read)
        .await
        .map_err(|error| io_error(&error))?;
    Ok((package, tail))
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
