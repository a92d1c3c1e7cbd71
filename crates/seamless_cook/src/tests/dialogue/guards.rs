//! Levels of guards who greet, in sounds that need no audio library.

use bevy::asset::LoadContext;
use bevy::prelude::*;
use seamless_asset::codec::{AssetCodec, DecodeContext, DecodeError, EncodeContext, EncodeError, EncodedAsset};
use seamless_asset::{DialogueVariants, SeamlessAssetApp};
use seamless_package::Role;

use crate::CookApp;
use crate::tests::{BytesLoader, Fixture, OfBytes, number};

/// A sound that needs no audio library.
#[derive(Asset, TypePath)]
pub(super) struct Whistle(pub Vec<u8>);

pub(super) struct WhistleCodec;

impl AssetCodec for WhistleCodec {
    type Asset = Whistle;
    const VERSION: u32 = 1;
    const ROLE: Role = Role::CLIENT;

    fn encode(whistle: &Whistle, _: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let (data, bulk) = (whistle.0.clone(), Vec::new());
        Ok(EncodedAsset { data, bulk })
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, _: &DecodeContext) -> Result<Whistle, DecodeError> {
        Ok(Whistle(data.to_vec()))
    }
}

impl OfBytes for Whistle {
    const EXTENSIONS: &'static [&'static str] = &["whistle"];

    fn of_bytes(bytes: Vec<u8>, _: &mut LoadContext) -> Self {
        Self(bytes)
    }
}

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(super) struct Greets(pub Handle<DialogueVariants<Whistle>>);

/// An asset between a level and a set.
#[derive(Asset, Reflect)]
pub(super) struct Person {
    greeting: Handle<DialogueVariants<Whistle>>,
    age: u8,
}

#[derive(Component, Reflect)]
#[reflect(Component)]
pub(super) struct Is(Handle<Person>);

impl OfBytes for Person {
    const EXTENSIONS: &'static [&'static str] = &["person"];

    fn of_bytes(bytes: Vec<u8>, context: &mut LoadContext) -> Self {
        let greeting = context.load("guard/hello.dialogue.ron");
        Self {
            greeting,
            age: bytes.len() as u8,
        }
    }
}

pub(super) fn add_types(app: &mut App) {
    app.init_asset::<Whistle>()
        .init_asset::<Person>()
        .add_asset_codec::<WhistleCodec>()
        .add_dialogue::<Whistle>()
        .cook_by_reflection::<Person>()
        .register_type::<Greets>()
        .register_type::<Is>();
}

pub(super) fn cooker() -> CookApp {
    CookApp::new().with(|app| {
        add_types(app);
        app.register_asset_loader(BytesLoader::<Whistle>::default())
            .register_asset_loader(BytesLoader::<Person>::default());
    })
}

pub(super) const SET: &str = "guard/hello.dialogue.ron";

/// A set of `count` variants, the first with the weight 0.5.
pub(super) fn write_set(fixture: &Fixture, count: usize) {
    let variants: Vec<String> = (0..count)
        .map(|number| {
            fixture.write(
                &format!("guard/{number}.whistle"),
                format!("hello, for the {number}th time"),
            );
            let weight = if number == 0 { ", weight: 0.5" } else { "" };
            format!("(sound: \"{number}.whistle\"{weight})")
        })
        .collect();
    fixture.write(SET, format!("(variants: [{}])", variants.join(", ")));
}

/// Levels `a`, `b` … of one guard each, and a set of eight variants.
pub(super) fn guards(levels: usize) -> Fixture {
    let fixture = Fixture::new();
    write_set(&fixture, 8);
    for level in ('a'..).take(levels) {
        let (entity, greets, name) = (number(1), Greets::type_path(), Name::type_path());
        // Each level is another one.
        let components = format!(r#""{greets}": (Path("{SET}")), "{name}": "Guard {level}""#);
        fixture.write(
            &format!("{level}.scn.ron"),
            format!("(resources: {{}}, entities: {{{entity}: (components: {{{components}}})}})"),
        );
    }
    fixture
}

/// A world of these levels, each with what is said of it.
pub(super) fn world(levels: &[(char, &str)]) -> String {
    let levels: Vec<String> = levels
        .iter()
        .map(|(level, limits)| format!("(source: \"{level}.scn.ron\", {limits})"))
        .collect();
    // Nothing of them is seen that a volume could be around.
    format!("(levels: [{}], volumes: [])", levels.join(", "))
}

pub(super) const FOUR: [(char, &str); 4] = [
    ('a', "max_variants: 2"),
    ('b', "max_variants: 2"),
    ('c', "max_variants: 2"),
    ('d', "max_variants: 2"),
];
