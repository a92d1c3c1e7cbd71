//! Bevy's world as the stage that the engine plays on.

use core::{mem, panic::Location, time::Duration};
use std::sync::Arc;

use bevy_asset::{AssetId, Handle};
use bevy_ecs::{entity::Entity, world::World};
use bevy_math::Vec3;
use bevy_platform::{collections::HashMap, time::Instant};
use bevy_transform::components::GlobalTransform;
use seamless_asset::{SoftHandle, Streamable};

use super::events::{CueExecuted, CueOnActive, CueRemoved, CueWhileActive, PlayedCue};
use crate::{
    actor::Actors,
    cue::{CueContext, CueEvent, Told},
    debug::{Hints, Hitch},
    effect::OwnedTags,
    engine::{NotifyState, Stage},
    loads,
    notify::{CueKind, CueNotify},
    route::{
        NotifyId,
        filter::{CueFilter, SuppressCues, SuppressWhile},
        translate::{CueTranslation, TranslateCues, translated},
    },
    tag::GameplayTag,
};

/// What is kept of a notify besides what the engine knows.
#[derive(Debug)]
pub(crate) struct Record {
    pub soft: SoftHandle<CueNotify>,
    pub tag: GameplayTag,
    /// Keeps it alive.
    pub handle: Option<Handle<CueNotify>>,
    pub id: AssetId<CueNotify>,
    pub load: Option<Streamable>,
    pub is_actor: bool,
    /// When it was last played, or came.
    pub used: Duration,
    pub bytes: u64,
    pub is_always_loaded: bool,
    /// Whether the libraries know it still.
    pub is_known: bool,
}

/// What has happened backstage.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub loads: u64,
    pub blocking: u64,
    pub failed: u64,
    pub unloaded: u64,
}

/// All that a stage has besides the world.
#[derive(Default)]
pub(crate) struct Backstage {
    pub records: Vec<Record>,
    pub by_path: HashMap<Arc<str>, NotifyId>,
    pub actors: Actors,
    pub listeners: Vec<Vec3>,
    pub suppressed: CueFilter,
    pub suppressed_while: Vec<SuppressWhile>,
    pub translations: Vec<CueTranslation>,
    /// Whether any entity may have these components.
    has_suppressors: bool,
    has_translators: bool,
    /// Since the pipeline's start, and in the game.
    pub now: Duration,
    pub game_now: Duration,
    /// Who has fired the cue that is on its way.
    pub caller: Option<&'static Location<'static>>,
    /// Notifies whose load was begun since the last look.
    pub begun: Vec<NotifyId>,
    /// Notifies that are loaded because a cue has needed them; some of them may be gone.
    pub kept: Vec<NotifyId>,
    /// Notifies that turned out not to be loadable, and why.
    pub failures: Vec<(NotifyId, String)>,
    pub hints: Hints,
    pub counts: Counts,
}

impl Backstage {
    /// Components that nobody has ever inserted need not be looked for.
    pub fn look_at_components(&mut self, world: &World) {
        self.has_suppressors = self.has_suppressors || world.component_id::<SuppressCues>().is_some();
        self.has_translators = self.has_translators || world.component_id::<TranslateCues>().is_some();
    }

    /// A notify is there.
    pub fn loaded(&mut self, id: NotifyId, (handle, notify): (Handle<CueNotify>, CueNotify)) -> NotifyState {
        let record = &mut self.records[id.index()];
        record.used = self.now;
        if !record.is_always_loaded && record.handle.is_none() {
            self.kept.push(id);
        }
        record.id = handle.id();
        record.handle = Some(handle);
        record.is_actor = matches!(notify.kind, CueKind::Actor { .. });
        let (is_actor, allow_multiple) = (record.is_actor, notify.allow_multiple);
        if is_actor {
            self.actors.open(id, notify);
        }
        NotifyState::Loaded {
            is_actor,
            allow_multiple,
        }
    }

    /// A notify will not come.
    pub fn failed(&mut self, id: NotifyId) -> NotifyState {
        self.counts.failed += 1;
        self.records[id.index()].load = None;
        self.actors.give_up(id);
        NotifyState::Failed
    }
}

/// The world, and what is behind it.
pub(crate) struct WorldStage<'a> {
    pub world: &'a mut World,
    pub back: &'a mut Backstage,
    /// Whether observers may have commanded something.
    has_played: bool,
}

impl<'a> WorldStage<'a> {
    pub fn new(world: &'a mut World, back: &'a mut Backstage) -> Self {
        let has_played = false;
        Self {
            world,
            back,
            has_played,
        }
    }
}

impl Stage for WorldStage<'_> {
    fn is_alive(&self, entity: Entity) -> bool {
        self.world.entities().contains_spawned(entity)
    }

    fn translate(&self, tag: GameplayTag, context: &CueContext) -> Option<GameplayTag> {
        let back = &self.back;
        let is_suppressed = back.suppressed.has(tag)
            || (back.has_suppressors && self.suppresses(tag, context))
            || (!back.suppressed_while.is_empty() && self.is_kept_back(tag, context));
        if is_suppressed {
            return None;
        }
        let own = match back.has_translators {
            true => self.world.get::<TranslateCues>(context.target),
            false => None,
        };
        let own = own.and_then(|own| translated(tag, &own.0));
        Some(own.or_else(|| translated(tag, &back.translations)).unwrap_or(tag))
    }

    fn location(&self, entity: Entity) -> Option<Vec3> {
        self.world
            .get::<GlobalTransform>(entity)
            .map(GlobalTransform::translation)
    }

    fn listeners(&self) -> &[Vec3] {
        &self.back.listeners
    }

    fn find(&mut self, id: NotifyId) -> Option<NotifyState> {
        let there = loads::there(self.world, &self.back.records[id.index()].soft)?;
        Some(self.back.loaded(id, there))
    }

    fn load(&mut self, id: NotifyId, tag: GameplayTag, now: bool) -> NotifyState {
        self.back.counts.loads += 1;
        let soft = self.back.records[id.index()].soft.clone();
        if !now {
            self.back.records[id.index()].load = Some(loads::begin(self.world, &soft, loads::WAITED_FOR));
            self.back.begun.push(id);
            return NotifyState::Loading;
        }
        self.back.counts.blocking += 1;
        let start = Instant::now();
        let result = loads::now(self.world, &soft);
        self.back.hints.hitch(Hitch {
            tag,
            notify: soft.path().into(),
            took: start.elapsed(),
            bytes: self.back.records[id.index()].bytes,
            caller: self.back.caller,
        });
        match result {
            Ok(there) => self.back.loaded(id, there),
            Err(message) => {
                self.back.hints.late_load_failed(tag, soft.path(), 0, &message);
                self.back.failed(id)
            }
        }
    }

    fn has_actor(&mut self, id: NotifyId, context: &CueContext, is_new: bool) -> bool {
        let found = self.back.actors.has(self.world, id, context, is_new);
        found.unwrap_or_else(|message| {
            self.back.failures.push((id, message));
            false
        })
    }

    fn play(&mut self, id: NotifyId, event: CueEvent, tag: GameplayTag, context: Told) {
        let now = self.back.now;
        let record = &mut self.back.records[id.index()];
        record.used = now;
        let (of, notify) = (record.tag, record.id);
        let instance = match record.is_actor {
            true => {
                let (context, now) = (context.context(), self.back.game_now);
                self.back.actors.play(self.world, id, event, tag, context, now)
            }
            false => None,
        };
        self.has_played = true;
        let entity = context.context().target;
        let cue = PlayedCue {
            tag,
            of,
            notify,
            instance,
            context: context.own(),
        };
        // By reference, because an event is not small.
        match event {
            CueEvent::Executed => self.world.trigger_ref(&mut CueExecuted { entity, cue }),
            CueEvent::OnActive => self.world.trigger_ref(&mut CueOnActive { entity, cue }),
            CueEvent::WhileActive => self.world.trigger_ref(&mut CueWhileActive { entity, cue }),
            CueEvent::Removed => self.world.trigger_ref(&mut CueRemoved { entity, cue }),
        }
    }

    /// What observers have commanded is done before the next cue is played.
    #[inline]
    fn done(&mut self) {
        if mem::take(&mut self.has_played) {
            self.world.flush();
        }
    }

    fn late(&mut self, tag: GameplayTag, waited: Duration) {
        let records = &self.back.records;
        let bytes = || {
            // What is always loaded was not read for it.
            let is_read = |record: &&Record| record.is_known && !record.is_always_loaded && tag.is_a(record.tag);
            let heard = records.iter().filter(is_read);
            heard.map(|record| record.bytes).max().unwrap_or_default()
        };
        self.back.hints.late(tag, waited, bytes);
    }

    fn unknown(&mut self, tag: GameplayTag) {
        self.back.hints.unknown(tag, self.back.caller);
    }
}

impl WorldStage<'_> {
    /// By tags that entities have.
    fn is_kept_back(&self, tag: GameplayTag, context: &CueContext) -> bool {
        let tags = |entity| self.world.get::<OwnedTags>(entity);
        let mut rules = self.back.suppressed_while.iter();
        rules.any(|rule| rule.applies(tag, context, tags))
    }

    fn suppresses(&self, tag: GameplayTag, context: &CueContext) -> bool {
        let of = |entity: Entity| self.world.get::<SuppressCues>(entity);
        of(context.target).is_some_and(|suppressed| suppressed.on_it.has(tag))
            || context
                .instigator
                .and_then(of)
                .is_some_and(|suppressed| suppressed.by_it.has(tag))
    }
}
