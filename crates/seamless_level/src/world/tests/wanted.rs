//! Levels that entities want: what they take of a cap, and what is heard of entities of hidden levels.

use seamless_asset::InHiddenLevel;

use super::*;

/// An app in which levels can be hidden.
fn stage() -> Stage {
    let mut app = App::new();
    app.world_mut().register_disabling_component::<InHiddenLevel>();
    let mut stage = Stage::with(level_app_of(app, SeamlessLevelPlugin::default()));
    stage.frames(3);
    stage
}

/// Whether `west` and `east` are visible.
fn seen(stage: &Stage) -> [bool; 2] {
    ["west", "east"].map(|level| stage.level(level).is_visible())
}

/// Whether `west` and `east` are wanted.
fn wanted(stage: &Stage) -> [bool; 2] {
    ["west", "east"].map(|level| stage.level(level).is_wanted())
}

#[test]
fn what_is_only_to_be_loaded_takes_nobodys_place() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_levels: 2,
        ..Default::default()
    }));
    let ahead = LevelWanted {
        kind: RequestKind::Load,
        ..LevelWanted::new(["east"])
    };
    let quest = stage.app.world_mut().spawn(ahead.clone()).id();
    stage.frames(4);
    assert_eq!(wanted(&stage), [false, true], "there is room");
    // At the border of its volume.
    stage.go(WEST + Vec3::X * 9.0);
    assert_eq!(wanted(&stage), [true, false]);
    assert!(stage.level("west").is_visible());
    // As soon as somebody says so, and no longer.
    let urgent = LevelWanted {
        priority: Some(100.0),
        ..ahead.clone()
    };
    stage.app.world_mut().entity_mut(quest).insert(urgent);
    stage.frames(4);
    assert_eq!(wanted(&stage), [false, true]);
    stage.app.world_mut().entity_mut(quest).insert(ahead.clone());
    stage.frames(4);
    assert_eq!(wanted(&stage), [true, false]);
    // What is to be shown goes before what is near, as it is.
    let shown = LevelWanted {
        kind: RequestKind::Show,
        ..ahead
    };
    stage.app.world_mut().entity_mut(quest).insert(shown);
    stage.frames(4);
    assert_eq!(wanted(&stage), [false, true]);
}

#[test]
fn what_changes_while_it_is_hidden_is_heard_of_at_once() {
    let mut stage = stage();
    let quest = stage.app.world_mut().spawn(LevelWanted::new(["west"])).id();
    stage.frames(3);
    assert_eq!(seen(&stage), [true, false]);
    stage.app.world_mut().entity_mut(quest).insert(InHiddenLevel);
    stage.frames(3);
    assert_eq!(seen(&stage), [true, false], "it was seen, and asks on");
    let mut wish = stage.app.world_mut().get_mut::<LevelWanted>(quest).unwrap();
    wish.levels = vec!["east".into()];
    stage.frames(3);
    assert_eq!(seen(&stage), [false, true]);
    // Another one, from one frame to the next.
    let mut entity = stage.app.world_mut().entity_mut(quest);
    entity
        .remove::<LevelWanted>()
        .insert(LevelWanted::new(["west", "east"]));
    stage.frames(3);
    assert_eq!(seen(&stage), [true, true]);
    stage.app.world_mut().despawn(quest);
    stage.frames(3);
    assert_eq!(seen(&stage), [false, false]);
}

#[test]
fn who_was_never_seen_wants_nothing_until_it_is() {
    let mut stage = stage();
    let spawn = |stage: &mut Stage, level: &str| {
        let new = (LevelWanted::new([level]), InHiddenLevel);
        stage.app.world_mut().spawn(new).id()
    };
    let [quest, other] = ["west", "east"].map(|level| spawn(&mut stage, level));
    stage.frames(3);
    assert_eq!(wanted(&stage), [false, false]);
    let mut wish = stage.app.world_mut().get_mut::<LevelWanted>(quest).unwrap();
    wish.levels.push("base".into());
    stage.app.world_mut().despawn(other);
    stage.frames(3);
    assert_eq!(wanted(&stage), [false, false]);
    // It need not count as changed then.
    stage.app.world_mut().entity_mut(quest).remove::<InHiddenLevel>();
    stage.frames(3);
    assert_eq!(seen(&stage), [true, false]);
    // Who is hidden later goes on.
    stage.app.world_mut().entity_mut(quest).insert(InHiddenLevel);
    stage.frames(3);
    assert_eq!(seen(&stage), [true, false]);
}
