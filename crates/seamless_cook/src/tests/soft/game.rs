//! A game of spells: assets that name each other softly, and a component that names one.

use bevy::asset::LoadContext;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{LevelAsset, SeamlessAssetApp, SoftHandle, SoftReference};

use super::*;

/// `next|picture|tag=value`
#[derive(Asset, TypePath)]
pub(super) struct Spell {
    next: SoftHandle<Spell>,
    #[dependency]
    picture: Option<Handle<Image>>,
    tag: String,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(super) struct Wand {
    spell: SoftHandle<Spell>,
    spare: Vec<SoftHandle<Spell>>,
}

/// Leads to a scene that is placed when somebody comes near.
#[derive(Component, Reflect)]
#[reflect(Component)]
pub(super) struct Door {
    to: SoftHandle<LevelAsset>,
}

pub(super) fn spell(next: &str, picture: &str, tag: &str) -> String {
    format!("{next}|{picture}|{tag}")
}

impl OfBytes for Spell {
    const EXTENSIONS: &'static [&'static str] = &["spell"];

    fn of_bytes(bytes: Vec<u8>, context: &mut LoadContext) -> Self {
        let text = String::from_utf8(bytes).unwrap();
        let parts: Vec<&str> = text.split('|').collect();
        Self {
            next: SoftHandle::new(parts[0]),
            picture: (!parts[1].is_empty()).then(|| context.load(parts[1].to_owned())),
            tag: parts[2].to_owned(),
        }
    }
}

struct SpellCodec;

impl AssetCodec for SpellCodec {
    type Asset = Spell;
    const VERSION: u32 = 1;

    fn layout(_: &TypeRegistry) -> String {
        "spell".into()
    }

    fn encode(spell: &Spell, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        context.soft(&spell.next);
        context.bundle("cast", SoftReference::from(&spell.next));
        if let Some((key, value)) = spell.tag.split_once('=') {
            context.tag(key, value);
        }
        if let Some(picture) = &spell.picture {
            context.reference(&picture.clone().untyped());
        }
        Ok(EncodedAsset {
            data: spell.tag.clone().into_bytes(),
            bulk: Vec::new(),
        })
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Spell, DecodeError> {
        Ok(Spell {
            next: SoftHandle::default(),
            picture: None,
            tag: String::from_utf8_lossy(data).into_owned(),
        })
    }
}

pub(super) fn game() -> CookApp {
    CookApp::new().with(|app| {
        app.init_asset::<Spell>()
            .init_asset_loader::<BytesLoader<Spell>>()
            .add_asset_codec::<SpellCodec>()
            .register_type::<Wand>()
            .register_type::<Door>();
    })
}
