//! Files that declare a game's tags. See [`TagsFile`].

use bevy_asset::{
    Asset, AssetLoader, LoadContext, ReadAssetBytesError,
    io::{AssetReaderError, Reader},
};
use bevy_platform::collections::HashMap;
use bevy_reflect::TypePath;
use serde::Deserialize;

use crate::tag::{GameplayTag, TagError};

/// The file that declares a game's tags, below the asset root.
pub(crate) const TAGS_FILE: &str = "game.tags.ron";
/// The ending of files of tags, without the first dot.
pub const TAGS_EXTENSION: &str = "tags.ron";
/// How many bytes such a file may have.
pub const MAX_TAGS_BYTES: usize = 4 << 20;
/// How many tags it may declare.
pub const MAX_DECLARED_TAGS: usize = 32_768;

/// The tags that a game has, from a `*.tags.ron` file, a list of names:
///
/// ```text
/// // game.tags.ron
/// [
///     "Cue.Hit.Fire", // and with it Cue.Hit, and Cue
///     "Cue.Heal",
/// ]
/// ```
///
/// The parents of a tag are declared with it. Tags that differ in case only are an error, in the parts that they share as well.
#[derive(Asset, TypePath, Clone, Debug, Default)]
pub struct TagsFile {
    /// Lower case to what was written.
    names: HashMap<String, String>,
}

/// Why a file declares no tags.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TagsError {
    /// Its bytes did not come.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error("line {line}: more than {MAX_TAGS_BYTES} bytes; a game has {MAX_DECLARED_TAGS} tags at most")]
    TooLarge {
        /// The line on which it becomes so, from 1.
        line: usize,
    },
    /// It is no such text.
    #[error("line {line}, column {column}: {message}; write `[\"Cue.Hit\", \"Cue.Heal\"]`")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// A name is none.
    #[error("line {line}: {error}")]
    Tag {
        /// Line in the file, from 1.
        line: usize,
        /// What is wrong.
        error: TagError,
    },
    /// Two tags that nobody can tell apart.
    #[error("line {line}: `{tag}` and `{twin}` differ in case only; write one of them")]
    Twin {
        /// Line in the file, from 1.
        line: usize,
        /// The second.
        tag: String,
        /// The first.
        twin: String,
    },
    /// Too many.
    #[error("line {line}: more than {MAX_DECLARED_TAGS} tags; do tags hold numbers or names of players?")]
    TooMany {
        /// The line of the first that is too many, from 1.
        line: usize,
    },
}

/// A list of names that ends as soon as it is too long.
struct Names(Vec<String>);

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Names;

            fn expecting(&self, f: &mut core::fmt::Formatter) -> core::fmt::Result {
                f.write_str("a list of tags")
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut list: A) -> Result<Names, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element::<String>()? {
                    if names.len() == MAX_DECLARED_TAGS {
                        let words =
                            format!("more than {MAX_DECLARED_TAGS} tags; do they hold numbers or names of players?");
                        return Err(serde::de::Error::custom(words));
                    }
                    names.push(name);
                }
                Ok(Names(names))
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}

/// What a file of tags declares. No tag is made: that is for who uses one.
pub(super) fn parse_tags(bytes: &[u8]) -> Result<TagsFile, TagsError> {
    if bytes.len() > MAX_TAGS_BYTES {
        let line = line_at(bytes, MAX_TAGS_BYTES);
        return Err(TagsError::TooLarge { line });
    }
    let Names(names) = ron::de::from_bytes(bytes).map_err(|error| TagsError::Syntax {
        line: error.span.start.line,
        column: error.span.start.col,
        message: error.code.to_string(),
    })?;
    let mut file = TagsFile::default();
    for name in names {
        let line = || line_of(bytes, &name);
        crate::tag::check(&name).map_err(|error| TagsError::Tag { line: line(), error })?;
        for part in crate::tag::prefixes(&name) {
            let known = file.names.entry(part.to_lowercase()).or_insert_with(|| part.to_owned());
            if known != part {
                return Err(TagsError::Twin {
                    line: line(),
                    tag: part.to_owned(),
                    twin: known.clone(),
                });
            }
        }
        if file.names.len() > MAX_DECLARED_TAGS {
            return Err(TagsError::TooMany { line: line() });
        }
    }
    Ok(file)
}

/// The tags that a file declares; `None`: there is no such file, and every tag is good.
pub(crate) async fn declared(file: &str, context: &mut LoadContext<'_>) -> Result<Option<TagsFile>, TagsError> {
    match context.read_asset_bytes(file.to_owned()).await {
        Ok(bytes) => parse_tags(&bytes).map(Some),
        Err(ReadAssetBytesError::AssetReaderError(AssetReaderError::NotFound(_))) => Ok(None),
        Err(error) => Err(TagsError::Io(std::io::Error::other(error.to_string()))),
    }
}

/// The line on which a name is written.
fn line_of(text: &[u8], name: &str) -> usize {
    let text = String::from_utf8_lossy(text);
    let quoted = format!("\"{name}\"");
    let at = text.find(&quoted).unwrap_or_default();
    line_at(text.as_bytes(), at)
}

/// The line on which a byte stands.
pub(crate) fn line_at(text: &[u8], at: usize) -> usize {
    text.iter().take(at).filter(|byte| **byte == b'\n').count() + 1
}

impl TagsFile {
    /// Whether a tag is declared, itself or by a kind of it.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.names.get(&name.to_lowercase()).is_some_and(|known| known == name)
    }

    /// All tags, made so that game code can name them, by name.
    ///
    /// # Errors
    /// When an app has no room for them.
    pub fn tags(&self) -> Result<Vec<GameplayTag>, TagError> {
        let mut names: Vec<&String> = self.names.values().collect();
        names.sort_unstable();
        names.into_iter().map(|name| GameplayTag::new(name)).collect()
    }

    /// Says what may have been meant by an unknown name.
    pub(crate) fn like(&self, name: &str) -> String {
        let lower = name.to_lowercase();
        if let Some(known) = self.names.get(&lower) {
            return format!(", `{known}` is");
        }
        let parent = lower.rsplit_once('.').map(|(parent, _)| parent);
        match parent.and_then(|parent| self.names.get(parent)) {
            Some(parent) => format!(", `{parent}` is"),
            None => String::new(),
        }
    }
}

/// Loads [`TagsFile`]s.
#[derive(TypePath, Clone, Debug, Default)]
pub struct TagsLoader;

impl AssetLoader for TagsLoader {
    type Asset = TagsFile;
    type Settings = ();
    type Error = TagsError;

    async fn load(&self, reader: &mut dyn Reader, _: &(), _: &mut LoadContext<'_>) -> Result<TagsFile, TagsError> {
        parse_tags(&read_limited(reader, MAX_TAGS_BYTES).await?)
    }

    fn extensions(&self) -> &[&str] {
        &[TAGS_EXTENSION]
    }
}

/// Reads no more than one byte too many.
pub(crate) async fn read_limited(reader: &mut dyn Reader, most: usize) -> std::io::Result<Vec<u8>> {
    use futures_lite::AsyncReadExt;
    let mut bytes = Vec::new();
    let mut limited = AsyncReadExt::take(reader, most as u64 + 1);
    limited.read_to_end(&mut bytes).await?;
    Ok(bytes)
}
