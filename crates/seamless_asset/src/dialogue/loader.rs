//! Sets of variants as their authors write them.

use core::marker::PhantomData;

use bevy_asset::{Asset, AssetLoader, AssetPath, LoadContext, ParseAssetPathError, io::Reader};
use bevy_reflect::TypePath;
use futures_lite::AsyncReadExt;
use serde::Deserialize;

use super::{DialogueError, DialogueVariant, DialogueVariants, check};

/// The ending of sources of [`DialogueVariants`], without the first dot.
pub const DIALOGUE_EXTENSION: &str = "dialogue.ron";

/// How many bytes a source may have.
pub const MAX_DIALOGUE_BYTES: u64 = 1 << 20;

/// Loads [`DialogueVariants`] from `*.dialogue.ron` files.
#[derive(TypePath)]
pub struct DialogueLoader<S: Asset>(PhantomData<fn() -> S>);

impl<S: Asset> Default for DialogueLoader<S> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

/// Why a `*.dialogue.ron` file cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DialogueLoadError {
    /// Its bytes did not come.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is too large to be read.
    #[error("it has more than {MAX_DIALOGUE_BYTES} bytes; make several sets")]
    TooLarge,
    /// It is no such text.
    #[error(
        "line {line}, column {column}: {message}; write `(variants: [(sound: \"line_1.ogg\"), (sound: \"line_2.ogg\", weight: 2.0)])`"
    )]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A sound's path is none.
    #[error("`{sound}` is no path: {cause}; write a file's path, relative to this one")]
    Path {
        /// As it is written.
        sound: String,
        /// What is wrong with it.
        cause: ParseAssetPathError,
    },
    /// What it lists is no set.
    #[error(transparent)]
    Variants(#[from] DialogueError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    variants: Vec<SourceVariant>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceVariant {
    sound: String,
    #[serde(default = "one")]
    weight: f32,
}

fn one() -> f32 {
    1.0
}

impl Source {
    fn parse(bytes: &[u8]) -> Result<Self, DialogueLoadError> {
        ron::de::from_bytes(bytes).map_err(|error| DialogueLoadError::Syntax {
            line: error.span.start.line,
            column: error.span.start.col,
            message: error.code.to_string(),
        })
    }
}

async fn read(reader: &mut dyn Reader) -> Result<Vec<u8>, DialogueLoadError> {
    let mut bytes = Vec::new();
    let mut limited = AsyncReadExt::take(reader, MAX_DIALOGUE_BYTES + 1);
    limited.read_to_end(&mut bytes).await?;
    match bytes.len() as u64 > MAX_DIALOGUE_BYTES {
        true => Err(DialogueLoadError::TooLarge),
        false => Ok(bytes),
    }
}

impl<S: Asset> AssetLoader for DialogueLoader<S> {
    type Asset = DialogueVariants<S>;
    type Settings = ();
    type Error = DialogueLoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        context: &mut LoadContext<'_>,
    ) -> Result<DialogueVariants<S>, DialogueLoadError> {
        let source = Source::parse(&read(reader).await?)?.variants;
        let path = |SourceVariant { sound, .. }: &SourceVariant| {
            let path = context.path().resolve_embed_str(sound);
            let sound = sound.clone();
            path.map_err(|cause| DialogueLoadError::Path { sound, cause })
        };
        let paths = source
            .iter()
            .map(path)
            .collect::<Result<Vec<AssetPath<'static>>, _>>()?;
        let weights = source.iter().map(|variant| variant.weight);
        // Nothing is loaded for what is no set.
        check(paths.iter().zip(weights.clone()))?;
        let variants = paths.into_iter().zip(weights).map(|(path, weight)| DialogueVariant {
            sound: context.load(path),
            weight,
        });
        Ok(DialogueVariants {
            variants: variants.collect(),
        })
    }

    fn extensions(&self) -> &[&str] {
        &[DIALOGUE_EXTENSION]
    }
}
