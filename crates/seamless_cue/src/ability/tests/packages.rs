//! Sets and their abilities from packages: granted now, later, or not; and asked for without being loaded.

use core::any::TypeId;

use bevy_app::App;
use bevy_asset::{Asset, Assets, Handle, UntypedHandle, io::memory::Dir};
use bevy_ecs::{prelude::*, reflect::AppTypeRegistry, system::RunSystemOnce};
use bevy_reflect::TypePath;
use seamless_asset::{
    ObjectLoad, ObjectRegistries, ObjectRegistry, ObjectRequest, RegistryObject, SoftHandle, Streamer, StreamingStats,
    codec::{Codecs, EncodeContext, EntityRows},
    doubles::{Fate, ReadGate},
    package::{Codec, NewExport, ObjectRef, PackageWriter, Role},
};

use super::app::*;
use crate::*;

/// Writes packages as the cooker does: values by their codecs.
struct Packer<'a> {
    app: &'a App,
    writer: PackageWriter,
    known: Vec<(UntypedHandle, ObjectRef)>,
}

impl<'a> Packer<'a> {
    fn new(app: &'a App, name: &str) -> Self {
        let mut writer = PackageWriter::new(name);
        let codecs = app.world().resource::<Codecs>().read();
        writer
            .versions(codecs.migrations().versions())
            .expect("the lists are short");
        Self {
            app,
            writer,
            known: Vec::new(),
        }
    }

    /// Adds an object; the handle stands for it in those that come later.
    fn add<A: Asset>(&mut self, name: &str, asset: A) -> Handle<A> {
        let registry = self.app.world().resource::<AppTypeRegistry>().read();
        let codecs = self.app.world().resource::<Codecs>().read();
        let codec = codecs.asset(TypeId::of::<A>()).expect("it has a codec");
        let class = self.writer.class(&codec.schema(&registry)).expect("a class");
        let mut world = World::new();
        world.init_resource::<Assets<A>>();
        let handle = world.resource_mut::<Assets<A>>().add(asset);
        let rows = EntityRows::default();
        let mut context = EncodeContext::new(&registry, &rows);
        let encoded = codec.encode(&world, handle.id().untyped(), &mut context);
        let encoded = encoded.expect("it can be encoded").expect("it is there");
        let object = |handle: &UntypedHandle| {
            let known = self.known.iter().find(|(known, _)| known == handle);
            known.expect("it was added before").1
        };
        let refs = context.into_references().iter().map(object).collect();
        let object = self.writer.export(NewExport {
            name,
            class,
            outer: ObjectRef::NONE,
            role: Role::ALL,
            data: encoded.data.into(),
            refs,
            bulk: Vec::new(),
            bulk_use: Default::default(),
            codec: Codec::None,
        });
        let stands_for = self.app.world().resource::<Assets<A>>().reserve_handle();
        self.known
            .push((stands_for.clone().untyped(), object.expect("it fits")));
        stands_for
    }

    fn finish(self) -> Vec<u8> {
        self.writer.finish().expect("a package")
    }
}

/// `spells.pkg` has two abilities, of which one names an effect, and that effect.
fn spells(app: &App, dir: &Dir) {
    let mut packer = Packer::new(app, "spells.pkg");
    let burn = packer.add(
        "burn",
        Effect {
            duration: EffectDuration::For(seconds(3.0)),
            tags: tags(&["Effect.Fire"]),
            modifiers: vec![Modifier {
                attribute: mana(),
                operation: Operation::Multiply,
                magnitude: Magnitude::Levels(vec![0.5, 0.25]),
            }],
            stacking: Some(Stacking {
                by: StackBy::Source,
                limit: 3,
                duration: Restart::Keep,
                period: Restart::Restart,
                expires: Expiry::OneStack,
            }),
            ..Effect::default()
        },
    );
    let fire = Ability {
        tags: tags(&["Ability.Fire"]),
        effects: vec![NamedEffect {
            name: "burn".into(),
            effect: burn,
        }],
        duration: AbilityDuration::Held,
        ..Ability::default()
    };
    packer.add("fire", fire);
    packer.add(
        "shield",
        Ability {
            tags: tags(&["Ability.Shield"]),
            ..Ability::default()
        },
    );
    put(dir, "spells.pkg", packer.finish());
}

fn set(paths: &[&str]) -> AbilitySet {
    let entry = |path: &&str| SetEntry {
        ability: SoftHandle::new(*path),
        level: 2.0,
        slot: None,
    };
    AbilitySet {
        abilities: paths.iter().map(entry).collect(),
    }
}

fn mage() -> AbilitySet {
    set(&["spells.pkg#shield", "spells.pkg#fire"])
}

/// How grants have ended: the ids, or the error.
#[derive(Resource, Default)]
struct Ends(Vec<(GrantId, Result<usize, String>)>);

fn school() -> (App, Dir, ReadGate) {
    let (mut app, dir, gate) = app();
    app.init_resource::<Ends>()
        .add_observer(|on: On<SetGranted>, mut ends: ResMut<Ends>| {
            let result = on.result.as_ref().map(Vec::len).map_err(ToString::to_string);
            ends.0.push((on.grant, result));
        });
    spells(&app, &dir);
    (app, dir, gate)
}

fn ask(app: &mut App, entity: Entity, set: &AbilitySet) -> GrantId {
    let mut grants = app.world_mut().resource_mut::<SetGrants>();
    grants.when_loaded(entity, set, 0.0).expect("few are under way")
}

fn ends(app: &App) -> &[(GrantId, Result<usize, String>)] {
    &app.world().resource::<Ends>().0
}

fn names(app: &App, entity: Entity) -> Vec<String> {
    let definitions = app.world().resource::<Assets<Ability>>();
    let name = |granted: &GrantedAbility| {
        let ability = definitions.get(&granted.spec().ability).expect("it is loaded");
        let tag = ability.tags.iter().next().expect("it has a tag");
        format!("{tag} {}", granted.spec().level)
    };
    app.world().get::<Abilities>(entity).unwrap().iter().map(name).collect()
}

/// So many frames in which something could still happen.
fn settle(app: &mut App) {
    (0..20).for_each(|_| frame(app, 0.0));
}

#[test]
fn a_set_is_granted_when_it_is_loaded_and_told_once() {
    #[derive(Resource, Default)]
    struct Called(Vec<GrantId>);
    let (mut app, _dir, gate) = school();
    app.init_resource::<Called>();
    gate.otherwise(None);
    let hero = hero(&mut app);
    let mut grants = app.world_mut().resource_mut::<SetGrants>();
    let grant = grants
        .when_loaded_then(hero, &mage(), 0.0, |granted, commands| {
            let grant = granted.grant;
            commands.queue(move |world: &mut World| world.resource_mut::<Called>().0.push(grant));
        })
        .unwrap();
    settle(&mut app);
    assert!(names(&app, hero).is_empty() && ends(&app).is_empty());
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |world| !world.resource::<Ends>().0.is_empty());
    settle(&mut app);
    assert_eq!(ends(&app), [(grant, Ok(2))]);
    assert_eq!(app.world().resource::<Called>().0, [grant]);
    assert_eq!(names(&app, hero), ["Ability.Shield 2", "Ability.Fire 2"]);
    let ability = app.world().get::<Abilities>(hero).unwrap().iter().nth(1).unwrap();
    assert_eq!(ability.grant(), Some(grant));
    // What it names came along, as it was.
    let definitions = app.world().resource::<Assets<Ability>>();
    let burn = definitions
        .get(&ability.spec().ability)
        .unwrap()
        .effect("burn")
        .unwrap();
    let burn = app
        .world()
        .resource::<Assets<Effect>>()
        .get(burn)
        .expect("it is loaded");
    assert_eq!(burn.modifiers[0].magnitude, Magnitude::Levels(vec![0.5, 0.25]));
    assert_eq!(burn.duration, EffectDuration::For(seconds(3.0)));
    assert_eq!(burn.stacking.unwrap().expires, Expiry::OneStack);
    assert!(burn.tags.has(tag("Effect.Fire")));
    // And all of it goes with the grant.
    app.world_mut().resource_mut::<SetGrants>().revoke(grant);
    run_until(&mut app, |world| {
        world.resource::<Assets<Ability>>().is_empty() && world.resource::<Assets<Effect>>().is_empty()
    });
    assert_eq!(ends(&app).len(), 1);
}

#[test]
fn who_dies_meanwhile_gets_nothing_and_ends_once() {
    let (mut app, _dir, gate) = school();
    gate.otherwise(None);
    let hero = hero(&mut app);
    let grant = ask(&mut app, hero, &mage());
    settle(&mut app);
    app.world_mut().despawn(hero);
    settle(&mut app);
    let cancelled = GrantError::Cancelled.to_string();
    assert_eq!(ends(&app), [(grant, Err(cancelled))]);
    assert_eq!(app.world().resource::<SetGrants>().pending(), 0);
    gate.otherwise(Some(Fate::Pass));
    run_until(&mut app, |_| gate.pending().is_empty());
    settle(&mut app);
    assert_eq!(ends(&app).len(), 1);
    assert!(app.world().resource::<Assets<Ability>>().is_empty());
}

#[test]
fn a_grant_that_is_revoked_on_its_way_never_comes() {
    let (mut app, _dir, gate) = school();
    gate.otherwise(None);
    let hero = hero(&mut app);
    let grant = ask(&mut app, hero, &mage());
    settle(&mut app);
    assert!(app.world().resource::<SetGrants>().is_pending(grant));
    app.world_mut().resource_mut::<SetGrants>().revoke(grant);
    settle(&mut app);
    gate.otherwise(Some(Fate::Pass));
    settle(&mut app);
    assert_eq!(ends(&app), [(grant, Err(GrantError::Cancelled.to_string()))]);
    assert!(names(&app, hero).is_empty());
}

#[test]
fn a_set_with_a_mistake_grants_nothing_and_says_why() {
    let (mut app, ..) = school();
    let hero = hero(&mut app);
    for (paths, part) in [
        (["spells.pkg#shield", "spells.pkg#nothing"], "nothing"),
        (["spells.pkg#shield", "spells.pkg#burn"], "spells.pkg#burn"),
        (["spells.pkg#shield", "missing.pkg#fire"], "missing.pkg"),
    ] {
        let grant = ask(&mut app, hero, &set(&paths));
        run_until(&mut app, |world| !world.resource::<Ends>().0.is_empty());
        let found = core::mem::take(&mut app.world_mut().resource_mut::<Ends>().0);
        let [(of, Err(error))] = &found[..] else {
            panic!("{found:?}")
        };
        assert!(*of == grant && error.contains(part), "{error}");
        assert!(names(&app, hero).is_empty());
        let now = app.world_mut().grant_set_now(hero, &set(&paths));
        let error = now.unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    // All of a set, or nothing.
    app.world_mut().resource_mut::<AbilitySettings>().max_abilities = 1;
    ask(&mut app, hero, &mage());
    run_until(&mut app, |world| !world.resource::<Ends>().0.is_empty());
    assert!(
        ends(&app)[0].1.as_ref().unwrap_err().contains("1 abilities at most"),
        "{:?}",
        ends(&app)
    );
    assert!(names(&app, hero).is_empty());
}

#[test]
fn an_empty_set_ends_too_and_there_are_not_too_many() {
    let (mut app, ..) = school();
    let hero = hero(&mut app);
    let grant = ask(&mut app, hero, &set(&[]));
    settle(&mut app);
    assert_eq!(ends(&app), [(grant, Ok(0))]);
    let mut grants = SetGrants::new(1);
    grants.when_loaded(hero, &mage(), 0.0).unwrap();
    let refused = grants.when_loaded(hero, &mage(), 0.0);
    assert!(matches!(refused, Err(GrantError::TooManyPending { limit: 1 })));
}

#[test]
fn a_set_that_is_granted_now_is_there_and_the_hitch_is_counted() {
    let (mut app, ..) = school();
    let hero = hero(&mut app);
    let grant = app.world_mut().grant_set_now(hero, &mage()).unwrap();
    assert_eq!(names(&app, hero), ["Ability.Shield 2", "Ability.Fire 2"]);
    assert_eq!(ends(&app), [(grant, Ok(2))]);
    assert_eq!(app.world().resource::<StreamingStats>().blocking_loads, 2);
    app.world_mut().resource_mut::<SetGrants>().revoke(grant);
    settle(&mut app);
    assert!(names(&app, hero).is_empty());
}

fn count(app: &mut App, hero: Entity, instigator: Option<Entity>, ongoing: bool) -> u32 {
    let burn = SoftHandle::new("spells.pkg#burn");
    let asked = move |if_loaded: IfLoaded| if_loaded.effect_count_if_loaded(hero, &burn, instigator, ongoing);
    app.world_mut().run_system_once(asked).expect("it runs")
}

fn load(app: &mut App, path: &str) -> ObjectLoad {
    let load = app
        .world_mut()
        .resource_mut::<Streamer>()
        .load_objects(ObjectRequest::new([path]));
    run_until(app, |_| load.is_finished());
    load
}

#[test]
fn what_is_asked_for_if_it_is_loaded_is_never_read() {
    let (mut app, _dir, gate) = school();
    let (hero, foe) = (hero(&mut app), hero(&mut app));
    let ask_all = move |if_loaded: IfLoaded| {
        let (burn, fire) = (SoftHandle::new("spells.pkg#burn"), SoftHandle::new("spells.pkg#fire"));
        let nowhere = SoftHandle::new("no path at all");
        assert!(!if_loaded.has_effect_if_loaded(hero, &nowhere));
        let has_burn = if_loaded.has_effect_if_loaded(hero, &burn);
        let loaded = (
            if_loaded.effect_if_loaded(&burn).is_some(),
            if_loaded.ability_if_loaded(&fire).is_some(),
        );
        (has_burn, loaded, if_loaded.granted_if_loaded(hero, &fire).is_some())
    };
    for _ in 0..5 {
        assert_eq!(count(&mut app, hero, None, false), 0);
        let found = app.world_mut().run_system_once(ask_all).expect("it runs");
        assert_eq!(found, (false, (false, false), false));
        frame(&mut app, 0.0);
    }
    assert_eq!(gate.begun(), [], "nothing is read");

    let grant = app.world_mut().grant_set_now(hero, &mage()).unwrap();
    let begun = gate.begun().len();
    assert!(begun > 0, "a load is seen");
    let burn = {
        let abilities = app.world().resource::<Assets<Ability>>();
        let mut all = abilities.iter();
        all.find_map(|(_, ability)| ability.effect("burn").cloned())
            .expect("it came along")
    };
    for by in [hero, foe, foe] {
        let spec = EffectSpec::new(burn.clone()).from(by);
        app.world_mut()
            .gameplay(move |gameplay| gameplay.apply_effect(hero, &spec).is_ok());
    }
    let counts = [None, Some(hero), Some(foe)].map(|instigator| count(&mut app, hero, instigator, true));
    assert_eq!(counts, [3, 1, 2]);
    let found = app.world_mut().run_system_once(ask_all).expect("it runs");
    assert_eq!(found, (true, (true, true), true));
    drop(burn);
    // The effect that is there keeps its definition loaded, and nothing else does.
    app.world_mut().resource_mut::<SetGrants>().revoke(grant);
    run_until(&mut app, |world| world.resource::<Assets<Ability>>().is_empty());
    settle(&mut app);
    // A task frees what was let go of.
    run_until(&mut app, |world| world.resource::<Assets<Ability>>().is_empty());
    let found = app.world_mut().run_system_once(ask_all).expect("it runs");
    assert_eq!(found, (true, (true, false), false));
    assert_eq!(gate.begun().len(), begun, "nothing more is read");
    let _fire = load(&mut app, "spells.pkg#fire");
    assert!(gate.begun().len() > begun, "a load would have been seen");
}

#[test]
fn inhibited_effects_count_only_without_the_ongoing_check() {
    let (mut app, dir, _) = app();
    let hero = hero(&mut app);
    let mut packer = Packer::new(&app, "spells.pkg");
    let works_if = TagRequirements {
        require: tags(&["State.Awake"]),
        ..TagRequirements::default()
    };
    let dream = Effect {
        duration: EffectDuration::Infinite,
        works_if,
        ..Effect::default()
    };
    packer.add("burn", dream);
    put(&dir, "spells.pkg", packer.finish());
    let loaded = load(&mut app, "spells.pkg#burn");
    let handle = loaded.result().unwrap().unwrap()[0].clone().typed::<Effect>();
    app.world_mut()
        .gameplay(move |gameplay| gameplay.apply_effect(hero, &EffectSpec::new(handle)).is_ok());
    assert_eq!(
        (count(&mut app, hero, None, true), count(&mut app, hero, None, false)),
        (0, 1)
    );
}

#[test]
fn a_package_with_nonsense_in_it_is_refused_by_name() {
    let (mut app, dir, _) = app();
    let mut packer = Packer::new(&app, "spells.pkg");
    let endless = Period {
        every: core::time::Duration::ZERO,
        at_once: true,
    };
    packer.add(
        "burn",
        Effect {
            duration: EffectDuration::Infinite,
            period: Some(endless),
            ..Effect::default()
        },
    );
    put(&dir, "spells.pkg", packer.finish());
    let load = load(&mut app, "spells.pkg#burn");
    let error = load.result().unwrap().unwrap_err().to_string();
    assert!(
        error.contains("spells.pkg") && error.contains("0.001 to 40000000 seconds"),
        "{error}"
    );
}

#[test]
fn a_set_tells_the_cooker_what_it_names() {
    let (app, ..) = app();
    let registry = app.world().resource::<AppTypeRegistry>().read();
    let codecs = app.world().resource::<Codecs>().read();
    let codec = codecs.asset(TypeId::of::<AbilitySet>()).expect("it has a codec");
    let mut world = World::new();
    world.init_resource::<Assets<AbilitySet>>();
    let set = world.resource_mut::<Assets<AbilitySet>>().add(mage());
    let rows = EntityRows::default();
    let mut context = EncodeContext::new(&registry, &rows);
    codec
        .encode(&world, set.id().untyped(), &mut context)
        .expect("it can be encoded");
    let told = context.take_told();
    let paths: Vec<&str> = told.soft.iter().map(|reference| &*reference.path).collect();
    assert_eq!(paths, ["spells.pkg#fire", "spells.pkg#shield"]);
    assert!(context.into_references().is_empty(), "nothing else comes along");
}

/// By the path that an author has written, which a registry leads on.
#[test]
fn authored_paths_lead_to_what_was_cooked() {
    let (mut app, ..) = school();
    let object = RegistryObject {
        path: "spells/fire.ability.ron".into(),
        package: "spells.pkg".into(),
        object: "fire".into(),
        type_path: Ability::type_path().into(),
        ..RegistryObject::default()
    };
    let registry = ObjectRegistry::new("", vec![object]).unwrap();
    app.world_mut().resource_mut::<ObjectRegistries>().insert(registry);
    let hero = hero(&mut app);
    let grant = ask(&mut app, hero, &set(&["spells/fire.ability.ron"]));
    run_until(&mut app, |world| !world.resource::<Ends>().0.is_empty());
    assert_eq!(ends(&app), [(grant, Ok(1))]);
    assert_eq!(names(&app, hero), ["Ability.Fire 2"]);
}

#[test]
fn who_cannot_have_a_set_costs_no_hitch() {
    let (mut app, _dir, gate) = school();
    let plain = app.world_mut().spawn_empty().id();
    let refused = app.world_mut().grant_set_now(plain, &mage());
    assert!(matches!(refused, Err(GrantError::NoOwner)));
    app.world_mut().resource_mut::<AbilitySettings>().max_abilities = 1;
    let hero = hero(&mut app);
    let refused = app.world_mut().grant_set_now(hero, &mage());
    assert!(matches!(refused, Err(GrantError::TooMany { limit: 1 })));
    assert_eq!(gate.begun(), [], "nothing is read");
}
