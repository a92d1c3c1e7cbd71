//! Which errors may be gone when a load is tried again.

use super::{gated::gated_app, *};
use crate::doubles::Fate;

/// The error of a level, of which nothing is kept.
fn failure(app: &mut App, package: &str, dependencies: &[&str]) -> LoadErrorKind {
    let id = load(app, package, dependencies);
    run_until(app, |world| state(world, id) == Some(LoadState::Failed));
    let error = error_of(app, id);
    app.world_mut().resource_mut::<Streamer>().unload(id);
    run_until(app, |world| state(world, id).is_none());
    error
}

#[test]
fn a_file_that_is_cut_off_anywhere_may_be_whole_later() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let good = chain(&app, "a.pkg", 3, None);
    for length in (0..good.len()).step_by(7) {
        put(&dir, "a.pkg", good[..length].to_vec());
        let error = failure(&mut app, "a.pkg", &[]);
        assert!(error.is_transient(), "{length} bytes: {error:?}");
    }
}

#[test]
fn a_read_that_fails_may_work_later() {
    let dir = Dir::default();
    let (mut app, gate) = gated_app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 3, None));
    gate.otherwise(Some(Fate::Pass));
    for read in 0..4 {
        let begun = gate.begun().len();
        gate.script("a.pkg", begun + read, Fate::Fail(std::io::ErrorKind::BrokenPipe));
        let error = failure(&mut app, "a.pkg", &[]);
        assert!(error.is_transient(), "read {read}: {error:?}");
    }
    let error = failure(&mut app, "gone.pkg", &[]);
    assert!(error.is_transient(), "{error:?}");
    assert!(LoadErrorKind::Stalled { seconds: 10 }.is_transient());
}

#[test]
fn wrong_content_stays_wrong() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "s.pkg", shared_package(&app, "s.pkg"));
    put(&dir, "stale.pkg", chain(&app, "stale.pkg", 2, Some("empty.pkg")));
    put(&dir, "empty.pkg", new_package(&app, "empty.pkg").finish().unwrap());
    put(&dir, "other.pkg", vec![7; 1000]);
    let cases: [(&str, &[&str]); 4] = [
        ("s.pkg", &[]),
        ("stale.pkg", &["empty.pkg"]),
        ("stale.pkg", &["stale.pkg"]),
        ("other.pkg", &[]),
    ];
    for (package, dependencies) in cases {
        let error = failure(&mut app, package, dependencies);
        assert!(!error.is_transient(), "{package}: {error:?}");
    }
}

/// Whether the package that is needed was opened to compare imports, or loaded.
#[test]
fn who_needs_a_package_fails_as_it_does() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 2, Some("s.pkg")));
    put(&dir, "b.pkg", chain(&app, "b.pkg", 2, None));
    let good = shared_package(&app, "s.pkg");
    let cases = [
        (None, true),
        (Some(good[..good.len() - 1].to_vec()), true),
        (Some(vec![7; 1000]), false),
    ];
    for (file, is_transient) in cases {
        if let Some(bytes) = file {
            put(&dir, "s.pkg", bytes);
        }
        for level in ["a.pkg", "b.pkg"] {
            let error = failure(&mut app, level, &["s.pkg"]);
            assert!(matches!(error, LoadErrorKind::Dependency { .. }), "{level}: {error:?}");
            assert_eq!(error.is_transient(), is_transient, "{level}: {error:?}");
        }
    }
}
