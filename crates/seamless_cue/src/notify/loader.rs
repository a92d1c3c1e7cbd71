//! Notifies from their authors' files.

use bevy_asset::{AssetLoader, AssetPath, LoadContext, io::Reader};
use bevy_reflect::TypePath;

use super::{
    CueNotify,
    source::{CueError, MAX_CUE_BYTES, Source},
    tags::{TAGS_FILE, TagsError, declared, line_at},
};

/// The ending of notifies' files, without the first dot.
pub const CUE_EXTENSION: &str = "cue.ron";

/// The field that names the file which a cue inherits from.
const PARENT: &str = "parent";

/// How many files a cue may inherit from, one from the other.
pub const MAX_PARENTS: usize = 8;

/// Loads [`CueNotify`] from `*.cue.ron` files.
#[derive(TypePath, Clone, Debug)]
pub struct CueNotifyLoader {
    /// The file that declares the game's tags, below the asset root: a cue of another tag is an error. While there is no such file, every tag is
    /// good.
    pub tags: String,
}

impl Default for CueNotifyLoader {
    fn default() -> Self {
        let tags = TAGS_FILE.to_owned();
        Self { tags }
    }
}

/// Why a `*.cue.ron` file cannot be loaded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CueLoadError {
    /// Its bytes did not come.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is too large.
    #[error(
        "line {line}: more than {MAX_CUE_BYTES} bytes; a cue is a few lines, and what it shows belongs into its prefab"
    )]
    TooLarge {
        /// The line on which it becomes so, from 1.
        line: usize,
    },
    /// It is no such text.
    #[error("line {line}, column {column}: {message}; write `(tag: \"Cue.Hit\")`")]
    Syntax {
        /// Line in the file, from 1.
        line: usize,
        /// Column in the line, from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// What it says makes no notify.
    #[error("line {line}: {error}")]
    Cue {
        /// Line in the file, from 1.
        line: usize,
        /// What is wrong.
        error: CueError,
    },
    /// A tag that nobody has declared.
    #[error("line {line}: `{tag}` is not declared in `{tags}`{like}; add it there, or correct it")]
    UnknownTag {
        /// Line in the file, from 1.
        line: usize,
        /// The tag.
        tag: String,
        /// Where tags are declared.
        tags: String,
        /// What may have been meant.
        like: String,
    },
    /// The file of tags is wrong.
    #[error("`{file}`: {error}")]
    Tags {
        /// Where tags are declared.
        file: String,
        /// What is wrong with it.
        error: TagsError,
    },
    /// Its parent cannot be read, or is none.
    #[error("line {line}: its parent `{parent}`: {message}")]
    Parent {
        /// Line in the file, from 1.
        line: usize,
        /// As it is written.
        parent: String,
        /// What is wrong with it.
        message: String,
    },
    /// A file inherits from itself.
    #[error("line {line}: `{parent}` is among its own parents: {chain}; a cue inherits from others only")]
    Circle {
        /// Line in the file, from 1.
        line: usize,
        /// As it is written.
        parent: String,
        /// The way from the file back to itself.
        chain: String,
    },
}

/// What a file says.
fn parse(bytes: &[u8]) -> Result<Source, CueLoadError> {
    if bytes.len() > MAX_CUE_BYTES {
        let line = line_at(bytes, MAX_CUE_BYTES);
        return Err(CueLoadError::TooLarge { line });
    }
    let options = ron::Options::default().with_default_extension(ron::extensions::Extensions::IMPLICIT_SOME);
    options.from_bytes(bytes).map_err(|error| CueLoadError::Syntax {
        line: error.span.start.line,
        column: error.span.start.col,
        message: error.code.to_string(),
    })
}

/// The line on which a field stands; where it does not, that of the parent which it comes from, or else the first.
fn line_of(text: &[u8], field: &str) -> usize {
    let text = String::from_utf8_lossy(text);
    let find = |field: &str| {
        let field = format!("{field}:");
        let is_here = |line: &str| line.split("//").next().is_some_and(|code| code.contains(&field));
        text.lines().position(is_here)
    };
    find(field).or_else(|| find(PARENT)).map_or(1, |line| line + 1)
}

impl CueNotifyLoader {
    /// What a file says, its parents included.
    async fn source(&self, bytes: &[u8], context: &mut LoadContext<'_>) -> Result<Source, CueLoadError> {
        let line = line_of(bytes, PARENT);
        let mut source = parse(bytes)?;
        let mut chain = vec![context.path().clone().into_owned()];
        while let Some(parent) = source.parent.take() {
            let failed = |message: String| CueLoadError::Parent {
                line,
                parent: parent.clone(),
                message,
            };
            let from = &chain[chain.len() - 1];
            let path = from.resolve_embed_str(&parent);
            let path: AssetPath<'static> = path.map_err(|error| failed(error.to_string()))?.into_owned();
            if chain.contains(&path) {
                chain.push(path);
                let chain: Vec<String> = chain.iter().map(ToString::to_string).collect();
                let chain = chain.join(" → ");
                return Err(CueLoadError::Circle { line, parent, chain });
            }
            if chain.len() > MAX_PARENTS {
                return Err(failed(format!("the {MAX_PARENTS} parents before it are enough")));
            }
            let read = context.read_asset_bytes(path.clone()).await;
            let bytes = read.map_err(|error| failed(error.to_string()))?;
            let above = parse(&bytes).map_err(|error| failed(error.to_string()))?;
            chain.push(path);
            source = source.over(above);
        }
        Ok(source)
    }
}

impl AssetLoader for CueNotifyLoader {
    type Asset = CueNotify;
    type Settings = ();
    type Error = CueLoadError;

    async fn load(
        &self,
        reader: &mut dyn Reader,
        _: &(),
        context: &mut LoadContext<'_>,
    ) -> Result<CueNotify, CueLoadError> {
        let bytes = super::tags::read_limited(reader, MAX_CUE_BYTES).await?;
        let source = self.source(&bytes, context).await?;
        // A tag is made for good: only one that the game has.
        let declared = declared(&self.tags, context).await;
        let declared = declared.map_err(|error| CueLoadError::Tags {
            file: self.tags.clone(),
            error,
        })?;
        if let (Some(tag), Some(declared)) = (&source.tag, declared)
            && !declared.has(tag)
        {
            return Err(CueLoadError::UnknownTag {
                line: line_of(&bytes, "tag"),
                tag: tag.clone(),
                tags: self.tags.clone(),
                like: declared.like(tag),
            });
        }
        source.notify().map_err(|error| CueLoadError::Cue {
            line: line_of(&bytes, error.field()),
            error,
        })
    }

    fn extensions(&self) -> &[&str] {
        &[CUE_EXTENSION]
    }
}
