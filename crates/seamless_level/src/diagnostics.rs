//! Counts of levels, over all seamless worlds, as Bevy diagnostics.

use bevy_diagnostic::DiagnosticPath;

/// Levels in the world that are not hidden.
pub const VISIBLE: DiagnosticPath = DiagnosticPath::const_new("seamless_level/visible");
/// Levels that are loaded and not shown, or hidden.
pub const HIDDEN: DiagnosticPath = DiagnosticPath::const_new("seamless_level/hidden");
/// Levels on their way into the world.
pub const LOADING: DiagnosticPath = DiagnosticPath::const_new("seamless_level/loading");
/// Levels that are wanted.
pub const WANTED: DiagnosticPath = DiagnosticPath::const_new("seamless_level/wanted");
/// Levels that are late: see [`LateLevels`](crate::LateLevels).
pub const LATE: DiagnosticPath = DiagnosticPath::const_new("seamless_level/late");
/// Levels that are wanted and could not be loaded.
pub const FAILED: DiagnosticPath = DiagnosticPath::const_new("seamless_level/failed");

/// All of them.
pub(crate) const ALL: [DiagnosticPath; 6] = [VISIBLE, HIDDEN, LOADING, WANTED, LATE, FAILED];
