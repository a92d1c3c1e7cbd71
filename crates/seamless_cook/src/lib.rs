//! The cooker of bevy_seamless: turns scenes that Bevy's own loaders can load into packages.
//!
//! A world is one text file, `*.world.ron`, which names its levels, where they stand, and the volumes that ask for them:
//!
//! ```text
//! (
//!     levels: [
//!         (
//!             name: "harbour",              // default: the source's file stem
//!             source: "cells/harbour.glb",  // .gltf, .glb (optional "#Scene1") or .scn.ron; relative to this file
//!             translation: (192.0, 0.0, 448.0),
//!             rotation: (0.0, 0.0, 0.0, 1.0),
//!             scale: (1.0, 1.0, 1.0),
//!             bounds: ((-9.0, 0.0, -9.0), (9.0, 3.0, 9.0)), // (min, max) in its own space; default: around its meshes
//!             always_loaded: false,         // true: there from the start, wherever the sources are
//!             seek_free: false,             // true: its package has copies of all that it needs, and is read from one file
//!             data: "(name: \"Old harbour\")", // in the manifest, for the game's own code; default: none
//!             max_variants: 3,              // of each set of dialogue variants; default: all
//!             dialogue: [(sets: "guard/*", max_variants: 1)],
//!         ),
//!         (name: "house", source: "house.glb", on_request: true), // comes only when it is asked for, or is placed:
//!     ],
//!     instances: [                          // further placements of levels, each with a name of its own; default: none
//!         (of: "house", name: "house_1", translation: (90.0, 0.0, 10.0), data: "(owner: \"mayor\")"), // data: for hooks of the game
//!         (of: "house", name: "house_2", translation: (99.0, 0.0, 10.0), rotation: (0.0, 1.0, 0.0, 0.0)), // and scale,
//!     ],                                    // bounds, always_loaded, on_request as levels have it
//!     volumes: [                            // default: one around each level and instance; []: none, levels come by distance
//!         (shape: Box(min: (0.0, -100.0, 0.0), max: (64.0, 200.0, 64.0)), levels: ["harbour"]),
//!         (shape: Sphere(center: (0.0, 0.0, 0.0), radius: 300.0), levels: ["harbour"], unload_margin: 30.0),
//!         (shape: Convex(planes: [((0.0, 1.0, 0.0), 5.0)]), levels: ["harbour"]), // dot(normal, p) <= distance
//!         (
//!             shape: Capsule(a: (0.0, 0.0, 0.0), b: (90.0, 0.0, 0.0), radius: 20.0),
//!             levels: ["harbour"],
//!             mode: Load,                   // or LoadAndShow (default), ShowIfLoaded, BlockUntilLoaded
//!             unload_delay: 5.0,            // seconds after the last source has left; default: two
//!             priority: 2.0,                // default: one
//!             enabled: false,               // until the game enables it; default: true
//!         ),
//!     ],
//!     resources: Error,                     // or Ignore, or Persistent: what to do with resources in a scene
//!     startup: ["icons/heart.png"],        // default: what plugins registered; live before the first frame, and for ever
//!     assets: ["cues", "prefabs/smoke.scn.ron"], // default: none; cooked though no level refers to it, for soft handles
//!     root: "..",                           // asset root; default: the deepest directory that holds everything
//! )
//! ```
//!
//! Only `levels` with a `source` each is needed. [`CookApp::cook`] loads every source that has changed in a headless Bevy app, encodes
//! entities and assets with the codecs of `seamless_asset`, decides for assets that several levels use whether each holds a copy or all
//! open a shared package ([`LayoutSettings`], [`LayoutReport`]), and writes one package per level and the world's manifest, and one package of startup content if there is any: what the
//! game's plugins registered with `add_startup_content`, and what the world file lists. What [soft handles](seamless_asset::SoftHandle) of all that name is
//! cooked, too, in packages that need no level; the world's registry tells where each object lies. The same sources give the same bytes, with
//! the same compiler and target: the memory of components that are nothing but numbers is stored as it is. A type that serialises
//! itself must write its hash maps in an order of its own.
//!
//! Settings of a project's cooks are in `cook.ron` beside its world files, see [`CookSettings`].
//!
//! What was cooked is looked at by [`inspect`], [`list`], [`verify`], [`diff`], [`why`] and [`html_report`], which need none of a game's types.
//!
//! The program `seamless` is this library without a game's own types; see [`CookApp`] for a game's own cook program.

pub mod animation;
mod app;
mod assets;
mod audio;
mod bounds;
mod cli;
mod clips;
mod commands;
mod cook;
mod core_of_scenes;
mod density;
mod dialogue;
mod graph;
mod hierarchy;
mod in_order;
mod layout;
mod level;
mod load;
pub mod mesh;
mod mesh_step;
mod output;
mod parts;
mod plan;
mod progress;
mod report;
mod settings;
mod shaders_unread;
mod source;
mod source_check;
mod startup;
pub mod texture;
mod texture_step;
mod world_file;
mod write;

#[cfg(test)]
mod tests;

pub use app::{CookApp, CookOptions, Profile, Target};
pub use commands::{
    BulkDiff, BulkInfo, Chain, ChainRoot, ChainStep, Change, CleanReport, ColumnInfo, ComponentDiff, DiffError,
    DiffReport, ExportInfo, Fault, FaultKind, FoundObject, GroupInfo, ImportInfo, InspectError, LevelDiff, LevelInfo,
    ListedLevel, ListedRegistry, ManifestDiff, ObjectDiff, OriginInfo, PackageDiff, PackageInfo, RegistryDiff,
    SchemaInfo, Sizes, TypeInfo, VerifyReport, VersionInfo, WhyError, WhyReport, WorldInfo, clean, diff, html_report,
    inspect, list, verify, why,
};
pub use dialogue::DialogueLimit;
pub use layout::{Choice, LayoutCost, LayoutGroup, LayoutReason, LayoutReport, LayoutTotal};
pub use plan::WORLD_EXTENSION;
pub use report::{
    ContentError, CookError, CookReport, CookWork, CookedTextureReport, DialogueReport, LevelReport, ObjectTiming,
    PackageReport, Progress, SLOWEST_OBJECTS, Stage,
};
pub use settings::{CookSettings, CookSettingsError, LayoutRule, LayoutSettings, Placement};
pub use world_file::{InstanceSource, LevelSource, ResourcePolicy, VolumeSource, WorldFile, WorldFileError};
