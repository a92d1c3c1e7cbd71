//! One package on its way: opened, linked, read, decoded. Runs off the main thread; see [`load_package`].

use std::sync::Arc;

use bevy_asset::{AssetPath, AssetServer};
use bevy_ecs::reflect::AppTypeRegistry;
use bevy_log::{debug_span, tracing::Instrument};
use bevy_mesh::MeshVertexAttribute;
use seamless_package::{Limits, Role};

use super::{
    InstanceInfo, LoadState, PostLoads, Progress, Verify,
    closure::{Reach, on_demand},
    intake::Intake,
    link::{LoadedPackage, Reloading, decode},
    open::open,
    stage::Stage,
    stall::Pulse,
    verify::verify,
};
use crate::{
    codec::Codecs,
    entities::EntityPool,
    error::{LoadError, LoadErrorKind},
    linker::{Linker, Linkers},
    objects::{LiveObjects, Slot},
};

/// What tasks share with the app.
#[derive(Clone)]
pub(crate) struct LoadServices {
    pub server: AssetServer,
    pub codecs: Codecs,
    pub registry: AppTypeRegistry,
    pub objects: LiveObjects,
    pub post_loads: Arc<PostLoads>,
    pub linkers: Linkers,
    pub pool: EntityPool,
    pub limits: Limits,
    pub max_entities: u32,
    pub role: Role,
    pub mesh_attributes: Arc<[MeshVertexAttribute]>,
    /// Whether large levels come hidden and are shown in one frame.
    pub is_sliced: bool,
}

impl LoadServices {
    /// Whether a load that comes by an object need not decode it. Post-loads may have asked for what no table tells, so where
    /// the app has some, what is live and not complete is decoded once more, to hear them again.
    pub fn is_settled(&self, slot: &Slot) -> bool {
        slot.is_complete() || slot.is_live() && !self.post_loads.has_any()
    }
}

/// What one task is to do.
pub(super) struct Job {
    pub path: AssetPath<'static>,
    pub wanted: Wanted,
    pub verify: Verify,
    pub progress: Arc<Progress>,
}

/// What of a package is loaded.
#[derive(Debug, Clone)]
pub(super) enum Wanted {
    /// Its level, for a new instance. The assets too (the first load of a package), or only their handles.
    Level { assets: bool, instance: Arc<InstanceInfo> },
    /// All its assets.
    Assets,
    /// These objects, by name, and what they refer to.
    Objects(Vec<Arc<str>>),
    /// What is live of it, once more.
    Reload(Arc<Reloading>),
}

/// How a task can end without a package.
pub(super) enum Stop {
    Failed(Box<LoadError>),
    Cancelled,
}

impl Stop {
    /// The same for whoever needs what failed.
    pub fn map(self, error: impl FnOnce(&LoadError) -> LoadError) -> Self {
        match self {
            Self::Failed(failed) => error(&failed).into(),
            Self::Cancelled => Self::Cancelled,
        }
    }
}

impl From<Box<LoadError>> for Stop {
    fn from(error: Box<LoadError>) -> Self {
        Self::Failed(error)
    }
}

impl From<LoadError> for Stop {
    fn from(error: LoadError) -> Self {
        Self::Failed(Box::new(error))
    }
}

/// What a task read, whether or not it came to an end, and how far it came.
#[derive(Default, Clone, Copy)]
pub(super) struct Read {
    pub bytes: u64,
    pub stage: Stage,
}

/// What the job needs of the package.
pub(super) fn reach(services: &LoadServices, job: &Job, linker: &Linker) -> Result<Reach, Box<LoadError>> {
    let on_demand = on_demand(linker, &services.codecs);
    let is_live = |id| services.objects.get(linker.cook().object(id)).is_some();
    let reach = match &job.wanted {
        Wanted::Reload(reloading) if !reloading.is_used => {
            Ok(Reach::of_live(linker.package(), is_live, services.role, &on_demand))
        }
        wanted => Reach::of(linker.package(), wanted, services.role, &on_demand),
    };
    reach.map_err(|object| LoadError::object(job.path.to_string(), &*object, LoadErrorKind::NoSuchObject).into())
}

/// Loads one package: reads it in one forward pass, links and decodes it.
pub(super) async fn load_package(
    services: &LoadServices,
    job: Job,
    pulse: &Pulse,
    read: &mut Read,
) -> Result<LoadedPackage, Stop> {
    let span = debug_span!("load", package = %job.path);
    load_steps(services, job, pulse, read).instrument(span).await
}

async fn load_steps(
    services: &LoadServices,
    mut job: Job,
    pulse: &Pulse,
    read: &mut Read,
) -> Result<LoadedPackage, Stop> {
    job.progress.check()?;
    let progress = job.progress.clone();
    let intake = &mut Intake::new(&progress, pulse, read);
    // Nobody who has a place waits for a package that has none: each reads for itself what it needs of others.
    let _place = intake.begin().instrument(debug_span!("queue")).await?;
    job.progress.check()?;
    job.progress.set(LoadState::Opening);
    let opened = open(services, &job.path, intake)
        .instrument(debug_span!("open"))
        .await?;
    job.progress.check()?;
    let reach = reach(services, &job, &opened.linker)?;
    // From here on it is settled: what is not verified now is noted, to be verified later.
    job.verify = job.progress.strictest(job.verify);
    let sources = match job.verify {
        Verify::Now => {
            let verified = verify(services, &opened.linker, &reach, intake);
            verified.instrument(debug_span!("verify")).await?
        }
        Verify::Deferred => Vec::new(),
    };
    job.progress.check()?;
    job.progress.set(LoadState::Reading);
    intake.enter(Stage::Reading);
    // Until all of it is decoded.
    let length = opened.data_length(reach.end);
    let _in_flight = intake.pass(length).instrument(debug_span!("wait")).await?;
    let read = opened.data(reach.end, intake);
    let (linker, data) = read.instrument(debug_span!("read", bytes = length)).await?;
    job.progress.check()?;
    intake.enter(Stage::Decoding);
    let _turn = intake.take_turn().instrument(debug_span!("turn")).await?;
    job.progress.check()?;
    let loaded = decode(services, &job, linker, &reach, &data)?;
    Ok(LoadedPackage { sources, ..loaded })
}
