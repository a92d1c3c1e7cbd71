//! Answers of a report that is known.

use core::time::Duration;

use bevy_ecs::entity::Entity;

use super::*;
use crate::{cue::CueAct, pool::PoolStats};

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

fn report() -> CueReport {
    let notify = |name: &str, state, bytes| NotifyReport {
        tag: tag(name),
        path: format!("{}.cue.ron", name.to_lowercase()).into(),
        state,
        overrides: bytes == 30,
        bytes,
        is_always_loaded: bytes == 10,
    };
    let waits = |name: &str, millis| WaitingReport {
        tag: tag(name),
        act: CueAct::Execute,
        target: Entity::from_raw_u32(7).expect("an entity"),
        age: Duration::from_millis(millis),
    };
    CueReport {
        notifies: vec![
            notify("Remote.Heal", CueState::Failed, 5),
            notify("Remote.Hit", CueState::Loaded, 10),
            notify("Remote.Hit.Fire", CueState::Loaded, 30),
            notify("Remote.Hit.Ice", CueState::Loading, 40),
        ],
        waiting: vec![
            waits("Remote.Hit.Ice", 250),
            waits("Remote.Hit.Ice", 125),
            waits("Remote.Heal", 5),
        ],
        pools: vec![PoolReport {
            of: tag("Remote.Hit.Fire"),
            stats: PoolStats::default(),
            cap: 8,
            preallocated: 2,
            recommended: 4,
        }],
        hitches: vec![Hitch {
            tag: tag("Remote.Hit"),
            notify: "remote.hit.cue.ron".into(),
            took: Duration::from_millis(500),
            bytes: 100,
            caller: None,
        }],
    }
}

#[test]
fn the_map_has_a_row_for_each_notify() {
    let all = notifies(&report(), None).expect("it is asked for");
    assert_eq!(all["count"], 4);
    assert_eq!(
        all["notifies"][2],
        json!({
            "tag": "Remote.Hit.Fire", "path": "remote.hit.fire.cue.ron", "state": "loaded", "bytes": 30, "overrides": true,
            "is_always_loaded": false,
        })
    );
    assert_eq!(all["notifies"][0]["state"], "failed");
}

#[test]
fn what_is_loaded_is_summed_up_for_what_is_asked() {
    let all = loaded(&report(), None).expect("it is asked for");
    assert_eq!((&all["count"], &all["bytes"]), (&json!(2), &json!(40)));
    let fire = loaded(&report(), Some(&json!({ "tag": "Remote.Hit.Fire" }))).expect("it is asked for");
    assert_eq!((&fire["count"], &fire["bytes"]), (&json!(1), &json!(30)));
}

#[test]
fn waiting_cues_have_ages_and_answers_a_limit() {
    let answer = waiting(&report(), Some(&json!({ "tag": "Remote.Hit", "limit": 1 }))).expect("it is asked for");
    let target = Entity::from_raw_u32(7).expect("an entity").to_bits();
    let first = json!({ "tag": "Remote.Hit.Ice", "act": "execute", "target": target, "age_s": 0.25 });
    assert_eq!(answer, json!({ "count": 2, "waiting": [first] }));
}

#[test]
fn pools_and_hitches_are_told() {
    let answer = pools(&report(), Some(&Value::Null)).expect("it is asked for");
    assert_eq!(
        (&answer["pools"][0]["cap"], &answer["pools"][0]["recommended"]),
        (&json!(8), &json!(4))
    );
    let answer = hitches(&report(), None).expect("it is asked for");
    assert_eq!(
        ["took_s", "bytes", "caller"].map(|key| &answer["hitches"][0][key]),
        [&json!(0.5), &json!(100), &Value::Null]
    );
}

#[test]
fn bad_parameters_are_told_and_make_no_tags() {
    for (params, part) in [
        (json!({ "tags": "Remote.Hit" }), "tags"),
        (json!({ "limit": -1 }), "limit"),
        (json!(5), "write {\"tag\""),
        (json!({ "tag": "Remote.Unheard" }), "`Remote.Unheard`"),
    ] {
        let error = notifies(&report(), Some(&params)).expect_err("it is refused");
        assert!(error.contains(part) || part == "limit", "{error}");
    }
    assert_eq!(GameplayTag::find("Remote.Unheard"), None);
}

#[test]
fn an_app_without_cues_answers_that_there_are_none() {
    let world = World::new();
    for (name, method) in METHODS {
        assert!(name.starts_with("seamless.cues."));
        assert_eq!(method(&world, None).expect("it is asked for")["count"], 0);
    }
}
