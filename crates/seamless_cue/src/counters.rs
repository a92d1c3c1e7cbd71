//! The numbers of a resource as Bevy diagnostics. See [`Counter`].

use bevy_app::App;
use bevy_diagnostic::{Diagnostic, DiagnosticPath, Diagnostics, RegisterDiagnostic};

/// A number of `S`.
pub(crate) struct Counter<S: 'static> {
    /// Its field, for the test that looks for the one that is missing.
    #[cfg_attr(not(test), expect(dead_code, reason = "only a test looks at it"))]
    pub field: &'static str,
    pub path: DiagnosticPath,
    /// Its unit; what has none is a count.
    pub suffix: &'static str,
    pub value: fn(&S) -> f64,
}

/// The counters of these fields, whose paths begin with the given text.
macro_rules! counts {
    ($prefix:literal: $($field:ident)*) => {
        [$($crate::counters::Counter {
            field: stringify!($field),
            path: bevy_diagnostic::DiagnosticPath::const_new(concat!($prefix, stringify!($field))),
            suffix: "",
            value: |stats| stats.$field as f64,
        }),*]
    };
}
pub(crate) use counts;

pub(crate) fn register<S: 'static>(app: &mut App, counters: impl Iterator<Item = &'static Counter<S>>) {
    for counter in counters {
        app.register_diagnostic(Diagnostic::new(counter.path.clone()).with_suffix(counter.suffix));
    }
}

pub(crate) fn write<S: 'static>(
    stats: &S,
    counters: impl Iterator<Item = &'static Counter<S>>,
    diagnostics: &mut Diagnostics,
) {
    for counter in counters {
        diagnostics.add_measurement(&counter.path, || (counter.value)(stats));
    }
}
