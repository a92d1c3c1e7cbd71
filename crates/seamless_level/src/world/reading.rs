//! How the reading of a world's manifest goes, and how often that makes a world anew: pure. See [`ManifestRead`] and [`Remade`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_asset::AssetId;
use bevy_ecs::{
    component::Component,
    entity::{Entity, EntityHashMap},
};

use crate::{manifest::WorldManifest, retry::RetryPolicy};

/// For how long nobody may read a manifest, or put it there, before that is told.
const PATIENCE: Duration = Duration::from_secs(5);

/// A world that is made anew again within this time, and again, is made so too often.
const OFTEN: Duration = Duration::from_secs(1);

/// How the reading of a world's manifest goes, on the world's entity for as long as it has no levels. Times are those of
/// [`StreamingTime`](seamless_asset::StreamingTime).
#[derive(Component, Debug)]
pub(crate) struct ManifestRead {
    pub id: AssetId<WorldManifest>,
    stage: Stage,
    /// How often it failed.
    failures: u32,
    /// Since when nobody reads it.
    unread: Option<Duration>,
    /// It was told that nobody does.
    is_unread_told: bool,
}

#[derive(Copy, Clone, Debug, PartialEq)]
enum Stage {
    /// It is awaited since then.
    Reading { since: Duration },
    /// It was told that the read hangs; it is awaited all the same.
    Hanging,
    /// It is read again then.
    Waiting { until: Duration },
    /// It is not read again; whether it is there, only not valid.
    Over { is_there: bool },
}

/// What there is of a manifest that cannot be used yet.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Found {
    /// Its handle is the one that points to nothing: it never comes.
    Nowhere,
    /// Nobody reads it: code is to put it there.
    Nothing,
    /// It is being read.
    Reading,
    /// It could not be read; whether that may be otherwise the next time.
    Failed { may_pass: bool },
    /// It makes no sense.
    Invalid,
}

/// What is to be done about it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub(crate) enum Step {
    Nothing,
    /// It failed, and is read again after this time.
    Wait(Duration),
    ReadAgain,
    /// Its read has taken so long that it is told.
    TellHanging,
    /// Nobody has read it for some time.
    TellUnread,
    /// It is given up, as its handle points to nothing.
    TellNowhere,
    GiveUp,
}

impl ManifestRead {
    pub fn new(id: AssetId<WorldManifest>, now: Duration) -> Self {
        Self {
            id,
            stage: Stage::Reading { since: now },
            failures: 0,
            unread: None,
            is_unread_told: false,
        }
    }

    /// Whether a manifest that is there has been looked at, and was refused.
    pub fn is_refused(&self) -> bool {
        self.stage == Stage::Over { is_there: true }
    }

    /// Goes on; a read that takes longer than `timeout` hangs, if that is not zero.
    pub fn step(&mut self, found: Found, now: Duration, retry: &RetryPolicy, timeout: Duration) -> Step {
        match (self.stage, found) {
            (_, Found::Invalid) => self.give_up(true),
            (Stage::Over { .. }, _) => Step::Nothing,
            (_, Found::Nowhere) => {
                self.stage = Stage::Over { is_there: false };
                Step::TellNowhere
            }
            (Stage::Waiting { until }, _) if now < until => Step::Nothing,
            (Stage::Waiting { .. }, _) => {
                self.stage = Stage::Reading { since: now };
                Step::ReadAgain
            }
            (_, Found::Failed { may_pass }) => self.fail(may_pass, now, retry),
            (Stage::Reading { since }, Found::Reading) => self.wait(since, now, timeout),
            (Stage::Reading { .. }, Found::Nothing) => {
                self.stage = Stage::Reading { since: now };
                self.stay_unread(now)
            }
            (Stage::Hanging, _) => Step::Nothing,
        }
    }

    fn fail(&mut self, may_pass: bool, now: Duration, retry: &RetryPolicy) -> Step {
        self.failures += 1;
        let Some(wait) = retry.wait(self.failures, 0).filter(|_| may_pass) else {
            return self.give_up(false);
        };
        self.stage = Stage::Waiting {
            until: now.saturating_add(wait),
        };
        Step::Wait(wait)
    }

    /// Nobody reads it: that is told once, as somebody may still do so, or put it there.
    fn stay_unread(&mut self, now: Duration) -> Step {
        let since = *self.unread.get_or_insert(now);
        if self.is_unread_told || now.saturating_sub(since) < PATIENCE {
            return Step::Nothing;
        }
        self.is_unread_told = true;
        Step::TellUnread
    }

    fn wait(&mut self, since: Duration, now: Duration, timeout: Duration) -> Step {
        self.unread = None;
        if timeout.is_zero() || now.saturating_sub(since) < timeout {
            return Step::Nothing;
        }
        self.stage = Stage::Hanging;
        Step::TellHanging
    }

    fn give_up(&mut self, is_there: bool) -> Step {
        self.stage = Stage::Over { is_there };
        Step::GiveUp
    }
}

/// Worlds that were made anew because their manifests were modified.
#[derive(Debug, Default)]
pub(crate) struct Remade(EntityHashMap<Remake>);

/// When a world was made anew the last time.
#[derive(Copy, Clone, Debug)]
struct Remake {
    at: Duration,
    /// How often in a row, each time soon after the one before.
    times: u32,
}

/// Who saves a file may write it twice.
const TOO_OFTEN: u32 = 3;

impl Remade {
    /// A world is made anew once more; whether it is to be told that this is too often, once for as long as it goes on.
    pub fn is_news(&mut self, world: Entity, now: Duration) -> bool {
        let last = self.0.get(&world);
        let in_a_row = last.filter(|last| now.saturating_sub(last.at) < OFTEN);
        let times = in_a_row.map_or(1, |last| last.times.saturating_add(1));
        self.0.insert(world, Remake { at: now, times });
        times == TOO_OFTEN
    }

    /// It is no world any more.
    pub fn forget(&mut self, world: Entity) {
        self.0.remove(&world);
    }
}
