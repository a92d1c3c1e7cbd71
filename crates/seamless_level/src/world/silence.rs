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

impl Silence {
    /// What is to be told now, if `lack` is why nothing is asked for, or nothing was by now. Whether it `is_real` is asked now and then.
    fn look(&mut self, is_asked: bool, lack: Option<Lack>, now: f64, is_real: impl Fn(Lack) -> bool) -> Option<Lack> {
        self.is_over |= is_asked;
        if self.is_over {
            return None;
        }
        let before = self.since.take();
        self.since = lack.map(|lack| match before {
            Some((same, since)) if same == lack => (lack, since),
            _ => (lack, now),
        });
        let (lack, since) = self.since.filter(|(_, since)| now - since >= PATIENCE)?;
        self.is_over = is_real(lack);
        self.since = Some((lack, if self.is_over { since } else { now }));
        self.is_over.then_some(lack)
    }
}

/// Tells once if nothing was ever asked for in some seconds but what is always loaded, with the most likely reason.
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
    // What is always loaded tells nothing of sources and volumes.
    let mut selections = tables.iter().map(|(_, selection)| selection);
    let is_asked = selections.any(|selection| selection.selector.is_more_asked_than_always());
    let has_volumes =
        |(_, selection): (_, &LevelSelection)| !(selection.volumes.is_empty() && selection.distances.is_empty());
    let lack = if worlds.is_empty() {
        (!volumes.is_empty()).then_some(Lack::World)
    } else if tables.is_empty() {
        None
    } else if !tables.iter().any(has_volumes) {
        Some(Lack::Volume)
    } else {
        // A server may wait for its players.
        (sources.is_empty() && !settings.follow_remote).then_some(Lack::Source)
    };
    // Of some worlds all is always there.
    let is_real = |lack| lack != Lack::Volume || tables.iter().any(|(table, _)| has_more(table));
    if let Some(lack) = silence.look(is_asked, lack, now, is_real) {
        warn!("nothing was streamed so far but what is always loaded: {}", lack.text());
    }
}

/// Whether a world has levels that are not always loaded, and that nobody is to ask for by name.
fn has_more(table: &LevelTable) -> bool {
    let mut levels = table.into_iter().map(crate::Level::entry);
    levels.any(|level| !level.always_loaded && !level.on_request)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_told_once_and_after_a_while() {
        let mut silence = Silence::default();
        let source = Some(Lack::Source);
        assert_eq!(silence.look(false, Some(Lack::World), 0.0, |_| true), None);
        assert_eq!(silence.look(false, source, 4.0, |_| true), None);
        assert_eq!(silence.look(false, source, 8.9, |_| true), None, "it is another reason");
        assert_eq!(silence.look(false, source, 9.0, |_| true), source);
        assert_eq!(silence.look(false, source, 99.0, |_| true), None);
    }

    #[test]
    fn who_was_asked_once_is_silent_for_a_reason() {
        let mut silence = Silence::default();
        assert_eq!(silence.look(true, Some(Lack::Volume), 0.0, |_| true), None);
        assert_eq!(silence.look(false, Some(Lack::Volume), 99.0, |_| true), None);
        let mut silence = Silence::default();
        assert_eq!(silence.look(false, Some(Lack::Volume), 0.0, |_| true), None);
        assert_eq!(silence.look(false, None, 4.0, |_| true), None);
        assert_eq!(silence.look(false, Some(Lack::Volume), 8.0, |_| true), None);
        assert_eq!(
            silence.look(false, Some(Lack::Volume), 13.0, |_| true),
            Some(Lack::Volume)
        );
    }

    #[test]
    fn what_is_not_real_is_looked_at_again() {
        let (mut silence, volume) = (Silence::default(), Some(Lack::Volume));
        assert_eq!(silence.look(false, volume, 0.0, |_| false), None);
        assert_eq!(silence.look(false, volume, 5.0, |_| false), None);
        assert_eq!(silence.look(false, volume, 9.0, |_| panic!("it was looked at")), None);
        assert_eq!(silence.look(false, volume, 10.0, |_| true), volume);
    }
}
