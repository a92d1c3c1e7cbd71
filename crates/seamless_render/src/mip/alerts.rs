//! Says when the pool is too small, and for what. See [`MipsOverBudget`].

#[cfg(test)]
mod tests;

use bevy_asset::AssetId;
use bevy_ecs::prelude::*;
use bevy_image::Image;
use bevy_log::{debug_span, warn};
use seamless_asset::{PanelLine, PanelLines, StreamingClock, StreamingTime};

use super::{MipPool, MipSettings, MipStats, MipTextures, Mips, Offender};

/// How many textures are named.
const NAMED: usize = 8;
/// How many the panel names.
const SHOWN: usize = 10;
/// So many letters of a name are shown, the last ones.
const LETTERS: usize = 48;
/// These stay for so long, in seconds: nobody could read them if they were others in each frame.
const SHOWN_FOR: f64 = 0.5;
/// For so long nothing is said again, in seconds.
const SILENCE: f64 = 10.0;
const MIB: f64 = 1024.0 * 1024.0;

/// The pool has no room for all that is wanted: something is coarser than it should be. Told once, and again when that was over in between, in ten seconds at the soonest.
#[derive(Message, Clone, Debug, PartialEq)]
pub struct MipsOverBudget {
    /// What the pool has, in bytes.
    pub pool: u64,
    /// What it would have to have, in bytes.
    pub perfect: u64,
    /// The textures that lack most, the worst first: eight at most.
    pub worst: Vec<AssetId<Image>>,
}

/// The pool is smaller than the mip tails of all textures, which are always there, and what does not stream. Told as [`MipsOverBudget`] is.
#[derive(Message, Clone, Debug, PartialEq, Eq)]
pub struct MipPoolTooSmall {
    /// What the pool has, in bytes.
    pub pool: u64,
    /// What is resident all the same, in bytes.
    pub resident: u64,
    /// What images take that do not stream, in bytes.
    pub not_streamed: u64,
}

/// Whether something is wrong, and was told of.
#[derive(Debug, Default)]
pub(super) struct Alert {
    is_wrong: bool,
    told: Option<f64>,
}

impl Alert {
    /// Whether it is told now. `now` is in seconds.
    fn note(&mut self, is_wrong: bool, now: f64) -> bool {
        let is_new = is_wrong && !self.is_wrong;
        let is_silent = self.told.is_some_and(|told| now < told + SILENCE);
        // What is not told now is when the silence is over.
        self.is_wrong = is_wrong && (self.is_wrong || !is_silent);
        if !is_new || is_silent {
            return false;
        }
        self.told = Some(now);
        true
    }
}

/// Tells of a pool that is too small.
pub(super) fn tell_alerts(
    mips: Mips,
    stats: Res<MipStats>,
    pool: Res<MipPool>,
    settings: Res<MipSettings>,
    textures: Res<MipTextures>,
    time: Res<StreamingTime>,
    mut alerts: Local<[Alert; 2]>,
    mut over: MessageWriter<MipsOverBudget>,
    mut too_small: MessageWriter<MipPoolTooSmall>,
    clock: Res<StreamingClock>,
) {
    let _time = clock.measure("a look for a pool that is too small");
    let _span = debug_span!("tell_alerts").entered();
    let now = time.now().as_secs_f64();
    let usable = pool.usable(settings.pool);
    let [budget, tails] = &mut *alerts;
    if tails.note(mips.is_short(), now) {
        let (resident, not_streamed) = (stats.resident, stats.not_streamed);
        warn!(
            "a pool of {:.1} MiB is smaller than the least of its {} textures, their mip tails, which take {:.1} MiB, and the {} images that do not stream, which take {:.1}: raise `MipSettings::pool`, load less at once, or see `Mips::not_streamed`",
            usable as f64 / MIB,
            stats.textures,
            resident as f64 / MIB,
            stats.whole,
            not_streamed as f64 / MIB
        );
        too_small.write(MipPoolTooSmall {
            pool: usable,
            resident,
            not_streamed,
        });
    }
    if budget.note(mips.is_over_budget(), now) {
        let worst: Vec<AssetId<Image>> = mips.worst_planned(NAMED).iter().map(|of| of.image).collect();
        let path = |image: &AssetId<Image>| Some(textures.get(textures.number(*image)?)?.path().to_owned());
        let named: Vec<String> = worst.iter().filter_map(path).collect();
        warn!(
            "{:.1} MiB of textures are wanted, and the pool has {:.1}: some are coarser than they should be. Raise `MipSettings::pool`, or lower `quality` or `max_size`. Those that lack most: {}",
            stats.perfect as f64 / MIB,
            usable as f64 / MIB,
            named.join(", ")
        );
        over.write(MipsOverBudget {
            pool: usable,
            perfect: stats.perfect,
            worst,
        });
    }
}

/// What the overlay's panel says of textures.
pub(super) fn write_panel(
    mips: Mips,
    textures: Res<MipTextures>,
    stats: Res<MipStats>,
    pool: Res<MipPool>,
    settings: Res<MipSettings>,
    time: Res<StreamingTime>,
    mut named: Local<(f64, Vec<PanelLine>)>,
    panel: Option<ResMut<PanelLines>>,
    clock: Res<StreamingClock>,
) {
    // Most of the time there is no panel, and nobody reads what is written.
    let Some(mut panel) = panel.filter(|panel| panel.is_shown && stats.is_changed()) else {
        return;
    };
    let _time = clock.measure("what the panel says of textures");
    let _span = debug_span!("write_panel").entered();
    let mut lines = lines(&stats, pool.usable(settings.pool));
    let (until, named) = &mut *named;
    let now = time.now().as_secs_f64();
    if stats.under_resolved == 0 {
        named.clear();
    } else if now >= *until || named.is_empty() {
        *until = now + SHOWN_FOR;
        let record = |of: &Offender| textures.get(textures.number(of.image)?);
        let line = |of: &Offender| Some(offender_line(record(of)?.path(), of));
        named.clear();
        named.extend(mips.worst(SHOWN).iter().filter_map(line));
    }
    lines.extend_from_slice(named);
    panel.set("mips", lines);
}

/// A texture that is too coarse.
fn offender_line(path: &str, of: &Offender) -> PanelLine {
    let hidden = path.chars().count().saturating_sub(LETTERS);
    let dots = if hidden > 0 { "..." } else { "" };
    let name: String = path.chars().skip(hidden).collect();
    PanelLine::new(format!("    mip {}, {} wanted: {dots}{name}", of.top, of.wanted))
}

fn lines(stats: &MipStats, pool: u64) -> Vec<PanelLine> {
    if stats.textures == 0 {
        return Vec::new();
    }
    let mib = |bytes: u64| bytes as f64 / MIB;
    let held = stats.resident + stats.in_flight() + stats.not_streamed;
    let first = format!(
        "textures: {:.1} of {:.1} MiB, {:.1} wanted",
        mib(held),
        mib(pool),
        mib(stats.perfect)
    );
    let kinds = format!(
        "  seen {:.1}, hidden {:.1}, forced {:.1}, kept {:.1}, in flight {:.1}, reserved {:.1}",
        mib(stats.visible),
        mib(stats.hidden),
        mib(stats.forced),
        mib(stats.cached),
        mib(stats.in_flight()),
        mib(stats.reserved)
    );
    let mut lines = vec![
        PanelLine {
            text: first,
            is_alarm: held + stats.reserved > pool,
        },
        PanelLine::new(kinds),
    ];
    if stats.under_resolved > 0 {
        lines.push(PanelLine {
            text: format!(
                "  {} of {} too coarse, {} for a second and more",
                stats.under_resolved, stats.textures, stats.starving
            ),
            is_alarm: stats.starving > 0,
        });
    }
    lines
}
