//! Progress bars on a terminal, and lines elsewhere. See [`Bars`].

use core::time::Duration;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::{Progress, Stage};

/// How often a line is printed where there are no bars.
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// One bar per stage on standard error, with rate and time left; a line every few seconds where that is no terminal.
pub(crate) struct Bars {
    all: MultiProgress,
    is_terminal: bool,
    bars: Mutex<[Option<Running>; Stage::ALL.len()]>,
}

/// A stage that is under way.
struct Running {
    bar: ProgressBar,
    printed: Instant,
}

impl Bars {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let target = if is_terminal {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            all: MultiProgress::with_draw_target(target),
            is_terminal,
            bars: Mutex::new([const { None }; Stage::ALL.len()]),
        }
    }

    fn with(&self, stage: Stage, action: impl FnOnce(&mut Option<Running>)) {
        let mut bars = self.bars.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bar) = bars.get_mut(stage as usize) {
            action(bar);
        }
    }
}

impl Running {
    /// As `load: 120 of 400, 12.5 a second, 22 s left`.
    fn line(&self, stage: Stage) -> String {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or_default());
        let seconds = self.bar.elapsed().as_secs_f64().max(1e-9);
        let rate = done as f64 / seconds;
        let left = all.saturating_sub(done) as f64 / rate.max(1e-9);
        format!(
            "{}: {done} of {all}, {rate:.1} a second, {left:.0} s left",
            stage.name()
        )
    }
}

impl Progress for Bars {
    fn begin(&self, stage: Stage, steps: u64) {
        let bar = self.all.add(ProgressBar::new(steps));
        let template = "{prefix:>8} [{bar:30}] {pos}/{len} {per_sec:>9} {eta:>4} left {wide_msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_prefix(stage.name());
        let printed = Instant::now();
        self.with(stage, |slot| *slot = Some(Running { bar, printed }));
    }

    fn step(&self, stage: Stage, what: &str) {
        self.with(stage, |running| {
            let Some(running) = running else { return };
            running.bar.set_message(what.to_owned());
            running.bar.inc(1);
            if !self.is_terminal && running.printed.elapsed() >= BETWEEN_LINES {
                running.printed = Instant::now();
                // There is nowhere else to say it.
                let _ = writeln!(std::io::stderr().lock(), "{}", running.line(stage));
            }
        });
    }

    fn end(&self, stage: Stage) {
        self.with(stage, |running| {
            if let Some(running) = running.take() {
                running.bar.finish_with_message("");
            }
        });
    }
}
