//! The phases of a game, and when it goes on.

use bevy::prelude::*;
use bevy_seamless::{
    asset::{ObjectRegistries, PreloadProgress, PreloadSystems},
    cue::{CueAct, CueContext, CueReport, CueState, FireCues, GameplayTag, NotifyReport, PoolReport, SetGrants},
};

use super::{
    ArenaOptions,
    names::Tags,
    tour::Stage,
    units::{Roster, Unequipped},
};

/// Where the game is.
#[derive(States, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// Until what it needs to begin is there.
    #[default]
    Start,
    /// A show before the battle.
    Lobby,
    /// The battle.
    Battle,
    /// A show after it.
    Aftermath,
    /// Nothing is left.
    Over,
}

/// Where the battle is.
#[derive(SubStates, Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[source(Phase = Phase::Battle)]
pub enum BattleStep {
    /// What it needs comes.
    #[default]
    Loading,
    /// It is fought.
    Fighting,
}

/// A show that goes on.
#[derive(Resource, Default)]
struct Show {
    ticks: u64,
    playing: Vec<GameplayTag>,
}

pub(super) fn build(app: &mut App) {
    app.init_state::<Phase>()
        .add_sub_state::<BattleStep>()
        .init_resource::<Show>()
        .add_systems(
            SpawnScene,
            (
                start.run_if(in_state(Phase::Start)),
                begin.run_if(in_state(BattleStep::Loading)),
                end.run_if(in_state(BattleStep::Fighting)),
                show.run_if(in_state(Phase::Lobby).or_else(in_state(Phase::Aftermath))),
            )
                .in_set(PreloadSystems::Advance),
        );
}

/// Whether what was asked for is there, if this game waits for it: assets, and the instances that are made ahead.
fn is_ready(world: &World) -> bool {
    if !world.resource::<ArenaOptions>().approach.waits() {
        return true;
    }
    let is_full = |pool: &PoolReport| pool.stats.free + pool.stats.playing >= pool.preallocated;
    let is_there = |notify: &NotifyReport| !notify.is_always_loaded || notify.state != CueState::Loading;
    let report = CueReport::of(world);
    world.resource::<PreloadProgress>().is_ready()
        && report.notifies.iter().all(is_there)
        && report.pools.iter().all(is_full)
}

/// Whether a player would see a screen that says "loading".
#[must_use]
pub(super) fn is_waiting(world: &World) -> bool {
    match **world.resource::<State<Phase>>() {
        Phase::Start => true,
        Phase::Lobby | Phase::Aftermath => world.resource::<Show>().playing.is_empty(),
        Phase::Battle => world
            .get_resource::<State<BattleStep>>()
            .is_none_or(|step| **step == BattleStep::Loading),
        Phase::Over => false,
    }
}

fn start(world: &mut World) {
    let registries = world.resource::<ObjectRegistries>();
    let is_known = !registries.is_empty() && !registries.is_loading();
    if is_known && is_ready(world) {
        world.resource_mut::<NextState<Phase>>().set(Phase::Lobby);
    }
}

fn begin(world: &mut World, unequipped: &mut QueryState<(), With<Unequipped>>) {
    let waits = world.resource::<ArenaOptions>().approach.waits();
    let is_armed = unequipped.iter(world).next().is_none() && world.resource::<SetGrants>().pending() == 0;
    if !waits || (is_armed && is_ready(world)) {
        world.resource_mut::<NextState<BattleStep>>().set(BattleStep::Fighting);
    }
}

fn end(roster: Res<Roster>, options: Res<ArenaOptions>, mut next: ResMut<NextState<Phase>>) {
    if roster.tick >= options.battle_ticks {
        next.set(Phase::Aftermath);
    }
}

/// Lets all cues of a show play, for a while.
fn show(world: &mut World) {
    if world.resource::<Show>().playing.is_empty() {
        if is_ready(world) {
            let tags = world.resource::<Tags>();
            let playing = match **world.resource::<State<Phase>>() {
                Phase::Lobby => tags.lobby.clone(),
                _ => tags.aftermath.clone(),
            };
            *world.resource_mut::<Show>() = Show { ticks: 0, playing };
            play(world, CueAct::Add);
        }
        return;
    }
    let most = world.resource::<ArenaOptions>().show_ticks;
    let mut show = world.resource_mut::<Show>();
    show.ticks += 1;
    if show.ticks < most {
        return;
    }
    play(world, CueAct::Remove);
    world.resource_mut::<Show>().playing.clear();
    let next = match **world.resource::<State<Phase>>() {
        Phase::Lobby => Phase::Battle,
        _ => Phase::Over,
    };
    world.resource_mut::<NextState<Phase>>().set(next);
}

fn play(world: &mut World, act: CueAct) {
    let mut stages = world.query_filtered::<Entity, With<Stage>>();
    let Ok(stage) = stages.single(world) else { return };
    for (place, tag) in world.resource::<Show>().playing.clone().into_iter().enumerate() {
        let at = world
            .get::<Transform>(stage)
            .map_or(Vec3::ZERO, |stage| stage.translation);
        let at = at + Vec3::new(place as f32 * 6.0 - 9.0, 0.0, -8.0);
        world.fire_cue(act, tag, CueContext::new(stage).at(at));
    }
}
