//! What looks at cooked files: [`inspect`], [`list`], [`verify`], [`diff`], [`why`], and the page of [`html_report`].
//!
//! All of them read packages without the types that are in them: the tables, and columns by their stored schemas. So the program
//! `seamless` works on any game's packages.

mod clean;
mod diff;
mod entities;
mod folder;
mod html;
mod inspect;
mod list;
mod verify;
mod why;

pub use clean::{CleanReport, clean};
pub use diff::{
    BulkDiff, Change, ComponentDiff, DiffError, DiffReport, LevelDiff, ManifestDiff, ObjectDiff, PackageDiff,
    RegistryDiff, Sizes, diff,
};
pub use html::html_report;
pub use inspect::{
    BulkInfo, ColumnInfo, ExportInfo, GroupInfo, ImportInfo, InspectError, LevelInfo, OriginInfo, PackageInfo,
    SchemaInfo, TypeInfo, VersionInfo, inspect,
};
pub use list::{ListedLevel, ListedRegistry, WorldInfo, list};
pub use verify::{Fault, FaultKind, VerifyReport, verify};
pub use why::{Chain, ChainRoot, ChainStep, FoundObject, WhyError, WhyReport, why};
