//! The rules of `cook.ron` about where objects lie. See [`Matched`].

use std::collections::BTreeMap;

use super::{Choice, Scene};
use crate::assets::{AssetKey, AssetName};
use crate::plan::WorldPlan;
use crate::report::{ContentError, counted};
use crate::settings::{LayoutRule, Placement};

/// Which rule each asset goes by, and which rules fit any.
pub(super) struct Matched {
    /// By index of the asset.
    rules: Vec<Option<usize>>,
    /// By index of the rule.
    fit: Vec<bool>,
    /// By index of a rule that would move what is one level's own: the first such object.
    kept: BTreeMap<usize, String>,
}

impl Matched {
    /// What is forced on an asset.
    pub fn choice(&self, rules: &[LayoutRule], asset: usize) -> Option<Choice> {
        match rules.get((*self.rules.get(asset)?)?)?.place {
            Placement::Auto => None,
            Placement::Duplicate => Some(Choice::Duplicate),
            Placement::Share => Some(Choice::Share),
            Placement::Persistent => Some(Choice::Persistent),
        }
    }
}

/// Compares all assets with all rules; the last rule that fits counts.
pub(super) fn matched(rules: &[LayoutRule], order: &[&AssetKey]) -> Matched {
    if rules.is_empty() {
        // Nobody asks for paths then.
        return Matched {
            rules: vec![None; order.len()],
            fit: Vec::new(),
            kept: BTreeMap::new(),
        };
    }
    let (mut fit, mut kept) = (vec![false; rules.len()], BTreeMap::new());
    let last = |key: &&AssetKey| {
        let path = key.path();
        let mut last = None;
        for (index, rule) in rules.iter().enumerate() {
            if rule.fits(&path) {
                fit[index] = true;
                last = Some(index);
            }
        }
        if !matches!(key.name(), AssetName::OfLevel { .. }) {
            return last;
        }
        // What exists for one level lies there: nobody else needs it.
        let moving = |rule: &usize| rules.get(*rule).is_some_and(|rule| rule.place == Placement::Persistent);
        kept.entry(last.filter(moving)?).or_insert(path);
        None
    };
    Matched {
        rules: order.iter().map(last).collect(),
        fit,
        kept,
    }
}

/// Rules that fit nothing, and rules that could not be followed.
pub(super) fn warnings(
    plan: &WorldPlan,
    matched: &Matched,
    order: &[&AssetKey],
    scene: &Scene,
    choices: &[Choice],
) -> Vec<ContentError> {
    let rules = &plan.settings.layout.rules;
    // A part of the world may lack what a rule is about.
    let is_whole = plan.other_levels.is_empty();
    let mut warnings = Vec::new();
    for (index, rule) in rules.iter().enumerate() {
        let mut warn = |message: String| {
            let object = format!("rule `{}`", rule.objects);
            warnings.push(ContentError::new(crate::settings::SETTINGS_FILE, object, message));
        };
        if !matched.fit.get(index).copied().unwrap_or_default() {
            if is_whole {
                warn("fits no object; correct the path, or remove the rule".to_owned());
            }
            continue;
        }
        if let Some(object) = matched.kept.get(&index) {
            warn(format!(
                "has no effect on `{object}`: its levels have different variants of dialogue there, so each has its own; name other objects, \
                 or remove `max_variants` from these levels"
            ));
        }
        let ruled = matched.rules.iter().enumerate().filter(|(_, by)| **by == Some(index));
        let mut broken = ruled.filter(|(asset, _)| is_broken(matched, rules, scene, choices, *asset));
        let Some((first, _)) = broken.next() else { continue };
        let first = order.get(first).map_or_else(String::new, |key| key.path());
        if rule.place == Placement::Persistent {
            if is_whole {
                let message = "has no effect, as no level is always loaded and not seek-free; make one `always_loaded`";
                warn(message.to_owned());
            }
            continue;
        }
        let others = match broken.count() {
            0 => String::new(),
            count => format!(" and {}", counted(count, "other object")),
        };
        warn(format!(
            "has no effect on `{first}`{others}: another rule puts what refers to it where it may not lead to {:?}; change one of them",
            rule.place
        ));
    }
    warnings
}

/// Whether an asset lies elsewhere than its rule says. What is startup content, and what only one level uses, is where it has to be.
fn is_broken(matched: &Matched, rules: &[LayoutRule], scene: &Scene, choices: &[Choice], asset: usize) -> bool {
    let Some(group) = scene.group(asset) else { return false };
    match matched.choice(rules, asset) {
        Some(Choice::Persistent) => choices.get(asset) != Some(&Choice::Persistent),
        Some(choice) => group.is_shared() && choices.get(asset) != Some(&choice),
        None => false,
    }
}
