//! Definitions as bytes, and what registries tell of them. See [`DefinitionCodec`].

use core::marker::PhantomData;

use bevy_asset::Asset;
use bevy_reflect::{FromReflect, GetTypeRegistration, TypeRegistry};
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, ReflectAssetCodec};
#[cfg(feature = "write")]
use seamless_asset::codec::{EncodeContext, EncodeError, EncodedAsset};

use super::{Ability, AbilitySet};
use crate::{Effect, FiredCues, GameplayTag};

/// What a definition is searched by.
pub(crate) trait Searchable {
    /// Keys of a registry's tags, and their values.
    fn searched_by(&self) -> Vec<(&'static str, GameplayTag)>;
}

impl Searchable for Effect {
    fn searched_by(&self) -> Vec<(&'static str, GameplayTag)> {
        let tags = self.tags.iter().map(|tag| ("effect", tag));
        let grants = self.grants.iter().map(|tag| ("effect.grants", tag));
        tags.chain(grants).chain(fired("effect.cue", &self.cues)).collect()
    }
}

impl Searchable for Ability {
    fn searched_by(&self) -> Vec<(&'static str, GameplayTag)> {
        let tags = self.tags.iter().map(|tag| ("ability", tag));
        tags.chain(fired("ability.cue", &self.cues)).collect()
    }
}

impl Searchable for AbilitySet {
    fn searched_by(&self) -> Vec<(&'static str, GameplayTag)> {
        let slots = self.abilities.iter().filter_map(|entry| entry.slot);
        slots.map(|slot| ("abilities.slot", slot)).collect()
    }
}

fn fired(key: &'static str, cues: &FiredCues) -> impl Iterator<Item = (&'static str, GameplayTag)> {
    let all = cues.active.iter().chain(&cues.executed);
    all.map(move |tag| (key, *tag))
}

/// By reflection, so that a game goes on reading what it has cooked when a definition gets new fields.
pub(crate) struct DefinitionCodec<A>(PhantomData<fn() -> A>);

impl<A: Searchable + Asset + FromReflect + GetTypeRegistration> AssetCodec for DefinitionCodec<A> {
    type Asset = A;
    const VERSION: u32 = ReflectAssetCodec::<A>::VERSION;
    const IS_REFLECTED: bool = true;

    fn is_rendered(_: &A) -> bool {
        false
    }

    fn layout(registry: &TypeRegistry) -> String {
        ReflectAssetCodec::<A>::layout(registry)
    }

    #[cfg(feature = "write")]
    fn encode(asset: &A, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        for (key, tag) in asset.searched_by() {
            context.tag(key, tag.name());
        }
        ReflectAssetCodec::<A>::encode(asset, context)
    }

    fn decode(data: &[u8], bulk: Vec<Vec<u8>>, context: &DecodeContext) -> Result<A, DecodeError> {
        ReflectAssetCodec::<A>::decode(data, bulk, context)
    }
}
