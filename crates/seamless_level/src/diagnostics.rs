//! Counts of levels, over all seamless worlds, as Bevy diagnostics.

use bevy_diagnostic::DiagnosticPath;

/// Levels in the world that are not hidden.
pub const VISIBLE: DiagnosticPath = DiagnosticPath::const_new("seamless_level/visible");
/// Levels that are loaded and not shown, or hidden.
pub const HIDDEN: DiagnosticPath = DiagnosticPath::const_new("seamless_level/hidden");
/// Levels that are being loaded.
pub const LOADING: DiagnosticPath = DiagnosticPath::const_new("seamless_level/loading");
/// Levels that come into the world in slices.
pub const REVEALING: DiagnosticPath = DiagnosticPath::const_new("seamless_level/revealing");
/// Levels on their way out, or whose load is being cancelled.
pub const LEAVING: DiagnosticPath = DiagnosticPath::const_new("seamless_level/leaving");
/// Levels that are wanted.
pub const WANTED: DiagnosticPath = DiagnosticPath::const_new("seamless_level/wanted");
/// Levels that are late: see [`LateLevels`](crate::LateLevels).
pub const LATE: DiagnosticPath = DiagnosticPath::const_new("seamless_level/late");
/// Levels that are wanted and could not be loaded.
pub const FAILED: DiagnosticPath = DiagnosticPath::const_new("seamless_level/failed");
/// Levels that are wanted and left out because of a cap: see [`LevelTable::dropped`](crate::LevelTable::dropped).
pub const DROPPED: DiagnosticPath = DiagnosticPath::const_new("seamless_level/dropped");
/// How often a level began to be late, ever: see [`LateLevels::begun`](crate::LateLevels::begun).
pub const BEGUN_LATE: DiagnosticPath = DiagnosticPath::const_new("seamless_level/begun_late");

/// All of them.
pub(crate) const ALL: [DiagnosticPath; 10] = [
    VISIBLE, HIDDEN, LOADING, REVEALING, LEAVING, WANTED, LATE, FAILED, DROPPED, BEGUN_LATE,
];
