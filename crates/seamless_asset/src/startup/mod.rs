//! Content that code refers to directly: registered by plugins, cooked into one package, live before the first frame and for ever.
//! See [`StartupContent`].

mod error;
mod plugin;
mod report;
mod table;

pub use error::StartupContentError;
pub use plugin::SeamlessStartupPlugin;
pub use report::{StartupMissing, StartupOwner, StartupPinned, StartupRead, StartupReport};
pub(crate) use table::startup_export;
pub use table::{STARTUP_EXPORT, StartupEntry, StartupIndex, StartupIndexCodec, StartupTable};

use core::any::{TypeId, type_name};
use std::sync::Arc;

use bevy_asset::{Asset, AssetPath, AssetServer, Handle, UntypedHandle};
use bevy_ecs::{reflect::ReflectResource, resource::Resource};
use bevy_platform::collections::HashMap;
use bevy_reflect::Reflect;

use crate::error::LoadError;

/// The content that the app's code refers to directly: who asked for what, and, once the startup package is loaded, the handles.
///
/// Plugins register it by the path of its *source*, in the game and in its cook program alike:
///
/// ```
/// # use bevy_app::{App, Plugin, Startup}; use bevy_ecs::prelude::*; use bevy_image::Image; use bevy_asset::Handle;
/// # use seamless_asset::{SeamlessAssetApp, StartupContent};
/// # #[derive(Resource)] struct Heart(Handle<Image>);
/// struct HudPlugin;
///
/// impl Plugin for HudPlugin {
///     fn build(&self, app: &mut App) {
///         app.add_startup_content::<Self, Image>(["icons/heart.png"])
///             .add_systems(Startup, set_up);
///     }
/// }
///
/// fn set_up(mut commands: Commands, startup: Res<StartupContent>) -> Result {
///     commands.insert_resource(Heart(startup.get("icons/heart.png")?));
///     Ok(())
/// }
/// ```
///
/// The cooker puts all of it, with everything that it refers to, into one package; [`SeamlessStartupPlugin`] reads that before
/// the first frame. **It stays in memory until the app ends**: what is needed only now and then is better a level's, or loaded with
/// an [`ObjectRequest`](crate::ObjectRequest). [`StartupReport`] tells who holds how much.
#[derive(Resource, Reflect, Debug, Default)]
#[reflect(Resource)]
pub struct StartupContent {
    registrations: Vec<StartupRegistration>,
    /// The type of each.
    #[reflect(ignore)]
    types: Vec<RegisteredType>,
    #[reflect(ignore)]
    state: State,
}

/// One path that a plugin registered.
#[derive(Reflect, Clone, Debug, Default, PartialEq, Eq)]
pub struct StartupRegistration {
    /// Who registered it: the type's full name.
    pub owner: String,
    /// The source's path, with its label if it has one.
    pub path: String,
    /// The asset's type.
    pub type_path: String,
}

/// What the code knows of a registered type, and reflection does not.
#[derive(Debug, Clone, Copy)]
struct RegisteredType {
    id: TypeId,
    load: fn(&AssetServer, AssetPath<'static>) -> UntypedHandle,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    NotLoaded,
    Failed(Arc<LoadError>),
    Loaded(Loaded),
}

/// Holds every handle, for the life of the app.
#[derive(Debug)]
struct Loaded {
    index: StartupIndex,
    by_path: HashMap<String, Vec<usize>>,
}

impl StartupContent {
    /// Registers content of type `A` for the owner `P`; see
    /// [`add_startup_content`](crate::SeamlessAssetApp::add_startup_content).
    pub fn register<P: ?Sized, A: Asset>(&mut self, path: AssetPath) {
        self.registrations.push(StartupRegistration {
            owner: type_name::<P>().to_owned(),
            path: written(&path),
            type_path: A::type_path().to_owned(),
        });
        self.types.push(RegisteredType {
            id: TypeId::of::<A>(),
            load: |server, path| server.load::<A>(path).untyped(),
        });
    }

    /// Lets Bevy's own loaders load the source of the registration at this place, if there is one; the cooker does.
    #[must_use]
    pub fn load_source(&self, place: usize, server: &AssetServer) -> Option<UntypedHandle> {
        let (registered, kind) = (self.registrations.get(place)?, self.types.get(place)?);
        Some((kind.load)(server, AssetPath::parse(&registered.path).into_owned()))
    }

    /// All that was registered, in that order.
    #[must_use]
    pub fn registrations(&self) -> &[StartupRegistration] {
        &self.registrations
    }

    /// The handle of startup content, by the path of its source. Its value is in its `Assets`.
    ///
    /// # Errors
    /// When it is not there: [`StartupContentError`] says why, and what mends it.
    pub fn get<'a, A: Asset>(&self, path: impl Into<AssetPath<'a>>) -> Result<Handle<A>, StartupContentError> {
        let path = written(&path.into());
        let loaded = match &self.state {
            State::Loaded(loaded) => loaded,
            State::NotLoaded => return Err(StartupContentError::NotLoaded { path }),
            State::Failed(error) => {
                let error = error.clone();
                return Err(StartupContentError::Failed { path, error });
            }
        };
        let Some(handles) = loaded.handles(&path) else {
            return Err(StartupContentError::NotCooked { path });
        };
        let mut other_role = false;
        for handle in handles {
            match handle {
                Some(handle) if handle.type_id() == TypeId::of::<A>() => return Ok(handle.clone().typed()),
                Some(_) => {}
                None => other_role = true,
            }
        }
        Err(if other_role {
            StartupContentError::OtherRole { path }
        } else {
            let wanted = A::type_path();
            StartupContentError::WrongType { path, wanted }
        })
    }

    /// Why the startup package could not be loaded, if that is so. The app goes on without it.
    #[must_use]
    pub fn error(&self) -> Option<&Arc<LoadError>> {
        match &self.state {
            State::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// Whether the startup package is loaded.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        matches!(self.state, State::Loaded(_))
    }

    fn loaded(&mut self, index: StartupIndex) {
        let mut by_path: HashMap<String, Vec<usize>> = HashMap::default();
        for (place, entry) in index.entries().enumerate() {
            by_path.entry(entry.path.to_owned()).or_default().push(place);
        }
        self.state = State::Loaded(Loaded { index, by_path });
    }

    /// What was registered and is not in the package that was loaded.
    fn missing(&self) -> Vec<StartupMissing> {
        let State::Loaded(loaded) = &self.state else {
            return Vec::new();
        };
        let is_there = |path: &str, kind: &RegisteredType| {
            let mut handles = loaded.handles(path).into_iter().flatten();
            // What this role lacks has no handle, and so no type.
            handles.any(|handle| handle.is_none_or(|handle| handle.type_id() == kind.id))
        };
        let registered = self.registrations.iter().zip(&self.types);
        let missing = registered.filter(|(registered, kind)| !is_there(&registered.path, kind));
        let missing = missing.map(|(registered, _)| StartupMissing {
            owner: registered.owner.clone(),
            path: registered.path.clone(),
        });
        missing.collect()
    }
}

impl Loaded {
    /// The handles of a path, one for each type; none where this app lacks the role.
    fn handles(&self, path: &str) -> Option<impl Iterator<Item = Option<&UntypedHandle>>> {
        let places = self.by_path.get(path)?;
        Some(places.iter().filter_map(|place| Some(self.index.entry(*place)?.handle)))
    }
}

/// The path as it is stored: the same on every system.
fn written(path: &AssetPath) -> String {
    path.to_string().replace('\\', "/")
}
