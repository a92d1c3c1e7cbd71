//! A bulk payload of an object, loaded alone. See [`BulkRequest`].

use core::{fmt, ops::Range};
use std::{borrow::Cow, sync::Arc};

use bevy_asset::AssetPath;
use seamless_package::{BulkLocation, ObjectId, Package, PackageError, Place};

use super::{
    Progress, closure,
    intake::Intake,
    objects::Outcome,
    open::{Opened, open_for_part},
    stage::Stage,
    stall::Pulse,
    task::{LoadServices, Read, Stop},
};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
};

/// A bulk payload of an object to load, or a part of it, and nothing else of its package.
///
/// ```
/// # use seamless_asset::BulkRequest;
/// let largest_mip = BulkRequest::new("world/shared_0.pkg#bark.png", 0);
/// let its_first_rows = BulkRequest { range: Some(0..4096), ..largest_mip };
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BulkRequest {
    /// The object path, `dir/file.pkg#Object`. The path of a package that is open may be partly qualified; see
    /// [`Linkers::resolve`](crate::Linkers::resolve).
    ///
    /// A copy of another package's object goes by the object's own path: `dir/copies.pkg#file.pkg#Object`. Where its payload has
    /// stayed in that package's file, it is read there, if it is still the same.
    pub path: String,
    /// Which of the object's payloads.
    pub payload: usize,
    /// The bytes of it, counted when decompressed; all by default. Of a payload that is stored as it is, no others are read, and
    /// for that they are not checked either; any other payload is read and checked as a whole, and then cut.
    pub range: Option<Range<u64>>,
    /// Larger goes first, among levels, objects and payloads alike, on the scale of [`InstanceRequest::priority`](crate::InstanceRequest::priority).
    pub priority: f32,
}

impl BulkRequest {
    /// A request for a whole payload, with the defaults for the rest.
    pub fn new(path: impl Into<String>, payload: usize) -> Self {
        Self {
            path: path.into(),
            payload,
            ..Self::default()
        }
    }
}

/// What became of a [`BulkRequest`].
///
/// It holds the bytes, and nothing else: neither object nor package stays alive for it. Dropping it before the end cancels the load.
#[derive(Clone)]
#[must_use = "dropping it before the end cancels the load"]
pub struct BulkLoad(pub(super) Arc<Outcome<Vec<u8>>>);

impl BulkLoad {
    /// The bytes, decompressed, or what went wrong. `None` while it is under way.
    #[must_use]
    pub fn result(&self) -> Option<Result<&[u8], &Arc<LoadError>>> {
        let result = self.0.result.get()?;
        Some(result.as_ref().map(Vec::as_slice))
    }

    /// Whether it came to an end, good or bad.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.result.get().is_some()
    }
}

impl fmt::Debug for BulkLoad {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let length = self.result().map(|result| result.map(<[u8]>::len));
        f.debug_tuple("BulkLoad").field(&length).finish()
    }
}

/// What a task is to do for a [`BulkRequest`].
pub(super) struct BulkJob {
    pub path: AssetPath<'static>,
    pub object: Arc<str>,
    pub payload: usize,
    pub range: Option<Range<u64>>,
    pub progress: Arc<Progress>,
}

/// Loads one payload: its package is opened, and of the data nothing else is read.
pub(super) async fn load_bulk(
    services: &LoadServices,
    job: &BulkJob,
    pulse: &Pulse,
    read: &mut Read,
) -> Result<Vec<u8>, Stop> {
    job.progress.check()?;
    let intake = &mut Intake::new(&job.progress, pulse, read);
    let opened = open_for_part(services, &job.path, intake).await?;
    let linker = opened.linker.clone();
    let (index, location, range) = job.locate(linker.package())?;
    let Some((origin, _)) = location.origin else {
        return job.read(opened, &location, range, intake).await;
    };
    drop(opened);
    job.progress.check()?;
    let origin = linker.sibling(origin);
    let opened = open_for_part(services, &origin, intake).await;
    let opened = opened.map_err(|stop| stop.map(|error| job.needs(&origin, error)))?;
    job.check_origin(&linker, index, &location, &opened.linker)?;
    job.read(opened, &location, range, intake).await
}

impl BulkJob {
    fn error(&self, kind: impl Into<LoadErrorKind>) -> Stop {
        self.fault(kind).into()
    }

    fn fault(&self, kind: impl Into<LoadErrorKind>) -> LoadError {
        LoadError::object(self.path.to_string(), &*self.object, kind)
    }

    /// The package that the payload has stayed in is not there.
    fn needs(&self, origin: &AssetPath, error: &LoadError) -> LoadError {
        self.fault(LoadErrorKind::dependency(origin.to_string(), error))
    }

    /// Where the payload is, and which bytes of it are wanted.
    fn locate<'p>(&self, package: &'p Package) -> Result<(usize, BulkLocation<'p>, Range<u64>), Stop> {
        let index = closure::object(package, &self.object).or_else(|| copy(package, &self.object));
        let index = index.ok_or_else(|| self.error(LoadErrorKind::NoSuchObject))?;
        let location = package.bulk_location(index, self.payload).ok_or_else(|| {
            self.error(LoadErrorKind::NoSuchPayload {
                payload: self.payload,
                count: package.bulk(index).len(),
            })
        })?;
        let size = location.raw_size;
        let range = self.range.clone().unwrap_or(0..size);
        if range.start > range.end || range.end > size {
            let payload = self.payload;
            return Err(self.error(LoadErrorKind::BulkRange { payload, range, size }));
        }
        Ok((index, location, range))
    }

    /// Whether a payload that has stayed in the file of `origin` is still there.
    fn check_origin(
        &self,
        linker: &Linker,
        index: usize,
        location: &BulkLocation,
        origin: &Linker,
    ) -> Result<(), Stop> {
        let (package, other) = (linker.package(), origin.package());
        let checked = package.check_origin(index, self.payload, other);
        checked.map_err(|error| self.error(error))?;
        if location.range.start >= other.summary().header_len() {
            return Ok(());
        }
        Err(self.error(PackageError::StaleBulk {
            place: Place::Bulk {
                index,
                name: package.export_name(index).unwrap_or_default().to_owned(),
                payload: self.payload,
            },
            package: package.name().to_owned(),
            origin: other.name().to_owned(),
            what: "where it would lie in the tables",
        }))
    }

    /// Reads `range` of a payload out of the file that it lies in.
    async fn read(
        &self,
        file: Opened<'_>,
        location: &BulkLocation<'_>,
        range: Range<u64>,
        intake: &mut Intake<'_>,
    ) -> Result<Vec<u8>, Stop> {
        intake.enter(Stage::Reading);
        let is_whole = range == (0..location.raw_size);
        let part = location.part(range.clone()).filter(|_| !is_whole);
        let read = part.as_ref().unwrap_or(&location.range);
        let _in_flight = intake.pass(read.end.saturating_sub(read.start)).await?;
        if let Some(part) = part {
            return self.read_unchecked(file, part, intake).await;
        }
        let stored = file.part(location.range.clone(), intake).await?;
        self.progress.check()?;
        intake.enter(Stage::Decoding);
        let unpacked = match location.unpack(&stored).map_err(|error| self.error(error))? {
            Cow::Borrowed(_) => None,
            Cow::Owned(unpacked) => Some(unpacked),
        };
        let whole = unpacked.unwrap_or(stored);
        if is_whole {
            return Ok(whole);
        }
        let cut = whole.get(range.start as usize..range.end as usize);
        Ok(cut.unwrap_or_default().to_vec())
    }

    /// Reads a part of the file; all of it, or it is an error.
    async fn read_unchecked(
        &self,
        file: Opened<'_>,
        part: Range<u64>,
        intake: &mut Intake<'_>,
    ) -> Result<Vec<u8>, Stop> {
        let length = part.end.saturating_sub(part.start);
        let bytes = file.part(part.clone(), intake).await?;
        let missing = length.saturating_sub(bytes.len() as u64);
        if missing == 0 {
            return Ok(bytes);
        }
        Err(self.error(PackageError::Truncated {
            place: Place::File,
            need: part.end,
            have: part.end.saturating_sub(missing),
        }))
    }
}

/// The copy of another package's object, by the object's own path.
fn copy(package: &Package, path: &str) -> Option<usize> {
    let (from, object) = path.split_once('#')?;
    let index = package.find(ObjectId::new(from, object))?;
    let origin = package.origin_of(index)?;
    // A path that is not in the package may still have the id of one that is.
    (origin.package == from && package.export_name(index) == Some(object)).then_some(index)
}
