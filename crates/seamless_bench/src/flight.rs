//! x
use crate::row::{Row,Samples,Targets};
/// x
pub fn run(_: Option<usize>) -> Row { Samples::default().row("flight_hitch", "ms", "", None, Targets::default()) }
