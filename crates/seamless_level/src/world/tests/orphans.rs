//! Levels that leave although nobody let go of them: their world is gone or made anew, or somebody else despawns them.

use bevy_ecs::schedule::SingleThreadedExecutor;
use seamless_asset::doubles::logged;

use super::*;

const TOWER: Vec3 = Vec3::new(0.0, 500.0, 0.0);

/// The roots of `west` as they were told: `+` when it came, `-` when it left.
#[derive(Resource, Default)]
struct Roots(Vec<(char, Entity)>);

impl Roots {
    fn note(&mut self, what: char, level: &str, root: Entity) {
        if level == "west" {
            self.0.push((what, root));
        }
    }
}

fn stage() -> Stage {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.init_resource::<Roots>()
        .add_observer(|event: On<LevelRevealed>, mut roots: ResMut<Roots>| {
            roots.note('+', &event.level, event.root);
        })
        .add_observer(|event: On<LevelLeft>, mut roots: ResMut<Roots>| {
            roots.note('-', &event.level, event.root);
        });
    // What other threads log is not heard.
    app.edit_schedule(SpawnScene, |schedule| {
        schedule.set_executor(SingleThreadedExecutor::new());
    });
    Stage::with(app)
}

fn roots(stage: &mut Stage) -> Vec<(char, Entity)> {
    std::mem::take(&mut stage.app.world_mut().resource_mut::<Roots>().0)
}

/// The instance of `west`, and its root.
fn west(stage: &Stage) -> (InstanceId, Entity) {
    let west = stage.level("west");
    (west.instance().unwrap(), west.root().unwrap())
}

/// A frame in which the pipeline does nothing but to tell this.
fn tell(stage: &mut Stage, events: impl IntoIterator<Item = InstanceEvent>) {
    for event in events {
        stage.app.world_mut().write_message(event);
    }
    stage.fake().is_idle = true;
    stage.frames(1);
    stage.fake().is_idle = false;
}

/// Somebody else despawns the root of `west`, and the pipeline finds that.
fn lose(stage: &mut Stage) {
    let (id, root) = west(stage);
    stage.app.world_mut().despawn(root);
    stage.fake().known.remove(&id);
    tell(stage, [InstanceEvent::Left { id }]);
}

/// How often it is logged that somebody else has despawned `west`.
fn losses(said: &[String]) -> usize {
    let told = "the root of level `west` was despawned by somebody else";
    said.iter().filter(|line| line.contains(told)).count()
}

#[test]
fn a_level_leaves_with_the_root_it_came_with() {
    let mut stage = stage();
    stage.go(WEST);
    let (_, root) = west(&stage);
    stage.go(Vec3::ZERO);
    assert_eq!(roots(&mut stage), [('+', root), ('-', root)]);
    stage.go(WEST);
    let (_, root) = west(&stage);
    stage.app.world_mut().despawn(stage.world);
    stage.frames(2);
    assert_eq!(roots(&mut stage), [('+', root), ('-', root)], "with its world");
}

/// The world is made anew, and the old level waits for its turn to leave while the new one comes.
#[test]
fn the_root_tells_which_of_two_levels_of_one_name_left() {
    let mut stage = stage();
    stage.go(WEST);
    let (id, old) = west(&stage);
    stage.fake().is_idle = true;
    let handle = stage.app.world().get::<SeamlessWorld>(stage.world).unwrap().0.clone();
    let mut manifests = stage.app.world_mut().resource_mut::<Assets<WorldManifest>>();
    manifests.get_mut(&handle).unwrap().name = "anew".into();
    stage.frames(5);
    stage.fake().known.remove(&id);
    stage.fake().is_idle = false;
    stage.frames(2);
    let (_, new) = west(&stage);
    tell(&mut stage, [InstanceEvent::Left { id }]);
    assert_eq!(roots(&mut stage), [('+', old), ('+', new), ('-', old)]);
    assert_eq!(west(&stage).1, new);
}

/// An observer that the reveal runs into despawns the world.
#[test]
fn a_level_that_nobody_was_told_of_leaves_without_a_word() {
    let mut stage = stage();
    stage.hold("west");
    stage.go(WEST);
    let id = stage.level("west").instance().unwrap();
    stage.told();
    let root = stage.app.world_mut().spawn_empty().id();
    stage.app.world_mut().despawn(stage.world);
    stage.fake().known.remove(&id);
    let entities = 7;
    let came = InstanceEvent::Revealed { id, root, entities };
    tell(&mut stage, [came, InstanceEvent::Left { id }]);
    stage.frames(1);
    assert_eq!(stage.told(), ["-base"], "that one was told to have come");
    assert_eq!(stage.tracked(), 0);
}

#[test]
fn that_others_despawn_what_is_wanted_is_logged_once() {
    let mut stage = stage();
    stage.go(WEST);
    stage.told();
    let said = logged(|| {
        for _ in 0..3 {
            lose(&mut stage);
            stage.frames(2);
        }
    });
    assert_eq!(losses(&said), 1, "{said:?}");
    assert_eq!(
        stage.told(),
        ["-west", "+west"].repeat(3),
        "it is loaded again each time"
    );
    // Once it is let go of and wanted anew as well.
    stage.go(Vec3::ZERO);
    stage.go(WEST);
    let said = logged(|| lose(&mut stage));
    assert_eq!(losses(&said), 0, "{said:?}");
}

#[test]
fn what_leaves_anyway_is_not_missed() {
    let mut leaving = stage();
    leaving.go(WEST);
    leaving.hold("west");
    leaving.go(Vec3::ZERO);
    assert_eq!(leaving.level("west").state(), LevelState::Leaving);
    let said = logged(|| lose(&mut leaving));
    assert_eq!(losses(&said), 0, "{said:?}");
    assert_eq!(leaving.level("west").state(), LevelState::Unloaded);

    let mut over = stage();
    over.go(WEST);
    let (id, root) = west(&over);
    let said = logged(|| {
        over.app.world_mut().despawn(root);
        over.app.world_mut().despawn(over.world);
        over.fake().known.remove(&id);
        tell(&mut over, [InstanceEvent::Left { id }]);
    });
    assert_eq!(losses(&said), 0, "{said:?}");
    assert_eq!(roots(&mut over), [('+', root), ('-', root)]);
}

#[test]
fn no_frame_waits_for_what_others_have_despawned() {
    fn waits(stage: &mut Stage, act: impl FnOnce(&mut Stage)) -> usize {
        let said = logged(|| act(stage));
        let told = "the frame waits for level `west`";
        said.iter().filter(|line| line.contains(told)).count()
    }
    let mut stage = stage();
    stage.frames(3);
    stage.app.world_mut().spawn(StreamingVolume {
        shape: ball(TOWER, 10.0),
        levels: vec!["west".into()],
        mode: VolumeMode::BlockUntilLoaded,
        unload_margin: Some(1.0),
        unload_delay: 0.0,
        ..StreamingVolume::default()
    });
    stage.frames(1);
    assert_eq!(waits(&mut stage, |stage| stage.go(TOWER)), 1);
    for _ in 0..2 {
        let lost = |stage: &mut Stage| {
            lose(stage);
            stage.frames(2);
        };
        assert_eq!(waits(&mut stage, lost), 0, "it comes as any other does");
        assert!(stage.level("west").is_visible());
    }
    stage.go(Vec3::ZERO);
    assert!(!stage.level("west").is_wanted());
    assert_eq!(waits(&mut stage, |stage| stage.go(TOWER)), 1, "it is wanted anew");
}
