//! Progress bars on a terminal. See [`Bars`].

use std::io::IsTerminal;
use std::sync::Mutex;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::{Progress, Stage};

/// One bar per stage, on standard error; nothing at all where that is no terminal.
pub(crate) struct Bars {
    all: MultiProgress,
    bars: Mutex<[Option<ProgressBar>; Stage::ALL.len()]>,
}

impl Bars {
    pub(crate) fn new() -> Self {
        let target = if std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            all: MultiProgress::with_draw_target(target),
            bars: Mutex::new([const { None }; Stage::ALL.len()]),
        }
    }

    fn with(&self, stage: Stage, action: impl FnOnce(&mut Option<ProgressBar>)) {
        let mut bars = self.bars.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bar) = bars.get_mut(stage as usize) {
            action(bar);
        }
    }
}

impl Progress for Bars {
    fn begin(&self, stage: Stage, steps: u64) {
        let bar = self.all.add(ProgressBar::new(steps));
        if let Ok(style) = ProgressStyle::with_template("{prefix:>8} [{bar:30}] {pos}/{len} {elapsed} {wide_msg}") {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(stage.name());
        self.with(stage, |slot| *slot = Some(bar));
    }

    fn step(&self, stage: Stage, what: &str) {
        self.with(stage, |bar| {
            if let Some(bar) = bar {
                bar.set_message(what.to_owned());
                bar.inc(1);
            }
        });
    }

    fn end(&self, stage: Stage) {
        self.with(stage, |bar| {
            if let Some(bar) = bar.take() {
                bar.finish_with_message("");
            }
        });
    }
}
