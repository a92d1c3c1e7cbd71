//! Code of the game that runs on what was decoded, before anybody sees it. See [`PostLoad`].

use core::any::{Any, TypeId};
use std::sync::Arc;

use bevy_asset::{Asset, Handle, UntypedAssetId};
use bevy_ecs::{component::Component, world::World};
use bevy_platform::collections::HashMap;
use seamless_package::ObjectId;

use super::{
    Progress,
    closure::Need,
    link::LoadedAsset,
    staged::LevelHooks,
    task::{LoadServices, Stop},
    verify::Unverified,
};
use crate::{
    codec::{DecodedPlace, WhenInserted, created},
    error::{LoadError, LoadErrorKind},
    linker::Linker,
    spawn::{Column, typed_column, values},
};

/// Objects that the post-loads of one package may create. More are an error: a hook that creates what it is called for again
/// would never end.
const MAX_CREATED: usize = 1 << 16;

/// What a post-load may do besides changing its value: create objects, and ask for more. Both join the load, and nothing of it is
/// revealed before they are there.
///
/// Post-loads run off the main thread, on staged values, once each time that a value is decoded: the level's components, then assets
/// of the package in the order of its exports, then what was created. They must not write to the `AppTypeRegistry`, which the load
/// reads meanwhile: register types when the app is built. See
/// [`SeamlessAssetApp::add_post_load`](crate::SeamlessAssetApp::add_post_load).
pub struct PostLoad<'a> {
    services: &'a LoadServices,
    linker: &'a Linker,
    /// Whether objects that are live are created anew.
    is_reload: bool,
    /// Values of created objects that nobody had provided.
    created: Vec<LoadedAsset>,
    outcome: Requested,
    /// The asset whose hooks run: its id and name.
    object: Option<(ObjectId, String)>,
    /// What is to be done when it is inserted.
    then: Vec<WhenInserted>,
}

/// What post-loads asked for.
#[derive(Default)]
pub(super) struct Requested {
    pub needs: Vec<Need>,
    pub unverified: Vec<Unverified>,
    /// Handles of created objects.
    pub handles: Vec<bevy_asset::UntypedHandle>,
}

impl<'a> PostLoad<'a> {
    pub(super) fn new(services: &'a LoadServices, linker: &'a Linker, is_reload: bool) -> Self {
        Self {
            services,
            linker,
            is_reload,
            created: Vec::new(),
            outcome: Requested::default(),
            object: None,
            then: Vec::new(),
        }
    }

    /// The package that the value is of, by the name it was cooked under.
    #[must_use]
    pub fn package(&self) -> &str {
        self.linker.package().name()
    }

    /// Where the asset is that the value is, for who reads payloads of it later; of one that a hook has created, there are none. None for
    /// hooks of components.
    #[must_use]
    pub fn object(&self) -> Option<DecodedPlace> {
        let (id, name) = self.object.as_ref()?;
        Some(DecodedPlace::of(self.linker, *id, name))
    }

    /// Has something done on the main thread when the asset's value is in its [`Assets`](bevy_asset::Assets), right then, within the budget of a
    /// frame, and after what its codec has left to be done. If the value never gets there, because its load is cancelled or somebody else
    /// has provided the object meanwhile, `then` is dropped; and at once by hooks of components.
    pub fn when_inserted(&mut self, then: impl FnOnce(&mut World, UntypedAssetId) + Send + Sync + 'static) {
        if self.object.is_some() {
            self.then.push(Box::new(then));
        }
    }

    /// Makes an object of this package that is not in its file: identity and sharing are those of an export called `name`. If an
    /// object of that identity is live, its handle is returned and `value` is dropped, or takes its place when the package is
    /// reloaded. It lives as long as the package is in use.
    ///
    /// # Errors
    /// When the package has an export of that name, when the app has no codec for the type, or when there are too many.
    pub fn create<A: Asset>(&mut self, name: &str, value: A) -> Result<Handle<A>, String> {
        let package = self.linker.package();
        let id = ObjectId::new(package.name(), name);
        if package.find(id).is_some() {
            return Err(format!(
                "`{}#{name}` is an export of the package; choose another name",
                package.name()
            ));
        }
        if self.outcome.handles.len() >= MAX_CREATED {
            return Err(format!("more than {MAX_CREATED} objects were created; create fewer"));
        }
        let live = self.linker.cook().object(id);
        let acquired = self.services.objects.acquire_slot(live, TypeId::of::<A>());
        let (handle, slot) = acquired.ok_or_else(no_codec::<A>)?;
        if !self.services.is_settled(&slot) || self.is_reload {
            self.created.push(LoadedAsset {
                object: id,
                replaces: slot.is_live(),
                fingerprint: 0,
                slot,
                asset: handle.id(),
                name: name.to_owned(),
                bytes: size_of::<A>() as u64,
                value: created(value),
            });
        }
        self.outcome.handles.push(handle.clone());
        Ok(handle.typed())
    }

    /// Asks for an object, by its object path `file.pkg#Object` relative to the folder of the cook, as imports name it. It will be
    /// loaded by the time of the reveal, or the load fails and says that this object was missing.
    ///
    /// # Errors
    /// When the path names no object, or when the app has no codec for the type.
    pub fn request<A: Asset>(&mut self, path: &str) -> Result<Handle<A>, String> {
        let (package, object) = path
            .split_once('#')
            .filter(|(package, object)| !package.is_empty() && !object.is_empty())
            .ok_or_else(|| format!("`{path}` is no object path; write `file.pkg#Object`"))?;
        let id = ObjectId::new(package, object);
        let live = self.linker.cook().object(id);
        let acquired = self.services.objects.acquire_slot(live, TypeId::of::<A>());
        let (handle, slot) = acquired.ok_or_else(no_codec::<A>)?;
        let unverified = Unverified::requested(slot, self.linker, package, object, A::type_path());
        self.outcome.unverified.push(unverified);
        self.outcome.needs.push(Need {
            path: self.linker.sibling(package),
            objects: vec![object.into()],
        });
        Ok(handle.typed())
    }

    /// Runs the hooks of an asset's type.
    fn asset(&mut self, asset: &mut LoadedAsset) -> Result<(), Box<LoadError>> {
        let hooks = self.services.post_loads.clone();
        let Some(hooks) = hooks.assets.get(&asset.asset.type_id()) else {
            return Ok(());
        };
        self.object = Some((asset.object, asset.name.clone()));
        let value = asset.value.value_mut();
        let ran = value.map_or(Ok(()), |value| hooks.iter().try_for_each(|hook| hook(value, self)));
        self.object = None;
        let then = self.then.drain(..);
        then.for_each(|then| asset.value.when_inserted(then));
        ran.map_err(|error| self.error(&asset.name, error))
    }

    /// Runs the hooks of a column's type.
    pub(super) fn column(
        &mut self,
        object: &dyn Fn() -> String,
        mut column: Box<dyn Column>,
    ) -> Result<Box<dyn Column>, Box<LoadError>> {
        let hooks = self.services.post_loads.clone();
        for hook in hooks.columns.get(&(*column).type_id()).into_iter().flatten() {
            column = hook(column, self).map_err(|error| self.error(&object(), error))?;
        }
        Ok(column)
    }

    /// Runs the hooks of all assets, and of those that come of it; adds these. They may take long: none begins when nobody wants the load any more.
    pub(super) fn assets(mut self, assets: &mut Vec<LoadedAsset>, progress: &Progress) -> Result<Requested, Stop> {
        // What components created waits already.
        for asset in assets.iter_mut() {
            progress.check()?;
            self.asset(asset)?;
        }
        while !self.created.is_empty() {
            for mut asset in core::mem::take(&mut self.created) {
                progress.check()?;
                self.asset(&mut asset)?;
                assets.push(asset);
            }
        }
        Ok(self.outcome)
    }

    fn error(&self, object: &str, message: String) -> Box<LoadError> {
        let kind = LoadErrorKind::PostLoad(message);
        Box::new(LoadError::object(self.linker.path().to_string(), object, kind))
    }
}

fn no_codec<A: Asset>() -> String {
    format!(
        "this app has no codec for `{}`; add one with `add_asset_codec` or `cook_by_reflection`",
        A::type_path()
    )
}

type AssetHook = Box<dyn Fn(&mut dyn Any, &mut PostLoad) -> Result<(), String> + Send + Sync>;
type ColumnHook = Box<dyn Fn(Box<dyn Column>, &mut PostLoad) -> Result<Box<dyn Column>, String> + Send + Sync>;

/// The app's post-loads, by type, each type's in the order of registration.
#[derive(Default)]
pub(crate) struct PostLoads {
    assets: HashMap<TypeId, Vec<AssetHook>>,
    columns: HashMap<TypeId, Vec<ColumnHook>>,
    /// What runs on whole levels.
    pub levels: LevelHooks,
}

impl PostLoads {
    /// Whether there are any for assets.
    pub fn has_any(&self) -> bool {
        !self.assets.is_empty()
    }

    pub fn add_asset<A: Asset>(
        &mut self,
        hook: impl Fn(&mut A, &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) {
        let hook: AssetHook = Box::new(move |value, context| {
            let value = value.downcast_mut::<A>();
            value.map_or(Ok(()), |value| hook(value, context))
        });
        self.assets.entry(TypeId::of::<A>()).or_default().push(hook);
    }

    pub fn add_component<C: Component>(
        &mut self,
        hook: impl Fn(&mut [C], &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) {
        let hook: ColumnHook = Box::new(move |column, context| {
            let mut values = values::<C>(column).ok_or("its column is of another type")?;
            hook(&mut values, context)?;
            Ok(typed_column(values))
        });
        self.columns.entry(TypeId::of::<C>()).or_default().push(hook);
    }
}

/// Where plugins put their post-loads until the pipeline is built.
#[derive(bevy_ecs::resource::Resource, Default)]
pub(crate) struct RegisteredPostLoads(pub PostLoads);

impl RegisteredPostLoads {
    pub fn take(&mut self) -> Arc<PostLoads> {
        Arc::new(core::mem::take(&mut self.0))
    }
}
