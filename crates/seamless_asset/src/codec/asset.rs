//! Assets as bytes. See [`AssetCodec`].

use core::any::{Any, TypeId};

use bevy_app::App;
#[cfg(feature = "write")]
use bevy_asset::AssetId;
use bevy_asset::{Asset, AssetHandleProvider, Assets, UntypedAssetId};
use bevy_ecs::world::World;
use bevy_reflect::{FromReflect, GetTypeRegistration, Reflect, TypePath, TypeRegistry};
use seamless_package::{Role, Schema};

use super::{
    DecodeContext, DecodeError, Encoding, WhenInserted, attribute::with_promise, decode_reflected_whole,
    description_of, schema,
};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError, encode_reflected};
use crate::edits;

/// An encoded asset: what goes into the export, and the large payloads beside it.
#[cfg(feature = "write")]
#[derive(Debug, Default, Clone)]
pub struct EncodedAsset {
    /// The export's data.
    pub data: Vec<u8>,
    /// Payloads, numbered; stored at the end of the package.
    pub bulk: Vec<Vec<u8>>,
}

/// When the bulk payloads of an asset are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum BulkUse {
    /// With the asset: its codec decodes them. They always lie in the package that the asset is in.
    #[default]
    Load,
    /// By themselves, by whoever asks for them with [`Streamer::load_bulk`](crate::Streamer::load_bulk). The codec decodes the asset
    /// without them, and those of a copy may stay in the package that it was copied from.
    OnDemand,
    /// As [`OnDemand`](Self::OnDemand) for each asset that the cooker has marked, because its codec (`AssetCodec::marks`) said so; as
    /// [`Load`](Self::Load) for every other one.
    Marked,
}

impl BulkUse {
    /// What it comes to for one asset, which is marked or not: [`Load`](Self::Load) or [`OnDemand`](Self::OnDemand).
    #[must_use]
    pub const fn of_object(self, is_marked: bool) -> Self {
        match (self, is_marked) {
            (Self::Load, _) | (Self::Marked, false) => Self::Load,
            (Self::OnDemand, _) | (Self::Marked, true) => Self::OnDemand,
        }
    }
}

/// Encodes and decodes one asset type. Decoding runs on a task, never on the main thread.
pub trait AssetCodec: Send + Sync + 'static {
    /// The asset.
    type Asset: Asset;

    /// Raise it whenever the encoded form changes, so that old packages are refused by name, or read by
    /// [`decode_version`](Self::decode_version).
    const VERSION: u32;

    /// Whether [`layout`](Self::layout) is the [`description_of`] a reflected type, so that
    /// [`decode_layout`](Self::decode_layout) is asked where it differs.
    const IS_REFLECTED: bool = false;

    /// Who needs assets of this type.
    const ROLE: Role = Role::ALL;

    /// When the asset's bulk payloads are read. On demand, decoding gets none of them.
    const BULK: BulkUse = BulkUse::Load;

    /// Whether a renderer will prepare this asset, so that a [`RevealGate`](crate::RevealGate) has something to wait for.
    fn is_rendered(_: &Self::Asset) -> bool {
        true
    }

    /// The layout of what is encoded, in words, where it follows from the app's types rather than from `VERSION`.
    fn layout(_: &TypeRegistry) -> String {
        "codec".to_owned()
    }

    /// Encodes `asset`.
    ///
    /// # Errors
    /// When it holds something that cannot be carried over.
    #[cfg(feature = "write")]
    fn encode(asset: &Self::Asset, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError>;

    /// Encodes `asset`, which is the asset `id` of `world`; for a type whose values do not tell all that is to be stored.
    ///
    /// # Errors
    /// As [`encode`](Self::encode), which it is by default.
    #[cfg(feature = "write")]
    fn encode_from(
        world: &World,
        id: AssetId<Self::Asset>,
        asset: &Self::Asset,
        context: &mut EncodeContext,
    ) -> Result<EncodedAsset, EncodeError> {
        let _ = (world, id);
        Self::encode(asset, context)
    }

    /// Whether an app may do without the payloads of `asset`, which was encoded as `encoded`, and read each when it is wanted. The
    /// cooker marks it then in its package, also where [`BULK`](Self::BULK) is [`BulkUse::Load`]: an app whose codec takes payloads
    /// [`BulkUse::Marked`] leaves those of marked assets, and any other reads them. Never marked are startup content, what has no
    /// payloads, and what takes all payloads on demand.
    ///
    /// Who changes what is marked raises [`VERSION`](Self::VERSION), or old marks stay.
    #[cfg(feature = "write")]
    fn marks(asset: &Self::Asset, encoded: &EncodedAsset) -> bool {
        let _ = (asset, encoded);
        false
    }

    /// Decodes what `encode` wrote; without payloads if they are left for later, see [`BulkUse`].
    ///
    /// # Errors
    /// When the bytes are no such asset.
    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Self::Asset, DecodeError>;

    /// Decodes what an older `version` wrote. Not called in a build without the feature `migrations`.
    ///
    /// # Errors
    /// As [`decode`](Self::decode); by default [`DecodeError::SchemaChanged`], which names both versions.
    fn decode_version(
        version: u32,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Self::Asset, DecodeError> {
        let _ = (data, bulk, context);
        Err(DecodeError::version(Self::Asset::type_path(), version, Self::VERSION))
    }

    /// Decodes what this version wrote while the reflected types were others: `read` makes today's value of the reflected
    /// part of `data`, by the stored layout and the app's migrations. Only called where [`IS_REFLECTED`](Self::IS_REFLECTED).
    ///
    /// # Errors
    /// As [`decode`](Self::decode), and what `read` returns.
    fn decode_layout(
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        read: &dyn Fn(&[u8]) -> Result<Box<dyn Reflect>, DecodeError>,
    ) -> Result<Self::Asset, DecodeError> {
        let _ = bulk;
        into_asset(read(data)?)
    }
}

/// The asset that a reflected value is.
fn into_asset<A: Asset + TypePath>(value: Box<dyn Reflect>) -> Result<A, DecodeError> {
    let found = value.reflect_type_path().to_owned();
    let asset = value.into_any().downcast::<A>();
    asset
        .map(|asset| *asset)
        .map_err(|_| DecodeError::UnknownType(format!("{found}` (as a `{}`)", A::type_path())))
}

/// An asset that is decoded, and waits to be moved into its [`Assets`].
pub trait DecodedAsset: Send + Sync {
    /// Moves the value in under `id`, once, and does what was to be done then. `false` when nobody holds a handle of it any more.
    fn insert(&mut self, world: &mut World, id: UntypedAssetId) -> bool;

    /// Whether a renderer will prepare it; see [`AssetCodec::is_rendered`].
    fn is_rendered(&self) -> bool;

    /// The value, until it is moved in.
    fn value_mut(&mut self) -> Option<&mut dyn Any>;

    /// Has something done when it was moved in, after what was left to be done before.
    fn when_inserted(&mut self, then: WhenInserted);
}

/// A value that was made at load, and that no renderer has to prepare before a reveal.
pub(crate) fn created<A: Asset>(value: A) -> Box<dyn DecodedAsset> {
    Box::new(Decoded {
        asset: Some(value),
        is_rendered: false,
        then: Vec::new(),
    })
}

struct Decoded<A: Asset> {
    asset: Option<A>,
    is_rendered: bool,
    then: Vec<WhenInserted>,
}

fn decoded<C: AssetCodec>(asset: C::Asset) -> Box<dyn DecodedAsset> {
    let is_rendered = C::is_rendered(&asset);
    Box::new(Decoded {
        asset: Some(asset),
        is_rendered,
        then: Vec::new(),
    })
}

impl<A: Asset> DecodedAsset for Decoded<A> {
    fn is_rendered(&self) -> bool {
        self.is_rendered
    }

    fn value_mut(&mut self) -> Option<&mut dyn Any> {
        self.asset.as_mut().map(|asset| asset as &mut dyn Any)
    }

    fn when_inserted(&mut self, then: WhenInserted) {
        self.then.push(then);
    }

    fn insert(&mut self, world: &mut World, id: UntypedAssetId) -> bool {
        let (Ok(typed), Some(mut assets)) = (id.try_typed::<A>(), world.get_resource_mut::<Assets<A>>()) else {
            return false;
        };
        let Some(asset) = self.asset.take() else { return false };
        let is_inserted = assets.insert(typed, asset).is_ok();
        if is_inserted {
            self.then.drain(..).for_each(|then| then(world, id));
        }
        is_inserted
    }
}

#[cfg(feature = "migrations")]
type DecodeLayout = fn(
    &[u8],
    Vec<Vec<u8>>,
    &dyn Fn(&[u8]) -> Result<Box<dyn Reflect>, DecodeError>,
) -> Result<Box<dyn DecodedAsset>, DecodeError>;

/// An [`AssetCodec`] with its type erased.
pub struct ErasedAssetCodec {
    /// The asset's type.
    pub type_id: TypeId,
    /// Its stable name.
    pub type_path: &'static str,
    /// Who needs it.
    pub role: Role,
    /// When its bulk payloads are read.
    pub bulk: BulkUse,
    /// The codec itself.
    codec: TypeId,
    schema: fn(&TypeRegistry) -> Schema,
    decode: fn(&[u8], Vec<Vec<u8>>, &DecodeContext) -> Result<Box<dyn DecodedAsset>, DecodeError>,
    #[cfg(feature = "migrations")]
    decode_version: fn(u32, &[u8], Vec<Vec<u8>>, &DecodeContext) -> Result<Box<dyn DecodedAsset>, DecodeError>,
    #[cfg(feature = "migrations")]
    decode_layout: Option<DecodeLayout>,
    provider: fn(&World) -> Option<AssetHandleProvider>,
    watch_edits: fn(&mut App),
    touch: fn(&mut World, UntypedAssetId) -> bool,
    #[cfg(feature = "write")]
    encode: fn(&World, UntypedAssetId, &mut EncodeContext) -> Result<Option<EncodedAsset>, EncodeError>,
    #[cfg(feature = "write")]
    marks: fn(&World, UntypedAssetId, &EncodedAsset) -> bool,
}

impl ErasedAssetCodec {
    /// Erases `C`.
    #[must_use]
    pub fn new<C: AssetCodec>() -> Self {
        Self {
            type_id: TypeId::of::<C::Asset>(),
            type_path: C::Asset::type_path(),
            role: C::ROLE,
            bulk: C::BULK,
            codec: TypeId::of::<C>(),
            schema: |registry| {
                let schema = schema(C::Asset::type_path(), Encoding::Asset, C::VERSION, &C::layout(registry));
                with_promise(schema, registry.get_type_info(TypeId::of::<C::Asset>()))
            },
            decode: |data, bulk, context| Ok(decoded::<C>(C::decode(data, bulk, context)?)),
            #[cfg(feature = "migrations")]
            decode_version: |version, data, bulk, context| {
                Ok(decoded::<C>(C::decode_version(version, data, bulk, context)?))
            },
            #[cfg(feature = "migrations")]
            decode_layout: C::IS_REFLECTED
                .then_some(|data, bulk, read| Ok(decoded::<C>(C::decode_layout(data, bulk, read)?))),
            provider: |world| Some(world.get_resource::<Assets<C::Asset>>()?.get_handle_provider()),
            watch_edits: edits::watch::<C::Asset>,
            touch: |world, id| {
                let (Ok(id), Some(mut assets)) = (id.try_typed(), world.get_resource_mut::<Assets<C::Asset>>()) else {
                    return false;
                };
                // It is the mutable look that Bevy takes for a change.
                assets.get_mut(id).as_deref_mut().is_some()
            },
            #[cfg(feature = "write")]
            encode: |world, id, context| {
                live::<C::Asset>(world, id)
                    .map(|(id, asset)| C::encode_from(world, id, asset, context))
                    .transpose()
            },
            #[cfg(feature = "write")]
            marks: |world, id, encoded| {
                let may_mark = C::BULK != BulkUse::OnDemand && !encoded.bulk.is_empty();
                may_mark && live::<C::Asset>(world, id).is_some_and(|(_, asset)| C::marks(asset, encoded))
            },
        }
    }

    /// Whether it is `C`: a game may have put a codec of its own in its place.
    #[must_use]
    pub fn is<C: AssetCodec>(&self) -> bool {
        self.codec == TypeId::of::<C>()
    }

    /// The schema to store, and to compare with the one found in a package.
    #[must_use]
    pub fn schema(&self, registry: &TypeRegistry) -> Schema {
        (self.schema)(registry)
    }

    /// Decodes an asset.
    ///
    /// # Errors
    /// When the bytes are no such asset.
    pub fn decode(
        &self,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Box<dyn DecodedAsset>, DecodeError> {
        (self.decode)(data, bulk, context)
    }

    /// Decodes an asset of an older version.
    ///
    /// # Errors
    /// When the bytes are no such asset, or the codec does not read that version.
    #[cfg(feature = "migrations")]
    pub(crate) fn decode_version(
        &self,
        version: u32,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        context: &DecodeContext,
    ) -> Result<Box<dyn DecodedAsset>, DecodeError> {
        (self.decode_version)(version, data, bulk, context)
    }

    /// Whether an older layout of the asset's reflected type can be read.
    #[cfg(feature = "migrations")]
    pub(crate) fn is_reflected(&self) -> bool {
        self.decode_layout.is_some()
    }

    /// Decodes an asset whose reflected part was cooked with an older layout, and is read by `read`.
    ///
    /// # Errors
    /// When the bytes are no such asset, or it does not become today's.
    #[cfg(feature = "migrations")]
    pub(crate) fn decode_layout(
        &self,
        data: &[u8],
        bulk: Vec<Vec<u8>>,
        read: &dyn Fn(&[u8]) -> Result<Box<dyn Reflect>, DecodeError>,
    ) -> Result<Box<dyn DecodedAsset>, DecodeError> {
        let unknown = || DecodeError::UnknownType(self.type_path.to_owned());
        self.decode_layout.ok_or_else(unknown)?(data, bulk, read)
    }

    /// What reserves handles of the asset from any thread; `None` when the app does not have the asset type.
    #[must_use]
    pub fn provider(&self, world: &World) -> Option<AssetHandleProvider> {
        (self.provider)(world)
    }

    /// From now on, [`AssetEdits`](edits::AssetEdits) knows which assets of this type were changed.
    pub(crate) fn watch_edits(&self, app: &mut App) {
        (self.watch_edits)(app);
    }

    /// Has Bevy tell that the asset `id` was modified. `false` when it is not there.
    pub(crate) fn touch(&self, world: &mut World, id: UntypedAssetId) -> bool {
        (self.touch)(world, id)
    }

    /// Encodes the asset `id` of `world`; `None` when there is none.
    ///
    /// # Errors
    /// When it cannot be carried over.
    #[cfg(feature = "write")]
    pub fn encode(
        &self,
        world: &World,
        id: UntypedAssetId,
        context: &mut EncodeContext,
    ) -> Result<Option<EncodedAsset>, EncodeError> {
        (self.encode)(world, id, context)
    }

    /// Whether the asset `id` of `world`, which was encoded as `encoded`, is marked; see [`AssetCodec::marks`].
    #[cfg(feature = "write")]
    #[must_use]
    pub fn marks(&self, world: &World, id: UntypedAssetId, encoded: &EncodedAsset) -> bool {
        (self.marks)(world, id, encoded)
    }
}

/// An asset of `world`, if there is such a one.
#[cfg(feature = "write")]
fn live<A: Asset>(world: &World, id: UntypedAssetId) -> Option<(AssetId<A>, &A)> {
    let id = id.try_typed::<A>().ok()?;
    Some((id, world.get_resource::<Assets<A>>()?.get(id)?))
}

/// The [`AssetCodec`] of an asset that is cooked by reflection alone. Fields with `#[reflect(ignore)]` are lost;
/// that is why it has to be asked for, by [`cook_by_reflection`](crate::SeamlessAssetApp::cook_by_reflection).
pub struct ReflectAssetCodec<A>(core::marker::PhantomData<fn() -> A>);

impl<A: Asset + FromReflect + GetTypeRegistration> AssetCodec for ReflectAssetCodec<A> {
    type Asset = A;
    const VERSION: u32 = 1;
    const IS_REFLECTED: bool = true;

    fn layout(registry: &TypeRegistry) -> String {
        registry
            .get_type_info(TypeId::of::<A>())
            .map_or_else(|| "not registered".into(), |info| description_of(info, registry))
    }

    #[cfg(feature = "write")]
    fn encode(asset: &A, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let mut encoded = EncodedAsset::default();
        encode_reflected(asset.as_reflect(), context, &mut encoded.data)?;
        Ok(encoded)
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<A, DecodeError> {
        decode_asset(data, context)
    }
}

/// Reads a reflected asset that fills `data` wholly.
fn decode_asset<A: Asset + Reflect>(data: &[u8], context: &DecodeContext) -> Result<A, DecodeError> {
    let registration = context
        .registry
        .get(TypeId::of::<A>())
        .ok_or_else(|| DecodeError::UnknownType(A::type_path().to_owned()))?;
    into_asset(decode_reflected_whole(registration, data, context)?)
}
