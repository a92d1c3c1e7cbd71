//! Times as authors write them: seconds.

use core::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The shortest time that can be written: a thousandth of a second.
pub(crate) const SHORTEST: Duration = Duration::from_millis(1);
/// The longest: more than a year.
pub(crate) const LONGEST: Duration = Duration::from_secs(40_000_000);

/// In whole microseconds, so that ten times 0.1 s are 1 s.
pub(crate) fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    time.as_secs_f64().serialize(serializer)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let seconds = f64::deserialize(deserializer)?;
    let micros = (seconds * 1e6).round();
    let is_time = (SHORTEST.as_micros() as f64..=LONGEST.as_micros() as f64).contains(&micros);
    if !is_time {
        return Err(de::Error::custom(format!(
            "{seconds} is no time in seconds; write one from 0.001 to 40000000"
        )));
    }
    Ok(Duration::from_micros(micros as u64))
}

/// Whether a time that did not come from a text could have been written.
pub(crate) fn is_time(time: Duration) -> bool {
    (SHORTEST..=LONGEST).contains(&time)
}
