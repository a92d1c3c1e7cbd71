//! Levels come and go: by volumes, by request, and with their world.

use bevy_diagnostic::DiagnosticsStore;
use bevy_ecs::entity_disabling::Disabled;
use seamless_asset::{StreamingSettings, StreamingStats};

use super::*;

#[test]
fn levels_follow_the_source() {
    let mut stage = Stage::new();
    stage.frames(3);
    assert_eq!(stage.told(), ["+base"]);
    stage.go(WEST);
    assert_eq!(stage.told(), ["+west"]);
    let root = stage.level("west").root().unwrap();
    assert!(stage.app.world().get_entity(root).is_ok());
    assert_eq!(stage.level("west").state(), LevelState::Visible);
    assert_eq!(
        (stage.level("west").entities(), stage.level("west").times_revealed()),
        (7, 1)
    );
    stage.go(WEST + Vec3::Y * 11.0);
    assert_eq!(stage.told(), Vec::<String>::new(), "within the margin it stays");
    stage.go(EAST);
    assert_eq!(stage.told(), ["+east", "-west"]);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    assert_eq!(
        (stage.level("west").root(), stage.level("west").times_left()),
        (None, 1)
    );
    assert!(stage.level("base").is_visible() && stage.level("base").is_wanted());
    assert_eq!(stage.tracked(), 2);
}

#[test]
fn a_level_is_told_in_the_frame_of_its_reveal() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    let transform = GlobalTransform::from_translation(WEST);
    stage.app.world_mut().entity_mut(stage.source).insert(transform);
    stage.frames(1);
    assert_eq!(stage.told(), ["+west"], "request, reveal and report are in one frame");
}

#[test]
fn disabled_and_missing_sources_want_nothing() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let world = stage.app.world_mut();
    world.get_mut::<StreamingSource>(stage.source).unwrap().enabled = false;
    stage.frames(3);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    stage
        .app
        .world_mut()
        .get_mut::<StreamingSource>(stage.source)
        .unwrap()
        .enabled = true;
    stage.go(Vec3::NAN);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    stage.go(WEST);
    assert!(stage.level("west").is_visible());
    stage.app.world_mut().despawn(stage.source);
    stage.frames(3);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
}

#[test]
fn a_load_is_cancelled_without_a_word() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    stage.fake().held.insert("west");
    stage.go(WEST);
    assert!(matches!(stage.level("west").state(), LevelState::Loading(_)));
    stage.fake().held.clear();
    let transform = GlobalTransform::from_translation(Vec3::ZERO);
    stage.app.world_mut().entity_mut(stage.source).insert(transform);
    stage.frames(1);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    assert_eq!(stage.told(), Vec::<String>::new());
    assert_eq!(stage.tracked(), 1);
}

#[test]
fn a_level_that_is_wanted_again_before_it_has_left_stays() {
    let mut stage = Stage::new();
    stage.go(WEST);
    let first = stage.level("west").instance();
    let root = stage.level("west").root();
    stage.told();
    stage.fake().held.insert("west");
    stage.go(Vec3::ZERO);
    assert_eq!(stage.level("west").state(), LevelState::Leaving);
    stage.go(WEST);
    stage.fake().held.clear();
    stage.frames(3);
    assert_eq!(stage.told(), Vec::<String>::new());
    assert!(stage.level("west").is_visible());
    assert_eq!(
        (stage.level("west").instance(), stage.level("west").root()),
        (first, root)
    );
    assert_eq!(stage.tracked(), 2);
}

#[test]
fn a_failure_is_told_once_and_tried_again_when_wanted_anew() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    stage.fake().broken.insert("west");
    stage.go(WEST);
    stage.frames(20);
    assert_eq!(stage.told(), ["!west"]);
    assert_eq!(stage.level("west").state(), LevelState::Failed);
    let text = stage.level("west").error().unwrap().to_string();
    assert!(text.contains("west.pkg"), "{text}");
    assert!(stage.level("base").is_visible(), "the rest of the world goes on");
    assert_eq!((stage.tracked(), stage.level("west").instance()), (1, None));

    stage.go(Vec3::ZERO);
    assert_eq!(stage.level("west").state(), LevelState::Unloaded);
    stage.go(WEST);
    assert_eq!(stage.told(), ["!west"]);
    stage.ask(|levels| levels.retry("west")).unwrap();
    stage.frames(3);
    assert_eq!(
        (stage.told(), stage.level("west").times_failed()),
        (vec!["!west".to_owned()], 3)
    );

    stage.fake().broken.clear();
    stage.frames(3);
    assert_eq!(
        stage.level("west").state(),
        LevelState::Failed,
        "nobody asked to try again"
    );
    // A retry works within the margin, too: the level was wanted all along.
    stage.go(WEST + Vec3::Y * 11.0);
    stage.ask(|levels| ["west", "west", "base"].map(|name| levels.retry(name).unwrap()));
    stage.frames(3);
    assert_eq!(stage.told(), ["+west"]);
    assert!(stage.level("west").error().is_none());
}

#[test]
fn requests_win_over_volumes_until_released() {
    let mut stage = Stage::new();
    stage
        .ask(|levels| levels.load("east"))
        .expect("the world is still to come");
    stage.frames(3);
    assert_eq!(stage.told(), ["+base", "+east"]);
    stage.go(WEST);
    stage.ask(|levels| ["west", "base"].map(|name| levels.unload(name).unwrap()));
    stage.frames(3);
    assert_eq!(stage.told(), ["+west", "-base", "-west"]);
    stage.ask(|levels| {
        assert_eq!(levels.requested("west"), Some(RequestKind::Ban));
        assert_eq!(levels.state("west"), Some(LevelState::Unloaded));
        assert_eq!(
            (levels.target("west"), levels.target("east")),
            (LevelTarget::Unloaded, LevelTarget::Visible)
        );
        assert!(levels.root_of("east").is_some() && levels.root_of("west").is_none());
        assert_eq!((levels.iter().count(), levels.state("nowhere")), (3, None));
        for name in ["east", "west", "base"] {
            levels.release(name).unwrap();
        }
    });
    stage.frames(3);
    assert_eq!(stage.told(), ["+base", "+west", "-east"]);
    let error = stage.ask(|levels| levels.load("nowhere")).unwrap_err();
    assert!(error.to_string().contains("`nowhere`"));
}

/// What is there takes twice as much in memory as in its files.
#[test]
fn the_least_urgent_level_leaves_when_memory_is_short() {
    let mut manifest = manifest();
    let farther = LevelEntry {
        name: "north".into(),
        package: "north.pkg".into(),
        ..LevelEntry::default()
    };
    manifest.levels.push(farther);
    manifest.volumes.push(VolumeEntry {
        name: "around north".into(),
        shape: ball(WEST + Vec3::Y * 8.0, 10.0),
        levels: vec!["north".into()],
        ..VolumeEntry::default()
    });
    manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest);
    let mut stats = StreamingStats {
        live_bytes: 400,
        ..StreamingStats::default()
    };
    stats.memory.levels = 800;
    let ceiling = |stage: &mut Stage, memory_ceiling| {
        stage.app.insert_resource(StreamingSettings {
            memory_ceiling,
            ..StreamingSettings::default()
        });
        stage.frames(3);
        ["base", "east", "west", "north"].map(|level| stage.level(level).is_visible())
    };
    stage.app.insert_resource(stats);
    stage.go(WEST);
    stage.ask(|levels| levels.load("east")).unwrap();
    assert_eq!(ceiling(&mut stage, None), [true; 4]);
    assert_eq!(ceiling(&mut stage, Some(800)), [true; 4]);
    assert_eq!(
        ceiling(&mut stage, Some(799)),
        [true, true, true, false],
        "somebody asked for the second by name, and is in the third"
    );
    assert_eq!(
        ceiling(&mut stage, Some(200)),
        [true, true, true, false],
        "the most urgent one comes whatever there is"
    );
    assert_eq!(ceiling(&mut stage, None), [true; 4]);
}

/// One asks for its level that is always there, the other for all three.
#[test]
fn worlds_share_the_memory_that_there_is() {
    let mut manifest = manifest();
    manifest.levels.iter_mut().for_each(|level| level.bytes = 100);
    let mut stage = Stage::of(level_app(SeamlessLevelPlugin::default()), manifest.clone());
    let handle = add_manifest(&mut stage.app, manifest);
    let other = stage.app.world_mut().spawn(SeamlessWorld(handle)).id();
    stage.frames(3);
    for level in ["west", "east"] {
        let wanted = LevelWanted {
            levels: vec![level.into()],
            world: Some(other),
            ..LevelWanted::default()
        };
        stage.app.world_mut().spawn(wanted);
    }
    let mut stats = StreamingStats {
        live_bytes: 400,
        ..StreamingStats::default()
    };
    stats.memory.levels = 400;
    stage.app.insert_resource(stats);
    let mut visible = |memory_ceiling| {
        stage.app.insert_resource(StreamingSettings {
            memory_ceiling,
            ..StreamingSettings::default()
        });
        stage.frames(4);
        [stage.world, other].map(|world| {
            let table = stage.app.world().get::<LevelTable>(world).unwrap();
            table.iter().filter(|level| level.is_visible()).count()
        })
    };
    assert_eq!(visible(None), [1, 3]);
    assert_eq!(visible(Some(400)), [1, 3]);
    assert_eq!(visible(Some(399)), [1, 2], "the other has what the one leaves");
    assert_eq!(
        visible(Some(200)),
        [1, 2],
        "its most urgent one, and what is always there"
    );
    assert_eq!(visible(Some(400)), [1, 3]);
}

#[test]
fn requests_are_capped() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_requests: 2,
        ..Default::default()
    }));
    let refused = stage.ask(|levels| {
        levels.load("a").unwrap();
        levels.unload("b").unwrap();
        levels.load("b").unwrap();
        let refused = levels.load("c");
        levels.release("a").unwrap();
        levels.load("c").unwrap();
        refused
    });
    assert_eq!(refused, Err(RequestError::TooMany { limit: 2 }));
}

#[test]
fn more_than_the_cap_stays_away() {
    let mut stage = Stage::with(level_app_with(LevelSettings {
        max_levels: 1,
        ..Default::default()
    }));
    stage.go(WEST);
    assert_eq!(stage.told(), ["+base"]);
    let dropped = |stage: &Stage| stage.app.world().get::<LevelTable>(stage.world).unwrap().dropped();
    assert_eq!(dropped(&stage), 1);
    stage.app.world_mut().resource_mut::<LevelSettings>().max_levels = 2;
    stage.frames(3);
    assert_eq!((stage.told(), dropped(&stage)), (vec!["+west".to_owned()], 0));
}

/// Every way in which a world can end: its levels leave, its volumes go.
#[test]
fn a_world_ends_with_its_levels() {
    let ends: [fn(&mut World, Entity); 3] = [
        |world, entity| {
            world.despawn(entity);
        },
        |world, entity| {
            world.entity_mut(entity).remove::<SeamlessWorld>();
        },
        |world, entity| {
            world.entity_mut(entity).remove::<(SeamlessWorld, LevelTable)>();
        },
    ];
    for end in ends {
        let mut stage = Stage::new();
        stage.go(WEST);
        stage.fake().held.insert("east");
        stage.ask(|levels| levels.load("east")).unwrap();
        stage.frames(2);
        assert_eq!((stage.told().len(), stage.tracked()), (2, 3));
        end(stage.app.world_mut(), stage.world);
        stage.frames(2);
        let mut told = stage.told();
        told.sort();
        assert_eq!(told, ["-base", "-west"], "east was never there");
        assert_eq!(stage.tracked(), 0);
        assert!(stage.fake().known.is_empty());
        let world = stage.app.world_mut();
        assert_eq!(world.query::<&StreamingVolume>().iter(world).count(), 0);
        assert_eq!(world.query::<&LevelTable>().iter(world).count(), 0);
    }
}

#[test]
fn a_table_that_is_taken_away_is_built_anew() {
    let mut stage = Stage::new();
    stage.go(WEST);
    stage.told();
    stage.app.world_mut().entity_mut(stage.world).remove::<LevelTable>();
    stage.frames(4);
    let mut told = stage.told();
    told.sort();
    assert_eq!(told, ["+base", "+west", "-base", "-west"]);
    let world = stage.app.world_mut();
    assert_eq!(
        world.query::<&StreamingVolume>().iter(world).count(),
        2,
        "its volumes are not there twice"
    );
}

#[test]
fn another_manifest_ends_one_world_and_starts_the_other() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    let mut other = manifest();
    other.levels[0].name = "ground".into();
    let handle = add_manifest(&mut stage.app, other);
    stage.app.world_mut().get_mut::<SeamlessWorld>(stage.world).unwrap().0 = handle.clone();
    stage.frames(4);
    let mut told = stage.told();
    told.sort();
    assert_eq!(told, ["+ground", "-base"]);
    let mut manifests = stage.app.world_mut().resource_mut::<Assets<WorldManifest>>();
    manifests.get_mut(&handle).unwrap().levels[0].name = "floor".into();
    stage.frames(5);
    let mut told = stage.told();
    told.sort();
    assert_eq!(told, ["+floor", "-ground"], "a manifest that is reloaded starts anew");
    let world = stage.app.world_mut();
    assert_eq!(world.query::<&StreamingVolume>().iter(world).count(), 2);
}

#[test]
fn diagnostics_count() {
    let mut stage = Stage::new();
    stage.fake().held.insert("east");
    stage.fake().broken.insert("base");
    stage.ask(|levels| levels.load("east")).unwrap();
    stage.go(WEST);
    let store = stage.app.world().resource::<DiagnosticsStore>();
    let counts = [
        diagnostics::VISIBLE,
        diagnostics::LOADING,
        diagnostics::WANTED,
        diagnostics::FAILED,
    ]
    .map(|path| store.get(&path).unwrap().measurement().unwrap().value);
    assert_eq!(counts, [1.0, 1.0, 3.0, 1.0]);
}

#[test]
fn a_table_changes_only_when_a_level_does() {
    #[derive(Resource, Default)]
    struct Changes(usize);
    let mut stage = Stage::new();
    let count = |tables: Query<(), Changed<LevelTable>>, mut changes: ResMut<Changes>| {
        changes.0 += tables.iter().count();
    };
    stage.app.init_resource::<Changes>().add_systems(bevy_app::Last, count);
    stage.go(WEST);
    let before = stage.app.world().resource::<Changes>().0;
    assert!(before > 0);
    stage.go(WEST + Vec3::Y);
    assert_eq!(stage.app.world().resource::<Changes>().0, before);
    stage.go(EAST);
    assert!(stage.app.world().resource::<Changes>().0 > before);
}

/// Ten thousand random requests and jumps leave nothing behind, and each level ends as the last request says.
#[test]
fn ten_thousand_requests_leave_nothing_behind() {
    let mut stage = Stage::new();
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    let names = ["base", "west", "east"];
    for step in 0..10_000u32 {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        let (what, name) = ((seed >> 40) % 12, names[(seed >> 50) as usize % 3]);
        match what {
            0 => drop(stage.ask(move |levels| levels.load(name))),
            1 => drop(stage.ask(move |levels| levels.unload(name))),
            2 => drop(stage.ask(move |levels| levels.release(name))),
            3 => drop(stage.fake().held.insert(name)),
            4 => drop(stage.fake().broken.insert(name)),
            5..8 => drop((stage.fake().held.remove(name), stage.fake().broken.remove(name))),
            _ => {
                let place = [WEST, EAST, Vec3::ZERO][(seed >> 55) as usize % 3];
                let transform = GlobalTransform::from_translation(place);
                stage.app.world_mut().entity_mut(stage.source).insert(transform);
            }
        }
        stage.frames(usize::from(step % 3 == 0));
        assert!(stage.tracked() <= names.len());
    }
    stage.fake().held.clear();
    stage.fake().broken.clear();
    for name in names {
        stage.ask(move |levels| levels.unload(name)).unwrap();
    }
    stage.frames(3);
    assert_eq!(stage.tracked(), 0);
    assert!(stage.fake().known.is_empty());
    for name in names {
        assert_eq!(stage.level(name).state(), LevelState::Unloaded);
        assert_eq!(stage.level(name).times_revealed(), stage.level(name).times_left());
        let (left, failed) = (stage.level(name).times_left(), stage.level(name).times_failed());
        assert!(
            left > 20 && failed > 20,
            "{name}: only {left} leaves and {failed} failures"
        );
    }
}

/// A game that disables the entity of its world, with all that is disabled when its screen is left.
#[test]
fn a_world_that_queries_skip_goes_on() {
    let mut stage = Stage::new();
    stage.frames(3);
    stage.told();
    stage.app.world_mut().entity_mut(stage.world).insert(Disabled);
    let ticket = stage
        .ask(|levels| levels.request("east", LevelTarget::Visible))
        .unwrap();
    stage.go(WEST);
    let mut told = stage.told();
    told.sort_unstable();
    assert_eq!(told, ["+east", "+west"]);
    drop(ticket);
    stage.go(Vec3::ZERO);
    stage.app.world_mut().entity_mut(stage.world).remove::<Disabled>();
    stage.frames(1);
    let mut told = stage.told();
    told.sort_unstable();
    assert_eq!(told, ["-east", "-west"]);
    for level in ["east", "west"] {
        assert_eq!(stage.level(level).state(), LevelState::Unloaded);
    }
    assert_eq!(stage.tracked(), 1, "what is always there");
}
