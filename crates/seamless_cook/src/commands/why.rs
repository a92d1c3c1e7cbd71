//! Why an object is in a cook: the chains of references that bring it in. See [`why`].

mod find;
mod graph;

pub use find::FoundObject;

use std::path::Path;

use seamless_asset::codec::Part;
use serde::Serialize;

use self::find::{Found, find};
use self::graph::{Graph, Node, NodeChain};
use super::entities::LevelView;
use super::folder::{CookedFolder, object_path};
use super::inspect::InspectError;

/// Why the question has no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WhyError {
    /// No object has this name or id.
    #[error("no object is called `{asked}`{}", did_you_mean(.near))]
    Unknown {
        /// What was asked for.
        asked: String,
        /// Names that are like it.
        near: Vec<String>,
    },
    /// Several objects have this name.
    #[error("{} objects are called `{asked}`; ask for one of them by its package: {}", .found.len(), .found.join(", "))]
    Ambiguous {
        /// What was asked for.
        asked: String,
        /// The objects, with their packages.
        found: Vec<String>,
    },
    /// A file cannot be read.
    #[error(transparent)]
    Inspect(#[from] InspectError),
}

fn did_you_mean(names: &[String]) -> String {
    match names.is_empty() {
        true => "; `seamless inspect` lists the objects of a package".to_owned(),
        false => format!("; did you mean {}?", names.join(", ")),
    }
}

/// What [`why`] found.
#[derive(Debug, Serialize)]
pub struct WhyReport {
    /// The object.
    pub object: FoundObject,
    /// The packages that hold copies of it.
    pub copies: Vec<String>,
    /// The shortest chain from each level, owner of startup content and persistent resource that needs it, the shortest first.
    pub chains: Vec<Chain>,
}

/// What needs an object, and how that leads to it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    /// Where it begins.
    pub root: ChainRoot,
    /// The objects from the first that the root refers to, to the one asked for. Empty when the root holds it itself.
    pub steps: Vec<ChainStep>,
}

/// What begins a chain: it is loaded for its own sake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ChainRoot {
    /// A level.
    Level {
        /// Its names in the manifests; its package where none has it.
        level: String,
        /// Its package.
        package: String,
        /// The first of its entities that refers to the next object; none if it is one of the level's types.
        entity: Option<String>,
        /// The component that does; the type path.
        component: Option<String>,
        /// How many more values of components refer to it.
        others: usize,
    },
    /// Startup content: live before the first frame, and for ever.
    Startup {
        /// Its package.
        package: String,
    },
    /// A persistent resource.
    Resource {
        /// Its package.
        package: String,
        /// Its type path.
        resource: String,
    },
}

/// An object on the way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainStep {
    /// Its package and name.
    pub object: String,
    /// Its type path; `class` for a type's description.
    pub class: String,
    /// The package that a copy of it lies in, where it is a copy that is loaded.
    pub copy_in: Option<String>,
}

/// Which chains of references bring `object` into the cook in `directory`. `object` is `file.pkg#Name`, a name, an object id of 16
/// hexadecimal digits, or an entity of a level, named likewise.
///
/// # Errors
/// When no object is called so, or several are, or a file cannot be read.
pub fn why(object: &str, directory: &Path) -> Result<WhyReport, WhyError> {
    let folder = CookedFolder::open_sound(directory)?;
    match find(&folder, object)? {
        Found::Entity { package, name, object } => Ok(WhyReport {
            copies: Vec::new(),
            chains: vec![Chain {
                root: level_root(&folder, package, Some(name)),
                steps: Vec::new(),
            }],
            object,
        }),
        Found::Object { places, object } => {
            let graph = Graph::of(&folder);
            let is_copy = |node: &&Node| folder.packages[node.package].package.origin_of(node.export).is_some();
            let copies = places.iter().filter(is_copy);
            let mut chains = graph.chains(&places);
            chains.sort_by_key(|chain| (chain.rest.len(), chain.root));
            Ok(WhyReport {
                copies: copies.map(|node| folder.packages[node.package].file.clone()).collect(),
                chains: chains
                    .iter()
                    .map(|nodes| chain(&folder, nodes))
                    .collect::<Result<_, _>>()?,
                object,
            })
        }
    }
}

fn level_root(folder: &CookedFolder, package: usize, entity: Option<String>) -> ChainRoot {
    let file = &folder.packages[package].file;
    let names = folder.level_names(file);
    ChainRoot::Level {
        level: if names.is_empty() {
            file.clone()
        } else {
            names.join(", ")
        },
        package: file.clone(),
        entity,
        component: None,
        others: 0,
    }
}

fn chain(folder: &CookedFolder, nodes: &NodeChain) -> Result<Chain, InspectError> {
    let NodeChain { root, rest } = nodes;
    let file = &folder.packages[root.package];
    let class = super::folder::class_name(&file.package, root.export);
    let package = file.file.clone();
    let root = if file.level() == Some(root.export) {
        level_use(folder, root, rest.first())?
    } else if graph::is_startup(class) {
        ChainRoot::Startup { package }
    } else {
        let resource = class.to_owned();
        ChainRoot::Resource { package, resource }
    };
    Ok(Chain {
        root,
        steps: rest.iter().map(|node| step(folder, node)).collect(),
    })
}

fn step(folder: &CookedFolder, node: &Node) -> ChainStep {
    let file = &folder.packages[node.package];
    let is_copy = file.package.origin_of(node.export).is_some();
    ChainStep {
        object: object_path(&file.package, node.export),
        class: super::folder::class_name(&file.package, node.export).to_owned(),
        copy_in: is_copy.then(|| file.file.clone()),
    }
}

/// A level as a root, with the entity and the component that refer to the next object.
fn level_use(folder: &CookedFolder, root: &Node, next: Option<&Node>) -> Result<ChainRoot, InspectError> {
    let mut found = level_root(folder, root.package, None);
    let Some(next) = next else { return Ok(found) };
    let file = &folder.packages[root.package];
    let data = file.data(root.export)?;
    let view = LevelView::parse(&file.package, root.export, &data).map_err(|source| InspectError::Level {
        path: file.path.clone(),
        object: file.package.export_name(root.export).unwrap_or_default().to_owned(),
        source: Box::new(source),
    })?;
    let wanted = Some(step(folder, next).object);
    let mut uses = uses_of(&view, |index| view.target(index) == wanted);
    if let (
        Some((row, by)),
        ChainRoot::Level {
            entity,
            component,
            others,
            ..
        },
    ) = (uses.next(), &mut found)
    {
        *entity = view.names().into_iter().nth(row);
        *component = Some(by);
        *others = uses.count();
    }
    Ok(found)
}

/// Rows and components that refer to what is wanted.
fn uses_of<'v>(
    view: &'v LevelView,
    is_wanted: impl Fn(u32) -> bool + 'v,
) -> impl Iterator<Item = (usize, String)> + 'v {
    view.columns().flat_map(move |column| {
        let component = column.component.unwrap_or_default();
        let split = column.split.as_ref().ok().and_then(Option::as_ref);
        let rows = (column.first as usize..).zip(split.into_iter().flat_map(|split| split.iter()));
        let refers = |parts: &[Part]| {
            let mut parts = parts.iter();
            parts.any(|part| matches!(part, Part::Reference(index) if is_wanted(*index)))
        };
        let used = rows.filter(|(_, parts)| refers(parts));
        used.map(|(row, _)| (row, component.to_owned())).collect::<Vec<_>>()
    })
}
