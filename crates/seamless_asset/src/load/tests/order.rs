//! One order for all that comes.

use super::{
    targets::{load_to, set_target},
    *,
};

const URGENT: usize = 24;

fn with_priority(app: &mut App, package: &str, priority: f32, target: InstanceTarget) -> InstanceId {
    app.world_mut().resource_mut::<Streamer>().load(InstanceRequest {
        priority,
        target,
        ..request(package, &[])
    })
}

/// One unit of work fits a frame.
#[test]
fn no_asset_goes_before_a_level_that_is_ready_and_more_urgent() {
    let dir = Dir::default();
    let mut app = app(&dir);
    let mut settings = app.world_mut().resource_mut::<StreamingSettings>();
    (settings.budget, settings.aging) = (Duration::ZERO, Duration::MAX);
    let names: Vec<_> = (0..URGENT).map(|index| format!("{index}.pkg")).collect();
    for name in names.iter().map(String::as_str).chain(["late.pkg", "later.pkg"]) {
        put(&dir, name, chain(&app, name, 5, None));
    }
    let load = |name: &String| with_priority(&mut app, name, 100.0, InstanceTarget::Loaded);
    let urgent: Vec<_> = names.iter().map(load).collect();
    let mut told = 0;
    run_until(&mut app, |world| {
        for event in world.resource_mut::<Messages<InstanceEvent>>().drain() {
            told += usize::from(matches!(event, InstanceEvent::Loaded { .. }));
        }
        told == URGENT
    });
    let _late = ["late.pkg", "later.pkg"].map(|name| with_priority(&mut app, name, 1.0, InstanceTarget::Loaded));
    let meshes = app.world().resource::<Assets<Mesh>>().len();
    for id in &urgent {
        set_target(&mut app, *id, InstanceTarget::Shown);
    }
    for shown in 1..=URGENT {
        app.update();
        let revealed = app.world().resource::<StreamingStats>().revealed;
        assert_eq!(revealed, shown as u64, "one a frame");
        assert_eq!(
            app.world().resource::<Assets<Mesh>>().len(),
            meshes,
            "an asset went first"
        );
        // Tasks decode the others meanwhile.
        std::thread::sleep(Duration::from_millis(4));
    }
    run_until(&mut app, |world| world.resource::<Assets<Mesh>>().len() == meshes + 2);
}

#[test]
fn who_has_waited_longest_leaves_first() {
    let dir = Dir::default();
    let mut app = app(&dir);
    put(&dir, "a.pkg", chain(&app, "a.pkg", 5, None));
    let ids: Vec<_> = (0..6)
        .map(|_| load_to(&mut app, "a.pkg", InstanceTarget::Shown))
        .collect();
    run_until(&mut app, |world| {
        ids.iter().all(|id| state(world, *id) == Some(LoadState::Live))
    });
    app.world_mut().resource_mut::<StreamingSettings>().budget = Duration::ZERO;
    let order = [3, 0, 5, 1, 4, 2];
    let mut left = Vec::new();
    let mut update = |app: &mut App| {
        app.update();
        for event in app.world_mut().resource_mut::<Messages<InstanceEvent>>().drain() {
            if let InstanceEvent::Left { id } = event {
                left.extend(ids.iter().position(|other| *other == id));
            }
        }
    };
    // Two a frame are asked to leave, and one does.
    for two in order.chunks(2) {
        for index in two {
            set_target(&mut app, ids[*index], InstanceTarget::Gone);
        }
        update(&mut app);
    }
    for _ in 0..6 {
        update(&mut app);
    }
    // Of those that were asked in one frame, the older goes first.
    assert_eq!(left, [0, 3, 1, 5, 2, 4]);
}
