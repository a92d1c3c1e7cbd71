//! Files of cues and tags, good and hostile, and their bytes in packages.

use std::path::Path;

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{
    AssetApp, AssetPlugin, AssetServer, Assets, Handle, LoadState,
    io::{
        AssetSourceBuilder, AssetSourceId,
        memory::{Dir, MemoryAssetReader},
    },
};
use bevy_reflect::TypeRegistry;
use seamless_asset::codec::{AssetCodec, DecodeContext, EncodeContext, EntityRows};

use super::{tags::parse_tags, *};
use crate::add_cue_assets;

/// Loads `a.cue.ron` of these files.
fn load(files: &[(&str, &str)]) -> Result<CueNotify, String> {
    let root = Dir::default();
    for (path, text) in files {
        root.insert_asset(Path::new(path), text.as_bytes().to_vec());
    }
    let mut app = App::new();
    let reader = move || MemoryAssetReader { root: root.clone() };
    app.register_asset_source(
        AssetSourceId::Default,
        AssetSourceBuilder::new(move || Box::new(reader())),
    )
    .add_plugins((TaskPoolPlugin::default(), AssetPlugin::default()));
    add_cue_assets(&mut app, "game.tags.ron");
    let server = app.world().resource::<AssetServer>().clone();
    let handle: Handle<CueNotify> = server.load("a.cue.ron");
    loop {
        app.update();
        match server.load_state(&handle) {
            LoadState::Failed(error) => return Err(error.to_string()),
            LoadState::Loaded => break,
            _ => std::thread::yield_now(),
        }
    }
    let notifies = app.world().resource::<Assets<CueNotify>>();
    Ok(notifies.get(&handle).expect("it is loaded").clone())
}

fn one(text: &str) -> Result<CueNotify, String> {
    load(&[("a.cue.ron", text)])
}

fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(name).expect("a tag")
}

#[track_caller]
fn assert_refused(result: Result<CueNotify, String>, parts: &[&str]) {
    let error = result.expect_err("it is refused");
    for part in parts {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn a_file_says_what_it_wants_and_the_rest_is_usual() {
    assert_eq!(one(r#"(tag: "Notify.A")"#), Ok(CueNotify::new(tag("Notify.A"))));
    let text = r#"(tag: "Notify.A", kind: Actor(prefab: "p.pkg"), overrides: true, unique_per_instigator: true, unique_per_source: true,
        allow_multiple: true, attached: false, auto_destroy_delay: 2.5, preallocated: 3, cap: 5, when_full: GoWithout, cull_distance: 60)"#;
    let expected = CueNotify {
        tag: tag("Notify.A"),
        kind: CueKind::Actor { prefab: "p.pkg".into() },
        overrides: true,
        unique_per_instigator: true,
        unique_per_source: true,
        allow_multiple: true,
        attached: false,
        auto_destroy_delay: 2.5,
        preallocated: 3,
        cap: 5,
        when_full: WhenFull::GoWithout,
        cull_distance: Some(60.0),
    };
    assert_eq!(one(text), Ok(expected));
}

#[test]
fn a_file_inherits_what_it_does_not_say() {
    let files = [
        ("a.cue.ron", r#"(parent: "base/b.cue.ron", tag: "Notify.A")"#),
        (
            "base/b.cue.ron",
            r#"(parent: "c.cue.ron", tag: "Notify.B", preallocated: 2)"#,
        ),
        ("base/c.cue.ron", r#"(preallocated: 9, cap: 10, overrides: true)"#),
    ];
    let notify = load(&files).expect("it is good");
    assert_eq!((notify.tag, notify.preallocated, notify.cap), (tag("Notify.A"), 2, 10));
    assert!(notify.overrides);
}

#[test]
fn hostile_files_are_errors_with_a_line() {
    assert_refused(one("(\n tag: 5)"), &["line 2", "column"]);
    assert_refused(one("(tag: \"Notify.A\",\n volume: 5)"), &["volume", "line 2"]);
    assert_refused(one("(\n kind: Static)"), &["line 1", "it has no tag"]);
    assert_refused(one("(\n\n tag: \"No tag\")"), &["line 3", "' '"]);
    assert_refused(
        one("(tag: \"Notify.A\",\n kind: Actor())"),
        &["line 2", "an actor without a prefab"],
    );
    assert_refused(
        one("(tag: \"Notify.A\",\n kind: Actor(prefab: \"\"))"),
        &["line 2", "an actor without a prefab"],
    );
    assert_refused(
        one("(tag: \"Notify.A\",\n cull_distance: -1.0)"),
        &["line 2", "cull_distance", "-1"],
    );
    assert_refused(
        one("(tag: \"Notify.A\",\n auto_destroy_delay: inf)"),
        &["line 2", "auto_destroy_delay"],
    );
    assert_refused(
        one("(tag: \"Notify.A\",\n cap: 2,\n preallocated: 3)"),
        &["line 3", "raise `cap`"],
    );
    assert_refused(one("(tag: \"Notify.A\",\n\n cap: 0)"), &["line 3", "raise `cap`"]);
    let large = format!("(tag: \"Notify.A\") //{}", "x".repeat(10 << 20));
    assert_refused(one(&large), &["line 1: more than 65536 bytes"]);
    let large = format!("(tag: \"Notify.A\")\n//{}", "x".repeat(10 << 20));
    assert_refused(one(&large), &["line 2: more than 65536 bytes"]);
    let deep = format!("(tag: {}", "(".repeat(10_000));
    assert_refused(one(&deep), &["line 1"]);
}

#[test]
fn what_a_parent_says_wrong_is_told_where_it_is_named() {
    let files = |parent| {
        let child = "(tag: \"Notify.A\",\n parent: \"b.cue.ron\")";
        load(&[("a.cue.ron", child), ("b.cue.ron", parent)])
    };
    assert_refused(files("(cap: 0)"), &["line 2", "raise `cap`"]);
    assert_refused(files("(\n\n cap: x)"), &["line 2: its parent `b.cue.ron`: line 3"]);
    assert_refused(files("(kind: Actor())"), &["line 2", "an actor without a prefab"]);
}

#[test]
fn parents_in_a_circle_are_errors_with_a_line() {
    assert_refused(
        one("(tag: \"Notify.A\",\n parent: \"a.cue.ron\")"),
        &["line 2", "among its own parents: a.cue.ron → a.cue.ron"],
    );
    let circle = [
        ("a.cue.ron", "(\n\n parent: \"b.cue.ron\")"),
        ("b.cue.ron", "(parent: \"a.cue.ron\")"),
    ];
    assert_refused(load(&circle), &["line 3", "a.cue.ron → b.cue.ron → a.cue.ron"]);
    assert_refused(one("(parent: \"gone.cue.ron\")"), &["line 1", "`gone.cue.ron`"]);
    let chain: Vec<(String, String)> = (0..20)
        .map(|at| (format!("{at}.cue.ron"), format!("(parent: \"{}.cue.ron\")", at + 1)))
        .collect();
    let mut files: Vec<(&str, &str)> = chain
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    files.push(("a.cue.ron", "(parent: \"0.cue.ron\")"));
    assert_refused(load(&files), &["the 8 parents before it are enough"]);
}

#[test]
fn only_declared_tags_are_good_where_tags_are_declared() {
    let with = |text: &str| load(&[("a.cue.ron", text), ("game.tags.ron", r#"["Declared.Hit.Fire"]"#)]);
    assert!(with(r#"(tag: "Declared.Hit.Fire")"#).is_ok());
    assert!(with(r#"(tag: "Declared.Hit")"#).is_ok(), "parents are declared with it");
    assert_refused(
        with("(\n tag: \"Declared.Hit.Ice\")"),
        &[
            "line 2",
            "`Declared.Hit.Ice` is not declared in `game.tags.ron`, `declared.hit` is"
                .replace("declared.hit` is", "Declared.Hit` is")
                .as_str(),
        ],
    );
    assert_refused(with("(tag: \"Declared.hit\")"), &["line 1", "`Declared.Hit` is"]);
    let flood = format!("[{}]", "\"A.B.C.D.E.F.G\",\n".repeat((10 << 20) / 17));
    let flood = load(&[("a.cue.ron", "(tag: \"Declared.Hit\")"), ("game.tags.ron", &flood)]);
    assert_refused(flood, &["`game.tags.ron`: line 246724"]);
    assert_eq!(GameplayTag::find("Declared.Hit.Ice"), None, "nobody has made it");
}

fn tags_error(text: &str) -> String {
    parse_tags(text.as_bytes()).expect_err("it is refused").to_string()
}

#[test]
fn files_of_tags_refuse_twins_nonsense_and_floods() {
    let twin = tags_error("[\"Twin.Hit\",\n \"Twin.hit\"]");
    assert!(
        twin.contains("line 2") && twin.contains("`Twin.hit` and `Twin.Hit`"),
        "{twin}"
    );
    let twin = tags_error("[\"Twin.Hit\",\n\n \"twin.Heal\"]");
    assert!(twin.contains("line 3") && twin.contains("`twin` and `Twin`"), "{twin}");
    let wrong = tags_error("[\"A\",\n \"A..B\"]");
    assert!(wrong.contains("line 2") && wrong.contains("empty part"), "{wrong}");
    let wrong = tags_error("[\"A\",\n 5]");
    assert!(wrong.contains("line 2"), "{wrong}");
    let flood: Vec<String> = (0..=MAX_DECLARED_TAGS).map(|at| format!("\n\"F{at}\"")).collect();
    let many = tags_error(&format!("[{}]", flood.join(",")));
    assert!(
        many.contains("line 32") && many.contains("more than 32768 tags"),
        "{many}"
    );
    // All of it is so many lines of 17 bytes, of which those below the limit are counted.
    let large = format!("[{}]", "\"A.B.C.D.E.F.G\",\n".repeat((10 << 20) / 17));
    assert!(tags_error(&large).contains("line 246724: more than 4194304 bytes"));
    // All of them have parents of their own, so there are more tags than names.
    let deep: Vec<String> = (0..MAX_DECLARED_TAGS / 2).map(|at| format!("\"P{at}.Q.R\"")).collect();
    assert!(tags_error(&format!("[{}]", deep.join(","))).contains("more than 32768 tags"));
    let good = parse_tags(br#"["Made.B.C", "Made.A"]"#).expect("it is good");
    let names: Vec<_> = good
        .tags()
        .expect("there is room")
        .into_iter()
        .map(GameplayTag::name)
        .collect();
    assert_eq!(names, ["Made", "Made.A", "Made.B", "Made.B.C"]);
}

#[test]
fn a_notify_comes_back_from_its_bytes_and_tells_its_registry() {
    let mut registry = TypeRegistry::default();
    registry.register::<CueNotify>();
    let rows = EntityRows::default();
    let notify = CueNotify {
        kind: CueKind::Actor { prefab: "p.pkg".into() },
        cull_distance: Some(12.5),
        overrides: true,
        ..CueNotify::new(tag("Notify.Bytes"))
    };
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = CueNotifyCodec::encode(&notify, &mut context).expect("it can be encoded");
    let told = context.take_told();
    let tags: Vec<_> = told
        .tags
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        tags,
        [
            ("cue", "Notify.Bytes"),
            ("cue.cull_distance", "12.5"),
            ("cue.overrides", "true")
        ]
    );
    let decode = |data: &[u8]| {
        let context = DecodeContext {
            registry: &registry,
            entities: &[],
            handles: &[],
            mesh_attributes: &[],
            object: None,
        };
        CueNotifyCodec::decode(data, Vec::new(), &context)
    };
    assert_eq!(decode(&encoded.data).expect("it is good"), notify);
    assert!(decode(&encoded.data[..encoded.data.len() - 1]).is_err());
    // What no author could write is refused as well.
    let bad = CueNotify { cap: 0, ..notify };
    let mut context = EncodeContext::new(&registry, &rows);
    let encoded = CueNotifyCodec::encode(&bad, &mut context).expect("it can be encoded");
    let error = decode(&encoded.data).expect_err("it is refused").to_string();
    assert!(error.contains("raise `cap`"), "{error}");
}
