//! How the reading of a world's manifest goes: pure. See [`ManifestRead`].

#[cfg(test)]
mod tests;

use core::time::Duration;

use bevy_asset::AssetId;
use bevy_ecs::component::Component;

use crate::{manifest::WorldManifest, retry::RetryPolicy};

/// How the reading of a world's manifest goes, on the world's entity for as long as it has no levels. Times are those of
/// [`StreamingTime`](seamless_asset::StreamingTime).
#[derive(Component, Debug)]
pub(crate) struct ManifestRead {
    pub id: AssetId<WorldManifest>,
    stage: Stage,
    /// How often it failed.
    failures: u32,
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
    GiveUp,
}

impl ManifestRead {
    pub fn new(id: AssetId<WorldManifest>, now: Duration) -> Self {
        Self {
            id,
            stage: Stage::Reading { since: now },
            failures: 0,
        }
    }

    /// Whether a manifest that is there has been looked at, and was refused.
    pub fn is_refused(&self) -> bool {
        self.stage == Stage::Over { is_there: true }
    }

    /// Goes on; a read that takes longer than `timeout` hangs, if that is not zero.
    pub fn step(&mut self, found: Found, now: Duration, retry: &RetryPolicy, timeout: Duration) -> Step {
        match (self.stage, found) {
            (Stage::Over { .. }, Found::Nothing | Found::Reading | Found::Failed { .. }) => Step::Nothing,
            (_, Found::Invalid) => self.give_up(true),
            (Stage::Waiting { until }, _) if now < until => Step::Nothing,
            (Stage::Waiting { .. }, _) => {
                self.stage = Stage::Reading { since: now };
                Step::ReadAgain
            }
            (_, Found::Failed { may_pass }) => self.fail(may_pass, now, retry),
            (Stage::Reading { since }, Found::Reading) => self.wait(since, now, timeout),
            (Stage::Reading { .. }, Found::Nothing) => {
                self.stage = Stage::Reading { since: now };
                Step::Nothing
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

    fn wait(&mut self, since: Duration, now: Duration, timeout: Duration) -> Step {
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
