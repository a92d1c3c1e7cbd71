//! Animation graphs as bytes and back. See [`AnimationGraphCodec`].

use bevy_animation::{
    AnimationClip, AnimationTargetId,
    graph::{AnimationDiGraph, AnimationGraph, AnimationGraphNode, AnimationNodeIndex, AnimationNodeType},
};
use bevy_asset::Handle;
#[cfg(feature = "write")]
use bevy_asset::UntypedHandle;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::graph::check;
use crate::codec::{AssetCodec, DecodeContext, DecodeError, typed_handle};
#[cfg(feature = "write")]
use crate::codec::{EncodeContext, EncodeError, EncodedAsset};

/// The codec of [`AnimationGraph`]: nodes, edges and mask groups; clips are references to other objects. Nodes keep their indices, by
/// which animation players name them.
pub struct AnimationGraphCodec;

#[derive(Serialize, Deserialize)]
struct StoredGraph {
    root: u32,
    nodes: Vec<StoredNode>,
    edges: Vec<(u32, u32)>,
    /// In the order of the targets.
    masks: Vec<([u8; 16], u64)>,
}

#[derive(Serialize, Deserialize)]
struct StoredNode {
    kind: StoredKind,
    mask: u64,
    weight: f32,
}

#[derive(Serialize, Deserialize)]
enum StoredKind {
    Blend,
    Add,
    /// Index in the export's reference list.
    Clip(u32),
    /// A handle that is none of the package's objects.
    UuidClip([u8; 16]),
}

impl AssetCodec for AnimationGraphCodec {
    type Asset = AnimationGraph;
    const VERSION: u32 = 1;

    fn is_rendered(_: &AnimationGraph) -> bool {
        false
    }

    #[cfg(feature = "write")]
    fn encode(graph: &AnimationGraph, context: &mut EncodeContext) -> Result<EncodedAsset, EncodeError> {
        let nodes = graph.graph.node_weights().map(|node| StoredNode {
            kind: stored_kind(&node.node_type, context),
            mask: node.mask,
            weight: node.weight,
        });
        let edges = graph.graph.raw_edges().iter();
        let masks = graph
            .mask_groups
            .iter()
            .map(|(target, mask)| (*target.0.as_bytes(), *mask));
        let mut stored = StoredGraph {
            root: graph.root.index() as u32,
            nodes: nodes.collect(),
            edges: edges
                .map(|edge| (edge.source().index() as u32, edge.target().index() as u32))
                .collect(),
            masks: masks.collect(),
        };
        // A hash map has no order, and the same graph must give the same bytes.
        stored.masks.sort_unstable();
        check(stored.nodes.len(), stored.root, &stored.edges)?;
        let data = postcard::to_allocvec(&stored).map_err(|error| EncodeError::Other(error.to_string()))?;
        Ok(EncodedAsset { data, bulk: Vec::new() })
    }

    fn decode(data: &[u8], _: Vec<Vec<u8>>, context: &DecodeContext) -> Result<AnimationGraph, DecodeError> {
        let (stored, rest) = postcard::take_from_bytes::<StoredGraph>(data)
            .map_err(|error| DecodeError::Malformed(format!("animation graph: {error}")))?;
        if !rest.is_empty() {
            return Err(DecodeError::Malformed(format!("{} bytes too many", rest.len())));
        }
        check(stored.nodes.len(), stored.root, &stored.edges)?;
        let mut graph = AnimationDiGraph::default();
        for node in stored.nodes {
            graph.add_node(AnimationGraphNode {
                node_type: node_type(node.kind, context)?,
                mask: node.mask,
                weight: node.weight,
            });
        }
        for (from, to) in stored.edges {
            graph.add_edge(index(from), index(to), ());
        }
        let masks = stored.masks.into_iter();
        let mask_groups = masks.map(|(target, mask)| (AnimationTargetId(Uuid::from_bytes(target)), mask));
        Ok(AnimationGraph {
            graph,
            root: index(stored.root),
            mask_groups: mask_groups.collect(),
        })
    }
}

#[cfg(feature = "write")]
fn stored_kind(kind: &AnimationNodeType, context: &mut EncodeContext) -> StoredKind {
    match kind {
        AnimationNodeType::Blend => StoredKind::Blend,
        AnimationNodeType::Add => StoredKind::Add,
        AnimationNodeType::Clip(clip) => match clip.clone().untyped() {
            UntypedHandle::Uuid { uuid, .. } => StoredKind::UuidClip(*uuid.as_bytes()),
            strong => StoredKind::Clip(context.reference(&strong)),
        },
    }
}

fn node_type(kind: StoredKind, context: &DecodeContext) -> Result<AnimationNodeType, DecodeError> {
    Ok(match kind {
        StoredKind::Blend => AnimationNodeType::Blend,
        StoredKind::Add => AnimationNodeType::Add,
        StoredKind::Clip(index) => AnimationNodeType::Clip(typed_handle::<AnimationClip>(context, index)?),
        StoredKind::UuidClip(uuid) => {
            AnimationNodeType::Clip(Handle::Uuid(Uuid::from_bytes(uuid), core::marker::PhantomData))
        }
    })
}

fn index(node: u32) -> AnimationNodeIndex {
    AnimationNodeIndex::new(node as usize)
}
