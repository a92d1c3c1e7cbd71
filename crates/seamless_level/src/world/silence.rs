//! Worlds of which nothing comes. See [`tell_silence`].

use bevy_ecs::{
    query::With,
    system::{Local, Query, Res},
};
use bevy_log::warn;
use seamless_asset::StreamingClock;

use super::{EvenHidden, LevelSelection, LevelTable, Now, SeamlessWorld};
use crate::{settings::LevelSettings, source::StreamingSource, volume::StreamingVolume};

/// For how long nothing may be asked for before that is told, in seconds.
const PATIENCE: f64 = 5.0;

/// What is known of it so far.
#[derive(Default)]
pub(crate) struct Silence {
    /// Why nothing is asked for, and since when.
    since: Option<(Lack, f64)>,
    /// It was told, or something was asked for.
    is_over: bool,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Lack {
    World,
    Source,
    Volume,
}

impl Lack {
    fn text(self) -> &'static str {
        match self {
            Self::World => {
                "there are `StreamingVolume`s, and no `SeamlessWorld`: spawn one with the handle of a manifest"
            }
            Self::Source => {
                "there is no `StreamingSource` that volumes or distances could look for: insert one into the camera or the player"
            }
            Self::Volume => {
                "no volume asks for any level: insert `DistanceStreaming` beside the `SeamlessWorld`, spawn `StreamingVolume`s, name volumes in the \
                 world file, or call `Levels::load`"
            }
        }
    }
}

/// Tells once if nothing was ever asked for in some seconds, with the most likely reason.
pub(crate) fn tell_silence(
    tables: Query<(&LevelTable, &LevelSelection), EvenHidden>,
    worlds: Query<(), (With<SeamlessWorld>, EvenHidden)>,
    volumes: Query<(), (With<StreamingVolume>, EvenHidden)>,
    sources: Query<(), With<StreamingSource>>,
    settings: Res<LevelSettings>,
    mut silence: Local<Silence>,
    mut now: Now,
    clock: Res<StreamingClock>,
) {
    if silence.is_over {
        return;
    }
    let _time = clock.measure("a look for worlds that nobody looks at");
    let now = now.seconds();
    let is_asked = |(_, selection): (_, &LevelSelection)| selection.selector.asked().next().is_some();
    silence.is_over = tables.iter().any(is_asked);
    let has_volumes =
        |(_, selection): (_, &LevelSelection)| !(selection.volumes.is_empty() && selection.distances.is_empty());
    let reason = if worlds.is_empty() {
        (!volumes.is_empty()).then_some(Lack::World)
    } else if tables.is_empty() {
        None
    } else if !tables.iter().any(has_volumes) {
        Some(Lack::Volume)
    } else {
        // A server may wait for its players.
        (sources.is_empty() && !settings.follow_remote).then_some(Lack::Source)
    };
    let before = silence.since.take();
    silence.since = reason.map(|reason| match before {
        Some((same, since)) if same == reason => (reason, since),
        _ => (reason, now),
    });
    if let Some((reason, since)) = silence.since
        && !silence.is_over
        && now - since >= PATIENCE
    {
        warn!("nothing was streamed so far: {}", reason.text());
        silence.is_over = true;
    }
}
