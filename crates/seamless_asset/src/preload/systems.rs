//! What becomes of wishes: loads, progress, releases.

use core::time::Duration;
use std::{collections::BTreeSet, sync::Arc};

use bevy_app::{App, SpawnScene};
use bevy_ecs::{
    change_detection::{DetectChanges, DetectChangesMut},
    message::MessageWriter,
    prelude::{IntoScheduleConfigs, Res, ResMut},
    schedule::common_conditions::resource_exists,
    system::SystemParam,
};
use bevy_log::{error, warn};

use super::{
    PreloadError, PreloadEvent, PreloadProgress, PreloadSet, PreloadSets, PreloadSettings, PreloadSource, PreloadState,
    PreloadSystems, PreloadZone, sets::Held, zone,
};
use crate::{
    StreamingSystems,
    load::Pipeline,
    registry::{ObjectRegistries, ObjectScan, take_registries},
    settings::StreamingClock,
    soft::SoftPath,
    streamable::{Streamable, StreamableHub, StreamableProgress, StreamableRequest, StreamableState, drive, settle},
    time::StreamingTime,
};

/// How long sets wait for a first registry, until that is said.
const PATIENCE: Duration = Duration::from_secs(10);

/// Adds preload sets to an app.
pub(crate) fn add_preload(app: &mut App) {
    app.init_resource::<PreloadSets>()
        .init_resource::<PreloadSettings>()
        .init_resource::<PreloadProgress>()
        .register_type::<PreloadSettings>()
        .register_type::<PreloadProgress>()
        .register_type::<PreloadZone>()
        .register_type::<PreloadSource>()
        .add_message::<PreloadEvent>()
        .configure_sets(
            SpawnScene,
            (
                (PreloadSystems::Want, PreloadSystems::Follow)
                    .chain()
                    .after(take_registries)
                    .before(drive)
                    .in_set(StreamingSystems::Objects),
                (PreloadSystems::Tell, PreloadSystems::Advance)
                    .chain()
                    .after(settle)
                    .in_set(StreamingSystems::Settle),
            ),
        )
        .add_systems(
            SpawnScene,
            (
                zone::look.in_set(PreloadSystems::Want),
                follow.in_set(PreloadSystems::Follow),
                tell.in_set(PreloadSystems::Tell),
            )
                .run_if(resource_exists::<Pipeline>),
        );
}

#[derive(SystemParam)]
pub(super) struct Around<'w> {
    registries: Res<'w, ObjectRegistries>,
    hub: Res<'w, StreamableHub>,
    settings: Res<'w, PreloadSettings>,
    clock: Res<'w, StreamingClock>,
    time: Res<'w, StreamingTime>,
}

/// Asks for what is wanted and not there yet.
pub(super) fn follow(mut sets: ResMut<PreloadSets>, around: Around) {
    let generation = around.registries.generation();
    let is_news = sets.generation != Some(generation);
    let is_known = !(around.registries.is_loading() || around.registries.is_empty());
    warn_of_waiting(&mut sets, &around);
    let can_look = sets.is_waiting && is_known;
    if !(sets.is_changed || is_news || can_look || around.settings.is_changed()) {
        return;
    }
    let _time = around.clock.measure("preload sets");
    let sets = &mut *sets;
    sets.generation = Some(generation);
    (sets.is_changed, sets.is_waiting) = (false, false);
    let wanted: Vec<_> = sets
        .union()
        .into_iter()
        .map(|(set, (reason, caller))| (set.clone(), reason.clone(), caller))
        .collect();
    let names: BTreeSet<&Arc<str>> = wanted.iter().map(|(set, ..)| set).collect();
    let gone: Vec<Arc<str>> = sets.held.keys().filter(|set| !names.contains(set)).cloned().collect();
    for set in gone {
        if let Some(streamable) = sets.held.remove(&set).and_then(|held| held.streamable) {
            sets.leave(set, streamable, true);
        }
    }
    for (place, (set, reason, caller)) in wanted.iter().enumerate() {
        let found = match (sets.declared.get(set), place < around.settings.max_wanted) {
            (_, false) => Err(PreloadError::TooMany {
                set: set.clone(),
                most: around.settings.max_wanted,
            }),
            (None, true) => Err(PreloadError::Undeclared {
                set: set.clone(),
                reason: reason.clone(),
            }),
            (Some(declared), true) => match objects_of(set, declared, &around.registries) {
                Some(found) => Ok((found, declared.priority)),
                // Folders are looked through when the registries are there.
                None => {
                    sets.is_waiting = true;
                    sets.held.entry(set.clone()).or_default();
                    continue;
                }
            },
        };
        match found {
            Err(error) => refuse(sets, set, error),
            Ok(((paths, errors), priority)) => ask(sets, set, paths, errors, |paths| {
                let request = StreamableRequest {
                    priority,
                    ..StreamableRequest::new(paths)
                };
                around.hub.request(request.named(format!("preload {set}")), caller)
            }),
        }
    }
    wait_for_new(sets);
}

/// The first registry may come with a world that nobody has spawned yet. Where none comes, somebody has to be told.
fn warn_of_waiting(sets: &mut ResMut<PreloadSets>, around: &Around) {
    if !(sets.is_waiting && around.registries.is_empty() && !around.registries.is_loading()) {
        return;
    }
    let sets = sets.bypass_change_detection();
    let now = around.time.now();
    let since = *sets.waiting_since.get_or_insert(now);
    if now.saturating_sub(since) > PATIENCE && !core::mem::replace(&mut sets.has_warned, true) {
        let waiting = sets.held.iter().find(|(_, held)| held.streamable.is_none());
        let set = waiting.map_or("?", |(set, _)| &**set);
        warn!(
            "preload set `{set}` waits for a registry, which tells what is in its folders, and there is none; spawn a `SeamlessWorld`, or name \
             the file in `SeamlessAssetPlugin::registries`"
        );
    }
}

/// What a set names, once each, and what is wrong with it; none while it cannot be known.
fn objects_of(
    name: &Arc<str>,
    set: &PreloadSet,
    registries: &ObjectRegistries,
) -> Option<(Vec<SoftPath>, Vec<PreloadError>)> {
    if !set.folders.is_empty() && (registries.is_loading() || registries.is_empty()) {
        return None;
    }
    let mut paths = set.objects.clone();
    let mut errors = Vec::new();
    for folder in &set.folders {
        let found = registries.scan(&ObjectScan::new().under(folder.as_str()));
        if found.is_empty() {
            errors.push(PreloadError::EmptyFolder {
                set: name.clone(),
                folder: folder.clone(),
                registries: registries.len(),
            });
        }
        paths.extend(found.iter().map(|object| object.soft()));
    }
    let mut seen = BTreeSet::new();
    paths.retain(|path| seen.insert((path.path().to_owned(), path.of().map(|of| of.path))));
    Some((paths, errors))
}

fn refuse(sets: &mut PreloadSets, set: &Arc<str>, error: PreloadError) {
    let held = sets.held.entry(set.clone()).or_default();
    let was = held.streamable.take();
    if was.is_some() || held.errors.is_empty() {
        error!("{error}");
        *held = Held {
            errors: vec![error],
            ..Held::default()
        };
    }
    if let Some(was) = was {
        sets.leave(set.clone(), was, false);
    }
}

/// Asks for the objects of a set, if they are others than those that were asked for before.
fn ask(
    sets: &mut PreloadSets,
    set: &Arc<str>,
    paths: Vec<SoftPath>,
    errors: Vec<PreloadError>,
    request: impl FnOnce(Vec<SoftPath>) -> Streamable,
) {
    let is_it = |streamable: &Streamable| streamable.paths() == paths;
    if let Some(held) = sets.held.get_mut(set)
        && held.streamable.as_ref().is_some_and(is_it)
    {
        held.errors = errors;
        return;
    }
    // It may be wanted again before it has gone.
    let back = sets
        .leaving
        .iter()
        .position(|leaving| leaving.set == *set && leaving.is_told && is_it(&leaving.streamable));
    let streamable = match back {
        Some(place) => sets.leaving.swap_remove(place).streamable,
        None => request(paths),
    };
    errors.iter().for_each(|error| error!("{error}"));
    let held = Held {
        streamable: Some(streamable),
        errors,
        is_told: false,
    };
    if let Some(was) = sets.held.insert(set.clone(), held).and_then(|was| was.streamable) {
        sets.leave(set.clone(), was, false);
    }
}

/// Those that leave wait for all that is on its way now.
fn wait_for_new(sets: &mut PreloadSets) {
    let on_its_way = sets
        .held
        .iter()
        .filter(|(_, held)| held.state() == PreloadState::Loading);
    let until: BTreeSet<Arc<str>> = on_its_way.map(|(set, _)| set.clone()).collect();
    for leaving in &mut sets.leaving {
        if leaving.until.is_empty() {
            leaving.until.clone_from(&until);
        }
    }
}

/// Tells how far it has come, and releases what nobody waits for any more.
pub(super) fn tell(
    mut sets: ResMut<PreloadSets>,
    settings: Res<PreloadSettings>,
    mut progress: ResMut<PreloadProgress>,
    mut events: MessageWriter<PreloadEvent>,
) {
    let sets = sets.bypass_change_detection();
    let mut new = PreloadProgress::default();
    for (set, held) in &mut sets.held {
        let state = held.state();
        let of = held.streamable.as_ref();
        new.add(
            state,
            &of.map_or_else(StreamableProgress::default, Streamable::progress),
        );
        if state != PreloadState::Loading && !core::mem::replace(&mut held.is_told, true) {
            events.write(end_of(set, held));
        }
    }
    release(sets, settings.release_first, &mut events);
    new.leaving = sets.leaving.len() as u32;
    progress.set_if_neq(new);
}

fn end_of(set: &Arc<str>, held: &Held) -> PreloadEvent {
    let set = set.clone();
    let end = held.streamable.as_ref().and_then(Streamable::end);
    let of_objects = end
        .into_iter()
        .flat_map(|end| end.errors())
        .cloned()
        .map(PreloadError::Object);
    let errors: Arc<[PreloadError]> = held.errors.iter().cloned().chain(of_objects).collect();
    match held.state() {
        PreloadState::Loaded => PreloadEvent::Loaded { set },
        _ => PreloadEvent::Failed { set, errors },
    }
}

fn release(sets: &mut PreloadSets, release_first: bool, events: &mut MessageWriter<PreloadEvent>) {
    let PreloadSets { held, leaving, .. } = sets;
    let is_awaited = |set: &Arc<str>| {
        held.get(set)
            .is_some_and(|held| match (&held.streamable, release_first) {
                // What is live was found by then, and is held.
                (Some(streamable), true) => streamable.state() == StreamableState::Waiting,
                _ => held.state() == PreloadState::Loading,
            })
    };
    leaving.retain_mut(|leaving| {
        leaving.until.retain(is_awaited);
        if leaving.until.is_empty() && leaving.is_told {
            events.write(PreloadEvent::Released {
                set: leaving.set.clone(),
            });
        }
        !leaving.until.is_empty()
    });
}
