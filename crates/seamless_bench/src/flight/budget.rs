//! `flight_budget/…`: whether streaming keeps to its budget, whatever that is.
//!
//! The flight of [`flight_hitch`](super) as a game flies it: [by volumes](super::levels), in an app that has opted in to levels in slices. A sample is four
//! flights, and before them as many with every level there and nothing streamed. Three rows for each budget, whose limit it is:
//!
//! * the 99.9th percentile of all streaming work in a frame,
//! * `/max`: the longest of it in any frame of any sample,
//! * `/excess`: the 99.9th percentile of whole frames, beyond the median frame with nothing streamed. Its peer is the same of the flights in which nothing was
//!   streamed: that is what the machine and the rest of the app add by themselves.
//!
//! The note has the same figures of those frames in which nobody took this thread's core away.

use std::time::Duration;

use seamless_asset::{StreamingSettings, StreamingStats};

use super::{Plane, calm::longest_piece, written};
use crate::row::{Row, Samples, Targets, quantile};

/// Flights of one sample: their frames together are enough for a 99.9th percentile.
const FLIGHTS: usize = 4;

/// So many of the frames over a budget are told, the worst ones.
const TOLD: usize = 5;

/// The names of the rows of a budget.
pub type Names = [&'static str; 3];

/// Measures flights at a budget in milliseconds.
pub fn run(names: Names, budget: f64, samples: Option<usize>) -> Vec<Row> {
    let dir = written();
    let mut plane = Plane::levels(dir.path());
    let (mut spent, mut overruns) = (0.0, Overruns::default());
    let (mut all, mut calm) = (Figures::default(), Figures::default());
    for _ in 0..samples.unwrap_or(5) {
        let resident = Resident::new(&mut plane);
        let (mut flown, mut undisturbed) = (Flown::default(), Flown::default());
        for _ in 0..FLIGHTS {
            plane.with_budget(budget, |plane| overruns.count(plane));
            flown.add(&plane, |_| true);
            spent += plane.streaming.iter().sum::<f64>();
            undisturbed.add(&plane, |is_calm| is_calm);
        }
        all.add(flown, &resident);
        calm.add(
            undisturbed,
            &Resident {
                excess: None,
                ..resident
            },
        );
    }
    let mut rows = all.rows(names, budget);
    rows[0].note = format!(
        "of all frames: {}; a loop that only counts, for a budget at a time and as long as the pipeline's own time in all, beside another thread that is busy, took {:.2}× its usual time at most; of those in which this thread kept its core: {}; {} of {} frames over the budget, those to and from the flights included, the worst ones by {:.2?}",
        all.told(budget),
        longest_piece(budget, spent),
        calm.told(budget),
        overruns.count,
        overruns.frames,
        overruns.worst,
    );
    rows.into()
}

impl Plane {
    /// Does something while frames have so many milliseconds: none has more, and none has to do with less.
    fn with_budget<T>(&mut self, budget: f64, work: impl FnOnce(&mut Self) -> T) -> T {
        let settings = StreamingSettings {
            budget: Duration::from_secs_f64(budget / 1e3),
            boost: 1.0,
            least: 1.0,
            ..StreamingSettings::default()
        };
        let mut of_app = self.app.world_mut().resource_mut::<StreamingSettings>();
        let before = core::mem::replace(&mut *of_app, settings);
        let done = work(self);
        *self.app.world_mut().resource_mut::<StreamingSettings>() = before;
        done
    }
}

/// Frames over the budget.
#[derive(Default)]
struct Overruns {
    count: u64,
    frames: u64,
    /// The worst of them: milliseconds, and what took longest in them.
    worst: Vec<(f64, String)>,
}

impl Overruns {
    /// Flies, and counts.
    fn count(&mut self, plane: &mut Plane) {
        let told = |plane: &Plane| {
            let stats = plane.app.world().resource::<StreamingStats>();
            [stats.overrun_count, stats.frame]
        };
        plane.app.world_mut().resource_mut::<StreamingStats>().overruns.clear();
        let [count, frames] = told(plane);
        plane.fly_and_rest();
        self.count += told(plane)[0] - count;
        self.frames += told(plane)[1] - frames;
        let named = plane.app.world().resource::<StreamingStats>().overruns.iter();
        let named = named.map(|over| (over.took.as_secs_f64() * 1e3, over.what.to_string()));
        self.worst.extend(named);
        self.worst.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        self.worst.truncate(TOLD);
    }
}

/// The same flights with every level there, and nothing streamed: what frames take then is the app's and the machine's.
struct Resident {
    median: f64,
    /// What the 99.9th percentile has beyond the median; not told where frames were chosen.
    excess: Option<f64>,
}

impl Resident {
    fn new(plane: &mut Plane) -> Self {
        let mut frames = plane.resident(FLIGHTS);
        let median = quantile(&mut frames, 0.5);
        Self {
            median,
            excess: Some(quantile(&mut frames, 0.999) - median),
        }
    }
}

/// The frames of a sample, in milliseconds.
#[derive(Default)]
struct Flown {
    streaming: Vec<f64>,
    frames: Vec<f64>,
}

impl Flown {
    /// Those of a flight that are wanted, by whether nobody disturbed them.
    fn add(&mut self, plane: &Plane, is_wanted: fn(bool) -> bool) {
        let times = plane.streaming.iter().zip(&plane.frames).zip(&plane.calm);
        for ((streaming, frame), _) in times.filter(|(_, is_calm)| is_wanted(**is_calm)) {
            self.streaming.push(*streaming);
            self.frames.push(*frame);
        }
    }
}

/// What the targets are of, over all samples: the pipeline's own time, and what frames take beyond the median one.
#[derive(Default)]
struct Figures {
    frames: usize,
    longest: f64,
    own: Vec<f64>,
    excess: Vec<f64>,
    /// The same with nothing streamed, and what streaming adds to that.
    machine: Vec<f64>,
    added: Vec<f64>,
}

impl Figures {
    /// Counts a sample.
    fn add(&mut self, mut flown: Flown, resident: &Resident) {
        let own = quantile(&mut flown.streaming, 0.999);
        self.frames += flown.frames.len();
        self.longest = self.longest.max(quantile(&mut flown.streaming, 1.0));
        self.own.push(own);
        let excess = quantile(&mut flown.frames, 0.999) - resident.median;
        self.excess.push(excess);
        if let Some(machine) = resident.excess {
            self.machine.push(machine);
            self.added.push(excess - machine);
        }
    }

    fn rows(&self, names: Names, budget: f64) -> [Row; 3] {
        let [own, longest, excess] = names;
        let row = |name, ours, peer: &[f64], of_limit| {
            let samples = Samples {
                ours,
                peer: peer.to_vec(),
                limit: vec![budget],
            };
            let targets = Targets {
                first: 1.0,
                aim: 1.0,
                of_limit: Some(of_limit),
            };
            let peer_name = (!peer.is_empty()).then_some("nothing streamed");
            samples.row(name, "ms", peer_name, Some("the budget"), targets)
        };
        [
            row(own, self.own.clone(), &[], 1.0),
            row(longest, vec![self.longest], &[], 1.5),
            row(excess, self.excess.clone(), &self.machine, 1.5),
        ]
    }

    fn told(&mut self, budget: f64) -> String {
        let of = |samples: &mut Vec<f64>| quantile(samples, 0.5) / budget;
        let machine = match self.machine.is_empty() {
            true => String::new(),
            false => format!(
                "; {:.2}× with every level there and nothing streamed, {:.2}× more by streaming",
                of(&mut self.machine),
                of(&mut self.added)
            ),
        };
        format!(
            "99.9th percentile {:.2}× the budget (≤ 1), longest {:.2}× (≤ 1.5), beyond the median frame {:.2}× (≤ 1.5{machine}), {} frames",
            of(&mut self.own),
            self.longest / budget,
            of(&mut self.excess),
            self.frames,
        )
    }
}
