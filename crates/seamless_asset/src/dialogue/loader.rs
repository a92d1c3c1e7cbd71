//! Sets of variants as their authors write them.

use core::marker::PhantomData;

use bevy_asset::{Asset, AssetLoader, LoadContext, ParseAssetPathError, io::Reader};
use bevy_reflect::TypePath;
use serde::Deserialize;

use super::{DialogueError, DialogueVariant, DialogueVariants};

/// The ending of sources of [`DialogueVariants`], without the first dot.
pub const DIALOGUE_EXTENSION: &str = "dialogue.ron";

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
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).await?;
        let mut variants = Vec::new();
        for SourceVariant { sound, weight } in Source::parse(&bytes)?.variants {
            let path = context.path().resolve_embed_str(&sound);
            let path = path.map_err(|cause| DialogueLoadError::Path { sound, cause })?;
            variants.push(DialogueVariant {
                sound: context.load(path),
                weight,
            });
        }
        Ok(DialogueVariants::new(variants)?)
    }

    fn extensions(&self) -> &[&str] {
        &[DIALOGUE_EXTENSION]
    }
}
