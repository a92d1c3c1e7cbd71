//! Actors: instances of a prefab, and their pools.

use core::time::Duration;

use bevy_camera::visibility::Visibility;
use bevy_transform::components::Transform;
use seamless_asset::{LevelInstance, StreamingSettings};

use super::{build::flame, *};
use crate::{CueKind, CueNotify, CueRecycled, CueReused, WhenFull};

/// What instances were told.
#[derive(Resource, Default)]
struct Told(Vec<(&'static str, Entity)>);

fn test(flame: CueNotify) -> TestApp {
    let mut test = TestApp::with(CuePlugin::default(), flame);
    test.app
        .init_resource::<Told>()
        .add_observer(|cue: On<CueReused>, mut told: ResMut<Told>| told.0.push(("reused", cue.entity)))
        .add_observer(|cue: On<CueRecycled>, mut told: ResMut<Told>| told.0.push(("recycled", cue.entity)))
        .add_observer(|cue: On<CueExecuted>, mut told: ResMut<Told>| {
            told.0.push(("played", cue.instance.unwrap_or(Entity::PLACEHOLDER)))
        });
    test
}

fn told(test: &mut TestApp) -> Vec<(&'static str, Entity)> {
    core::mem::take(&mut test.app.world_mut().resource_mut::<Told>().0)
}

fn instances(test: &mut TestApp) -> Vec<(Entity, Visibility, Vec3)> {
    let mut query = test
        .app
        .world_mut()
        .query::<(Entity, &Visibility, &Transform, &LevelInstance)>();
    query
        .iter(test.app.world())
        .map(|(entity, visibility, at, _)| (entity, *visibility, at.translation))
        .collect()
}

/// Where instances are that play.
fn shown(test: &mut TestApp) -> Vec<Vec3> {
    let all = instances(test).into_iter();
    all.filter(|(_, visibility, _)| *visibility != Visibility::Hidden)
        .map(|(.., at)| at)
        .collect()
}

#[test]
fn a_cue_plays_with_an_instance_that_goes_back_to_its_pool() {
    let mut test = test(flame());
    let target = test
        .app
        .world_mut()
        .spawn(GlobalTransform::from_xyz(5.0, 0.0, 0.0))
        .id();
    test.fire(Execute, "Cue.Flame", target);
    test.settle();
    test.app.update();
    let [(root, visibility, at)] = instances(&mut test)[..] else {
        panic!("there is one instance");
    };
    assert_eq!((visibility, at), (Visibility::Hidden, Vec3::X * 5.0));
    assert_eq!(
        told(&mut test),
        [("reused", root), ("played", root), ("recycled", root)]
    );
    // The same again, without a wait.
    let here = CueContext::new(target).at(Vec3::Z);
    test.app.world_mut().fire_cue(Execute, tag("Cue.Flame"), here);
    assert_eq!(instances(&mut test), [(root, Visibility::Inherited, Vec3::Z)]);
    assert_eq!(test.stats().instances_made, 1);
}

#[test]
fn what_lasts_keeps_its_instance_follows_its_target_and_ends() {
    let mut test = test(flame());
    let target = test.app.world_mut().spawn(GlobalTransform::IDENTITY).id();
    test.fire(Add, "Cue.Flame", target);
    test.settle();
    test.app
        .world_mut()
        .entity_mut(target)
        .insert(GlobalTransform::from_xyz(0.0, 7.0, 0.0));
    test.app.update();
    assert_eq!(shown(&mut test), [Vec3::Y * 7.0]);
    test.fire(Add, "Cue.Flame", target);
    test.fire(Remove, "Cue.Flame", target);
    test.app.update();
    assert_eq!(shown(&mut test).len(), 1, "it was added twice");
    test.fire(Remove, "Cue.Flame", target);
    test.app.update();
    assert_eq!(shown(&mut test), []);
    // A target that goes lets its instance go.
    test.fire(Add, "Cue.Flame", target);
    assert_eq!(shown(&mut test).len(), 1);
    test.app.world_mut().despawn(target);
    test.app.update();
    assert_eq!(shown(&mut test), []);
}

#[test]
fn instances_are_made_ahead_one_a_frame() {
    let mut flame = flame();
    flame.preallocated = 3;
    let mut test = test(flame);
    test.app.update();
    test.app
        .world_mut()
        .resource_mut::<CueLibraries>()
        .add_path("cues/flame.cue.ron");
    let mut made = vec![0];
    test.run_until(|test| {
        made.push(test.stats().instances_made);
        instances(test).len() == 3
    });
    assert!(made.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{made:?}");
    for _ in 0..3 {
        test.app.update();
    }
    assert_eq!(test.stats().instances_made, 3);
}

#[test]
fn no_instance_is_made_ahead_of_a_prefab_that_has_failed() {
    let mut flame = flame();
    flame.preallocated = 3;
    flame.kind = CueKind::Actor {
        prefab: "gone.pkg".into(),
    };
    let mut test = test(flame);
    test.app.update();
    test.app
        .world_mut()
        .resource_mut::<CueLibraries>()
        .add_path("cues/flame.cue.ron");
    test.run_until(|test| test.stats().failed_loads == 1);
    for _ in 0..20 {
        test.app.update();
    }
    let made = test.stats().instances_made;
    for _ in 0..20 {
        test.app.update();
    }
    assert_eq!(test.stats().instances_made, made, "it is not asked for again");
}

#[test]
fn what_plays_on_for_longer_than_any_time_does_so() {
    let mut flame = flame();
    flame.auto_destroy_delay = 1e30;
    let mut test = test(flame);
    let target = test.spawn();
    test.fire(Execute, "Cue.Flame", target);
    test.settle();
    assert_eq!(shown(&mut test).len(), 1);
    test.app.update();
    assert_eq!(shown(&mut test).len(), 1);
}

#[test]
fn a_full_pool_takes_the_oldest_or_lets_cues_go_without() {
    for when_full in [WhenFull::ReuseOldest, WhenFull::GoWithout] {
        let mut flame = flame();
        (flame.cap, flame.when_full) = (1, when_full);
        let mut test = test(flame);
        let (one, two) = (test.spawn(), test.spawn());
        test.fire(Add, "Cue.Flame", one);
        test.fire(Add, "Cue.Flame", two);
        test.settle();
        assert_eq!(test.heard().len(), 4, "observers hear of both");
        assert_eq!(
            (instances(&mut test).len(), test.stats().full_pools),
            (1, if when_full == WhenFull::GoWithout { 2 } else { 1 })
        );
        test.fire(Remove, "Cue.Flame", one);
        test.fire(Remove, "Cue.Flame", two);
        test.app.update();
        assert_eq!(instances(&mut test)[0].1, Visibility::Hidden);
    }
}

/// How many cues are fired at pools: a million, of which ordinary tests fire a fiftieth. `SEAMLESS_SOAK=1` fires all of them, `0.1` a tenth.
fn soaked() -> usize {
    let share = std::env::var("SEAMLESS_SOAK").ok();
    let share = share.map_or(0.02, |share| {
        share.parse().expect("SEAMLESS_SOAK is a share, 1 for all of it")
    });
    (1e6 * f64::clamp(share, 0.001, 1.0)) as usize
}

/// Fires a frame's cues about these targets: impacts, and what begins, lasts for some frames, and ends.
fn fire_at(targets: Vec<Entity>, fired: usize) -> impl FnMut(Cues, Local<usize>) {
    let flame = tag("Cue.Flame");
    move |mut cues, mut count| {
        for _ in 0..fired {
            let (at, round) = (*count % targets.len(), *count / targets.len());
            let act = [Execute, Add, Execute, Remove][(at + round) % 4];
            cues.fire(act, flame, CueContext::new(targets[at]));
            *count += 1;
        }
    }
}

/// A million cues, few instances, and in the end nobody.
#[test]
fn pools_leave_no_entity_behind() {
    const FRAME: usize = 1000;
    let frames = soaked() / FRAME;
    let mut test = test(flame());
    test.app.update();
    let before = test.app.world().entities().count_spawned();
    test.load("Cue.Flame");
    // Each frame plays all that waits: this is about how many, and not about how fast.
    test.app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(3600);
    let targets: Vec<Entity> = (0..16).map(|_| test.spawn()).collect();
    let fire = test.app.world_mut().register_system(fire_at(targets.clone(), FRAME));
    for _ in 0..frames {
        test.app.world_mut().run_system(fire).expect("it runs");
        test.app.update();
        // What was heard is not what this is about.
        test.heard();
        told(&mut test);
    }
    test.settle();
    let stats = test.stats();
    let fired = (frames * FRAME) as u64 + 1;
    assert!(frames > 0 && stats.fired == fired, "{stats:?}");
    // An add that waits may be taken away by its removal.
    assert_eq!(stats.played + stats.cancelled + stats.vain_removals, fired, "{stats:?}");
    assert!(stats.instances_made <= 4 && stats.played > fired * 2 / 3, "{stats:?}");
    assert!(
        test.app.world().entities().count_spawned() < before + 64,
        "few at any time"
    );
    for target in targets {
        test.app.world_mut().despawn(target);
    }
    test.app.world_mut().unregister_system(fire).expect("it is there");
    test.app
        .world_mut()
        .resource_mut::<CueLibraries>()
        .add_path("cues/flame.cue.ron");
    test.settle();
    test.app
        .world_mut()
        .resource_mut::<CueLibraries>()
        .remove_path("cues/flame.cue.ron");
    test.run_until(|test| instances(test).is_empty());
    for _ in 0..3 {
        test.app.update();
    }
    // One was spawned to load the notify.
    assert_eq!(test.app.world().entities().count_spawned(), before + 1);
    assert_eq!(test.stats().active, 0);
}

#[test]
fn an_actor_without_its_prefab_fails() {
    let mut flame = flame();
    flame.kind = crate::CueKind::Actor {
        prefab: "gone.pkg".into(),
    };
    let mut test = test(flame);
    let target = test.spawn();
    test.fire(Add, "Cue.Flame", target);
    test.settle();
    assert_eq!(
        (test.heard().len(), test.stats().failed, test.stats().failed_loads),
        (0, 1, 1)
    );
}
