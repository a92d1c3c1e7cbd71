//! Animation graphs: what comes back, and what Bevy could not walk.

use bevy_animation::graph::{AnimationGraph, AnimationNodeIndex, AnimationNodeType};
use uuid::Uuid;

use super::*;

fn encode(graph: &AnimationGraph) -> Result<(EncodedAsset, Vec<UntypedHandle>), EncodeError> {
    let registry = TypeRegistry::default();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = AnimationGraphCodec::encode(graph, &mut context)?;
    Ok((encoded, context.into_references()))
}

/// A graph with every kind of node, a node with two parents, masks, and an edge that was removed.
fn graph(clips: &[Handle<AnimationClip>; 2]) -> AnimationGraph {
    let mut graph = AnimationGraph::new();
    let blend = graph.add_blend_with_mask(0b10, 0.25, graph.root);
    let add = graph.add_additive_blend(2.0, blend);
    let walk = graph.add_clip(clips[0].clone(), 0.75, add);
    graph.add_clip_with_mask(clips[1].clone(), 0b101, 1.0, blend);
    graph.add_clip(clips[0].clone(), 1.0, graph.root);
    graph.add_edge(blend, walk);
    graph.add_edge(graph.root, walk);
    graph.remove_edge(add, walk);
    for (name, group) in [("Hip", 0), ("Chest", 3), ("Head", 63)] {
        graph.add_target_to_mask_group(target(name), group);
    }
    graph
}

fn edges(graph: &AnimationGraph) -> Vec<(AnimationNodeIndex, AnimationNodeIndex)> {
    let edges = graph.graph.raw_edges().iter();
    edges.map(|edge| (edge.source(), edge.target())).collect()
}

#[test]
fn a_graph_comes_back() {
    let mut world = World::new();
    world.init_resource::<Assets<AnimationClip>>();
    let clips = world.resource::<Assets<AnimationClip>>();
    let fixed = Handle::Uuid(Uuid::from_u128(7), core::marker::PhantomData);
    let old = graph(&[clips.reserve_handle(), fixed]);
    let (encoded, references) = encode(&old).unwrap();
    assert_eq!(references.len(), 1, "a handle with a UUID is no object of the package");
    let handles: Vec<_> = references.into_iter().map(Some).collect();
    let new = decode::<AnimationGraphCodec>(&encoded.data, &handles).unwrap();

    assert_eq!((new.root, edges(&new)), (old.root, edges(&old)));
    assert_eq!(new.mask_groups, old.mask_groups);
    assert_eq!(new.nodes().count(), old.nodes().count());
    for node in old.nodes() {
        let (new, old) = (&new[node], &old[node]);
        assert_eq!((new.mask, new.weight), (old.mask, old.weight));
        match (&new.node_type, &old.node_type) {
            (AnimationNodeType::Clip(new), AnimationNodeType::Clip(old)) => assert_eq!(new, old),
            (new, old) => assert_eq!(core::mem::discriminant(new), core::mem::discriminant(old)),
        }
    }
    assert_eq!(encode(&new).unwrap().0.data, encoded.data);
}

#[test]
fn a_clip_of_another_type_is_refused() {
    let mut world = World::new();
    world.init_resource::<Assets<AnimationClip>>();
    let clips = world.resource::<Assets<AnimationClip>>();
    let (graph, _) = AnimationGraph::from_clip(clips.reserve_handle());
    let (encoded, _) = encode(&graph).unwrap();
    let mesh = Handle::<bevy_mesh::Mesh>::Uuid(Uuid::from_u128(7), core::marker::PhantomData);
    let error = decode::<AnimationGraphCodec>(&encoded.data, &[Some(mesh.untyped())]).unwrap_err();
    assert!(matches!(error, DecodeError::WrongHandle { .. }), "{error}");
    assert!(decode::<AnimationGraphCodec>(&encoded.data, &[None]).is_err());
}

#[track_caller]
fn assert_refused(graph: &AnimationGraph, expected: &GraphError) {
    match encode(graph) {
        Err(EncodeError::Graph(error)) => assert_eq!(error, *expected),
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("was encoded"),
    }
}

#[test]
fn a_circle_is_refused() {
    let mut graph = AnimationGraph::new();
    let one = graph.add_blend(1.0, graph.root);
    let two = graph.add_blend(1.0, one);
    graph.add_edge(two, one);
    assert_refused(&graph, &GraphError::Cycle(one.index() as u32));
    let mut own = AnimationGraph::new();
    own.add_edge(own.root, own.root);
    assert_refused(&own, &GraphError::Cycle(0));
}

#[test]
fn a_chain_has_an_end() {
    let chain = |count: usize| {
        let mut graph = AnimationGraph::new();
        let root = graph.root;
        (1..count).fold(root, |parent, _| graph.add_blend(1.0, parent));
        graph
    };
    assert!(encode(&chain(MAX_GRAPH_DEPTH)).is_ok());
    assert_refused(&chain(MAX_GRAPH_DEPTH + 1), &GraphError::TooDeep);
    assert_refused(&chain(200_000), &GraphError::TooDeep);
}

/// Each level doubles the ways to the next, and Bevy goes all of them.
#[test]
fn many_ways_are_refused() {
    let levels = |count: usize| {
        let mut graph = AnimationGraph::new();
        let mut parent = graph.root;
        for _ in 0..count {
            let child = graph.add_blend(1.0, parent);
            graph.add_edge(parent, child);
            parent = child;
        }
        graph
    };
    assert!(encode(&levels(15)).is_ok());
    assert_refused(&levels(16), &GraphError::TooLarge);
    assert_refused(&levels(200), &GraphError::TooLarge);
}

/// A stored graph: its root, its nodes, which are blends, and its edges.
fn stored(root: u8, nodes: u8, edges: &[(u8, u8)]) -> Vec<u8> {
    let mut data = vec![root, nodes];
    for _ in 0..nodes {
        // The kind, no mask, and the weight.
        data.extend([0, 0]);
        data.extend(1.0_f32.to_le_bytes());
    }
    data.push(edges.len() as u8);
    data.extend(edges.iter().flat_map(|(from, to)| [*from, *to]));
    data.push(0);
    data
}

#[test]
fn forged_graphs_are_refused() {
    assert!(decode::<AnimationGraphCodec>(&stored(0, 2, &[(0, 1)]), &[]).is_ok());
    for (data, expected) in [
        (stored(2, 2, &[]), GraphError::NoNode { node: 2, nodes: 2 }),
        (stored(0, 0, &[]), GraphError::NoNode { node: 0, nodes: 0 }),
        (stored(0, 2, &[(0, 5)]), GraphError::NoNode { node: 5, nodes: 2 }),
        (stored(0, 2, &[(5, 0)]), GraphError::NoNode { node: 5, nodes: 2 }),
        (stored(0, 2, &[(0, 1), (1, 0)]), GraphError::Cycle(0)),
    ] {
        match decode::<AnimationGraphCodec>(&data, &[]) {
            Err(DecodeError::Graph(error)) => assert_eq!(error, expected),
            other => panic!("{other:?}"),
        }
    }
    let data = stored(0, 2, &[(0, 1)]);
    for length in 0..data.len() {
        assert!(decode::<AnimationGraphCodec>(&data[..length], &[]).is_err());
    }
    assert!(decode::<AnimationGraphCodec>(&[data.as_slice(), &[0]].concat(), &[]).is_err());
    // A number of nodes that no file holds takes no memory.
    assert!(decode::<AnimationGraphCodec>(&[0, 0xff, 0xff, 0xff, 0xff, 0x0f], &[]).is_err());
}
