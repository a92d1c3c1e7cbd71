//! What a game, or a plugin of it, adds to the pipeline. See [`SeamlessAssetApp`].

use bevy_app::App;
use bevy_asset::{Asset, AssetApp, AssetPath};
use bevy_ecs::component::Component;
use bevy_reflect::{FromReflect, GetTypeRegistration};
use seamless_package::Role;

use crate::{
    StartupContent,
    codec::{AssetCodec, Codecs, ComponentCodec, Migrations, Record, ReflectAssetCodec},
    dialogue::{DialogueLoader, DialogueVariants, DialogueVariantsCodec},
    hide::{LevelHider, LevelHiders},
    load::{InstanceInfo, PostLoad, RegisteredPostLoads, StagedLevel},
    spawn::SpawnRow,
};

/// Adds codecs to an app; call it in the game and in its cooker alike, best from one plugin of the game.
pub trait SeamlessAssetApp {
    /// Adds the codec of an asset type.
    fn add_asset_codec<C: AssetCodec>(&mut self) -> &mut Self;

    /// Cooks assets of type `A` by reflection. Fields with `#[reflect(ignore)]` are lost: make sure there are none.
    fn cook_by_reflection<A: Asset + FromReflect + GetTypeRegistration>(&mut self) -> &mut Self;

    /// Adds [`DialogueVariants`] of sounds of type `S`: the asset type, its loader and its codec. Add it after Bevy's `AssetPlugin` and the
    /// plugin that brings `S`. The feature `audio` does it for Bevy's `AudioSource`.
    fn add_dialogue<S: Asset>(&mut self) -> &mut Self;

    /// Adds the codec of a component, in place of the one by reflection.
    fn add_component_codec(&mut self, codec: impl ComponentCodec) -> &mut Self;

    /// Adds a component that reads and writes itself.
    fn add_record<C: Record>(&mut self) -> &mut Self;

    /// Adds code that runs on every asset of type `A` after it was decoded, off the main thread, before anybody sees it; see
    /// [`PostLoad`]. An error fails the load. Add it before the app runs.
    fn add_post_load<A: Asset>(
        &mut self,
        hook: impl Fn(&mut A, &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self;

    /// As [`add_post_load`](Self::add_post_load), for a component of levels: the hook gets the values of a run of entities.
    fn add_component_post_load<C: Component>(
        &mut self,
        hook: impl Fn(&mut [C], &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self;

    /// Adds code that runs on each instance of a level after the post-loads of its components, off the main thread unless the load is a blocking one, with what
    /// [`InstanceRequest::data`](crate::InstanceRequest::data) gave to that instance: so one package makes houses of all colours. An error, or a panic, fails that
    /// instance only. A reload runs it as well. Add it before the app runs.
    ///
    /// ```
    /// # use bevy_app::App; use bevy_ecs::prelude::*;
    /// # use seamless_asset::{InstanceInfo, SeamlessAssetApp, StagedLevel};
    /// #[derive(Component, Clone)]
    /// struct Owner(String);
    ///
    /// # let mut app = App::new();
    /// app.add_instance_hook(|level: &mut StagedLevel, instance: &InstanceInfo| {
    ///     let Some(owner) = instance.data.as_ref().and_then(|data| data.as_text()) else {
    ///         return Ok(());
    ///     };
    ///     level.insert(0..level.len(), vec![Owner(owner.into()); level.len()])
    /// });
    /// ```
    fn add_instance_hook(
        &mut self,
        hook: impl Fn(&mut StagedLevel, &InstanceInfo) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self;

    /// Adds a look at each level after its hooks, off the main thread: what it finds is kept by its type and told to the
    /// [`RevealGate`](crate::RevealGate)s, [`RevealGate::watch_level`](crate::RevealGate::watch_level). Add it before the app runs.
    fn add_level_scan<T: Send + Sync + 'static>(
        &mut self,
        scan: impl Fn(&StagedLevel) -> T + Send + Sync + 'static,
    ) -> &mut Self;

    /// Registers content that the code of `P`, a plugin usually, refers to directly, by the paths of its sources. It is cooked into the
    /// startup package, live before the first frame, and in memory for ever; see [`StartupContent`].
    fn add_startup_content<P: ?Sized, A: Asset>(
        &mut self,
        paths: impl IntoIterator<Item = impl Into<AssetPath<'static>>>,
    ) -> &mut Self;

    /// Adds whoever keeps copies of entities, and has to hear when levels are hidden and shown, in apps with
    /// [`sliced_levels`](crate::SeamlessAssetPlugin::sliced_levels): see [`LevelHider`].
    fn add_level_hider(&mut self, hider: impl LevelHider) -> &mut Self;

    /// Announces the set of components that many entities of the game's levels consist of: their reveal takes less time.
    fn add_spawn_row<R: SpawnRow>(&mut self) -> &mut Self;

    /// Adds the history of the game's types, or of a plugin's: what is done to objects that were cooked before they changed.
    /// Do it in a plugin that the game and its cook program share: a package that was saved without a list counts as one from before
    /// its first entry.
    ///
    /// # Panics
    /// When the list has a mistake in it or is there already. Without it older objects would be taken for current ones, and
    /// current ones be migrated once more later. [`CodecRegistry::add_migrations`] returns the error.
    ///
    /// [`CodecRegistry::add_migrations`]: crate::codec::CodecRegistry::add_migrations
    fn add_migrations(&mut self, list: Migrations) -> &mut Self;
}

impl SeamlessAssetApp for App {
    fn add_asset_codec<C: AssetCodec>(&mut self) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_asset::<C>();
        self
    }

    fn cook_by_reflection<A: Asset + FromReflect + GetTypeRegistration>(&mut self) -> &mut Self {
        self.register_type::<A>();
        self.add_asset_codec::<ReflectAssetCodec<A>>()
    }

    fn add_dialogue<S: Asset>(&mut self) -> &mut Self {
        self.init_asset::<DialogueVariants<S>>()
            .register_asset_loader(DialogueLoader::<S>::default())
            .add_asset_codec::<DialogueVariantsCodec<S>>()
    }

    fn add_component_codec(&mut self, codec: impl ComponentCodec) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_component(codec);
        self
    }

    fn add_record<C: Record>(&mut self) -> &mut Self {
        self.world_mut()
            .get_resource_or_init::<Codecs>()
            .write()
            .add_record::<C>(Role::ALL);
        self
    }

    fn add_post_load<A: Asset>(
        &mut self,
        hook: impl Fn(&mut A, &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.add_asset(hook);
        self
    }

    fn add_component_post_load<C: Component>(
        &mut self,
        hook: impl Fn(&mut [C], &mut PostLoad) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.add_component(hook);
        self
    }

    fn add_instance_hook(
        &mut self,
        hook: impl Fn(&mut StagedLevel, &InstanceInfo) -> Result<(), String> + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.levels.add_instance(hook);
        self
    }

    fn add_level_scan<T: Send + Sync + 'static>(
        &mut self,
        scan: impl Fn(&StagedLevel) -> T + Send + Sync + 'static,
    ) -> &mut Self {
        let mut hooks = self.world_mut().get_resource_or_init::<RegisteredPostLoads>();
        hooks.0.levels.add_scan(scan);
        self
    }

    fn add_startup_content<P: ?Sized, A: Asset>(
        &mut self,
        paths: impl IntoIterator<Item = impl Into<AssetPath<'static>>>,
    ) -> &mut Self {
        let mut content = self.world_mut().get_resource_or_init::<StartupContent>();
        for path in paths {
            content.register::<P, A>(path.into());
        }
        self
    }

    fn add_level_hider(&mut self, hider: impl LevelHider) -> &mut Self {
        let mut hiders = self.world_mut().get_resource_or_init::<LevelHiders>();
        hiders.0.push(Box::new(hider));
        self
    }

    fn add_spawn_row<R: SpawnRow>(&mut self) -> &mut Self {
        self.world_mut().get_resource_or_init::<Codecs>().write().add_row::<R>();
        self
    }

    fn add_migrations(&mut self, list: Migrations) -> &mut Self {
        let codecs = self.world_mut().get_resource_or_init::<Codecs>().clone();
        let added = codecs.write().add_migrations(list);
        if let Err(error) = added {
            panic!("{error}");
        }
        self
    }
}
