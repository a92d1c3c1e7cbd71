//! The animation targets of a glTF file's nodes.

use std::collections::{HashMap, HashSet};

use bevy::animation::AnimationTargetId;
use bevy::prelude::Name;
use gltf::{Gltf, Node};

/// The target of each node that a scene has: a hash of the names from the scene's root node down to it, as Bevy's glTF loader makes it.
pub(super) fn of_nodes(gltf: &Gltf) -> HashMap<usize, AnimationTargetId> {
    let parents = parents(gltf);
    let names: HashMap<usize, Name> = gltf.nodes().map(|node| (node.index(), name(&node))).collect();
    let target = |node: usize| {
        let up = std::iter::successors(Some(node), |node| parents.get(node).copied().flatten());
        let mut path: Vec<&Name> = up.filter_map(|node| names.get(&node)).collect();
        path.reverse();
        AnimationTargetId::from_names(path.into_iter())
    };
    let animated = gltf.animations().flat_map(|animation| animation.channels());
    let animated: HashSet<usize> = animated.map(|channel| channel.target().node().index()).collect();
    let in_scenes = animated.into_iter().filter(|node| parents.contains_key(node));
    in_scenes.map(|node| (node, target(node))).collect()
}

fn name(node: &Node) -> Name {
    let name = node.name().map(str::to_owned);
    Name::new(name.unwrap_or_else(|| format!("GltfNode{}", node.index())))
}

/// The parent of every node that a scene has; `None` for the scene's own. Where several lead to a node, the last scene counts, and in it
/// the last root, as in Bevy. Without recursion: a file may nest nodes as deep as it likes.
fn parents(gltf: &Gltf) -> HashMap<usize, Option<usize>> {
    let mut parents = HashMap::new();
    let children: Vec<Vec<usize>> = gltf
        .nodes()
        .map(|node| node.children().map(|child| child.index()).collect())
        .collect();
    for root in gltf.scenes().flat_map(|scene| scene.nodes()) {
        let mut visited = HashSet::new();
        let mut open = vec![(root.index(), None)];
        while let Some((node, parent)) = open.pop() {
            if visited.insert(node) {
                parents.insert(node, parent);
                let children = children.get(node).into_iter().flatten();
                open.extend(children.rev().map(|child| (*child, Some(node))));
            }
        }
    }
    parents
}
