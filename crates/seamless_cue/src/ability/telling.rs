//! Telling observers what has happened, in the order in which it did.

use core::time::Duration;
use std::collections::VecDeque;

use bevy_ecs::{
    entity::Entity,
    resource::Resource,
    system::{Commands, ResMut},
    world::World,
};

use super::{AbilitySettings, AbilityStats, SetGranted, grant::Callback};
use crate::effect::{Output, trigger};

/// How much may wait to be told; beyond it, nothing new begins until observers have heard of some of it. Ends are never refused.
const MAX_UNTOLD: usize = 1 << 20;
/// How much of what observers have brought about is told in one step, besides the limit of rounds.
const MAX_ANSWERS: usize = 1 << 16;

/// What observers are still to hear, in the order in which it happened. One thing is told after the other, each to all observers, and what these do is
/// told behind all that has happened before: so nobody hears of an end before its beginning, and those who answer each other do not need any stack.
#[derive(Resource, Default)]
pub(crate) struct Telling {
    queue: VecDeque<News>,
    is_telling: bool,
    /// The rest is told in the next step.
    is_put_off: bool,
    was_put_off: bool,
    /// Ids of effects and abilities whose component was removed are below these.
    pub next_effect: u64,
    pub next_ability: u64,
    /// Who is being despawned.
    pub leaving: Option<Entity>,
}

enum News {
    Output(Entity, Output),
    Set(SetGranted, Option<Callback>),
}

/// How far the last step of time came.
#[derive(Resource, Default)]
pub(super) struct StepClock {
    pub passed: Duration,
}

impl News {
    fn event(&self) -> (&'static str, Entity) {
        match self {
            Self::Output(entity, output) => (output.event(), *entity),
            Self::Set(granted, _) => ("SetGranted", granted.entity),
        }
    }

    fn tell(self, world: &mut World) {
        match self {
            Self::Output(entity, output) => trigger(entity, output, world),
            Self::Set(granted, callback) => {
                if let Some(callback) = callback {
                    callback(&granted, &mut world.commands());
                    world.flush();
                }
                world.trigger(granted);
            }
        }
        world.flush();
    }
}

impl Telling {
    /// To be told by [`tell_all`].
    pub fn push(&mut self, entity: Entity, outputs: impl IntoIterator<Item = Output>) {
        let news = outputs.into_iter().map(|output| News::Output(entity, output));
        self.queue.extend(news);
    }

    /// To be told when commands are applied.
    pub fn tell(&mut self, entity: Entity, outputs: impl IntoIterator<Item = Output>, commands: &mut Commands) {
        let before = self.queue.len();
        self.push(entity, outputs);
        if self.queue.len() > before {
            self.tell_soon(commands);
        }
    }

    pub fn tell_set(&mut self, granted: SetGranted, callback: Option<Callback>, commands: &mut Commands) {
        self.queue.push_back(News::Set(granted, callback));
        self.tell_soon(commands);
    }

    fn tell_soon(&self, commands: &mut Commands) {
        if !self.is_telling {
            commands.queue(tell_all);
        }
    }

    /// How much is waiting, if that is too much for anything new.
    pub fn too_much(&self) -> Option<usize> {
        (self.queue.len() >= MAX_UNTOLD).then_some(self.queue.len())
    }
}

/// Tells everything, in rounds: first what is there, then what observers have brought about meanwhile, and so on. Where that has no end, the rest is told in
/// the next step: nothing of it is lost, and nothing overtakes it.
pub(crate) fn tell_all(world: &mut World) {
    let most_rounds = world.resource::<AbilitySettings>().max_told_rounds;
    let mut telling = world.resource_mut::<Telling>();
    if telling.is_telling || telling.is_put_off {
        return;
    }
    telling.is_telling = true;
    let (mut rounds, mut answers, mut in_round) = (0, 0, telling.queue.len());
    loop {
        let mut telling = world.resource_mut::<Telling>();
        if in_round == 0 {
            (rounds, in_round) = (rounds + 1, telling.queue.len());
        }
        let is_too_much = rounds > most_rounds || answers >= MAX_ANSWERS;
        if is_too_much && !telling.queue.is_empty() {
            put_off(world, rounds);
            break;
        }
        let Some(news) = telling.queue.pop_front() else { break };
        in_round -= 1;
        answers += usize::from(rounds > 0);
        news.tell(world);
    }
    world.resource_mut::<Telling>().is_telling = false;
}

/// The rest is for the next step.
fn put_off(world: &mut World, rounds: u32) {
    let mut telling = world.resource_mut::<Telling>();
    telling.is_put_off = true;
    let (rest, next) = (telling.queue.len(), telling.queue.front().map(News::event));
    // Once, for as long as it goes on.
    if let (Some((event, entity)), false) = (next, telling.was_put_off) {
        bevy_log::error!(
            "observers of effects and abilities answer each other without end: after {rounds} rounds, {rest} events are to be told, `{event}` of \
             {entity} next; they are told in the next step; let an observer not answer what is an answer itself, or raise \
             `AbilityPlugin::max_told_rounds` if so many are meant"
        );
    }
    world.resource_mut::<AbilityStats>().put_off += 1;
}

/// What the last step has put off is told in this one.
pub(super) fn tell_rest(mut telling: ResMut<Telling>, mut commands: Commands) {
    let was_put_off = telling.is_put_off;
    if was_put_off || telling.was_put_off {
        (telling.is_put_off, telling.was_put_off) = (false, was_put_off);
    }
    // Where an observer has panicked, and the app goes on.
    telling.is_telling = false;
    if was_put_off {
        commands.queue(tell_all);
    }
}
