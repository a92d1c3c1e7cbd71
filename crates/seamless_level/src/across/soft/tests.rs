use bevy_app::{App, SpawnScene};
use bevy_ecs::{
    entity_disabling::Disabled, message::Messages, prelude::*, schedule::IntoScheduleConfigs, system::RunSystemOnce,
};
use bevy_math::Vec3;
use seamless_asset::{CookFolder, InHiddenLevel, InstanceEvent, StreamingSystems, level_data::LevelObjects};

use super::*;
use crate::{
    LevelSystems, SeamlessLevelPlugin,
    world::tests::{EAST, Stage, WEST, level_app},
};

/// What the pipeline gives to a root: here each level has a `Gate` and a `Lamp`.
fn furnish(mut revealed: MessageReader<InstanceEvent>, tables: Query<&LevelTable>, mut commands: Commands) {
    for event in revealed.read() {
        let InstanceEvent::Revealed { id, root, .. } = event else {
            continue;
        };
        let mut levels = tables.iter().flatten();
        let level = levels.find(|level| level.instance() == Some(*id)).unwrap();
        let package = level.entry().package.clone();
        let names = ["Gate", "Lamp"];
        let ids = names.map(|name| ObjectId::new(&package, name));
        let entities = names.map(|_| commands.spawn(ChildOf(*root)).id());
        commands.entity(*root).insert(LevelInstance {
            name: level.name().to_owned(),
            path: level.path().clone(),
            package: package.into(),
            cook: CookFolder::default(),
            objects: LevelObjects::new(&ids, &entities).into(),
        });
    }
}

/// In which frames links changed, and where they led then.
#[derive(Resource, Default)]
struct Changes(Vec<(Entity, bool)>);

fn note(links: Query<(Entity, &LinkedEntity), Changed<LinkedEntity>>, mut changes: ResMut<Changes>) {
    let changed = links.iter().map(|(entity, link)| (entity, link.get().is_some()));
    changes.0.extend(changed);
}

fn stage() -> Stage {
    let mut app = level_app(SeamlessLevelPlugin::default());
    app.world_mut().register_disabling_component::<InHiddenLevel>();
    app.init_resource::<Changes>().add_systems(
        SpawnScene,
        (
            furnish.after(StreamingSystems::Reveal).before(LevelSystems::Report),
            note.after(LevelSystems::Report),
        ),
    );
    let mut stage = Stage::with(app);
    stage.frames(3);
    stage
}

fn link(app: &mut App, level: &str, object: &str) -> Entity {
    app.world_mut()
        .spawn(SoftLink::new(SoftEntity::new(level, object)))
        .id()
}

fn leads_to(app: &App, link: Entity) -> Option<Entity> {
    app.world().get::<LinkedEntity>(link).unwrap().get()
}

/// The entity of a level, asked for by name.
fn find(app: &mut App, level: &str, object: &str) -> Option<Entity> {
    let soft = SoftEntity::new(level, object);
    let system = move |found: SoftEntities| found.get(&soft);
    app.world_mut().run_system_once(system).unwrap()
}

fn changes(app: &mut App) -> Vec<bool> {
    let changes = core::mem::take(&mut app.world_mut().resource_mut::<Changes>().0);
    changes.into_iter().map(|(_, is_some)| is_some).collect()
}

fn hidden_or_shown(stage: &mut Stage, level: &str, is_hidden: bool) {
    let id = stage.level(level).instance().unwrap();
    let event = if is_hidden {
        InstanceEvent::Hidden { id }
    } else {
        InstanceEvent::Shown { id }
    };
    let root = {
        let mut roots = stage
            .app
            .world_mut()
            .query::<(Entity, &LevelInstance, Has<InHiddenLevel>)>();
        let mut roots = roots.iter(stage.app.world());
        roots.find(|(_, instance, _)| instance.name == level).unwrap().0
    };
    let world = stage.app.world_mut();
    let all = world.get::<LevelInstance>(root).unwrap().objects.entities();
    let all: Vec<Entity> = all.chain([root]).collect();
    for entity in all {
        if is_hidden {
            world.entity_mut(entity).insert(InHiddenLevel);
        } else {
            world.entity_mut(entity).remove::<InHiddenLevel>();
        }
    }
    world.resource_mut::<Messages<InstanceEvent>>().write(event);
    stage.frames(1);
}

#[test]
fn a_link_leads_there_while_its_level_is_there() {
    let mut stage = stage();
    let gate = link(&mut stage.app, "west", "Gate");
    let nowhere = link(&mut stage.app, "west", "Window");
    let unknown = link(&mut stage.app, "south", "Gate");
    let always = link(&mut stage.app, "base", "Lamp");
    stage.frames(1);
    assert_eq!(leads_to(&stage.app, gate), None);
    assert!(leads_to(&stage.app, always).is_some(), "in the frame in which it comes");
    for _ in 0..3 {
        stage.go(WEST);
        let there = leads_to(&stage.app, gate);
        assert!(there.is_some());
        assert_eq!(find(&mut stage.app, "west", "Gate"), there);
        assert_ne!(find(&mut stage.app, "west", "Lamp"), there);
        stage.go(Vec3::ZERO);
        assert_eq!(leads_to(&stage.app, gate), None);
        assert_eq!(find(&mut stage.app, "west", "Gate"), None);
    }
    assert_eq!([nowhere, unknown].map(|link| leads_to(&stage.app, link)), [None; 2]);
    assert_eq!(
        mistaken(&stage),
        1,
        "that to a window, of which there is none, is told once"
    );
}

/// Of how many entities it was told that they are in no level.
fn mistaken(stage: &Stage) -> usize {
    stage.app.world().resource::<SoftLinks>().mistaken()
}

#[test]
fn a_link_changes_only_when_it_leads_elsewhere() {
    let mut stage = stage();
    let gate = link(&mut stage.app, "west", "Gate");
    stage.frames(3);
    assert_eq!(changes(&mut stage.app), [false], "it is new");
    stage.go(WEST);
    assert_eq!(changes(&mut stage.app), [true]);
    stage.frames(10);
    stage.go(EAST);
    assert_eq!(changes(&mut stage.app), [false]);
    stage.go(WEST);
    changes(&mut stage.app);
    let other = stage.app.world_mut().get_mut::<SoftLink>(gate);
    other.unwrap().to.object = "Lamp".into();
    stage.frames(5);
    assert_eq!(changes(&mut stage.app), [true]);
    assert_eq!(leads_to(&stage.app, gate), find(&mut stage.app, "west", "Lamp"));
    // A reload writes what the file says.
    let to = SoftEntity::new("west", "Lamp");
    stage.app.world_mut().entity_mut(gate).insert(SoftLink::new(to));
    stage.frames(1);
    assert!(leads_to(&stage.app, gate).is_some());
}

#[test]
fn links_come_and_go_with_their_own_level_too() {
    let mut stage = stage();
    stage.go(WEST);
    let world = stage.app.world_mut();
    let mut roots = world.query::<(Entity, &LevelInstance)>();
    let west = roots.iter(world).find(|(_, level)| level.name == "west").unwrap();
    let inside = west.1.objects.entities().next().unwrap();
    let to = SoftEntity::new("base", "Lamp");
    world.entity_mut(inside).insert(SoftLink::new(to));
    stage.frames(1);
    let lamp = leads_to(&stage.app, inside);
    assert!(lamp.is_some());
    hidden_or_shown(&mut stage, "west", true);
    assert_eq!(leads_to(&stage.app, inside), None);
    stage.frames(3);
    hidden_or_shown(&mut stage, "west", false);
    assert_eq!(leads_to(&stage.app, inside), lamp);
    hidden_or_shown(&mut stage, "base", true);
    assert_eq!(leads_to(&stage.app, inside), None, "its target's level is hidden");
    hidden_or_shown(&mut stage, "base", false);
    assert_eq!(leads_to(&stage.app, inside), lamp);
    stage.go(Vec3::ZERO);
    assert_eq!(stage.app.world().resource::<SoftLinks>().counts(), [0; 3]);
}

#[test]
fn a_link_to_what_is_despawned_leads_nowhere() {
    let mut stage = stage();
    let gates = [0; 3].map(|_| link(&mut stage.app, "base", "Gate"));
    let lamp = link(&mut stage.app, "base", "Lamp");
    stage.frames(2);
    let gate = leads_to(&stage.app, gates[0]).unwrap();
    stage.app.world_mut().despawn(gate);
    stage.frames(1);
    assert_eq!(gates.map(|link| leads_to(&stage.app, link)), [None; 3]);
    assert!(leads_to(&stage.app, lamp).is_some());
    assert_eq!(stage.app.world().resource::<SoftLinks>().counts(), [4, 1, 1]);
    assert_eq!(mistaken(&stage), 0, "it was there");
    for link in gates {
        stage.app.world_mut().despawn(link);
    }
    stage.app.world_mut().entity_mut(lamp).remove::<SoftLink>();
    stage.frames(1);
    assert_eq!(stage.app.world().resource::<SoftLinks>().counts(), [0; 3]);
}

/// In the very frame in which a link to it is resolved, so that nothing of it is left to be marked.
#[test]
fn a_link_to_what_is_despawned_at_once_leads_nowhere() {
    let mut stage = stage();
    let lamp = link(&mut stage.app, "base", "Lamp");
    let target = find(&mut stage.app, "base", "Lamp").unwrap();
    let system = move |mut commands: Commands| {
        if let Ok(mut entity) = commands.get_entity(target) {
            entity.despawn();
        }
    };
    stage
        .app
        .add_systems(SpawnScene, system.after(ResolveLinks).in_set(LevelSystems::Report));
    stage.frames(2);
    assert_eq!(leads_to(&stage.app, lamp), None);
}

/// Or a reload that leads it elsewhere would take it for a change of the game's, and keep it.
#[test]
fn a_link_that_has_found_its_entity_is_as_it_was() {
    let mut stage = stage();
    let gate = link(&mut stage.app, "west", "Gate");
    stage.frames(1);
    let changed = |app: &App| {
        let link = app.world().entity(gate).get_ref::<SoftLink>();
        link.unwrap().last_changed()
    };
    let before = changed(&stage.app);
    for place in [WEST, EAST] {
        stage.go(place);
        assert_eq!(changed(&stage.app), before);
    }
}

/// Whoever hides it, and whatever is told of that.
#[test]
fn a_link_that_is_hidden_leads_nowhere_until_it_is_shown() {
    let mut stage = stage();
    let lamp = link(&mut stage.app, "base", "Lamp");
    let other = link(&mut stage.app, "base", "Gate");
    stage.frames(2);
    changes(&mut stage.app);
    stage.app.world_mut().entity_mut(lamp).insert(InHiddenLevel);
    stage.frames(2);
    assert_eq!(leads_to(&stage.app, lamp), None);
    assert!(changes(&mut stage.app).is_empty(), "nobody sees it");
    stage.app.world_mut().entity_mut(lamp).remove::<InHiddenLevel>();
    stage.frames(2);
    assert!(leads_to(&stage.app, lamp).is_some());
    assert_eq!(changes(&mut stage.app), [true]);
    assert!(leads_to(&stage.app, other).is_some());
}

/// In one frame, so that as many are hidden as before.
#[test]
fn links_that_are_hidden_and_shown_in_turns_lead_where_the_shown_one_does() {
    let mut stage = stage();
    let links = [
        link(&mut stage.app, "base", "Lamp"),
        link(&mut stage.app, "base", "Gate"),
    ];
    stage.app.world_mut().entity_mut(links[0]).insert(InHiddenLevel);
    stage.frames(2);
    for round in 0..6 {
        let (shown, hidden) = (links[round % 2], links[(round + 1) % 2]);
        stage.app.world_mut().entity_mut(shown).remove::<InHiddenLevel>();
        stage.app.world_mut().entity_mut(hidden).insert(InHiddenLevel);
        stage.frames(1);
        assert!(leads_to(&stage.app, shown).is_some(), "round {round}");
        assert_eq!(leads_to(&stage.app, hidden), None, "round {round}");
    }
}

#[test]
fn what_happens_to_a_hidden_link_counts_when_it_is_shown() {
    let mut stage = stage();
    let [led, gone, disabled] = [(); 3].map(|()| link(&mut stage.app, "base", "Lamp"));
    for link in [led, gone, disabled] {
        stage.app.world_mut().entity_mut(link).insert(InHiddenLevel);
    }
    stage.frames(2);
    let world = stage.app.world_mut();
    world.get_mut::<SoftLink>(led).unwrap().to.object = "Gate".to_owned();
    world.entity_mut(disabled).insert(Disabled);
    world.despawn(gone);
    stage.frames(2);
    assert_eq!([led, disabled].map(|link| leads_to(&stage.app, link)), [None; 2]);
    let counts = |app: &App| app.world().resource::<SoftLinks>().counts();
    assert_eq!(counts(&stage.app), [2, 1, 0]);
    for link in [led, disabled] {
        stage.app.world_mut().entity_mut(link).remove::<InHiddenLevel>();
    }
    stage.frames(1);
    let gate = find(&mut stage.app, "base", "Gate");
    assert!(gate.is_some());
    assert_eq!(leads_to(&stage.app, led), gate);
    assert_eq!(leads_to(&stage.app, disabled), find(&mut stage.app, "base", "Lamp"));
    assert_eq!(counts(&stage.app), [2, 1, 2]);
}

#[test]
fn where_it_led_goes_with_the_link() {
    let mut stage = stage();
    let lamp = link(&mut stage.app, "base", "Lamp");
    stage.frames(2);
    stage.app.world_mut().entity_mut(lamp).remove::<SoftLink>();
    stage.frames(2);
    assert!(stage.app.world().get::<LinkedEntity>(lamp).is_none());
}
