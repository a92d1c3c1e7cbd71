//! What the pipeline counts, as Bevy diagnostics: every number of [`StreamingStats`] and of [`StreamableStats`], once a frame, by a table each.
//!
//! A path is `seamless/` and the name of the field: `seamless/live_entities`, `seamless/wasted_by_stage/reading`; the time of the last frame
//! is [`STREAM_MS`]. Those of streamables are below `seamless/streamables/`.

#[cfg(test)]
mod tests;

use bevy_app::App;
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};
use bevy_ecs::system::Res;

use crate::{settings::StreamingStats, stable::StableIds, streamable::StreamableStats};

/// Main-thread time of the last frame's streaming work.
pub const STREAM_MS: DiagnosticPath = DiagnosticPath::const_new("seamless/stream_ms");
/// Entities of live levels.
pub const LIVE_ENTITIES: DiagnosticPath = DiagnosticPath::const_new("seamless/live_entities");
/// Stored bytes of live packages.
pub const LIVE_BYTES: DiagnosticPath = DiagnosticPath::const_new("seamless/live_bytes");

/// Levels that came while their path was taken: see [`StableIds::refused`].
pub const REFUSED_PATHS: DiagnosticPath = DiagnosticPath::const_new("seamless/refused_paths");

/// A number of the statistics `S`.
struct Counter<S: 'static> {
    /// Where it is, as reflection writes it. For the test that none is missing.
    #[cfg_attr(not(test), expect(dead_code, reason = "only the test of completeness asks"))]
    field: &'static str,
    path: DiagnosticPath,
    unit: &'static str,
    value: fn(&S) -> f64,
}

const fn counter<S>(field: &'static str, path: DiagnosticPath, unit: &'static str, value: fn(&S) -> f64) -> Counter<S> {
    Counter {
        field,
        path,
        unit,
        value,
    }
}

const fn count<S>(field: &'static str, path: &'static str, value: fn(&S) -> f64) -> Counter<S> {
    counter(field, DiagnosticPath::const_new(path), "", value)
}

const fn bytes<S>(field: &'static str, path: &'static str, value: fn(&S) -> f64) -> Counter<S> {
    counter(field, DiagnosticPath::const_new(path), " B", value)
}

/// All of them; a test looks for the one that is missing.
static COUNTERS: &[Counter<StreamingStats>] = &[
    count("frame", "seamless/frame", |stats| stats.frame as f64),
    counter("last_frame", STREAM_MS, " ms", |stats| {
        stats.last_frame.as_secs_f64() * 1e3
    }),
    counter(
        "budget_last",
        DiagnosticPath::const_new("seamless/budget_last"),
        " ms",
        |stats| stats.budget_last.as_secs_f64() * 1e3,
    ),
    count("boosted", "seamless/boosted", |stats| stats.boosted as f64),
    count("reduced", "seamless/reduced", |stats| stats.reduced as f64),
    count("revealed", "seamless/revealed", |stats| stats.revealed as f64),
    count("reloaded", "seamless/reloaded", |stats| stats.reloaded as f64),
    count("left", "seamless/left", |stats| stats.left as f64),
    count("failed", "seamless/failed", |stats| stats.failed as f64),
    count("cancelled", "seamless/cancelled", |stats| stats.cancelled as f64),
    counter("live_entities", LIVE_ENTITIES, "", |stats| stats.live_entities as f64),
    count("hidden_entities", "seamless/hidden_entities", |stats| {
        stats.hidden_entities as f64
    }),
    count("refused_hides", "seamless/refused_hides", |stats| {
        stats.refused_hides as f64
    }),
    count("live_instances", "seamless/live_instances", |stats| {
        stats.live_instances as f64
    }),
    count("live_packages", "seamless/live_packages", |stats| {
        stats.live_packages as f64
    }),
    counter("live_bytes", LIVE_BYTES, " B", |stats| stats.live_bytes as f64),
    count("tasks", "seamless/tasks", |stats| stats.tasks as f64),
    count("starved", "seamless/starved", |stats| stats.starved as f64),
    count("pending_requests", "seamless/pending_requests", |stats| {
        stats.pending_requests as f64
    }),
    bytes("bytes_read", "seamless/bytes_read", |stats| stats.bytes_read as f64),
    bytes("bytes_wasted", "seamless/bytes_wasted", |stats| {
        stats.bytes_wasted as f64
    }),
    bytes("wasted_by_stage.opening", "seamless/wasted_by_stage/opening", |stats| {
        stats.wasted_by_stage.opening as f64
    }),
    bytes("wasted_by_stage.reading", "seamless/wasted_by_stage/reading", |stats| {
        stats.wasted_by_stage.reading as f64
    }),
    bytes(
        "wasted_by_stage.decoding",
        "seamless/wasted_by_stage/decoding",
        |stats| stats.wasted_by_stage.decoding as f64,
    ),
    bytes("wasted_by_stage.staged", "seamless/wasted_by_stage/staged", |stats| {
        stats.wasted_by_stage.staged as f64
    }),
    bytes("memory.packages", "seamless/memory/packages", |stats| {
        stats.memory.packages as f64
    }),
    bytes("memory.levels", "seamless/memory/levels", |stats| {
        stats.memory.levels as f64
    }),
    bytes("memory.staged", "seamless/memory/staged", |stats| {
        stats.memory.staged as f64
    }),
    bytes("memory.in_flight", "seamless/memory/in_flight", |stats| {
        stats.memory.in_flight as f64
    }),
    bytes("memory_short", "seamless/memory_short", |stats| {
        stats.memory_short as f64
    }),
    count("memory_held", "seamless/memory_held", |stats| stats.memory_held as f64),
    count("pressure_frames", "seamless/pressure_frames", |stats| {
        stats.pressure_frames as f64
    }),
    count("unthrottled_leaves", "seamless/unthrottled_leaves", |stats| {
        stats.unthrottled_leaves as f64
    }),
    bytes("uploaded_bytes", "seamless/uploaded_bytes", |stats| {
        stats.uploaded_bytes as f64
    }),
    bytes("uploaded_last", "seamless/uploaded_last", |stats| {
        stats.uploaded_last as f64
    }),
    count("upload_waits", "seamless/upload_waits", |stats| {
        stats.upload_waits as f64
    }),
    count("overrun_count", "seamless/overrun_count", |stats| {
        stats.overrun_count as f64
    }),
    count("blocking_loads", "seamless/blocking_loads", |stats| {
        stats.blocking_loads as f64
    }),
    count("gate_deadlines", "seamless/gate_deadlines", |stats| {
        stats.gate_deadlines as f64
    }),
];

/// The same of streamables.
static STREAMABLES: &[Counter<StreamableStats>] = &[
    count("requested", "seamless/streamables/requested", |stats| {
        stats.requested as f64
    }),
    count("loaded", "seamless/streamables/loaded", |stats| stats.loaded as f64),
    count("failed", "seamless/streamables/failed", |stats| stats.failed as f64),
    count("cancelled", "seamless/streamables/cancelled", |stats| {
        stats.cancelled as f64
    }),
    count("found_live", "seamless/streamables/found_live", |stats| {
        stats.found_live as f64
    }),
    count("shared", "seamless/streamables/shared", |stats| stats.shared as f64),
    count("loads", "seamless/streamables/loads", |stats| stats.loads as f64),
    count("postponed", "seamless/streamables/postponed", |stats| {
        stats.postponed as f64
    }),
    count("active", "seamless/streamables/active", |stats| stats.active as f64),
    count("held", "seamless/streamables/held", |stats| stats.held as f64),
];

pub(crate) fn register(app: &mut App) {
    let pipeline = COUNTERS.iter().map(|counter| (&counter.path, counter.unit));
    let streamables = STREAMABLES.iter().map(|counter| (&counter.path, counter.unit));
    for (path, unit) in pipeline.chain(streamables).chain([(&REFUSED_PATHS, "")]) {
        app.register_diagnostic(Diagnostic::new(path.clone()).with_suffix(unit));
    }
}

pub(crate) fn write_diagnostics(
    stats: Res<StreamingStats>,
    streamables: Res<StreamableStats>,
    ids: Res<StableIds>,
    mut diagnostics: Diagnostics,
) {
    write(COUNTERS, &stats, &mut diagnostics);
    write(STREAMABLES, &streamables, &mut diagnostics);
    diagnostics.add_measurement(&REFUSED_PATHS, || ids.refused() as f64);
}

fn write<S>(counters: &[Counter<S>], stats: &S, diagnostics: &mut Diagnostics) {
    for counter in counters {
        diagnostics.add_measurement(&counter.path, || (counter.value)(stats));
    }
}
