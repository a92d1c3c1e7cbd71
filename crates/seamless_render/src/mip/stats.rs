//! What mip streaming has and does, in numbers, and those as Bevy diagnostics. See [`MipStats`].
//!
//! A diagnostic's path is `seamless/mips/` and the name of the field: `seamless/mips/under_resolved`.

mod rate;
#[cfg(test)]
mod tests;

use bevy_app::App;
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::{prelude::*, reflect::ReflectResource};
use bevy_log::debug_span;
use bevy_reflect::{Reflect, prelude::ReflectDefault};

use seamless_asset::{StreamingClock, StreamingTime};

use super::{MipPool, MipTextures, plan::MipPlan, users::MipUsers};
use rate::Rate;

/// What mip streaming has, and what it has done so far; told once a frame.
#[derive(Resource, Reflect, Clone, Debug, Default, PartialEq, Eq)]
#[reflect(Resource, Default, Clone, PartialEq)]
pub struct MipStats {
    /// What is drawn with, in bytes.
    pub resident: u64,
    /// Copies that the renderer makes, in bytes.
    pub copies: u64,
    /// What the GPU has not let go of yet, in bytes.
    pub retiring: u64,
    /// Buffers of mips on their way, in bytes.
    pub staging: u64,
    /// What is kept free for changes that go on, in bytes: their copies and buffers which are not there yet.
    pub reserved: u64,
    /// Images of packages and files that are whole, in bytes: the pool is less by them.
    pub not_streamed: u64,
    /// Of what is drawn with, what is seen needs, in bytes.
    pub visible: u64,
    /// Of what is drawn with, what nobody sees would need, in bytes.
    pub hidden: u64,
    /// Of what is drawn with, textures that are forced, in bytes.
    pub forced: u64,
    /// Of what is drawn with, mips that nobody wants any more and that are kept while there is room, in bytes.
    pub cached: u64,
    /// What all textures would take that are as fine as is wanted, in bytes.
    pub perfect: u64,
    /// What all textures are to take, as the pool goes, in bytes.
    pub planned: u64,
    /// Textures that stream.
    pub textures: u64,
    /// Images of packages and files that are whole; see [`Mips::not_streamed`](super::Mips::not_streamed).
    pub whole: u64,
    /// Textures that are coarser than is wanted.
    pub under_resolved: u64,
    /// Those that have been so for a second or longer.
    pub starving: u64,
    /// Textures on their way to another top.
    pub changing: u64,
    /// Entities that are followed.
    pub users: u64,
    /// Entities that were refused, since there were as many as may be; until there is room, their textures are whole, as far as the pool goes. So far.
    pub refused: u64,
    /// Points that are looked from.
    pub views: u64,
    /// Users whose distance was looked at in this frame.
    pub looks: u64,
    /// Changes whose mips were asked for, so far.
    pub reads: u64,
    /// What these are, in bytes, so far.
    pub read_bytes: u64,
    /// How much of that came in the last second, in bytes.
    pub read_rate: u64,
    /// New mips that were sent to the GPU, in bytes, so far.
    pub sent_bytes: u64,
    /// How much of that came in the last second, in bytes.
    pub sent_rate: u64,
    /// Changes that were given up before they were done, so far.
    pub cancelled: u64,
    /// Textures that were told to be replaced, so far.
    pub swaps: u64,
}

impl MipStats {
    /// What there is on the GPU for changes that go on or have ended lately, in bytes.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.copies + self.retiring + self.staging
    }
}

/// A number of [`MipStats`].
struct Counter {
    path: DiagnosticPath,
    unit: &'static str,
    value: fn(&MipStats) -> u64,
}

const fn counter(path: &'static str, unit: &'static str, value: fn(&MipStats) -> u64) -> Counter {
    Counter {
        path: DiagnosticPath::const_new(path),
        unit,
        value,
    }
}

const fn count(path: &'static str, value: fn(&MipStats) -> u64) -> Counter {
    counter(path, "", value)
}

const fn bytes(path: &'static str, value: fn(&MipStats) -> u64) -> Counter {
    counter(path, " B", value)
}

const fn rate(path: &'static str, value: fn(&MipStats) -> u64) -> Counter {
    counter(path, " B/s", value)
}

/// All of them; a test looks for the one that is missing.
static COUNTERS: &[Counter] = &[
    bytes("seamless/mips/resident", |stats| stats.resident),
    bytes("seamless/mips/copies", |stats| stats.copies),
    bytes("seamless/mips/retiring", |stats| stats.retiring),
    bytes("seamless/mips/staging", |stats| stats.staging),
    bytes("seamless/mips/reserved", |stats| stats.reserved),
    bytes("seamless/mips/not_streamed", |stats| stats.not_streamed),
    bytes("seamless/mips/visible", |stats| stats.visible),
    bytes("seamless/mips/hidden", |stats| stats.hidden),
    bytes("seamless/mips/forced", |stats| stats.forced),
    bytes("seamless/mips/cached", |stats| stats.cached),
    bytes("seamless/mips/perfect", |stats| stats.perfect),
    bytes("seamless/mips/planned", |stats| stats.planned),
    count("seamless/mips/textures", |stats| stats.textures),
    count("seamless/mips/whole", |stats| stats.whole),
    count("seamless/mips/under_resolved", |stats| stats.under_resolved),
    count("seamless/mips/starving", |stats| stats.starving),
    count("seamless/mips/changing", |stats| stats.changing),
    count("seamless/mips/users", |stats| stats.users),
    count("seamless/mips/refused", |stats| stats.refused),
    count("seamless/mips/views", |stats| stats.views),
    count("seamless/mips/looks", |stats| stats.looks),
    count("seamless/mips/reads", |stats| stats.reads),
    bytes("seamless/mips/read_bytes", |stats| stats.read_bytes),
    rate("seamless/mips/read_rate", |stats| stats.read_rate),
    bytes("seamless/mips/sent_bytes", |stats| stats.sent_bytes),
    rate("seamless/mips/sent_rate", |stats| stats.sent_rate),
    count("seamless/mips/cancelled", |stats| stats.cancelled),
    count("seamless/mips/swaps", |stats| stats.swaps),
];

/// Adds the numbers, and the diagnostics.
pub(super) fn add_stats(app: &mut App) {
    app.init_resource::<MipStats>().register_type::<MipStats>();
    for counter in COUNTERS {
        app.register_diagnostic(Diagnostic::new(counter.path.clone()).with_suffix(counter.unit));
    }
}

/// Tells the frame's numbers.
pub(super) fn write_stats(
    plan: Res<MipPlan>,
    pool: Res<MipPool>,
    textures: Res<MipTextures>,
    users: Res<MipUsers>,
    time: Res<StreamingTime>,
    mut stats: ResMut<MipStats>,
    mut rates: Local<[Rate; 2]>,
    mut diagnostics: Diagnostics,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("diagnostics of mips");
    let _span = debug_span!("write_stats").entered();
    let now = time.now().as_secs_f64();
    let [read, sent] = &mut *rates;
    let sums = pool.ledger.sums();
    let (done, tally) = (plan.done(), plan.tally());
    *stats = MipStats {
        resident: sums.resident,
        copies: sums.copies,
        retiring: sums.retiring,
        staging: sums.staging,
        reserved: sums.reserved,
        not_streamed: sums.not_streamed,
        visible: tally.visible,
        hidden: tally.hidden,
        forced: tally.forced,
        cached: tally.cached,
        perfect: plan.fit.perfect,
        planned: plan.fit.used,
        textures: textures.len() as u64,
        whole: textures.not_streamed().len() as u64,
        under_resolved: tally.under_resolved,
        starving: tally.starving(now),
        changing: pool.ledger.changing().len() as u64,
        users: users.seats.len() as u64,
        refused: users.seats.refused,
        views: plan.views().len() as u64,
        looks: plan.watch.looks() as u64,
        reads: done.reads,
        read_bytes: done.read_bytes,
        read_rate: read.note(done.read_bytes, now),
        sent_bytes: done.sent_bytes,
        sent_rate: sent.note(done.sent_bytes, now),
        cancelled: done.cancelled,
        swaps: done.swaps,
    };
    for counter in COUNTERS {
        diagnostics.add_measurement(&counter.path, || (counter.value)(&stats) as f64);
    }
}
