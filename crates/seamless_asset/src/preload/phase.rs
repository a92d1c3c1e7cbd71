//! Sets for phases of the game. See [`PreloadAppExt`].

use core::panic::Location;
use std::sync::Arc;

use bevy_app::{App, SpawnScene};
use bevy_ecs::{
    change_detection::DetectChanges,
    prelude::{IntoScheduleConfigs, Local, Res, ResMut, Resource},
    schedule::{ScheduleConfigs, SystemSet},
    system::ScheduleSystem,
};
use bevy_state::state::{FreelyMutableState, NextState, State, States};

use super::{PreloadProgress, PreloadSets, PreloadSystems, zone};

/// Preload sets and Bevy's states.
pub trait PreloadAppExt {
    /// These sets are wanted while the state has this value. Several calls for one value add up; sub-states and computed states, which are there at
    /// times only, are as good as others.
    ///
    /// ```no_run
    /// # use bevy_app::prelude::*; use bevy_state::prelude::*;
    /// # use seamless_asset::{PreloadAppExt, PreloadSet, PreloadSets};
    /// # #[derive(States, Clone, PartialEq, Eq, Hash, Debug, Default)] enum Phase { #[default] Lobby, Match }
    /// // What the match is has a step in which it is loaded.
    /// #[derive(SubStates, Clone, PartialEq, Eq, Hash, Debug, Default)]
    /// #[source(Phase = Phase::Match)]
    /// enum MatchStep {
    ///     #[default]
    ///     Loading,
    ///     Playing,
    /// }
    ///
    /// # let mut app = App::new();
    /// app.preload_in_state(Phase::Lobby, ["menu"])
    ///     .preload_in_state(Phase::Match, ["common", "arena"])
    ///     .advance_when_preloaded(MatchStep::Loading, MatchStep::Playing);
    /// ```
    #[track_caller]
    fn preload_in_state<S: States, N: Into<Arc<str>>>(
        &mut self,
        state: S,
        sets: impl IntoIterator<Item = N>,
    ) -> &mut Self;

    /// Goes on to another value of a state when all sets that are wanted are there, or have failed. What is wanted in `from` counts from the frame on
    /// in which it is entered. Of several ways on from one value, the one that was added last is taken.
    /// It waits for sets only: a screen that waits for the levels of a world asks `StreamingStatus` of `seamless_level`.
    fn advance_when_preloaded<S: FreelyMutableState>(&mut self, from: S, to: S) -> &mut Self;
}

/// What was added goes one after the other, so that each run is the same.
#[derive(SystemSet, Debug, Clone, PartialEq, Eq, Hash)]
enum Turn {
    Want(usize),
    Advance(usize),
}

/// How many of each were added.
#[derive(Resource, Default)]
struct Turns {
    want: usize,
    advance: usize,
}

/// Puts a system in its turn: after the one that was added before it.
fn in_turn<M>(
    system: impl IntoScheduleConfigs<ScheduleSystem, M>,
    turn: fn(usize) -> Turn,
    count: &mut usize,
) -> ScheduleConfigs<ScheduleSystem> {
    let number = *count;
    *count += 1;
    let system = system.in_set(turn(number));
    match number.checked_sub(1) {
        Some(before) => system.after(turn(before)),
        None => system,
    }
}

/// The sets of each value of a state.
#[derive(Resource)]
struct PhaseSets<S: States>(Vec<(S, Arc<str>, &'static Location<'static>)>);

impl PreloadAppExt for App {
    #[track_caller]
    fn preload_in_state<S: States, N: Into<Arc<str>>>(
        &mut self,
        state: S,
        sets: impl IntoIterator<Item = N>,
    ) -> &mut Self {
        let caller = Location::caller();
        if !self.world().contains_resource::<PhaseSets<S>>() {
            let mut turns = self.world_mut().get_resource_or_init::<Turns>();
            let follow = in_turn(follow_phase::<S>, Turn::Want, &mut turns.want);
            let follow = follow.in_set(PreloadSystems::Want).before(zone::look);
            self.insert_resource(PhaseSets::<S>(Vec::new()))
                .add_systems(SpawnScene, follow);
        }
        let mut phases = self.world_mut().resource_mut::<PhaseSets<S>>();
        phases
            .0
            .extend(sets.into_iter().map(|set| (state.clone(), set.into(), caller)));
        self
    }

    fn advance_when_preloaded<S: FreelyMutableState>(&mut self, from: S, to: S) -> &mut Self {
        let advance =
            move |state: Option<Res<State<S>>>, progress: Res<PreloadProgress>, next: Option<ResMut<NextState<S>>>| {
                let is_there = state.is_some_and(|state| *state.get() == from);
                if let Some(mut next) = next.filter(|_| is_there && progress.is_ready()) {
                    next.set(to.clone());
                }
            };
        let mut turns = self.world_mut().get_resource_or_init::<Turns>();
        let advance = in_turn(advance, Turn::Advance, &mut turns.advance);
        self.add_systems(SpawnScene, advance.in_set(PreloadSystems::Advance))
    }
}

fn follow_phase<S: States>(
    state: Option<Res<State<S>>>,
    phases: Res<PhaseSets<S>>,
    mut last: Local<Option<S>>,
    mut sets: ResMut<PreloadSets>,
) {
    let now = state.map(|state| state.get().clone());
    if *last == now && !phases.is_changed() {
        return;
    }
    let of_now = phases.0.iter().filter(|(phase, ..)| Some(phase) == now.as_ref());
    let wanted: Vec<_> = of_now.map(|(_, set, caller)| (set.clone(), *caller)).collect();
    sets.want_at(core::any::type_name::<S>(), wanted);
    *last = now;
}
