//! What the log says of each symptom, with what helps against it.

use core::time::Duration;

use seamless_asset::{StreamingTime, doubles::logged};

use super::{Hints, Hitch};
use crate::{
    CueConfig, CueContext, CuePlugin, FireCues,
    bench_support::{set_loaded, set_loading},
    cue::CueAct::{Add, Execute},
    log_cue_report,
    manager::tests::build::{TestApp, tag},
};

/// The one message that holds this, and all of these.
#[track_caller]
fn assert_said(said: &[String], what: &str, parts: &[&str]) {
    let found: Vec<&String> = said.iter().filter(|message| message.contains(what)).collect();
    let [message] = found[..] else {
        panic!("`{what}` is to be said once: {said:#?}");
    };
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

#[test]
fn a_cue_that_nothing_plays_is_told_with_what_to_look_at() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    test.app.update();
    let said = logged(|| {
        for _ in 0..3 {
            test.app
                .world_mut()
                .fire_cue(Execute, tag("Hint.Nobody"), CueContext::new(target));
        }
    });
    let place = format!("fired at {}:", file!());
    let hints = [
        "WARN",
        &place,
        "`log_cue_report`",
        "`CueConfig::known`",
        "\"late load failed\"",
    ];
    assert_said(&said, "cue `Hint.Nobody`", &hints);
    assert_eq!(test.stats().unknown, 3);
}

#[test]
fn a_cue_that_is_late_is_told_with_what_makes_it_earlier() {
    let mut test = TestApp::new(CuePlugin::default());
    test.app.insert_resource(StreamingTime::stopped());
    let late = tag("Hint.Late");
    test.app.update();
    let mut wait = || {
        let target = test.spawn();
        set_loading(test.app.world_mut(), late);
        // Unlike one that is over at once, it does not expire.
        test.fire(Add, "Hint.Late", target);
        let mut time = test.app.world_mut().resource_mut::<StreamingTime>();
        time.advance(Duration::from_secs(2));
        logged(|| {
            set_loaded(test.app.world_mut(), late);
            test.run_until(|test| test.stats().waiting == 0);
        })
    };
    let said = wait();
    let hints = ["INFO", "`CueConfig::always_loaded`", "preallocate", "static"];
    assert_said(&said, "cue `Hint.Late` is played 2.00 s late", &hints);
    let again = wait();
    assert!(
        !again.iter().any(|message| message.contains("Hint.Late")),
        "it is said once: {again:?}"
    );
}

#[test]
fn a_cue_that_holds_up_the_game_is_told_with_who_fired_it_and_what_prevents_it() {
    let config = CueConfig {
        sync_load_missing: true,
        ..CueConfig::default()
    };
    let mut test = TestApp::new(CuePlugin {
        config,
        ..CuePlugin::default()
    });
    test.app.update();
    let target = test.spawn();
    let said = logged(|| {
        test.app
            .world_mut()
            .fire_cue(Execute, tag("Cue.Hit"), CueContext::new(target))
    });
    let place = format!("fired at {}:", file!());
    assert_said(
        &said,
        "a cue has held up the game",
        &["WARN", "cues/hit/hit.cue.ron", "Cue.Hit", &place],
    );
    assert_said(&said, "`CueConfig::sync_load_missing: false`", &["WARN"]);
    // Of whoever loads something that way, be it a cue or not.
    assert_said(&said, "blocking load of `cues.pkg#hit`", &["WARN"]);
}

#[test]
fn what_a_heavy_notify_refers_to_is_said_to_be_the_cause() {
    let (late, hitch) = (tag("Hint.Late"), tag("Hint.Hitch"));
    let said = |bytes| {
        logged(|| {
            let mut hints = Hints::default();
            hints.late(late, Duration::from_secs(1), || bytes);
            hints.hitch(Hitch {
                tag: hitch,
                notify: "heavy.cue.ron".into(),
                took: Duration::from_millis(90),
                bytes,
                caller: None,
            });
        })
    };
    for symptom in ["cue `Hint.Late` is played", "a cue has held up the game"] {
        assert_said(&said(25_000_000), symptom, &["25.0 MB are read", "`SoftHandle`"]);
        let light = said(2000);
        assert_said(&light, symptom, &[]);
        assert!(!light.iter().any(|message| message.contains("SoftHandle")), "{light:?}");
    }
}

#[test]
fn a_notify_that_cannot_be_loaded_is_told_by_name() {
    let mut test = TestApp::new(CuePlugin::default());
    let target = test.spawn();
    let said = logged(|| {
        for _ in 0..2 {
            test.fire(Add, "Cue.Broken", target);
        }
        test.settle();
    });
    assert_said(
        &said,
        "late load failed",
        &["ERROR", "`Cue.Broken`", "2 cues", ".cue.ron"],
    );
}

#[test]
fn a_command_logs_the_map_what_is_loaded_and_what_waits() {
    let mut test = TestApp::new(CuePlugin::default());
    test.load("Cue.Hit");
    let target = test.spawn();
    test.fire(Add, "Cue.Far", target);
    let said = logged(|| {
        let world = test.app.world_mut();
        world.commands().run_system_cached(log_cue_report);
        world.flush();
    });
    let lines = [
        "INFO",
        "Cue.Hit → cues/hit/hit.cue.ron (Loaded, 100 bytes)",
        "Cue.Hit.Fire → cues/hit/fire.cue.ron (Unloaded",
        "1 cues wait",
        " s: Add Cue.Far of ",
    ];
    assert_said(&said, "5 cue notifies, 1 loaded of 100 bytes", &lines);
}
