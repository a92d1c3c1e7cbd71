//! Definitions as their authors write them: RON files that are read within limits, and refused with line and column.

use core::{fmt, marker::PhantomData};

use bevy_asset::{Asset, AssetLoader, LoadContext, io::Reader};
use bevy_reflect::TypePath;
use ron::extensions::Extensions;
use serde::{Deserialize, Deserializer, de};

use crate::{
    notify::{TAGS_FILE, TagsError, TagsFile, declared, line_at, read_limited},
    tag::gate,
};

/// How many bytes a definition's source may have.
pub const MAX_DEFINITION_BYTES: u64 = 1 << 20;

/// Why the source of a definition cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// Its bytes did not come.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is too large to be read.
    #[error("line {line}: more than {MAX_DEFINITION_BYTES} bytes; make several definitions")]
    TooLarge {
        /// The line on which it becomes so, from 1.
        line: usize,
    },
    /// It is no such definition.
    #[error("line {line}, column {column}: {message}")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// The file that declares the game's tags is wrong.
    #[error("`{TAGS_FILE}`: {0}")]
    Tags(#[from] TagsError),
    /// A path in it is none.
    #[error(
        "`{path}` is no path: {cause}; write a file's path, relative to this one, or from the root with a leading `/`"
    )]
    Path {
        /// As it is written.
        path: String,
        /// What is wrong with it.
        cause: bevy_asset::ParseAssetPathError,
    },
}

/// A definition whose parts must fit together.
pub(crate) trait Checked {
    /// What is wrong with it, if anything is.
    fn fault(&self) -> Option<String>;
}

/// Reads a value and checks it, so that what does not fit together is told with its place, too.
struct Sound<T>(T);

impl<'de, T: Deserialize<'de> + Checked> Deserialize<'de> for Sound<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = T::deserialize(deserializer)?;
        match value.fault() {
            Some(fault) => Err(de::Error::custom(fault)),
            None => Ok(Self(value)),
        }
    }
}

/// How many tags a definition may name in all.
const MAX_FILE_TAGS: usize = 1024;

/// Reads a definition that names declared tags only, and none too many: each is made for good.
fn parse_declared<T: de::DeserializeOwned + Checked>(
    bytes: &[u8],
    declared: Option<TagsFile>,
) -> Result<T, DefinitionError> {
    let mut left = MAX_FILE_TAGS;
    let gate = move |tag: &str| {
        left = left
            .checked_sub(1)
            .ok_or_else(|| format!("more than {MAX_FILE_TAGS} tags; make several definitions"))?;
        match &declared {
            Some(declared) if !declared.has(tag) => Err(format!(
                "`{tag}` is not declared in `{TAGS_FILE}`{}; add it there, or correct it",
                declared.like(tag)
            )),
            _ => Ok(()),
        }
    };
    gate::guarded(gate, || parse(bytes))
}

/// Reads a definition.
pub(crate) fn parse<T: de::DeserializeOwned + Checked>(bytes: &[u8]) -> Result<T, DefinitionError> {
    if bytes.len() as u64 > MAX_DEFINITION_BYTES {
        let line = line_at(bytes, MAX_DEFINITION_BYTES as usize);
        return Err(DefinitionError::TooLarge { line });
    }
    let options = ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME);
    let value = options.from_bytes::<Sound<T>>(bytes);
    value.map(|sound| sound.0).map_err(|error| DefinitionError::Syntax {
        line: error.span.end.line,
        column: error.span.end.col,
        message: error.code.to_string(),
    })
}

/// An asset that is made from a RON file.
pub(crate) trait FromRon: Asset + Sized {
    /// What the file holds.
    type Source: de::DeserializeOwned + Checked + Send;
    /// How such files end, without the first dot.
    const EXTENSION: &'static str;

    /// Makes the asset.
    fn from_source(source: Self::Source, context: &mut LoadContext) -> Result<Self, DefinitionError>;
}

/// The loader of a [`FromRon`]. Where the game declares its tags, in `game.tags.ron`, a definition that names another is an error.
#[derive(TypePath)]
pub(crate) struct RonLoader<A: FromRon> {
    extensions: [&'static str; 1],
    of: PhantomData<fn() -> A>,
}

impl<A: FromRon> Default for RonLoader<A> {
    fn default() -> Self {
        Self {
            extensions: [A::EXTENSION],
            of: PhantomData,
        }
    }
}

impl<A: FromRon> fmt::Debug for RonLoader<A> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("RonLoader").field(&A::EXTENSION).finish()
    }
}

impl<A: FromRon> AssetLoader for RonLoader<A> {
    type Asset = A;
    type Settings = ();
    type Error = DefinitionError;

    async fn load(&self, reader: &mut dyn Reader, _: &(), context: &mut LoadContext<'_>) -> Result<A, DefinitionError> {
        let bytes = read_limited(reader, MAX_DEFINITION_BYTES as usize).await?;
        let source = parse_declared::<A::Source>(&bytes, declared(TAGS_FILE, context).await?)?;
        A::from_source(source, context)
    }

    fn extensions(&self) -> &[&str] {
        &self.extensions
    }
}
