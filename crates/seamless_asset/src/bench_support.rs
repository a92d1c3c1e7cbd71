//! A door for `seamless_bench`: decode, reveal and leave as plain calls on the calling thread. Not part of the API.

use std::sync::Arc;

use bevy_asset::{AssetPath, AssetServer};
use bevy_ecs::{entity::Entity, reflect::AppTypeRegistry, world::World};
use seamless_package::{Limits, Role, SUMMARY_SIZE, Summary};

use super::{
    InstanceRequest, LoadServices, Progress, Verify,
    link::{LoadedLevel, LoadedPackage, decode},
    open::linker_of,
    task::{Job, Stop, Wanted, reach},
};
use crate::{EntityPool, Linkers, LiveObjectsResource, LoadError, LoadErrorKind, codec::Codecs, leave::Sweep, reveal};

/// Whether this build can migrate. A bench cannot tell by a feature of its own what others turn on.
pub const HAS_MIGRATIONS: bool = cfg!(feature = "migrations");

/// What the pipeline's tasks share with the app.
pub struct Services(LoadServices);

/// A level that is decoded and waits for its reveal.
pub struct Decoded {
    level: Box<LoadedLevel>,
    /// Keeps the package's objects alive, as the pipeline does.
    _package: LoadedPackage,
}

/// A level that is in the world.
pub struct Live {
    /// The instance's root.
    pub root: Entity,
    members: reveal::Members,
}

impl Services {
    /// The services of an app with the plugin; `None` when it lacks Bevy's assets.
    #[must_use]
    pub fn new(world: &World) -> Option<Self> {
        Some(Self(LoadServices {
            server: world.get_resource::<AssetServer>()?.clone(),
            codecs: world.get_resource::<Codecs>()?.clone(),
            registry: world.get_resource::<AppTypeRegistry>()?.clone(),
            objects: world.get_resource::<LiveObjectsResource>()?.0.clone(),
            post_loads: Arc::default(),
            linkers: Linkers::default(),
            pool: EntityPool::new(world),
            limits: Limits::default(),
            max_entities: 1 << 20,
            role: Role::ALL,
            mesh_attributes: Arc::default(),
            is_sliced: false,
        }))
    }

    /// Opens, links and decodes the level of a package.
    ///
    /// # Errors
    /// As the pipeline's.
    pub fn decode(&self, path: &AssetPath<'static>, bytes: &[u8]) -> Result<Decoded, Box<LoadError>> {
        let file = path.to_string();
        let bad = |error| LoadError::package(file.as_str(), LoadErrorKind::Package(error));
        let summary = Summary::parse(bytes.get(..SUMMARY_SIZE).unwrap_or(bytes), &self.0.limits).map_err(bad)?;
        let header = (summary.header_len() as usize).min(bytes.len());
        let (header, tail) = bytes.split_at(header);
        let job = Job {
            path: path.clone(),
            wanted: Wanted::Level {
                assets: true,
                instance: Arc::default(),
            },
            verify: Verify::Deferred,
            progress: Arc::new(Progress::default()),
        };
        let linker = Arc::new(linker_of(&self.0, path, header.to_vec())?);
        let reach = reach(&self.0, &job, &linker)?;
        let mut package = decode(&self.0, &job, linker, &reach, tail).map_err(|stop| match stop {
            Stop::Failed(error) => error,
            Stop::Cancelled => Box::new(LoadError::package(file.as_str(), LoadErrorKind::NoLevel)),
        })?;
        let level = package.level.take();
        let level = level.ok_or_else(|| Box::new(LoadError::package(file.as_str(), LoadErrorKind::NoLevel)))??;
        Ok(Decoded {
            level,
            _package: package,
        })
    }

    /// Moves a decoded level into the world.
    pub fn reveal(&self, world: &mut World, mut decoded: Decoded, request: &InstanceRequest) -> Live {
        let revealed = reveal::reveal(world, &mut decoded.level, request, &self.0);
        Live {
            root: revealed.root,
            members: revealed.members,
        }
    }

    /// Gives entity ids of dropped levels back to the world.
    pub fn free_returned(&self, world: &mut World) {
        self.0.pool.free_returned(world);
    }
}

/// Takes a level out of the world.
pub fn leave(world: &mut World, live: &Live) {
    let members = &live.members;
    Sweep::new(live.root, members.entities.clone(), members.parents.clone()).step(world, usize::MAX);
}
