//! The six controls, all 64 ways, in an app.

use super::*;
use crate::config::tests::{OUTCOMES, config};

/// When a cue is played that is fired right after the start, and one that is fired when nothing is on its way any more.
#[derive(Debug, PartialEq)]
enum Played {
    AtOnce,
    Later,
    Never,
}

fn fire(test: &mut TestApp, settles: bool) -> Played {
    let target = test.spawn();
    test.app
        .world_mut()
        .fire_cue(Execute, tag("Cue.Hit"), CueContext::new(target));
    if !test.heard().is_empty() {
        return Played::AtOnce;
    }
    if settles {
        test.settle();
    }
    match test.heard().is_empty() {
        true => Played::Never,
        false => Played::Later,
    }
}

#[test]
fn every_combination_plays_when_the_table_says() {
    for (bits, outcome) in OUTCOMES.iter().enumerate() {
        let config = CueConfig {
            always_loaded: vec!["cues/hit".into()],
            // A slow machine expires nothing.
            expire_after: core::time::Duration::from_secs(1000),
            ..config(bits as u8)
        };
        let mut test = TestApp::new(CuePlugin {
            config,
            ..CuePlugin::default()
        });
        test.app.update();
        let outcome = outcome.as_bytes();
        let (load, missing) = (outcome[1], outcome[2]);
        let of_missing = match missing {
            b'l' => Played::AtOnce,
            b'w' => Played::Later,
            _ => Played::Never,
        };
        let expected = if load == b'n' { Played::AtOnce } else { of_missing };
        let first = fire(&mut test, true);
        assert_eq!(first, expected, "{bits:06b}");
        test.settle();
        let is_loaded = load != b'm' || missing != b'd';
        let expected = if is_loaded { Played::AtOnce } else { Played::Never };
        assert_eq!(fire(&mut test, true), expected, "{bits:06b}");
        // Two notifies are below the path; a cue of one alone is loaded when it is missed.
        let blocking = match (load, missing) {
            (b'n', _) => 2,
            (_, b'l') => 1,
            _ => 0,
        };
        assert_eq!(test.stats().blocking_loads, blocking, "{bits:06b}");
    }
}
