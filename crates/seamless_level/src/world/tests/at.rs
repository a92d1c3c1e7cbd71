//! Which levels are at a place, and which are those of a source.

use super::*;

fn names(levels: impl Iterator<Item = (Entity, String)>) -> Vec<String> {
    levels.map(|(_, name)| name).collect()
}

fn at(stage: &mut Stage, point: Vec3) -> Vec<String> {
    stage.ask(move |levels| names(levels.at(point).map(|(world, level)| (world, level.name().to_owned()))))
}

#[test]
fn a_place_tells_its_levels() {
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), with_bounds());
    assert_eq!(at(&mut stage, WEST), [""; 0], "nothing is known yet");
    stage.frames(3);
    let up = Vec3::Y * 100.0;
    assert_eq!(at(&mut stage, WEST), ["west"]);
    assert_eq!(at(&mut stage, WEST + up), ["west"], "above it");
    assert_eq!(at(&mut stage, WEST + Vec3::Z * 100.0), [""; 0]);
    assert_eq!(at(&mut stage, Vec3::NAN), [""; 0]);
    // One more, in the same place, and then none.
    let cabin = NewInstance::new("cabin", "west", Default::default());
    let ticket = stage.ask(move |levels| levels.add_instance(cabin.clone())).unwrap();
    stage.frames(2);
    assert_eq!(at(&mut stage, WEST), ["west", "cabin"]);
    drop(ticket);
    stage.ask(|levels| levels.remove_instance("cabin")).unwrap();
    stage.frames(2);
    assert_eq!(at(&mut stage, WEST), ["west"]);
    // By the axes that count: of all worlds, or of one whose distances leave some out.
    stage.app.world_mut().resource_mut::<LevelSettings>().arrival_axes = BVec3::TRUE;
    stage.frames(1);
    assert_eq!(at(&mut stage, WEST + up), [""; 0]);
    let flat = DistanceStreaming {
        axes: BVec3::new(true, true, false),
        ..DistanceStreaming::default()
    };
    stage.app.world_mut().entity_mut(stage.world).insert(flat);
    stage.frames(1);
    assert_eq!(at(&mut stage, WEST + up), [""; 0]);
    assert_eq!(at(&mut stage, WEST + Vec3::Z * 100.0), ["west"]);
    stage.app.world_mut().despawn(stage.world);
    stage.frames(1);
    assert_eq!(at(&mut stage, WEST), [""; 0]);
}

#[test]
fn a_source_tells_its_levels() {
    let mut stage = Stage::new();
    let other = (StreamingSource::default(), GlobalTransform::from_translation(EAST));
    let other = stage.app.world_mut().spawn(other).id();
    let of = |stage: &mut Stage, source: Entity| {
        let system = move |status: StreamingStatus| {
            let levels = status.levels_of(source);
            names(levels.map(|(world, level)| (world, level.name().to_owned())))
        };
        stage.app.world_mut().run_system_once(system).unwrap()
    };
    let source = stage.source;
    assert_eq!(of(&mut stage, source), [""; 0]);
    stage.go(WEST);
    assert_eq!(of(&mut stage, source), ["base", "west"]);
    assert_eq!(of(&mut stage, other), ["base", "east"]);
    // It asks another world, which is not there.
    let world = stage.app.world_mut().spawn_empty().id();
    stage.app.world_mut().get_mut::<StreamingSource>(other).unwrap().world = Some(world);
    stage.frames(1);
    assert_eq!(of(&mut stage, other), [""; 0]);
    stage
        .app
        .world_mut()
        .get_mut::<StreamingSource>(source)
        .unwrap()
        .enabled = false;
    stage.frames(1);
    assert_eq!(of(&mut stage, source), [""; 0]);
    assert_eq!(of(&mut stage, world), [""; 0], "it is no source");
}

/// A room whose player has died: as it was cooked, once more.
#[test]
fn a_level_is_had_as_it_was_cooked() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let first = stage.level("west").root();
    let away = stage
        .ask(|levels| levels.request("west", LevelTarget::Unloaded))
        .unwrap();
    assert_eq!(away.result(), None);
    stage.frames(3);
    assert_eq!(away.result(), Some(StreamingResult::Ready));
    drop(away);
    stage.frames(3);
    assert!(stage.level("west").is_visible());
    assert!(first.is_some() && stage.level("west").root() != first);
}
