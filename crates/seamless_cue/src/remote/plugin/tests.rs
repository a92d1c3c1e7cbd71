//! Over the protocol, from the request to the answer.

use bevy_remote::{BrpMessage, BrpSender, RemotePlugin};
use serde_json::json;

use super::*;
use crate::{
    CueAct, CuePlugin,
    manager::tests::build::{TestApp, flame},
};

fn ask(test: &mut TestApp, method: &str, params: Option<Value>) -> BrpResult {
    let (sender, answers) = async_channel::bounded(1);
    let message = BrpMessage {
        method: method.to_owned(),
        params,
        sender,
    };
    let requests = test.app.world().resource::<BrpSender>();
    requests.try_send(message).expect("there is room");
    test.app.update();
    answers.try_recv().expect("it was answered")
}

#[test]
fn who_asks_over_the_protocol_gets_the_map_what_is_loaded_and_what_waits() {
    let mut test = TestApp::with_more(CuePlugin::default(), flame(), |app| {
        app.add_plugins((CueRemotePlugin, RemotePlugin::default()));
    });
    test.load("Cue.Hit");
    let map = ask(&mut test, "seamless.cues.notifies", None).expect("it is a method");
    assert_eq!(map["count"], 5);
    let loaded = ask(&mut test, "seamless.cues.loaded", None).expect("it is a method");
    assert_eq!((&loaded["count"], &loaded["bytes"]), (&json!(1), &json!(100)));
    assert_eq!(loaded["notifies"][0]["path"], "cues/hit/hit.cue.ron");

    let target = test.spawn();
    // Its prefab takes more than a frame.
    test.fire(CueAct::Add, "Cue.Flame", target);
    let waiting = ask(&mut test, "seamless.cues.waiting", Some(json!({ "limit": 1 }))).expect("it is a method");
    assert_eq!(
        (&waiting["count"], &waiting["waiting"][0]["tag"]),
        (&json!(1), &json!("Cue.Flame"))
    );
    assert!(
        waiting["waiting"][0]["age_s"].as_f64().is_some_and(|age| age >= 0.0),
        "{waiting}"
    );

    let error =
        ask(&mut test, "seamless.cues.waiting", Some(json!({ "tag": "Cue.Nobody" }))).expect_err("it is refused");
    assert_eq!(error.code, error_codes::INVALID_PARAMS);
    assert!(error.message.contains("`Cue.Nobody`"), "{}", error.message);
}

#[test]
fn without_the_protocol_nothing_happens() {
    let mut test = TestApp::with_more(CuePlugin::default(), flame(), |app| {
        app.add_plugins(CueRemotePlugin);
    });
    test.load("Cue.Hit");
    assert_eq!(test.stats().played, 1);
    assert!(!test.app.world().contains_resource::<RemoteMethods>());
}
