//! A startup package, from its first byte to its last value, on the calling thread. See [`load_startup`].

mod read;
mod window;

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use bevy_asset::AssetPath;
use bevy_ecs::world::{Mut, World};
use bevy_log::debug_span;
use bevy_platform::time::Instant;
use seamless_package::{Package, SUMMARY_SIZE, Summary};

pub(crate) use self::read::StartupWindows;
use self::{
    read::{Windows, read_ahead},
    window::{Held, Part, Step, steps},
};
use super::{
    Pipeline, PostLoad, Progress, Verify,
    closure::{Reach, on_demand},
    link::{Claim, Decoder, LoadedAsset, LoadedPackage},
    task::{Job, LoadServices, Read, Stop, Wanted},
    tasks::panicked,
};
use crate::{
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    settings::StreamingStats,
    startup::{StartupIndex, StartupRead, StartupReport, startup_export},
};

/// A startup package whose values are in their `Assets`.
pub(crate) struct LoadedStartup {
    pub index: StartupIndex,
    pub report: StartupReport,
}

/// A startup package of which everything is decoded, and nothing is live yet.
struct Decoded {
    package: LoadedPackage,
    index: StartupIndex,
    read: StartupRead,
    bytes: u64,
}

/// Loads the startup package at `path` and keeps it for the life of the app: one file, read once, front to back. Nothing of it is
/// live before all of it is right.
pub(crate) fn load_startup(
    world: &mut World,
    path: &AssetPath<'static>,
    windows: StartupWindows,
) -> Result<LoadedStartup, Box<LoadError>> {
    let _span = debug_span!("startup", package = %path).entered();
    let start = Instant::now();
    let services = world.resource::<Pipeline>().services().clone();
    let loading = || read_ahead(&services, path, windows, |windows| decode(&services, path, windows));
    // Codecs and post-loads may be the game's own.
    let loaded = catch_unwind(AssertUnwindSafe(loading)).unwrap_or_else(|panic| Err(panicked(path, &*panic)));
    let mut decoded = loaded.map_err(|stop| {
        world.resource_mut::<StreamingStats>().failed += 1;
        match stop {
            Stop::Failed(error) => error,
            // Nobody else has the flag.
            Stop::Cancelled => Box::new(LoadError::package(path.to_string(), LoadErrorKind::Busy)),
        }
    })?;
    let linker = decoded.package.linker.clone();
    world.resource_scope(|world, mut pipeline: Mut<Pipeline>| {
        pipeline.pin(world, path, decoded.package, decoded.bytes);
    });
    decoded.read.took = start.elapsed();
    let report = StartupReport::of(linker.package(), decoded.index.table(), services.role);
    Ok(LoadedStartup {
        report: StartupReport {
            read: Some(decoded.read),
            ..report
        },
        index: decoded.index,
    })
}

/// Decodes each object as soon as the last of its bytes is there.
fn decode(services: &LoadServices, path: &AssetPath<'static>, windows: Windows) -> Result<Decoded, Stop> {
    let mut held = Held::new(windows);
    let linker = open(services, path, &mut held)?;
    let package = linker.package();
    let index = startup_export(package);
    let index = index.ok_or_else(|| LoadError::package(path.to_string(), LoadErrorKind::NoStartupIndex))?;
    check_imports(path, package)?;
    let job = Job {
        path: path.clone(),
        wanted: Wanted::Assets,
        verify: Verify::Now,
        progress: Arc::new(Progress::default()),
    };
    let on_demand = on_demand(&linker, &services.codecs);
    // A whole package has all of its objects.
    let reach = Reach::of(package, &job.wanted, services.role, &on_demand)
        .map_err(|object| LoadError::object(path.to_string(), &*object, LoadErrorKind::NoSuchObject))?;
    let registry = services.registry.read();
    let mut decoder = Decoder::new(services, &job, &linker, &reach, &registry);
    debug_span!("link").in_scope(|| decoder.link_imports())?;
    let decoding = debug_span!("decode").entered();
    let mut assets = Streaming::new(&mut decoder)?.decode(&mut held)?;
    drop(decoding);
    let found = assets.iter_mut().find(|(export, _)| *export == index);
    let found = found.and_then(|(_, asset)| asset.value.value_mut()?.downcast_ref::<StartupIndex>().cloned());
    let found = found.ok_or_else(|| LoadError::package(path.to_string(), LoadErrorKind::NoStartupIndex))?;
    // Payloads come behind everything else, so this is not the order of the exports yet.
    assets.sort_by_key(|(export, _)| *export);
    let assets = assets.into_iter().map(|(_, asset)| asset).collect();
    let post_load = PostLoad::new(services, &linker, false);
    let package = debug_span!("post_load").in_scope(|| decoder.finish(&linker, assets, None, post_load))?;
    check_needs(path, &package)?;
    Ok(Decoded {
        package,
        index: found,
        read: StartupRead {
            windows: held.windows,
            peak_bytes: held.peak,
            ..StartupRead::default()
        },
        bytes: held.end(),
    })
}

/// The package's tables, which lie at the start of its file.
fn open(services: &LoadServices, path: &AssetPath<'static>, held: &mut Held) -> Result<Arc<Linker>, Stop> {
    let error = |kind: LoadErrorKind| LoadError::package(path.to_string(), kind);
    held.fill(SUMMARY_SIZE as u64)?;
    let summary = Summary::parse(held.bytes(), &services.limits).map_err(|fault| error(fault.into()))?;
    held.fill(summary.header_len())?;
    let package = Package::parse(held.bytes(), &services.limits).map_err(|fault| error(fault.into()))?;
    let linker = Linker::open(path.clone(), package, &services.codecs).map_err(error)?;
    Ok(services.linkers.add(linker))
}

/// No other file is opened, so there must be nothing to open one for.
fn check_imports(path: &AssetPath<'static>, package: &Package) -> Result<(), Box<LoadError>> {
    let foreign = (0..package.imports().len()).find(|import| package.forced_for_import(*import).is_none());
    let Some(import) = foreign else { return Ok(()) };
    let [from, object] = [package.import_package(import), package.import_name(import)].map(Option::unwrap_or_default);
    Err(needs_more(path, from, object))
}

/// The same for what post-loads asked for.
fn check_needs(path: &AssetPath<'static>, loaded: &LoadedPackage) -> Result<(), Box<LoadError>> {
    for need in &loaded.needs {
        let is_here = |object: &Arc<str>| need.path == *path && loaded.linker.package().find_name(object).is_some();
        if let Some(object) = need.objects.iter().find(|object| !is_here(object)) {
            return Err(needs_more(path, &need.path.to_string(), object));
        }
    }
    Ok(())
}

fn needs_more(path: &AssetPath, package: &str, object: &str) -> Box<LoadError> {
    let kind = LoadErrorKind::NotSelfContained {
        package: package.to_owned(),
        object: object.to_owned(),
    };
    Box::new(LoadError::package(path.to_string(), kind))
}

/// A package whose objects are decoded while it is read.
struct Streaming<'d, 'a> {
    decoder: &'d mut Decoder<'a>,
    /// By export, what this load has to provide.
    claimed: BTreeMap<usize, Claimed>,
}

/// An object on its way.
struct Claimed {
    claim: Claim,
    /// Payloads that it is decoded with.
    payloads: usize,
    data: Vec<u8>,
    arrived: Vec<Vec<u8>>,
}

impl<'d, 'a> Streaming<'d, 'a> {
    /// Gives every object its handle, so that what refers to others can be decoded whatever comes first.
    fn new(decoder: &'d mut Decoder<'a>) -> Result<Self, Stop> {
        let mut claimed = BTreeMap::new();
        for export in 0..decoder.package().exports().len() {
            if let Some(claim) = decoder.claim(export)? {
                let waiting = Claimed {
                    claim,
                    payloads: decoder.payload_count(export),
                    data: Vec::new(),
                    arrived: Vec::new(),
                };
                claimed.insert(export, waiting);
            }
        }
        Ok(Self { decoder, claimed })
    }

    /// Decodes everything, in the order in which it is complete.
    fn decode(mut self, held: &mut Held) -> Result<Vec<(usize, LoadedAsset)>, Stop> {
        let package = self.decoder.package();
        let payloads = |export| self.claimed.get(&export).map(|claimed| claimed.payloads);
        let mut assets = Vec::with_capacity(self.claimed.len());
        for step in steps(package, payloads) {
            held.forget_before(step.range.start);
            held.fill(step.range.end)?;
            if self.take(&step, held)? {
                assets.extend(self.finish(step.export)?);
            }
        }
        Ok(assets)
    }

    /// Takes a part of an object; whether the object is complete.
    fn take(&mut self, step: &Step, held: &Held) -> Result<bool, Stop> {
        let Some(claimed) = self.claimed.get_mut(&step.export) else {
            return Ok(false);
        };
        match step.part {
            Part::Data => claimed.data = self.decoder.data(step.export, held.tail())?.into_owned(),
            Part::Payload(payload) => {
                let bytes = self.decoder.payload(step.export, payload, held.tail())?;
                claimed.arrived.push(bytes);
            }
        }
        Ok(claimed.arrived.len() == claimed.payloads)
    }

    fn finish(&mut self, export: usize) -> Result<Option<(usize, LoadedAsset)>, Stop> {
        let Some(claimed) = self.claimed.remove(&export) else {
            return Ok(None);
        };
        let asset = self
            .decoder
            .asset(export, claimed.claim, &claimed.data, claimed.arrived)?;
        Ok(Some((export, asset)))
    }
}
