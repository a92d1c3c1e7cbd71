//! Colours and numbers of printed text. Text is always made with colours; what prints it takes them away where nobody sees them.

use anstyle::{AnsiColor, Style};

/// What a line is about.
pub(super) const BOLD: Style = Style::new().bold();
/// What is of little interest.
pub(super) const DIM: Style = Style::new().dimmed();
/// What is wrong.
pub(super) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// What may be wrong.
pub(super) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// What is new, or well.
pub(super) const GOOD: Style = AnsiColor::Green.on_default();
/// What is gone.
pub(super) const GONE: Style = AnsiColor::Red.on_default();
/// What changed.
pub(super) const CHANGED: Style = AnsiColor::Yellow.on_default();

/// Something printed in a style.
pub(super) struct Painted<T>(pub Style, pub T);

impl<T: core::fmt::Display> core::fmt::Display for Painted<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(style, what) = self;
        write!(f, "{style}{what}{style:#}")
    }
}

/// Bytes, with the unit that reads best.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    let mut value = bytes as f64;
    let mut unit = "B";
    for next in units {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" {
        format!("{bytes} B")
    } else {
        format!("{value:.1} {unit}")
    }
}
