//! The engine on a stage of its own: nothing is lost, doubled, reordered or stuck.

mod model;

use std::collections::{BTreeMap, BTreeSet};

use super::*;

/// What was heard: the notify, the event, the tag and number of the cue, its target.
pub(super) type Heard = (u32, CueEvent, GameplayTag, u32, Entity);

pub(super) const STATIC: NotifyState = NotifyState::Loaded {
    is_actor: false,
    allow_multiple: false,
};

/// A world that tells what it is told.
#[derive(Default)]
pub(super) struct TestStage {
    pub dead: BTreeSet<Entity>,
    pub heard: Vec<Heard>,
    pub asked: Vec<(u32, bool)>,
    pub suppressed: BTreeSet<GameplayTag>,
    pub places: BTreeMap<Entity, Vec3>,
    pub listeners: Vec<Vec3>,
    pub actors: usize,
    pub unknown: usize,
    /// What a blocking load comes to.
    pub now: Option<NotifyState>,
}

impl Stage for TestStage {
    fn is_alive(&self, entity: Entity) -> bool {
        !self.dead.contains(&entity)
    }

    fn translate(&self, tag: GameplayTag, _: &CueContext) -> Option<GameplayTag> {
        (!self.suppressed.contains(&tag)).then_some(tag)
    }

    fn location(&self, entity: Entity) -> Option<Vec3> {
        self.places.get(&entity).copied()
    }

    fn listeners(&self) -> &[Vec3] {
        &self.listeners
    }

    fn find(&mut self, _: NotifyId) -> Option<NotifyState> {
        None
    }

    fn load(&mut self, id: NotifyId, _: GameplayTag, now: bool) -> NotifyState {
        self.asked.push((id.0, now));
        if now {
            self.now.unwrap_or(STATIC)
        } else {
            NotifyState::Loading
        }
    }

    fn has_actor(&mut self, _: NotifyId, _: &CueContext, _: bool) -> bool {
        self.actors > 0
    }

    fn play(&mut self, id: NotifyId, event: CueEvent, tag: GameplayTag, context: Told) {
        let context = context.own();
        self.heard
            .push((id.0, event, tag, context.magnitude as u32, context.target));
    }

    fn done(&mut self) {}

    fn late(&mut self, _: GameplayTag, _: Duration) {}

    fn unknown(&mut self, _: GameplayTag) {
        self.unknown += 1;
    }
}

pub(super) fn tag(name: &str) -> GameplayTag {
    GameplayTag::new(&format!("Engine.{name}")).expect("a tag")
}

pub(super) fn entity(number: u32) -> Entity {
    Entity::from_raw_u32(number).expect("small")
}

pub(super) fn known(name: &str, state: NotifyState) -> Known {
    Known {
        tag: tag(name),
        overrides: false,
        cull_distance: None,
        state,
    }
}

/// An engine, its stage, and a clock.
#[derive(Default)]
pub(super) struct Test {
    pub engine: Engine,
    pub stage: TestStage,
    pub config: CueConfig,
    pub now: Duration,
    fired: u32,
}

impl Test {
    /// With a notify of this tag, which is not loaded.
    fn with(name: &str) -> Self {
        let mut test = Self::default();
        test.engine.cast.insert(NotifyId(0), known(name, NotifyState::Unloaded));
        test
    }

    /// Fires a cue; its number is told by its magnitude.
    pub fn fire(&mut self, act: CueAct, name: &str, target: u32) -> u32 {
        self.fired += 1;
        let mut context = CueContext::new(entity(target)).magnitude(self.fired as f32);
        let (stage, config) = (&mut self.stage, &self.config);
        self.engine.fire(stage, config, self.now, act, tag(name), &mut context);
        self.fired
    }

    pub fn replay(&mut self, mut most: usize) -> usize {
        let has_time = || {
            most -= 1;
            most > 0
        };
        let (stage, config) = (&mut self.stage, &self.config);
        self.engine.replay(stage, config, self.now, has_time)
    }

    fn loaded(&mut self, state: NotifyState) {
        self.engine.cast.set_state(NotifyId(0), state);
        self.replay(usize::MAX);
    }

    /// Events and numbers of what was heard since the last look.
    fn heard(&mut self) -> Vec<(CueEvent, u32)> {
        let heard = core::mem::take(&mut self.stage.heard);
        heard
            .into_iter()
            .map(|(_, event, _, number, _)| (event, number))
            .collect()
    }
}

use CueAct::{Add, Execute, Join, Remove};
use CueEvent::{Executed, OnActive, Removed, WhileActive};

#[test]
fn what_is_missing_is_loaded_once_and_played_in_order() {
    let mut test = Test::with("A");
    for target in 0..3 {
        test.fire(Execute, "A", target);
    }
    test.fire(Add, "A", 0);
    assert_eq!(test.stage.asked, [(0, false)]);
    assert_eq!(test.heard(), []);
    test.loaded(STATIC);
    assert_eq!(
        test.heard(),
        [
            (Executed, 1),
            (Executed, 2),
            (Executed, 3),
            (OnActive, 4),
            (WhileActive, 4)
        ]
    );
    // And at once from now on.
    test.fire(Execute, "A", 0);
    assert_eq!(test.heard(), [(Executed, 5)]);
    assert_eq!((test.engine.stats.deferred, test.engine.stats.replayed), (4, 4));
}

#[test]
fn a_removal_takes_a_waiting_add_away_and_goes_with_it() {
    let mut test = Test::with("A");
    test.fire(Add, "A", 0);
    test.fire(Add, "A", 1);
    test.fire(Remove, "A", 0);
    test.loaded(STATIC);
    assert_eq!(test.heard(), [(OnActive, 2), (WhileActive, 2)]);
    assert_eq!(test.engine.active.len(), 1);
    test.fire(Remove, "A", 1);
    assert_eq!(test.heard(), [(Removed, 4)]);
    assert_eq!((test.engine.active.len(), test.engine.pending.len()), (0, 0));
    assert_eq!((test.engine.stats.cancelled, test.engine.stats.vain_removals), (1, 1));
}

/// What has been played is removed, though its notify was let go of meanwhile and others wait: behind those.
#[test]
fn a_removal_of_what_was_played_is_never_lost() {
    let mut test = Test::with("A");
    test.engine.cast.set_state(NotifyId(0), STATIC);
    test.fire(Add, "A", 0);
    test.heard();
    test.engine.cast.set_state(NotifyId(0), NotifyState::Unloaded);
    test.config.max_waiting = 1;
    test.fire(Execute, "A", 0);
    test.fire(Remove, "A", 0);
    test.fire(Add, "A", 0);
    assert_eq!(
        test.engine.stats.refused, 1,
        "the add has no room, the removal needs none"
    );
    test.config.max_waiting = 9;
    test.fire(Add, "A", 0);
    test.fire(Remove, "A", 0);
    test.fire(Add, "A", 0);
    test.loaded(STATIC);
    assert_eq!(
        test.heard(),
        [(Executed, 2), (Removed, 3), (OnActive, 7), (WhileActive, 7)]
    );
}

#[test]
fn executed_cues_expire_and_the_rest_does_not() {
    let mut test = Test::with("A");
    test.fire(Execute, "A", 0);
    test.fire(Add, "A", 0);
    test.now = Duration::from_millis(300);
    test.fire(Execute, "A", 0);
    test.now = Duration::from_millis(600);
    test.loaded(STATIC);
    assert_eq!(test.heard(), [(OnActive, 2), (WhileActive, 2), (Executed, 3)]);
    assert_eq!(test.engine.stats.expired, 1);
    assert_eq!(test.engine.stats.longest_wait, Duration::from_millis(600));
}

#[test]
fn a_sweep_finds_the_dead_and_the_expired_without_a_load() {
    let mut test = Test::with("A");
    for target in 0..4 {
        test.fire(Add, "A", target);
        test.fire(Execute, "A", target);
    }
    test.stage.dead.insert(entity(2));
    test.engine.sweep(&test.stage, &test.config, test.now, 8);
    assert_eq!((test.engine.stats.dead, test.engine.stats.waiting), (2, 6));
    assert_eq!(test.engine.active.len(), 3);
    test.now = Duration::from_secs(1);
    test.engine.sweep(&test.stage, &test.config, test.now, 8);
    assert_eq!((test.engine.stats.expired, test.engine.stats.waiting), (3, 3));
}

#[test]
fn a_failed_load_drains() {
    let mut test = Test::with("A");
    test.fire(Add, "A", 0);
    test.fire(Execute, "A", 1);
    assert_eq!(test.engine.waiting_for(NotifyId(0)), 2);
    test.loaded(NotifyState::Failed);
    assert_eq!(test.heard(), []);
    assert_eq!((test.engine.stats.failed, test.engine.pending.len()), (2, 0));
    test.fire(Remove, "A", 0);
    assert_eq!((test.heard(), test.engine.active.len()), (vec![], 0));
}

#[test]
fn parents_play_behind_their_children_and_one_that_failed_stops_nobody() {
    let mut test = Test::with("P");
    test.engine
        .cast
        .insert(NotifyId(1), known("P.C", NotifyState::Unloaded));
    test.fire(Execute, "P.C", 0);
    assert_eq!(test.stage.asked, [(1, false), (0, false)]);
    test.engine.cast.set_state(NotifyId(1), STATIC);
    assert_eq!(test.replay(usize::MAX), 0, "it waits for both");
    test.loaded(STATIC);
    let by: Vec<u32> = test.stage.heard.iter().map(|(id, ..)| *id).collect();
    assert_eq!(by, [1, 0]);
    test.engine.cast.set_state(NotifyId(1), NotifyState::Failed);
    test.fire(Execute, "P.C", 0);
    assert_eq!(test.stage.heard.len(), 3);
}

#[test]
fn who_joins_late_sees_no_beginning() {
    let mut test = Test::with("A");
    test.engine.cast.set_state(NotifyId(0), STATIC);
    test.fire(Join, "A", 0);
    test.fire(Add, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(WhileActive, 1)], "an add more, and one removal");
    test.fire(Remove, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(Removed, 4)]);
    assert_eq!((test.engine.stats.repeated, test.engine.stats.vain_removals), (2, 1));
}

#[test]
fn adds_of_what_is_active_play_again_where_the_notify_says_so() {
    let mut test = Test::with("A");
    let allow_multiple = true;
    test.engine.cast.set_state(
        NotifyId(0),
        NotifyState::Loaded {
            is_actor: false,
            allow_multiple,
        },
    );
    test.fire(Add, "A", 0);
    test.fire(Add, "A", 0);
    assert_eq!(test.heard().len(), 4);
    test.fire(Remove, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(Removed, 4)]);
}

#[test]
fn nothing_suppressed_culled_or_unknown_is_loaded() {
    let mut test = Test::with("A");
    test.stage.suppressed.insert(tag("A"));
    test.fire(Add, "A", 0);
    test.stage.suppressed.clear();
    test.engine.cast.notifies[0].cull_distance = Some(10.0);
    test.stage.listeners = vec![Vec3::ZERO];
    test.stage.places.insert(entity(1), Vec3::X * 11.0);
    test.fire(Add, "A", 1);
    test.fire(Execute, "Other", 1);
    test.stage.dead.insert(entity(7));
    test.fire(Execute, "A", 7);
    assert_eq!((test.stage.asked.len(), test.stage.unknown), (0, 1));
    let stats = &test.engine.stats;
    assert_eq!(
        (stats.suppressed, stats.culled, stats.unknown, stats.dead),
        (1, 1, 1, 1)
    );
    test.stage.places.insert(entity(1), Vec3::X * 9.0);
    test.fire(Execute, "A", 1);
    assert_eq!(test.stage.asked.len(), 1);
}

/// Whatever becomes of an add, its removal takes nothing away that others have added.
#[test]
fn adds_that_nobody_plays_are_counted() {
    let mut test = Test::with("A");
    test.engine.cast.set_state(NotifyId(0), STATIC);
    test.fire(Add, "A", 0);
    test.stage.suppressed.insert(tag("A"));
    test.fire(Add, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(OnActive, 1), (WhileActive, 1)], "it lasts");
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(Removed, 4)]);
    // Culled ones too, and in the other order.
    test.stage.suppressed.clear();
    test.engine.cast.notifies[0].cull_distance = Some(10.0);
    test.stage.listeners = vec![Vec3::ZERO];
    test.stage.places.insert(entity(0), Vec3::X * 11.0);
    test.fire(Add, "A", 0);
    test.stage.places.insert(entity(0), Vec3::ZERO);
    test.fire(Add, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(OnActive, 6), (WhileActive, 6)]);
    test.fire(Remove, "A", 0);
    assert_eq!(test.heard(), [(Removed, 8)]);
    assert_eq!(test.engine.active.len(), 0);
}

#[test]
fn missing_notifies_are_loaded_now_or_never_if_the_config_says_so() {
    let mut test = Test::with("A");
    test.config.async_load_missing = false;
    test.fire(Execute, "A", 0);
    test.fire(Add, "A", 0);
    test.fire(Remove, "A", 0);
    assert_eq!((test.stage.asked.len(), test.engine.stats.ignored), (0, 2));
    test.config.sync_load_missing = true;
    test.fire(Execute, "A", 0);
    assert_eq!(
        (test.heard(), &test.stage.asked[..]),
        (vec![(Executed, 4)], &[(0, true)][..])
    );
    // One that is on its way is not waited for either.
    test.engine.cast.set_state(NotifyId(0), NotifyState::Loading);
    test.stage.now = Some(NotifyState::Failed);
    test.fire(Execute, "A", 0);
    assert_eq!((test.heard(), test.engine.stats.failed), (vec![], 1));
}

#[test]
fn actors_wait_for_their_instances_and_keep_their_order() {
    let mut test = Test::with("A");
    let (is_actor, allow_multiple) = (true, false);
    test.engine.cast.set_state(
        NotifyId(0),
        NotifyState::Loaded {
            is_actor,
            allow_multiple,
        },
    );
    test.fire(Execute, "A", 0);
    test.stage.actors = 1;
    test.fire(Execute, "A", 0);
    assert_eq!(test.heard(), [], "the second waits behind the first");
    test.replay(usize::MAX);
    assert_eq!(test.heard(), [(Executed, 1), (Executed, 2)]);
}

#[test]
fn a_frame_plays_so_many_and_one_at_least() {
    let mut test = Test::with("A");
    for _ in 0..10 {
        test.fire(Execute, "A", 0);
    }
    test.engine.cast.set_state(NotifyId(0), STATIC);
    assert_eq!([test.replay(1), test.replay(4), test.replay(99)], [1, 4, 5]);
    let numbers: Vec<u32> = test.heard().into_iter().map(|(_, number)| number).collect();
    assert_eq!(numbers, Vec::from_iter(1..=10));
}

#[test]
fn caps_hold_and_are_counted() {
    let mut test = Test::with("A");
    test.config.max_waiting = 2;
    test.config.max_active = 1;
    test.fire(Add, "A", 0);
    test.fire(Add, "A", 1);
    test.fire(Execute, "A", 1);
    test.fire(Execute, "A", 1);
    assert_eq!(
        (
            test.engine.stats.refused,
            test.engine.pending.len(),
            test.engine.active.len()
        ),
        (2, 2, 1)
    );
}

#[test]
fn what_nobody_knows_any_more_waits_no_longer() {
    let mut test = Test::with("A");
    test.fire(Execute, "A", 0);
    test.engine.cast.remove(NotifyId(0));
    test.replay(usize::MAX);
    assert_eq!((test.engine.stats.unknown, test.engine.pending.len()), (1, 0));
}
