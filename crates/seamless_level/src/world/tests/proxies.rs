//! What is seen in place of levels.

use bevy_camera::visibility::Visibility;

use super::*;

fn is_seen(stage: &Stage, proxy: Entity) -> bool {
    *stage.app.world().get::<Visibility>(proxy).unwrap() == Visibility::Inherited
}

fn spawn(stage: &mut Stage, level: &str, world: Option<Entity>) -> Entity {
    let proxy = LevelProxy {
        world,
        ..LevelProxy::of(level)
    };
    stage.app.world_mut().spawn(proxy).id()
}

/// Frame by frame: whether the level is in the world, and the proxy is seen.
fn watch(stage: &mut Stage, proxy: Entity, frames: usize) -> Vec<(bool, bool)> {
    let mut seen = Vec::new();
    for _ in 0..frames {
        stage.frames(1);
        let level = stage.level("west");
        seen.push((level.root().is_some(), is_seen(stage, proxy)));
    }
    seen
}

#[test]
fn either_the_level_or_its_proxy_is_seen_in_each_frame() {
    let mut stage = Stage::new();
    let proxy = spawn(&mut stage, "west", None);
    stage.frames(3);
    assert!(is_seen(&stage, proxy));
    for (place, expected) in [(WEST, false), (EAST, true), (WEST, false)] {
        let transform = GlobalTransform::from_translation(place);
        stage.app.world_mut().entity_mut(stage.source).insert(transform);
        let seen = watch(&mut stage, proxy, 6);
        assert!(seen.iter().all(|(level, proxy)| level != proxy), "{seen:?}");
        assert_eq!(seen.last().unwrap().1, expected);
    }
    // While it leaves, it is still there.
    stage.hold("west");
    stage.go(EAST);
    assert_eq!(stage.level("west").state(), LevelState::Leaving);
    assert!(!is_seen(&stage, proxy));
    stage.release();
    let seen = watch(&mut stage, proxy, 3);
    assert!(seen.iter().all(|(level, proxy)| level != proxy), "{seen:?}");
    assert!(is_seen(&stage, proxy));
}

#[test]
fn the_proxy_of_a_hidden_level_is_seen() {
    let mut stage = Stage::new();
    stage.fake().can_hide = true;
    stage.ask(|levels| levels.load("west")).unwrap();
    stage.frames(4);
    // One that comes later, and one that nobody sees itself.
    let proxy = spawn(&mut stage, "west", None);
    let unseen = spawn(&mut stage, "west", None);
    stage
        .app
        .world_mut()
        .entity_mut(unseen)
        .insert(bevy_ecs::entity_disabling::Disabled);
    stage.frames(1);
    let are_seen = |stage: &Stage| [proxy, unseen].map(|proxy| is_seen(stage, proxy));
    assert_eq!(are_seen(&stage), [false; 2]);
    stage.ask(|levels| levels.preload("west")).unwrap();
    stage.frames(3);
    assert_eq!(are_seen(&stage), [true; 2]);
    stage.ask(|levels| levels.load("west")).unwrap();
    stage.frames(3);
    assert_eq!(are_seen(&stage), [false; 2]);
}

#[test]
fn a_proxy_may_stand_for_another_level_and_for_one_world() {
    let mut stage = Stage::new();
    let handle = add_manifest(&mut stage.app, manifest());
    let other = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.until(|stage| stage.app.world().get::<LevelTable>(other).is_some());
    let wanted = LevelWanted {
        levels: vec!["west".into()],
        world: Some(other),
        ..LevelWanted::default()
    };
    stage.app.world_mut().spawn(wanted);
    let first = stage.world;
    let worlds = [None, Some(first), Some(other)];
    let proxies = worlds.map(|world| spawn(&mut stage, "west", world));
    let are_seen = |stage: &Stage| proxies.map(|proxy| is_seen(stage, proxy));
    stage.frames(4);
    assert_eq!(are_seen(&stage), [false, true, false]);
    // One that there is not, and that is always there.
    let set = |stage: &mut Stage, level: &str| {
        stage.app.world_mut().get_mut::<LevelProxy>(proxies[0]).unwrap().level = level.into();
        stage.frames(1);
    };
    set(&mut stage, "nowhere");
    assert_eq!(are_seen(&stage), [true, true, false]);
    set(&mut stage, "base");
    assert_eq!(are_seen(&stage), [false, true, false]);
    // What is no proxy any more is nobody's to hide, and who is gone is gone.
    stage.app.world_mut().entity_mut(proxies[1]).remove::<LevelProxy>();
    stage.app.world_mut().despawn(proxies[0]);
    stage.ask(|levels| levels.load("west")).unwrap();
    stage.frames(4);
    assert!(is_seen(&stage, proxies[1]));
    stage.app.world_mut().despawn(other);
    stage.frames(4);
    assert!(is_seen(&stage, proxies[2]), "its world is gone");
}
