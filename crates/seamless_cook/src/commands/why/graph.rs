//! Who refers to whom, over all packages of a folder. See [`Graph`].

use std::collections::{HashMap, VecDeque};

use bevy::reflect::TypePath;
use seamless_asset::StartupIndex;
use seamless_asset::codec::Encoding;
use seamless_package::{Package, RefTarget};

use super::super::folder::{CookedFolder, level_of};

/// An export of a package, by their indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Node {
    pub package: usize,
    pub export: usize,
}

/// A root, and what leads from it to the object asked for, that included.
pub(super) struct NodeChain {
    pub root: Node,
    pub rest: Vec<Node>,
}

/// For each export, those that refer to it. An object refers to its type as well.
pub(super) struct Graph<'f> {
    folder: &'f CookedFolder,
    users: HashMap<Node, Vec<Node>>,
}

impl<'f> Graph<'f> {
    pub fn of(folder: &'f CookedFolder) -> Self {
        let mut users: HashMap<Node, Vec<Node>> = HashMap::new();
        for (package, file) in folder.packages.iter().enumerate() {
            for export in 0..file.package.exports().len() {
                let user = Node { package, export };
                for target in targets(folder, user) {
                    users.entry(target).or_default().push(user);
                }
            }
        }
        Self { folder, users }
    }

    /// The shortest chain to one of `places` from each root that leads to one. Breadth first, backwards.
    pub fn chains(&self, places: &[Node]) -> Vec<NodeChain> {
        let mut next: HashMap<Node, Option<Node>> = places.iter().map(|place| (*place, None)).collect();
        let mut open: VecDeque<Node> = places.iter().copied().collect();
        let mut chains = Vec::new();
        while let Some(node) = open.pop_front() {
            if is_root(&self.folder.packages[node.package].package, node.export) {
                // Nothing that matters refers to a root.
                let after = |node: &Node| next.get(node).copied().flatten();
                chains.push(NodeChain {
                    root: node,
                    rest: core::iter::successors(after(&node), after).collect(),
                });
                continue;
            }
            for user in self.users.get(&node).into_iter().flatten() {
                if !next.contains_key(user) {
                    next.insert(*user, Some(node));
                    open.push_back(*user);
                }
            }
        }
        chains
    }
}

/// What an export refers to: objects of its package, copies in it, objects of other packages, and its class. A level also refers
/// to the classes of its components, which are all that no object of the package has.
fn targets(folder: &CookedFolder, node: Node) -> Vec<Node> {
    let package = &folder.packages[node.package].package;
    let here = |export| Node {
        package: node.package,
        export,
    };
    let class = package.exports().get(node.export).map(|export| export.class.target());
    let refs = package.refs(node.export);
    let refs = refs.iter().map(|reference| reference.target()).chain(class);
    let mut targets: Vec<Node> = refs
        .filter_map(|target| match target {
            RefTarget::None => None,
            RefTarget::Export(export) => Some(here(export)),
            RefTarget::Import(import) => match package.forced_for_import(import) {
                Some(copy) => Some(here(copy)),
                None => {
                    let id = package.imports().get(import)?.object_id;
                    let (package, export) = folder.object(package.import_package(import)?, id)?;
                    Some(Node { package, export })
                }
            },
        })
        .collect();
    if level_of(package) == Some(node.export) {
        let is_component = |encoding: u8| {
            !matches!(
                Encoding::from_u8(encoding),
                Some(Encoding::Asset | Encoding::Level | Encoding::Resource)
            )
        };
        let classes = package.schemas().filter(|(_, schema)| is_component(schema.encoding));
        targets.extend(classes.map(|(class, _)| here(class)));
    }
    targets
}

/// Whether it is the type of the index of startup content.
pub(super) fn is_startup(class: &str) -> bool {
    class == StartupIndex::type_path()
}

/// Whether an export is loaded for its own sake: a level, startup content, a persistent resource.
fn is_root(package: &Package, export: usize) -> bool {
    let Some(class) = package.class_of(export) else {
        return false;
    };
    matches!(
        Encoding::from_u8(class.encoding),
        Some(Encoding::Level | Encoding::Resource)
    ) || is_startup(&class.type_path)
}
