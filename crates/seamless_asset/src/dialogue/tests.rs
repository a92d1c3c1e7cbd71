//! What sets of variants hold, how they are picked from, and what their files may say.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::time::Instant;

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    Asset, AssetApp, AssetId, AssetLoader, AssetPlugin, AssetServer, Assets, Handle, LoadContext, LoadState, io::Reader,
};
use bevy_reflect::TypePath;
use uuid::Uuid;

use super::*;
use crate::SeamlessAssetApp;
use crate::codec::DecodeError;
#[cfg(feature = "write")]
use crate::codec::{AssetCodec, DecodeContext, EncodeContext, EntityRows};

/// A sound that needs no audio library.
#[derive(Asset, TypePath)]
struct Whistle;

fn whistle(number: u128) -> Handle<Whistle> {
    Handle::Uuid(Uuid::from_u128(number), core::marker::PhantomData)
}

fn set(weights: &[f32]) -> Result<DialogueVariants<Whistle>, DialogueError> {
    let variants = (1..).zip(weights).map(|(number, weight)| DialogueVariant {
        sound: whistle(number),
        weight: *weight,
    });
    DialogueVariants::new(variants.collect())
}

fn picked(set: &DialogueVariants<Whistle>, at: f32) -> Option<u128> {
    match set.pick(at)?.id() {
        AssetId::Uuid { uuid } => Some(uuid.as_u128()),
        AssetId::Index { .. } => None,
    }
}

#[test]
fn a_variant_with_more_weight_is_picked_more_often() {
    let set = set(&[1.0, 2.0, 1.0]).unwrap();
    let at = [0.0, 0.24, 0.26, 0.74, 0.76, 0.99];
    assert_eq!(at.map(|at| picked(&set, at)), [1, 1, 2, 2, 3, 3].map(Some));
    // What is no number from 0 to 1 picks one all the same.
    let at = [1.0, 7.0, f32::INFINITY, f32::NAN, -1.0];
    assert_eq!(at.map(|at| picked(&set, at)), [3, 3, 3, 3, 1].map(Some));
}

#[test]
fn a_set_without_variants_is_silent() {
    let set = set(&[]).unwrap();
    assert!(set.variants().is_empty());
    assert_eq!(picked(&set, 0.5), None);
}

#[test]
fn weights_are_finite_and_above_zero() {
    for weight in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let error = set(&[1.0, weight]).err().unwrap();
        assert!(matches!(error, DialogueError::Weight { index: 1, .. }), "{error}");
    }
}

#[test]
fn a_sound_is_there_once() {
    let variant = || DialogueVariant {
        sound: whistle(1),
        weight: 1.0,
    };
    let error = DialogueVariants::new(vec![variant(), variant()]).err();
    assert_eq!(error, Some(DialogueError::Twice { index: 1 }));
}

#[test]
fn sets_are_shown_copied_and_made_whatever_their_sounds_are() {
    let set = set(&[1.0, 2.5]).unwrap();
    assert_eq!(format!("{set:?}"), format!("{:?}", set.clone()));
    assert!(format!("{set:?}").contains("weight: 2.5"), "{set:?}");
    assert!(DialogueVariants::<Whistle>::default().variants().is_empty());
    // A weight that a set takes.
    DialogueVariants::new(vec![DialogueVariant::<Whistle>::default()]).unwrap();
}

#[test]
fn there_are_not_too_many() {
    assert!(set(&[1.0; MAX_VARIANTS]).is_ok());
    let count = MAX_VARIANTS + 1;
    assert_eq!(set(&vec![1.0; count]).err(), Some(DialogueError::TooMany { count }));
}

#[test]
fn bytes_that_are_no_whole_variants_are_refused() {
    assert_eq!(read_variants(&[]).unwrap(), []);
    let error = read_variants(&[0; 12]).unwrap_err();
    assert!(matches!(error, DecodeError::Bytes(_)), "{error}");
}

#[cfg(feature = "write")]
#[test]
fn a_set_comes_back_from_its_bytes_and_wrong_ones_are_errors() {
    type Codec = DialogueVariantsCodec<Whistle>;
    let registry = bevy_reflect::TypeRegistry::default();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = Codec::encode(&set(&[1.0, 2.5]).unwrap(), &mut context).unwrap();
    let handles: Vec<_> = context.into_references().into_iter().map(Some).collect();
    let decode = |data: &[u8]| {
        let context = DecodeContext {
            registry: &registry,
            entities: &[],
            handles: &handles,
            mesh_attributes: &[],
            object: None,
        };
        Codec::decode(data, Vec::new(), &context)
    };
    let back = decode(&encoded.data).unwrap();
    let found: Vec<_> = back.variants().iter().map(|variant| variant.weight).collect();
    assert_eq!(found, [1.0, 2.5]);
    assert_eq!([0.0, 0.9].map(|at| picked(&back, at)), [1, 2].map(Some));

    let variant = |reference, weight| StoredVariant { reference, weight };
    let wrong = |variants: &[StoredVariant]| decode(&write_variants(variants)).err().unwrap();
    let error = wrong(&[variant(0, f32::NAN)]);
    assert!(
        matches!(&error, DecodeError::Malformed(message) if message.contains("weight")),
        "{error}"
    );
    let error = wrong(&[variant(0, 1.0), variant(0, 1.0)]);
    assert!(
        matches!(&error, DecodeError::Malformed(message) if message.contains("earlier")),
        "{error}"
    );
    // A sound that the export does not refer to.
    wrong(&[variant(2, 1.0)]);
}

#[derive(Default, TypePath)]
struct WhistleLoader;

impl AssetLoader for WhistleLoader {
    type Asset = Whistle;
    type Settings = ();
    type Error = std::io::Error;

    async fn load(&self, _: &mut dyn Reader, _: &(), _: &mut LoadContext<'_>) -> Result<Whistle, std::io::Error> {
        Ok(Whistle)
    }

    fn extensions(&self) -> &[&str] {
        &["whistle"]
    }
}

/// Loads a set from a file of this text, beside which there is `a.whistle`; gives the sounds and weights, or what is wrong.
fn load(text: &str) -> Result<Vec<(String, f32)>, String> {
    let directory = std::env::temp_dir().join(format!("seamless_dialogue_{:x}", hash(text)));
    std::fs::create_dir_all(directory.join("guard")).unwrap();
    std::fs::write(directory.join("guard/hello.dialogue.ron"), text).unwrap();
    std::fs::write(directory.join("guard/a.whistle"), "").unwrap();
    std::fs::write(directory.join("b.whistle"), "").unwrap();
    let result = load_from(&directory, "guard/hello.dialogue.ron");
    std::fs::remove_dir_all(&directory).unwrap();
    result
}

fn load_from(directory: &Path, file: &'static str) -> Result<Vec<(String, f32)>, String> {
    let mut app = App::new();
    let plugin = AssetPlugin {
        file_path: directory.display().to_string(),
        ..AssetPlugin::default()
    };
    app.add_plugins((TaskPoolPlugin::default(), plugin))
        .init_asset::<Whistle>()
        .init_asset_loader::<WhistleLoader>()
        .add_dialogue::<Whistle>();
    let server = app.world().resource::<AssetServer>().clone();
    let handle: Handle<DialogueVariants<Whistle>> = server.load(file);
    let start = Instant::now();
    loop {
        app.update();
        match server.load_state(&handle) {
            LoadState::Failed(error) => return Err(error.to_string()),
            LoadState::Loaded if server.is_loaded_with_dependencies(&handle) => break,
            _ => assert!(start.elapsed().as_secs() < 20, "it takes too long"),
        }
    }
    let sets = app.world().resource::<Assets<DialogueVariants<Whistle>>>();
    let variants = sets.get(&handle).unwrap().variants().iter();
    let path = |variant: &DialogueVariant<Whistle>| variant.sound.path().unwrap().to_string();
    Ok(variants.map(|variant| (path(variant), variant.weight)).collect())
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (text, std::process::id()).hash(&mut hasher);
    hasher.finish()
}

#[test]
fn files_list_sounds_by_paths_relative_to_them() {
    let text = r#"(variants: [(sound: "a.whistle"), (sound: "../b.whistle", weight: 0.5)])"#;
    let expected = [("guard/a.whistle", 1.0), ("b.whistle", 0.5)].map(|(path, weight)| (path.to_owned(), weight));
    assert_eq!(load(text).unwrap(), expected);
}

#[test]
fn a_file_that_says_something_else_tells_what_and_where() {
    let error = load("(variants: [\n(sound: 5)])").unwrap_err();
    assert!(
        error.contains("line 2, column") && error.contains("weight: 2.0"),
        "{error}"
    );
    let error = load(r#"(variants: [], loudness: 1.0)"#).unwrap_err();
    assert!(error.contains("loudness"), "{error}");
    let error = load(r#"(variants: [(sound: "a.whistle#")])"#).unwrap_err();
    assert!(error.contains("`a.whistle#` is no path"), "{error}");
    let error = load(r#"(variants: [(sound: "a.whistle"), (sound: "../guard/a.whistle")])"#).unwrap_err();
    assert!(error.contains("variant 1 is the sound of an earlier one"), "{error}");
    let error = load(r#"(variants: [(sound: "a.whistle", weight: 0.0)])"#).unwrap_err();
    assert!(error.contains("variant 0 has the weight 0"), "{error}");
    let variants: Vec<String> = (0..=MAX_VARIANTS)
        .map(|number| format!("(sound: \"{number}.whistle\")"))
        .collect();
    let error = load(&format!("(variants: [{}])", variants.join(", "))).unwrap_err();
    assert!(error.contains("1025 variants; 1024 are possible"), "{error}");
}

#[test]
fn a_file_is_not_too_large() {
    let text = r#"(variants: [(sound: "a.whistle")])"#;
    let of = |bytes: u64| format!("{text}{}", " ".repeat(bytes as usize - text.len()));
    assert_eq!(load(&of(MAX_DIALOGUE_BYTES)).unwrap().len(), 1);
    let error = load(&of(MAX_DIALOGUE_BYTES + 1)).unwrap_err();
    assert!(error.contains("more than 1048576 bytes"), "{error}");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let directory = std::env::temp_dir().join(format!("seamless_dialogue_folder_{}", std::process::id()));
    // It can be opened, and not be read.
    std::fs::create_dir_all(directory.join("hello.dialogue.ron")).unwrap();
    let error = load_from(&directory, "hello.dialogue.ron").err().unwrap();
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(error.to_lowercase().contains("directory"), "{error}");
}
