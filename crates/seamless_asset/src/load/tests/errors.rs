//! What cannot be loaded: each error names its kind, and nothing is left behind.

use std::collections::BTreeMap;

use super::*;

#[test]
fn errors_name_what_is_wrong_and_leave_nothing_behind() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let good = chain(&app, "good.pkg", 5, None);
    put(&dir, "cut.pkg", good[..good.len() - 1].to_vec());
    put(&dir, "good.pkg", good);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "no_level.pkg", shared_package(&app, "no_level.pkg"));
    put(&dir, "orphan.pkg", chain(&app, "orphan.pkg", 2, Some("elsewhere.pkg")));
    put(&dir, "stale.pkg", chain(&app, "stale.pkg", 2, Some("empty.pkg")));
    put(&dir, "empty.pkg", new_package(&app, "empty.pkg").finish().unwrap());
    let spawned = app.world().entities().count_spawned();
    type Check = fn(&LoadErrorKind) -> bool;
    let cases: [(&str, &[&str], Check); 7] = [
        ("missing.pkg", &[], |kind| matches!(kind, LoadErrorKind::Io(_))),
        ("cut.pkg", &[], |kind| matches!(kind, LoadErrorKind::Package(_))),
        ("no_level.pkg", &[], |kind| matches!(kind, LoadErrorKind::NoLevel)),
        ("orphan.pkg", &["s.pkg"], |kind| {
            matches!(kind, LoadErrorKind::Dependency { .. })
        }),
        ("stale.pkg", &["empty.pkg"], |kind| {
            matches!(kind, LoadErrorKind::MissingImport { .. })
        }),
        ("good.pkg", &["gone.pkg"], |kind| {
            matches!(kind, LoadErrorKind::Dependency { .. })
        }),
        ("stale.pkg", &["stale.pkg"], |kind| {
            matches!(kind, LoadErrorKind::SelfDependency)
        }),
    ];
    for (package, dependencies, is_right) in cases {
        let id = load(&mut app, package, dependencies);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
        let kind = error_of(&mut app, id);
        assert!(is_right(&kind), "{package}: {kind:?}");
        app.world_mut().resource_mut::<Streamer>().unload(id);
        run_until(&mut app, |world| state(world, id).is_none());
    }
    assert_eq!(app.world().entities().count_spawned(), spawned);
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    // What a task frees is told in the next frame.
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().is_empty());
}

#[test]
fn every_truncation_and_a_sample_of_flipped_bits_are_errors() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let good = chain(&app, "a.pkg", 2, None);
    let mut cases: Vec<Vec<u8>> = (0..good.len()).map(|length| good[..length].to_vec()).collect();
    // Every bit of the format is flipped in `seamless_package`; here the whole pipeline meets a sample.
    for bit in (0..good.len() * 8).step_by(37) {
        let mut flipped = good.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        cases.push(flipped);
    }
    let count = cases.len();
    app.update();
    let (spawned, taken) = (app.world().entities().count_spawned(), taken_ids(app.world_mut()));
    let mut ids = Vec::new();
    for (index, bytes) in cases.into_iter().enumerate() {
        put(&dir, &format!("{index}.pkg"), bytes);
        ids.push(load(&mut app, &format!("{index}.pkg"), &[]));
    }
    let errors = errors_of(&mut app, &ids);
    for (index, id) in ids.iter().enumerate() {
        let error = &errors[id];
        assert!(
            error.starts_with(&format!("{index}.pkg")),
            "the file of case {index}: {error}"
        );
        assert!(error.contains("cook it again"), "the mend of case {index}: {error}");
    }
    assert_eq!(app.world().resource::<StreamingStats>().failed, count as u64);
    assert_eq!(app.world().entities().count_spawned(), spawned);
    assert_eq!(level_entities(app.world_mut()), 0);
    // A failed load holds nothing, even while it is asked for.
    run_until(&mut app, |world| world.resource::<LiveObjectsResource>().0.is_empty());
    assert_ids_are_back(&mut app, taken);
    assert!(app.world().resource::<Assets<Mesh>>().is_empty());
}

/// Waits until all have failed; what each of them said, once.
fn errors_of(app: &mut App, ids: &[InstanceId]) -> BTreeMap<InstanceId, String> {
    let mut errors = BTreeMap::new();
    run_until(app, |world| {
        for event in world.resource_mut::<Messages<InstanceEvent>>().drain() {
            if let InstanceEvent::Failed { id, error } = event {
                let before = errors.insert(id, error.to_string());
                assert_eq!(before, None, "{id:?} fails once");
            }
        }
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Failed))
    });
    errors
}

/// Only written; to read it panics, as a codec with a bug does.
impl Record for Likes {
    const VERSION: u32 = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.push(1);
    }

    fn read(_: &mut Cursor) -> Result<Self, DecodeError> {
        panic!("a bug of the game's own codec");
    }
}

#[test]
fn a_codec_that_panics_fails_its_level_only() {
    let dir = Dir::default();
    let mut app = app(&dir);
    app.add_record::<Likes>();
    put(&dir, "a.pkg", chain(&app, "a.pkg", 100, None));
    app.update();
    let taken = taken_ids(app.world_mut());
    // More than may be in flight at once: each gives its place back.
    for _ in 0..20 {
        let id = load(&mut app, "a.pkg", &[]);
        run_until(&mut app, |world| state(world, id) == Some(LoadState::Failed));
        let kind = error_of(&mut app, id);
        assert!(
            matches!(&kind, LoadErrorKind::Panicked(why) if why.contains("own codec")),
            "{kind:?}"
        );
        app.world_mut().resource_mut::<Streamer>().unload(id);
        app.update();
    }
    assert!(app.world().resource::<Streamer>().is_empty());
    // The ids were reserved when the codec panicked.
    assert_ids_are_back(&mut app, taken);
}
