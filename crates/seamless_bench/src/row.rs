//! A row of results, its statistics and its targets. See [`Row`].

#[cfg(test)]
mod tests;

use std::fmt::Write;

use serde::Serialize;

/// Medians of one measurement.
#[derive(Serialize, Debug, Clone)]
pub struct Row {
    /// `name` or `name/variant`.
    pub name: &'static str,
    /// Of `ours`, `peer` and `limit`.
    pub unit: &'static str,
    /// Whether a larger value is the better one.
    pub higher_is_better: bool,
    /// bevy_seamless.
    pub ours: f64,
    /// What a Bevy user would pick instead.
    pub peer_name: Option<&'static str>,
    /// Its median.
    pub peer: Option<f64>,
    /// What the engine cannot be faster than.
    pub limit_name: Option<&'static str>,
    /// Its median.
    pub limit: Option<f64>,
    /// How many samples there are of each.
    pub samples: usize,
    /// (90th − 10th percentile) ÷ median of our samples.
    pub spread: f64,
    /// How many times better than the peer, and how near to the limit.
    #[serde(skip)]
    pub targets: Targets,
    /// More to print below the table.
    #[serde(skip)]
    pub note: String,
}

/// What a row is to reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct Targets {
    /// peer ÷ ours, at least; ours ÷ peer where higher is better.
    pub first: f64,
    /// The same, wanted.
    pub aim: f64,
    /// ours ÷ limit, at most; at least where higher is better.
    pub of_limit: Option<f64>,
}

/// The samples of one measurement.
#[derive(Default)]
pub struct Samples {
    pub ours: Vec<f64>,
    pub peer: Vec<f64>,
    pub limit: Vec<f64>,
}

impl Samples {
    /// The row of these samples; smaller is better.
    pub fn row(
        mut self,
        name: &'static str,
        unit: &'static str,
        peer_name: Option<&'static str>,
        limit_name: Option<&'static str>,
        targets: Targets,
    ) -> Row {
        let ours = quantile(&mut self.ours, 0.5);
        let width = quantile(&mut self.ours, 0.9) - quantile(&mut self.ours, 0.1);
        Row {
            name,
            unit,
            higher_is_better: false,
            ours,
            peer_name,
            peer: (!self.peer.is_empty()).then(|| quantile(&mut self.peer, 0.5)),
            limit_name,
            limit: (!self.limit.is_empty()).then(|| quantile(&mut self.limit, 0.5)),
            samples: self.ours.len(),
            spread: if ours == 0.0 { 0.0 } else { width / ours },
            targets,
            note: String::new(),
        }
    }
}

impl Row {
    /// The same row, of samples of which a larger one is the better one.
    pub fn higher_is_better(self) -> Self {
        Self {
            higher_is_better: true,
            ..self
        }
    }

    /// How many times better than the peer.
    fn gain(&self) -> Option<f64> {
        let peer = self.peer?;
        Some(if self.higher_is_better {
            over(self.ours, peer)
        } else {
            over(peer, self.ours)
        })
    }

    /// The ratio to the limit, and what it is to be where it is not.
    fn near(&self) -> String {
        let Some(is) = self.limit.map(|limit| over(self.ours, limit)) else {
            return "-".to_owned();
        };
        match self.targets.of_limit {
            Some(least) if self.higher_is_better && is < least => format!("{is:.2} < {least}"),
            Some(most) if !self.higher_is_better && is > most => format!("{is:.2} > {most}"),
            _ => format!("{is:.2}"),
        }
    }
}

/// How many times as much; of two that are nothing, one is as much as the other.
fn over(one: f64, other: f64) -> f64 {
    if one == other { 1.0 } else { one / other }
}

/// The value below which the part `part` of `values` lies: the nearest one.
pub fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let index = (values.len().saturating_sub(1) as f64 * part).round() as usize;
    values.get(index).copied().unwrap_or(f64::NAN)
}

/// All rows as text, with the ratios and what they are to be.
pub fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<33} {:<12} {:>10} {:>11} {:>10} {:>9}  {:<16} {:>11} {:>7} {:>7}\n",
        "row", "unit", "ours", "peer", "limit", "gain", "first / aim", "ours÷limit", "spread", "samples"
    );
    for row in rows {
        let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.2}"));
        let ratio = row.gain();
        let targets = row.targets;
        let verdict = ratio.map_or("", |ratio| match ratio {
            _ if ratio >= targets.aim => "aim",
            _ if ratio >= targets.first => "first",
            _ => "below",
        });
        let goal = match row.peer_name {
            Some(_) => format!("{}× / {}× {verdict}", targets.first, targets.aim),
            None => "-".to_owned(),
        };
        let near = row.near();
        let _ = writeln!(
            text,
            "{:<33} {:<12} {:>10.2} {:>11} {:>10} {:>9}  {goal:<16} {near:>11} {:>7.2} {:>7}",
            row.name,
            row.unit,
            row.ours,
            number(row.peer),
            number(row.limit),
            ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}×")),
            row.spread,
            row.samples,
        );
    }
    for row in rows.iter().filter(|row| !row.note.is_empty()) {
        let _ = writeln!(text, "\n{}: {}", row.name, row.note);
    }
    text
}
