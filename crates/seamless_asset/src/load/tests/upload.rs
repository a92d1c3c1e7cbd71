//! What is handed to Bevy for the GPU is paced.

use super::*;

const LEVELS: usize = 12;

/// An app whose levels wait for nothing but the bytes of their meshes, one each.
fn levels(dir: &Dir) -> App {
    let mut app = app(dir);
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::from_secs(10);
    for index in 0..LEVELS {
        let name = format!("{index}.pkg");
        put(dir, &name, chain(&app, &name, 3, None));
    }
    app
}

/// Loads all of them with so many bytes a frame. What went in each frame, and in how many something waited.
fn uploads(dir: &Dir, most: u64) -> (Vec<u64>, u64) {
    let mut app = levels(dir);
    app.world_mut()
        .resource_mut::<StreamingSettings>()
        .upload_bytes_per_frame = most;
    let ids: Vec<_> = (0..LEVELS)
        .map(|index| load(&mut app, &format!("{index}.pkg"), &[]))
        .collect();
    let mut each = Vec::new();
    run_until(&mut app, |world| {
        each.push(world.resource::<StreamingStats>().uploaded_last);
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    let stats = app.world().resource::<StreamingStats>();
    each.retain(|bytes| *bytes > 0);
    assert_eq!(stats.uploaded_bytes, each.iter().sum::<u64>());
    (each, stats.upload_waits)
}

#[test]
fn no_frame_has_more_than_the_cap() {
    let dir = Dir::default();
    let (each, waits) = uploads(&dir, u64::MAX);
    assert_eq!(waits, 0);
    let all: u64 = each.iter().sum();
    let one = all / LEVELS as u64;
    assert!(one > 0 && all.is_multiple_of(one), "meshes of one size: {each:?}");
    let (each, _) = uploads(&dir, 3 * one);
    assert!(each.iter().all(|bytes| *bytes <= 3 * one), "{each:?}");
    assert_eq!(each.iter().sum::<u64>(), all);
}

#[test]
fn what_is_larger_than_the_cap_goes_alone() {
    let dir = Dir::default();
    let (each, _) = uploads(&dir, 1);
    assert_eq!(each.len(), LEVELS, "{each:?}");
    assert!(each.iter().all(|bytes| *bytes == each[0]));
}
