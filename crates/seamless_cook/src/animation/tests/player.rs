//! A cooked clip in a cooked graph, played by Bevy's own animation systems beside the clip that Bevy loaded.

use bevy::animation::graph::AnimationNodeIndex;
use bevy::animation::{AnimatedBy, AnimationTargetId};
use bevy::asset::Assets;
use bevy::mesh::morph::MorphWeights;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use seamless_asset::assets::animation::AnimationGraphCodec;
use seamless_asset::codec::{AssetCodec, DecodeContext, EncodeContext, EntityRows};

use super::oracle::{Loaded, everything};
use super::*;

/// The graph as a package has it; its clips are the same.
fn cooked_graph(graph: &AnimationGraph) -> AnimationGraph {
    let registry = TypeRegistry::default();
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = AnimationGraphCodec::encode(graph, &mut context).unwrap();
    let handles: Vec<_> = context.into_references().into_iter().map(Some).collect();
    let decoding = DecodeContext {
        registry: &registry,
        entities: &[],
        handles: &handles,
        mesh_attributes: &[],
        object: None,
    };
    AnimationGraphCodec::decode(&encoded.data, vec![], &decoding).unwrap()
}

/// An entity that plays the clip, as the file's node `Root`.
fn player(app: &mut App, graph: AnimationGraph) -> Entity {
    let graph = app.world_mut().resource_mut::<Assets<AnimationGraph>>().add(graph);
    let target = AnimationTargetId::from_names([Name::new("Root")].iter());
    let weights = MorphWeights::new(vec![0.0; 2], None).unwrap();
    let components = (
        AnimationPlayer::default(),
        AnimationGraphHandle(graph),
        target,
        weights,
        Transform::default(),
    );
    let entity = app.world_mut().spawn(components).id();
    app.world_mut().entity_mut(entity).insert(AnimatedBy(entity));
    entity
}

fn pose(app: &App, entity: Entity) -> (Transform, Vec<f32>) {
    let entity = app.world().entity(entity);
    let weights = entity.get::<MorphWeights>().unwrap().weights().to_vec();
    (*entity.get::<Transform>().unwrap(), weights)
}

#[test]
fn a_player_shows_the_same() {
    let gltf = everything().gltf();
    let mut loaded = Loaded::new("a.gltf", &[("a.gltf", &gltf)]);
    let live = loaded.handles()[0].clone();
    let (cooked, _) = loaded.cooked(&live, &clips(&gltf)[0].clip);
    let app = &mut loaded.app;
    let cooked = app.world_mut().resource_mut::<Assets<AnimationClip>>().add(cooked);
    let (bevys, node) = AnimationGraph::from_clip(live);
    let (ours, _) = AnimationGraph::from_clip(cooked);
    let (bevys, ours) = (player(app, bevys), player(app, cooked_graph(&ours)));
    // The graphs become known.
    app.update();
    let start = pose(app, bevys);
    let mut poses = Vec::new();
    for time in [0.0, 0.25, 0.3, 0.375, 0.5, 1.0, 1.5, 1.75] {
        for entity in [bevys, ours] {
            seek(app, entity, node, time);
        }
        app.update();
        assert_eq!(pose(app, ours), pose(app, bevys), "at {time} s");
        poses.push(pose(app, ours));
    }
    assert!(poses.iter().all(|pose| *pose != start), "it was not played at all");
    assert!(
        poses.array_windows().filter(|[a, b]| a != b).count() > 3,
        "it stands still"
    );
}

fn seek(app: &mut App, entity: Entity, node: AnimationNodeIndex, time: f32) {
    let mut player = app.world_mut().get_mut::<AnimationPlayer>(entity).unwrap();
    player.play(node).pause().set_seek_time(time);
}
