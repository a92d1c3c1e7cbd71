//! A part of a file that is no package. See [`FilePartRequest`].

use core::ops::Range;
use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_log::{debug_span, tracing::Instrument};

use super::{
    Progress,
    bulk::{BulkJob, load_bulk},
    intake::Intake,
    open::{open_reader, read_more, skip_to},
    stage::Stage,
    stall::Pulse,
    task::{LoadServices, Read, Stop},
};
use crate::error::{LoadError, LoadErrorKind};

/// Some bytes of a file that is no package, by the same road as bulk payloads: for formats that can be read bit by bit.
///
/// Nothing of it is checked but how the file begins, so that bytes of another file of that name are told from those that are wanted.
///
/// ```
/// # use seamless_asset::FilePartRequest;
/// # use bevy_asset::AssetPath;
/// let header: Vec<u8> = b"read when the file was opened".to_vec();
/// let part = FilePartRequest {
///     path: AssetPath::parse("textures/bark.ktx2").into_owned(),
///     head: header.into(),
///     range: 4096..8192,
///     ..Default::default()
/// };
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FilePartRequest {
    /// The file.
    pub path: AssetPath<'static>,
    /// How it begins; else it is [`LoadErrorKind::FileChanged`].
    pub head: Arc<[u8]>,
    /// Which bytes of it, all behind the head; else, or if the file is shorter, it is [`LoadErrorKind::FilePart`].
    pub range: Range<u64>,
    /// Larger goes first, among levels, objects and payloads alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
}

/// What a task is to do for a request that bytes are the answer to.
pub(super) enum PartJob {
    Bulk(BulkJob),
    File(FileJob),
}

/// What a task is to do for a [`FilePartRequest`].
pub(super) struct FileJob {
    pub path: AssetPath<'static>,
    pub head: Arc<[u8]>,
    pub range: Range<u64>,
    pub progress: Arc<Progress>,
}

impl PartJob {
    pub fn path(&self) -> &AssetPath<'static> {
        match self {
            Self::Bulk(job) => &job.path,
            Self::File(job) => &job.path,
        }
    }

    pub fn progress(&self) -> &Arc<Progress> {
        match self {
            Self::Bulk(job) => &job.progress,
            Self::File(job) => &job.progress,
        }
    }
}

/// Loads what the job says.
pub(super) async fn load_part(
    services: &LoadServices,
    job: &PartJob,
    pulse: &Pulse,
    read: &mut Read,
) -> Result<Vec<u8>, Stop> {
    let span = debug_span!("load_part", file = %job.path());
    let load = async {
        match job {
            PartJob::Bulk(job) => load_bulk(services, job, pulse, read).await,
            PartJob::File(job) => job.load(services, pulse, read).await,
        }
    };
    load.instrument(span).await
}

impl FileJob {
    fn error(&self, kind: LoadErrorKind) -> Stop {
        LoadError::package(self.path.to_string(), kind).into()
    }

    fn no_part(&self, end: u64) -> Stop {
        let range = self.range.clone();
        self.error(LoadErrorKind::FilePart { range, end })
    }

    async fn load(&self, services: &LoadServices, pulse: &Pulse, read: &mut Read) -> Result<Vec<u8>, Stop> {
        self.progress.check()?;
        let position = self.head.len() as u64;
        let Range { start, end } = self.range;
        if start < position || end < start {
            return Err(self.no_part(position));
        }
        let intake = &mut Intake::new(&self.progress, pulse, read);
        let mut reader = open_reader(services, &self.path, intake).await?;
        let mut head = vec![0; self.head.len()];
        let got = intake.fill(&self.path, &mut *reader, &mut head).await?;
        if got < head.len() {
            return Err(self.no_part(got as u64));
        }
        if *head != *self.head {
            return Err(self.error(LoadErrorKind::FileChanged));
        }
        intake.enter(Stage::Reading);
        let _in_flight = intake.pass(end - start).await?;
        skip_to(&self.path, &mut *reader, position, start, intake).await?;
        let bytes = read_more(&self.path, &mut *reader, Vec::new(), end - start, intake).await?;
        if bytes.len() as u64 == end - start {
            return Ok(bytes);
        }
        Err(self.no_part(start + bytes.len() as u64))
    }
}
