//! Assets as bytes. See [`AssetCodec`].

use core::any::TypeId;

use bevy_asset::{Asset, AssetHandleProvider, Assets, UntypedAssetId};
use bevy_ecs::world::World;
use bevy_reflect::{FromReflect, GetTypeRegistration, Reflect, TypeRegistry};
use seamless_package::{Role, Schema};

use super::{
    DecodeContext, DecodeError, Encoding, attribute::with_promise, decode_reflected_whole, description_of, schema,
};
#[cfg(feature = "write")]
use super::{EncodeContext, EncodeError, encode_reflected};

/// An encoded asset: what goes into the export, and the large payloads beside it.
#[cfg(feature = "write")]
#[derive(Debug, Default, Clone)]
pub struct EncodedAsset {
    /// The export's data.
    pub data: Vec<u8>,
    /// Payloads, numbered; stored at the end of the package.
    pub bulk: Vec<Vec<u8>>,
}

/// Encodes and decodes one asset type. Decoding runs on a task, never on the main thread.
pub trait AssetCodec: Send + Sync + 'static {
    /// The asset.
    type Asset: Asset;

    /// Raise it whenever the encoded form changes, so that old packages are refused by name.
    const VERSION: u32;

    /// Who needs assets of this type.
    const ROLE: Role = Role::ALL;

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

    /// Decodes what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    /// When the bytes are no such asset.
    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<Self::Asset, DecodeError>;
}

/// An asset that is decoded, and waits to be moved into its [`Assets`].
pub trait DecodedAsset: Send + Sync {
    /// Moves the value in under `id`, once. `false` when nobody holds a handle of it any more.
    fn insert(&mut self, world: &mut World, id: UntypedAssetId) -> bool;

    /// Whether a renderer will prepare it; see [`AssetCodec::is_rendered`].
    fn is_rendered(&self) -> bool;
}

struct Decoded<A: Asset> {
    asset: Option<A>,
    is_rendered: bool,
}

impl<A: Asset> DecodedAsset for Decoded<A> {
    fn is_rendered(&self) -> bool {
        self.is_rendered
    }

    fn insert(&mut self, world: &mut World, id: UntypedAssetId) -> bool {
        let (Ok(id), Some(mut assets)) = (id.try_typed::<A>(), world.get_resource_mut::<Assets<A>>()) else {
            return false;
        };
        let Some(asset) = self.asset.take() else { return false };
        assets.insert(id, asset).is_ok()
    }
}

/// An [`AssetCodec`] with its type erased.
pub struct ErasedAssetCodec {
    /// The asset's type.
    pub type_id: TypeId,
    /// Its stable name.
    pub type_path: &'static str,
    /// Who needs it.
    pub role: Role,
    schema: fn(&TypeRegistry) -> Schema,
    decode: fn(&[u8], Vec<Vec<u8>>, &DecodeContext) -> Result<Box<dyn DecodedAsset>, DecodeError>,
    provider: fn(&World) -> Option<AssetHandleProvider>,
    #[cfg(feature = "write")]
    encode: fn(&World, UntypedAssetId, &mut EncodeContext) -> Result<Option<EncodedAsset>, EncodeError>,
}

impl ErasedAssetCodec {
    /// Erases `C`.
    #[must_use]
    pub fn new<C: AssetCodec>() -> Self {
        use bevy_reflect::TypePath;
        Self {
            type_id: TypeId::of::<C::Asset>(),
            type_path: C::Asset::type_path(),
            role: C::ROLE,
            schema: |registry| {
                let schema = schema(C::Asset::type_path(), Encoding::Asset, C::VERSION, &C::layout(registry));
                with_promise(schema, registry.get_type_info(TypeId::of::<C::Asset>()))
            },
            decode: |data, bulk, context| {
                let asset = C::decode(data, bulk, context)?;
                let is_rendered = C::is_rendered(&asset);
                Ok(Box::new(Decoded {
                    asset: Some(asset),
                    is_rendered,
                }))
            },
            provider: |world| Some(world.get_resource::<Assets<C::Asset>>()?.get_handle_provider()),
            #[cfg(feature = "write")]
            encode: |world, id, context| {
                let asset = world
                    .get_resource::<Assets<C::Asset>>()
                    .zip(id.try_typed::<C::Asset>().ok())
                    .and_then(|(assets, id)| assets.get(id));
                asset.map(|asset| C::encode(asset, context)).transpose()
            },
        }
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

    /// What reserves handles of the asset from any thread; `None` when the app does not have the asset type.
    #[must_use]
    pub fn provider(&self, world: &World) -> Option<AssetHandleProvider> {
        (self.provider)(world)
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
}

/// The [`AssetCodec`] of an asset that is cooked by reflection alone. Fields with `#[reflect(ignore)]` are lost;
/// that is why it has to be asked for, by [`cook_by_reflection`](crate::SeamlessAssetApp::cook_by_reflection).
pub struct ReflectAssetCodec<A>(core::marker::PhantomData<fn() -> A>);

impl<A: Asset + FromReflect + GetTypeRegistration> AssetCodec for ReflectAssetCodec<A> {
    type Asset = A;
    const VERSION: u32 = 1;

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
    let value = decode_reflected_whole(registration, data, context)?
        .downcast::<A>()
        .map_err(|_| DecodeError::UnknownType(A::type_path().to_owned()))?;
    Ok(*value)
}
