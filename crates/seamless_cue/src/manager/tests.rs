//! Cues in an app, with notifies and prefabs from packages.

mod actors;
pub(crate) mod build;
mod controls;
mod storm;

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use bevy_transform::components::GlobalTransform;

use seamless_asset::SoftHandle;

use self::build::{TestApp, tag};
use crate::{
    CueConfig, CueContext, CueExecuted, CueFilter, CueLibraries, CueListener, CueNotify, CueOnActive, CuePlugin,
    CueRemoved, CueReport, CueState, CueStats, CueTranslation, CueWhileActive, Cues, FireCues, OwnedTags, SuppressCues,
    SuppressWhile, TagSet, TranslateCues,
    cue::CueAct::{Add, Execute, Remove},
};

#[test]
fn what_is_missing_is_played_later_for_observers_of_all_and_of_the_target() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    test.app
        .world_mut()
        .entity_mut(target)
        .observe(|cue: On<CueExecuted>, mut heard: ResMut<build::Heard>| {
            heard.0.push(format!("own {}", cue.tag));
        });
    test.fire(Execute, "Cue.Hit", target);
    test.fire(Add, "Cue.Hit.Fire", target);
    assert_eq!(test.heard(), Vec::<String>::new());
    test.settle();
    let heard = test.heard();
    let all: Vec<&str> = heard.iter().map(String::as_str).collect();
    assert_eq!(
        all,
        [
            "executed Cue.Hit by Cue.Hit",
            "own Cue.Hit",
            "begins Cue.Hit.Fire by Cue.Hit.Fire",
            "lasts Cue.Hit.Fire by Cue.Hit.Fire",
            "begins Cue.Hit.Fire by Cue.Hit",
            "lasts Cue.Hit.Fire by Cue.Hit",
        ]
    );
    test.fire(Remove, "Cue.Hit.Fire", target);
    assert_eq!(
        test.heard(),
        ["ends Cue.Hit.Fire by Cue.Hit.Fire", "ends Cue.Hit.Fire by Cue.Hit"]
    );
    let stats = test.stats();
    assert_eq!(
        (stats.deferred, stats.replayed, stats.loads, stats.waiting),
        (2, 2, 2, 0)
    );
}

#[test]
fn a_target_that_is_gone_hears_nothing() {
    let mut test = TestApp::new(CuePlugin::default());
    let (gone, there) = (test.spawn(), test.spawn());
    test.fire(Add, "Cue.Hit", gone);
    test.fire(Execute, "Cue.Hit", there);
    test.app.world_mut().despawn(gone);
    test.settle();
    assert_eq!(test.heard(), ["executed Cue.Hit by Cue.Hit"]);
    assert_eq!((test.stats().dead, test.stats().active), (1, 0));
}

#[test]
fn systems_and_observers_fire_through_the_parameter_and_batches_merge() {
    let mut test = TestApp::new(CuePlugin::default());
    test.load("Cue.Hit");
    let target = test.spawn();
    test.app.add_observer(|cue: On<CueExecuted>, mut cues: Cues| {
        if cue.context.magnitude > 2.0 {
            cues.execute(cue.tag, CueContext::new(cue.entity).magnitude(1.0));
        }
    });
    let fire = move |mut cues: Cues| {
        cues.batch(|cues| {
            for _ in 0..3 {
                cues.batch(|cues| cues.execute(tag("Cue.Hit"), CueContext::new(target)));
            }
            cues.add(tag("Cue.Hit"), CueContext::new(target));
            cues.execute(tag("Cue.Hit"), CueContext::new(target));
        });
        cues.execute(tag("Cue.Hit"), CueContext::new(target));
    };
    test.app.world_mut().run_system_once(fire).expect("it runs");
    let heard = test.heard();
    let executed = heard.iter().filter(|heard| heard.starts_with("executed")).count();
    assert_eq!(
        (executed, test.stats().merged),
        (4, 2),
        "three in one, one behind the add, one alone, one of the observer: {heard:?}"
    );
}

use bevy_ecs::system::RunSystemOnce;

#[test]
fn cues_that_fire_each_other_do_not_stop_the_frame() {
    let mut test = TestApp::new(CuePlugin::default());
    test.load("Cue.Hit");
    let target = test.spawn();
    test.app
        .add_observer(|cue: On<CueExecuted>, mut cues: Cues| cues.execute(cue.tag, cue.context.clone()));
    test.fire(Execute, "Cue.Hit", target);
    let rounds = CueConfig::default().max_rounds;
    assert_eq!((test.heard().len(), test.stats().postponed), (rounds, 1));
    test.app.update();
    assert_eq!(test.heard().len(), rounds, "and so on in the next frame");
}

#[test]
fn suppressed_translated_and_culled_by_components() {
    let mut test = TestApp::new(CuePlugin::default());
    test.load("Cue.Hit");
    test.load("Cue.Far");
    let loads = test.stats().loads;
    let spawn = |test: &mut TestApp, bundle| test.app.world_mut().spawn(bundle).id();
    let quiet = spawn(&mut test, SuppressCues::all());
    test.fire(Execute, "Cue.Hit", quiet);
    let gentle = SuppressCues {
        on_it: CueFilter::None,
        by_it: CueFilter::Tags([tag("Cue.Hit")].into_iter().collect()),
    };
    let gentle = spawn(&mut test, gentle);
    let target = test.spawn();
    let context = CueContext::new(target).by(gentle);
    test.app.world_mut().fire_cue(Execute, tag("Cue.Hit"), context);
    assert_eq!((test.heard().len(), test.stats().suppressed), (0, 2));

    let (from, to) = (tag("Cue.Hit"), tag("Cue.Far"));
    let robot = TranslateCues(vec![CueTranslation { from, to }]);
    let robot = test.app.world_mut().spawn(robot).id();
    test.fire(Execute, "Cue.Hit", robot);
    assert_eq!(test.heard(), ["executed Cue.Hit by Cue.Far"]);

    let listener = (CueListener, GlobalTransform::from_translation(Vec3::ZERO));
    test.app.world_mut().spawn(listener);
    test.app.update();
    let far = GlobalTransform::from_xyz(100.0, 0.0, 0.0);
    let far = test.app.world_mut().spawn(far).id();
    test.fire(Execute, "Cue.Far", far);
    assert_eq!((test.heard().len(), test.stats().culled), (0, 1));
    let near = CueContext::new(far).at(Vec3::X);
    test.app.world_mut().fire_cue(Execute, tag("Cue.Far"), near);
    assert_eq!(test.heard(), ["executed Cue.Far by Cue.Far"], "where it happens counts");
    assert_eq!(test.stats().loads, loads, "nothing was loaded for all that");
}

#[test]
fn tags_that_effects_give_suppress_cues() {
    let mut test = TestApp::new(CuePlugin::default());
    test.load("Cue.Hit.Fire");
    let tags = |name: &str| TagSet::from_iter([tag(name)]);
    test.app.world_mut().resource_mut::<CueConfig>().suppressed_while = vec![SuppressWhile {
        cues: CueFilter::Tags(tags("Cue.Hit")),
        target_has: tags("State.Hidden"),
        instigator_has: tags("State.Silenced"),
    }];
    let (target, other) = (test.spawn(), test.spawn());
    let fire = |test: &mut TestApp, act| {
        let context = CueContext::new(target).by(other);
        test.app.world_mut().fire_cue(act, tag("Cue.Hit.Fire"), context);
        test.heard().len()
    };
    assert_eq!(
        fire(&mut test, Execute),
        2,
        "by the notify of its tag, and that of the parent"
    );
    let mut hidden = OwnedTags::default();
    hidden.add(tag("State.Hidden.Deep"));
    test.app.world_mut().entity_mut(target).insert(hidden);
    assert_eq!((fire(&mut test, Execute), fire(&mut test, Add)), (0, 0));
    assert_eq!(test.stats().suppressed, 2);
    test.app.world_mut().entity_mut(target).insert(OwnedTags::default());
    assert_eq!(
        (fire(&mut test, Add), fire(&mut test, Remove), fire(&mut test, Remove)),
        (4, 0, 2)
    );
    let mut silenced = OwnedTags::default();
    silenced.add(tag("State.Silenced"));
    test.app.world_mut().entity_mut(other).insert(silenced);
    assert_eq!(fire(&mut test, Execute), 0);
    test.fire(Execute, "Cue.Hit.Fire", target);
    assert_eq!(test.heard().len(), 2, "nobody silenced has brought it about");
}

#[test]
fn a_failed_load_drains_and_says_so_once() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    for _ in 0..3 {
        test.fire(Execute, "Cue.Broken", target);
    }
    test.settle();
    test.fire(Execute, "Cue.Broken", target);
    let stats = test.stats();
    assert_eq!(
        (stats.failed, stats.failed_loads, stats.loads, stats.waiting),
        (4, 1, 1, 0)
    );
    assert_eq!(test.heard().len(), 0);
    let report = CueReport::of(test.app.world());
    let broken = report.notifies.iter().find(|notify| notify.tag == tag("Cue.Broken"));
    assert_eq!(broken.map(|notify| notify.state), Some(CueState::Failed));
}

#[test]
fn paths_that_come_and_go_load_and_release() {
    let mut test = TestApp::new(CuePlugin::default());
    test.app.update();
    let loaded = |test: &TestApp| CueReport::of(test.app.world()).loaded().count();
    assert_eq!((loaded(&test), test.assets()), (0, 0));
    test.app.world_mut().resource_mut::<CueLibraries>().add_path("cues/hit");
    test.settle();
    assert_eq!((loaded(&test), test.assets()), (2, 2));
    let report = CueReport::of(test.app.world());
    assert_eq!(report.loaded_bytes(), 200);
    test.app
        .world_mut()
        .resource_mut::<CueLibraries>()
        .remove_path("cues/hit");
    test.run_until(|test| test.assets() == 0);
    assert_eq!(loaded(&test), 0);
    // And a cue still finds its notify.
    let target = test.spawn();
    test.fire(Execute, "Cue.Hit", target);
    test.settle();
    assert_eq!(test.heard(), ["executed Cue.Hit by Cue.Hit"]);
}

#[test]
fn a_server_loads_and_plays_nothing() {
    let mut test = TestApp::new(CuePlugin::server());
    let target = test.spawn();
    test.fire(Add, "Cue.Hit", target);
    test.app
        .world_mut()
        .run_system_once(move |mut cues: Cues| cues.execute(tag("Cue.Hit"), CueContext::new(target)))
        .expect("it runs");
    for _ in 0..5 {
        test.app.update();
    }
    assert_eq!((test.heard().len(), test.assets()), (0, 0));
    assert_eq!(test.stats(), CueStats::default());
}

#[test]
fn numbers_of_cues_are_diagnostics() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    test.fire(Execute, "Cue.Hit", target);
    test.run_until(|test| test.stats().played > 0);
    let stats = test.stats();
    let store = test.app.world().resource::<bevy_diagnostic::DiagnosticsStore>();
    let said = |name: &'static str| {
        let path = bevy_diagnostic::DiagnosticPath::const_new(name);
        store.get(&path).and_then(bevy_diagnostic::Diagnostic::value)
    };
    assert_eq!(said("seamless/cues/fired"), Some(stats.fired as f64));
    assert_eq!(said("seamless/cues/played"), Some(stats.played as f64));
    let waited = stats.longest_wait.as_secs_f64() * 1e3;
    assert_eq!(said("seamless/cues/longest_wait"), Some(waited));
}

#[test]
fn a_frame_replays_within_its_budget_and_goes_on_in_the_next() {
    let mut test = TestApp::new(CuePlugin {
        config: CueConfig {
            replay_share: 0.0,
            ..CueConfig::default()
        },
        ..CuePlugin::default()
    });
    let target = test.spawn();
    for _ in 0..100 {
        test.fire(Execute, "Cue.Hit", target);
    }
    let mut frames = Vec::new();
    test.run_until(|test| {
        frames.extend(Some(test.heard().len()).filter(|count| *count > 0));
        test.stats().waiting == 0
    });
    frames.extend(Some(test.heard().len()).filter(|count| *count > 0));
    assert_eq!(frames.iter().sum::<usize>(), 100);
    assert!(
        frames.len() >= 6 && frames.iter().all(|count| *count <= 17),
        "{frames:?}"
    );
}

#[test]
fn who_forced_a_blocking_load_is_named() {
    let mut test = TestApp::new(CuePlugin {
        config: CueConfig {
            sync_load_missing: true,
            ..CueConfig::default()
        },
        ..CuePlugin::default()
    });
    test.app.update();
    let target = test.spawn();
    test.fire(Execute, "Cue.Hit", target);
    assert_eq!(test.heard(), ["executed Cue.Hit by Cue.Hit"]);
    let report = CueReport::of(test.app.world());
    let [hitch] = &report.hitches[..] else {
        panic!("{report}");
    };
    assert_eq!((hitch.tag, &*hitch.notify), (tag("Cue.Hit"), "cues/hit/hit.cue.ron"));
    let caller = hitch.caller.expect("it was fired");
    assert!(caller.file().ends_with("build.rs"), "{caller}");
    assert!(report.to_string().contains("build.rs"), "{report}");
}

#[test]
fn waiting_cues_are_listed_with_their_age() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    test.fire(Add, "Cue.Hit", target);
    let report = CueReport::of(test.app.world());
    assert_eq!(report.waiting.len(), 1);
    assert_eq!((report.waiting[0].act, report.waiting[0].target), (Add, target));
    let text = report.to_string();
    assert!(
        text.contains("1 cues wait") && text.contains("Cue.Hit → cues/hit/hit.cue.ron (Loading"),
        "{text}"
    );
}

#[test]
fn a_notify_that_somebody_else_has_loaded_plays_at_once() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    test.app.update();
    let ask = |soft: seamless_asset::SoftObjects| soft.load(&SoftHandle::<CueNotify>::new("cues/hit/hit.cue.ron"));
    let streamable = test.app.world_mut().run_system_once(ask).expect("it runs");
    test.run_until(|_| streamable.is_finished());
    test.fire(Execute, "Cue.Hit", target);
    assert_eq!(test.heard(), ["executed Cue.Hit by Cue.Hit"]);
    assert_eq!((test.stats().deferred, test.stats().loads), (0, 0));
    // From now on the cue keeps it.
    drop(streamable);
    test.app.update();
    assert_eq!(test.assets(), 1);
}

#[test]
fn notifies_that_no_cue_needs_any_more_go_when_there_are_too_many() {
    let config = CueConfig {
        max_idle: 1,
        idle_after: core::time::Duration::ZERO,
        ..CueConfig::default()
    };
    let mut test = TestApp::new(CuePlugin {
        config,
        ..CuePlugin::default()
    });
    let target = test.spawn();
    test.fire(Add, "Cue.Far", target);
    test.settle();
    test.load("Cue.Hit");
    test.load("Cue.Hit.Fire");
    test.run_until(|test| test.assets() == 2);
    // The one that lasts stays, whatever it costs, and the one that was used last, which took the other with it: both have played it.
    let loaded = |test: &TestApp| {
        let report = CueReport::of(test.app.world());
        let loaded = report.loaded().map(|notify| notify.tag).collect::<Vec<_>>();
        loaded.contains(&tag("Cue.Far"))
    };
    assert!(loaded(&test));
    assert_eq!(test.stats().unloaded, 1);
    test.fire(Remove, "Cue.Far", target);
    test.heard();
    test.load("Cue.Hit");
    test.load("Cue.Hit.Fire");
    test.run_until(|test| test.assets() == 1);
    assert!(!loaded(&test));
    // What was let go of is loaded again.
    test.fire(Execute, "Cue.Far", target);
    test.settle();
    assert_eq!(test.heard(), ["executed Cue.Far by Cue.Far"]);
}

#[test]
fn usually_what_was_loaded_once_stays() {
    let mut test = TestApp::new(CuePlugin::default());
    for name in ["Cue.Hit", "Cue.Far"] {
        test.load(name);
    }
    for _ in 0..5 {
        test.app.update();
    }
    assert_eq!((test.assets(), test.stats().unloaded), (2, 0));
    assert_eq!(CueConfig::default().max_idle, usize::MAX);
}
