//! Why a package could not be loaded. See [`LoadError`].

use core::ops::Range;

use bevy_log::{error, warn};
use seamless_package::{PackageError, VersionMismatch};

use crate::{codec::DecodeError, linker::NameError};

/// A load that failed: which file, which object of it, why, and what mends it.
#[derive(Debug, thiserror::Error)]
#[error("{package}{}: {kind}", object.as_deref().map(|object| format!("#{object}")).unwrap_or_default())]
pub struct LoadError {
    /// The package's asset path.
    pub package: String,
    /// The object in it, if it was about one.
    pub object: Option<String>,
    /// What happened.
    pub kind: LoadErrorKind,
}

/// What went wrong, sorted by whose fault it is.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadErrorKind {
    /// The file is not there, or could not be read.
    #[error("cannot be read: {0}; is the world cooked, and are its packages beside its manifest?")]
    Io(String),
    /// A read of the file was given up, because nothing came for too long; see
    /// [`StreamingSettings::read_timeout`](crate::StreamingSettings::read_timeout).
    #[error(
        "a read has given nothing for {seconds} s; look at the disk or the network that it comes from, or raise `StreamingSettings::read_timeout`"
    )]
    Stalled {
        /// How long, in whole seconds.
        seconds: u64,
    },
    /// The file's bytes are wrong.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A file is not the one any more that it was when it was opened; see [`FilePartRequest`](crate::FilePartRequest).
    #[error(
        "is another file than when it was opened; load it anew, or watch for changes (Bevy's feature `file_watcher`)"
    )]
    FileChanged,
    /// A file has not the bytes that were asked for; see [`FilePartRequest`](crate::FilePartRequest).
    #[error(
        "has no bytes {range:?}: it ends, or what may be asked for begins, at byte {end}; write the file again, as a whole"
    )]
    FilePart {
        /// The bytes that were asked for.
        range: Range<u64>,
        /// Where the file ends, or where its head does.
        end: u64,
    },
    /// The package and this build have different histories, or the package is newer.
    #[error(transparent)]
    Version(#[from] VersionMismatch),
    /// The package is older than this build, which has no migrations.
    #[error(
        "version list `{list}`: the package has seen {package} of {build} entries, and this build cannot migrate (its feature `migrations` is off); cook the package again"
    )]
    NotLatest {
        /// The list's label.
        list: String,
        /// How many of its entries the package has.
        package: usize,
        /// How many there are.
        build: usize,
    },
    /// A codec panicked while it decoded.
    #[error("a codec panicked: {0}; mend it to return an error, or cook the package again")]
    Panicked(String),
    /// An object's bytes are wrong, or this app does not know its type.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An import names an object that its package does not export.
    #[error("imports `{object}` of `{package}`, which has no such object; cook the world again, all packages together")]
    MissingImport {
        /// The package that should have it.
        package: String,
        /// The object.
        object: String,
    },
    /// An import wants an object as something else than it is.
    #[error(
        "imports `{object}` of `{package}` as a `{wanted}`, but it is a `{found}`; cook the world again, all packages together"
    )]
    ImportType {
        /// The package that has it.
        package: String,
        /// The object.
        object: String,
        /// The type path that the import names.
        wanted: String,
        /// The type path of the object's class.
        found: String,
    },
    /// The package has no object of that name, or it is no asset.
    #[error("there is no such object to load; correct its name, or load the level that it is an entity of")]
    NoSuchObject,
    /// The path of a request that is about one object names a package only.
    #[error("names no object; write `file.pkg#Object`")]
    NoObjectNamed,
    /// The object has no payload of that number.
    #[error("has {count} bulk payloads and none of number {payload}, counted from 0; ask for one of those")]
    NoSuchPayload {
        /// What was asked for.
        payload: usize,
        /// How many there are.
        count: usize,
    },
    /// A payload is shorter than what was asked for, or the range ends before it starts.
    #[error(
        "bytes {range:?} are no part of bulk payload {payload}, which has {size} bytes; ask for a range within those"
    )]
    BulkRange {
        /// Which payload.
        payload: usize,
        /// The bytes that were asked for.
        range: Range<u64>,
        /// The size in bytes of the payload, decompressed.
        size: u64,
    },
    /// A payload that the asset is decoded with was left in another package's file.
    #[error(
        "bulk payload {payload} lies in `{origin}`, but a `{type_path}` is decoded with its payloads; cook the package again with a copy of them, or let the codec take them `BulkUse::OnDemand`, or `BulkUse::Marked` if it is marked"
    )]
    ExternalBulk {
        /// Which payload.
        payload: usize,
        /// The package that it lies in.
        origin: String,
        /// The asset's type.
        type_path: &'static str,
    },
    /// An object is not live, and the request forbids to load it.
    #[error("is not loaded, and the request says `LoadPolicy::LiveOnly`; load it first")]
    NotLive,
    /// A partly qualified name fits several packages.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A package that this one needs could not be loaded.
    #[error("needs `{package}`, which failed: {message}")]
    Dependency {
        /// The package that failed.
        package: String,
        /// Why.
        message: String,
        /// Whether that may be otherwise when it is tried again; see [`is_transient`](Self::is_transient).
        is_transient: bool,
    },
    /// The package lists itself among its dependencies.
    #[error("depends on itself; cook the world again")]
    SelfDependency,
    /// A post-load of the game refused the object.
    #[error("a post-load failed: {0}; mend what `add_post_load` added, or the content")]
    PostLoad(String),
    /// A level instance was to be finished that is not known any more.
    #[error("there is no such level instance any more; request the level again")]
    NoSuchInstance,
    /// A hook of the game refused an instance of the level; see
    /// [`add_instance_hook`](crate::SeamlessAssetApp::add_instance_hook).
    #[error(
        "the hook for the instance `{instance}` failed: {message}; mend what `add_instance_hook` added, which runs for all levels, or the `data` of the instance"
    )]
    InstanceHook {
        /// What the request calls the instance.
        instance: String,
        /// What the hook said.
        message: String,
    },
    /// A blocking load was asked for by code that runs inside of the pipeline.
    #[error("a blocking load cannot run inside of a reveal, a leave or another load; do it in a system of your own")]
    Busy,
    /// A package was to be reloaded that is just being loaded, or reloaded.
    #[error("is being loaded; reload it when that has come to its end")]
    Loading,
    /// A package was to be reloaded of which nothing is live.
    #[error("is not loaded, so there is nothing to reload; load it")]
    NotLoaded,
    /// A package was to be reloaded of which something that is live changed each time that its new file was read: an entity died, a level came, an asset
    /// was edited.
    #[error(
        "is reloaded in vain: {tries} times, entities of it died, levels of it came or assets of it were edited while the new file was read; reload it when it is calmer"
    )]
    Restless {
        /// How often the file was read.
        tries: u32,
    },
    /// A package was to be reloaded whose live objects were changed, and the request forbids to touch these.
    #[error(
        "{count} of its live objects were changed at run time ({}{}), and the request says `ReloadPolicy::Refuse`; choose `KeepEdits` or `Overwrite`",
        first.join(", "),
        if first.len() < *count { ", …" } else { "" }
    )]
    Edited {
        /// The first of them: assets by their names, entities by ids, with the component that was changed.
        first: Vec<String>,
        /// How many there are.
        count: usize,
    },
    /// A startup package, or a post-load of it, refers to something outside of it.
    #[error(
        "needs `{package}#{object}`, but a startup package is loaded without any other file; cook the world again, or register with `add_startup_content` what a post-load asks for"
    )]
    NotSelfContained {
        /// The other package.
        package: String,
        /// The object in it.
        object: String,
    },
    /// The package has no index of startup content.
    #[error("is no startup package; give the path of the `startup.pkg` that `seamless cook` wrote")]
    NoStartupIndex,
    /// The package holds no level.
    #[error("holds no level; only level packages can be placed in a world")]
    NoLevel,
}

impl LoadErrorKind {
    /// Whether the same load may come to a good end later, although nobody has cooked anything meanwhile: the file could not be
    /// read, a read of it [stalled](Self::Stalled), or it is cut off, as one is that is still being written; or that is so for a package
    /// that it needs. All other errors stay until content or code is mended.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Io(_)
            | Self::Stalled { .. }
            | Self::FilePart { .. }
            | Self::Package(PackageError::Truncated { .. }) => true,
            Self::Dependency { is_transient, .. } => *is_transient,
            _ => false,
        }
    }

    /// The error of who needs `package`, which failed with `error`.
    pub(crate) fn dependency(package: impl Into<String>, error: &LoadError) -> Self {
        Self::Dependency {
            package: package.into(),
            message: error.to_string(),
            is_transient: error.kind.is_transient(),
        }
    }
}

impl LoadError {
    /// Tells of a level that cannot be loaded. Where the reason may pass, whoever has asked tries it again, or tells that nobody does.
    pub(crate) fn tell(&self, level: &str) {
        match self.kind.is_transient() {
            true => warn!("level `{level}` cannot be loaded just now: {self}"),
            false => error!("level `{level}` cannot be loaded: {self}"),
        }
    }

    /// An error about a whole package.
    pub fn package(package: impl Into<String>, kind: impl Into<LoadErrorKind>) -> Self {
        Self {
            package: package.into(),
            object: None,
            kind: kind.into(),
        }
    }

    /// An error about one object of a package.
    pub fn object(package: impl Into<String>, object: impl Into<String>, kind: impl Into<LoadErrorKind>) -> Self {
        Self {
            package: package.into(),
            object: Some(object.into()),
            kind: kind.into(),
        }
    }
}
