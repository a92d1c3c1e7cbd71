//! The components of animated entities go through a package's columns and come back equal.

use bevy_animation::{
    AnimatedBy, AnimationPlayer, RepeatAnimation,
    graph::{AnimationGraph, AnimationGraphHandle, AnimationNodeIndex},
    transition::AnimationTransitions,
};
use bevy_ecs::{component::Component, entity::Entity};
use bevy_reflect::{FromReflect, GetTypeRegistration, Reflect};
use core::any::TypeId;
use core::time::Duration;

use super::*;
use crate::{
    assets::MeshUvDensity,
    codec::{CodecRegistry, Codecs},
    spawn,
};

/// Encodes the values and decodes them again, as a level's column.
fn there_and_back<C: Component + Reflect + FromReflect + GetTypeRegistration>(values: &[C]) -> Vec<C> {
    let mut world = World::new();
    let entities: Vec<Entity> = (0..4).map(|_| world.spawn_empty().id()).collect();
    let rows: EntityRows = entities.iter().copied().zip(0..).collect();
    let mut registry = TypeRegistry::default();
    registry.register::<C>();
    let codecs = Codecs::default();
    let codecs: &CodecRegistry = &codecs.read();
    let codec = codecs.component(TypeId::of::<C>(), &registry).unwrap();
    let mut context = EncodeContext::new(&registry, &rows);
    let reflected: Vec<&dyn Reflect> = values.iter().map(|value| value as &dyn Reflect).collect();
    let mut data = Vec::new();
    codec.encode(&reflected, &mut context, &mut data).unwrap();
    let handles: Vec<_> = context.into_references().into_iter().map(Some).collect();
    let context = DecodeContext {
        registry: &registry,
        entities: &entities,
        handles: &handles,
        mesh_attributes: &[],
        object: None,
    };
    let column = codec.decode(&data, values.len(), &context).unwrap();
    spawn::values::<C>(column).unwrap()
}

#[test]
fn targets_and_players_keep_their_entities() {
    let ids = ["Hip", "Chest"].map(target);
    assert_eq!(there_and_back(&ids), ids);

    let entity = Entity::from_raw_u32(2).unwrap();
    let mut world = World::new();
    let entities: Vec<Entity> = (0..4).map(|_| world.spawn_empty().id()).collect();
    assert!(entities.contains(&entity), "as in `there_and_back`");
    assert_eq!(there_and_back(&[AnimatedBy(entity)])[0].0, entity);
}

#[test]
fn a_playing_player_plays_on() {
    let mut player = AnimationPlayer::default();
    let (walk, wave) = (AnimationNodeIndex::new(3), AnimationNodeIndex::new(9));
    player
        .play(walk)
        .set_speed(1.5)
        .set_repeat(RepeatAnimation::Count(4))
        .seek_to(0.75);
    player.play(wave).set_weight(0.25).pause();
    let back = there_and_back(&[AnimationPlayer::default(), player]);
    assert_eq!(back[0].playing_animations().count(), 0);
    assert_eq!(back[1].playing_animations().count(), 2);
    let walking = back[1].animation(walk).unwrap();
    assert_eq!((walking.speed(), walking.seek_time()), (1.5, 0.75));
    assert_eq!(walking.repeat_mode(), RepeatAnimation::Count(4));
    let waving = back[1].animation(wave).unwrap();
    assert_eq!((waving.weight(), waving.is_paused()), (0.25, true));
}

#[test]
fn transitions_go_on() {
    let mut player = AnimationPlayer::default();
    let mut transitions = AnimationTransitions::new();
    for node in [1, 2] {
        transitions.play(&mut player, AnimationNodeIndex::new(node), Duration::from_millis(250));
    }
    let back = there_and_back(&[transitions]);
    assert_eq!(back[0].get_main_animation(), Some(AnimationNodeIndex::new(2)));
}

#[test]
fn a_graph_handle_leads_to_the_same_graph() {
    let mut world = World::new();
    world.init_resource::<Assets<AnimationGraph>>();
    let handle = AnimationGraphHandle(world.resource::<Assets<AnimationGraph>>().reserve_handle());
    assert_eq!(
        there_and_back(&[handle.clone(), handle.clone()]),
        [handle.clone(), handle]
    );
}

#[test]
fn a_density_comes_back() {
    let both = MeshUvDensity {
        uv_0: Some(2.5),
        uv_1: None,
    };
    assert_eq!(
        there_and_back(&[both, MeshUvDensity::default()]),
        [both, MeshUvDensity::default()]
    );
}

#[test]
fn a_density_is_a_positive_number() {
    use crate::codec::Record;
    for wrong in [-1.0, f32::NAN, f32::INFINITY] {
        let data = [1.0_f32, wrong].map(f32::to_le_bytes).concat();
        assert!(
            MeshUvDensity::read(&mut seamless_package::Cursor::new(&data)).is_err(),
            "{wrong}"
        );
    }
}
