//! What is wanted of each texture, by who draws with it. See [`MipDemands`].

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bevy_platform::collections::HashMap;

use super::{
    chain::MipChain,
    truth::{Joining, LayerTruth, join},
    watch::Watch,
};

/// What is so much coarser than a floor is told to be so: a watch says what is finer by 1/16 at most, and rounds. In mips.
const ROUNDING: f32 = 5.0 / 64.0;
/// A texture is nobody's if nobody draws it for so long after it has come, in seconds.
const STRANGE: f64 = 1.0;

/// What is wanted of a texture.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Demand {
    /// The mip that it is sampled at by what is seen, the finest; infinite if nothing is seen. Mip 1.5 is halfway between two.
    pub seen: f32,
    /// The same for what is not seen, as if it were; [`Self::WHOLE`] if all of it is wanted.
    pub unseen: f32,
    /// The mip that it would be sampled at where somebody is expected, whatever is seen now; infinite if nobody is. So fine it is when they come.
    pub expected: f32,
    /// What the seen ones cover, in pixels.
    pub area: f32,
    /// What the others would cover.
    pub unseen_area: f32,
    /// What all would cover where somebody is expected.
    pub expected_area: f32,
    /// When it was seen last, in seconds.
    pub last_seen: f64,
    /// What must be known of it besides.
    pub rule: DemandRule,
}

impl Demand {
    /// As [`unseen`](Self::unseen): whoever draws with it was never known, so it is wanted whole.
    pub const WHOLE: f32 = f32::NEG_INFINITY;

    /// The mips that it is sampled at: by what is seen, by what is not, and where somebody is expected.
    pub(super) fn sampled(&self) -> [f32; 3] {
        [self.seen, self.unseen, self.expected]
    }
}

/// What is wanted of a texture, whoever draws with it.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct DemandRule {
    /// It is to be as fine as this whatever is seen, and cut last.
    pub forced: Option<u8>,
    /// No finer than this, even if it is forced: its size is limited, or a finer mip could not be read.
    pub finest: u8,
    /// No coarser than this, nor than the chain's floor, unless `finest` is.
    pub coarsest: u8,
    /// How much coarser it is sampled than is told, in mips.
    pub bias: f32,
    /// How much its errors count, beside those of others.
    pub weight: f32,
}

impl Default for DemandRule {
    /// What is seen decides.
    fn default() -> Self {
        Self {
            forced: None,
            finest: 0,
            coarsest: u8::MAX,
            bias: 0.0,
            weight: 1.0,
        }
    }
}

/// How views want textures that are sampled between two mips, and that nobody sees.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Wanting {
    /// A mip is wanted so much before it is sampled, from 0 to [`Self::MOST_MARGIN`] mips; while views rest, there is no need for any.
    pub margin: f32,
    /// What nobody sees may be so many mips coarser.
    pub hidden_bias: f32,
}

impl Wanting {
    /// The largest margin, in mips.
    pub const MOST_MARGIN: f32 = 1.0;

    /// The mip at which what nobody sees counts as sampled.
    pub(super) fn hidden(&self, unseen: f32) -> f32 {
        if unseen == Demand::WHOLE {
            0.0
        } else {
            unseen + self.hidden_bias.max(0.0)
        }
    }
}

impl Default for Wanting {
    fn default() -> Self {
        Self {
            margin: 0.25,
            hidden_bias: 1.0,
        }
    }
}

/// A texture that streams.
#[derive(Clone, Debug)]
pub struct DemandedTexture {
    /// Its mips.
    pub chain: MipChain,
    /// What is wanted of it.
    pub demand: Demand,
}

impl DemandedTexture {
    /// The finest top that it may have: its size is a limit, what is wanted is a wish.
    pub(super) fn limit(&self) -> u8 {
        let finest = self.demand.rule.finest;
        if finest == 0 {
            return 0;
        }
        let limit = self.chain.tops().find(|top| *top >= finest);
        limit.unwrap_or_else(|| self.chain.floor())
    }

    /// The coarsest top that it may have.
    #[must_use]
    pub fn floor(&self) -> u8 {
        self.chain.top_for(self.demand.rule.coarsest).max(self.limit())
    }

    /// The top that is wanted: all mips that are sampled are there, and those that will be in a moment.
    #[must_use]
    pub fn wanted(&self, wanting: &Wanting) -> u8 {
        self.wanted_at(self.demand.sampled(), wanting)
    }

    /// The top that is wanted, if it is [sampled](Demand::sampled) at these mips.
    pub(super) fn wanted_at(&self, [seen, unseen, expected]: [f32; 3], wanting: &Wanting) -> u8 {
        let rule = &self.demand.rule;
        let margin = wanting.margin.clamp(0.0, Wanting::MOST_MARGIN);
        let sampled = seen.min(expected).min(wanting.hidden(unseen));
        // Of what is no number, nothing is wanted.
        let finer = |mip: f32| if mip.is_nan() { u8::MAX } else { mip as u8 };
        let wanted = finer(sampled - margin).min(rule.forced.unwrap_or(u8::MAX));
        self.chain.top_for(wanted).clamp(self.limit(), self.floor())
    }
}

/// Whether a texture is drawn as it is, by a sprite for instance, as far as is known.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Shown {
    #[default]
    Never,
    /// Where nobody sees it.
    Hidden,
    Seen,
}

/// All textures that stream, and the materials that draw with each; both have numbers from 0 on.
///
/// A texture that nobody was ever known to draw is wanted whole, as what nobody sees, once it has been there for a second: who draws it may only be on the way. If
/// somebody was known, nothing is wanted of it until somebody is again.
#[derive(Debug, Default)]
pub struct MipDemands {
    textures: Vec<Option<DemandedTexture>>,
    /// By texture.
    links: Vec<Vec<Link>>,
    /// By texture.
    shown: Vec<Shown>,
    /// By texture, whether somebody has drawn with it since it is there.
    was_known: Vec<bool>,
    /// Textures that came lately, and when, in seconds; the oldest first.
    new: VecDeque<(u32, f64)>,
    /// By material, its textures, once for each channel.
    of_material: Vec<Vec<u32>>,
    /// Textures that are looked at in any case.
    dirty: Vec<u32>,
    changed: Vec<u32>,
    /// Materials and channels whose limits may be others.
    unlimited: Vec<Link>,
    /// The largest margin of views.
    margin: f32,
    /// By material, what it was seen with.
    truth: HashMap<u32, LayerTruth>,
    joining: Joining,
}

/// A material's channel.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Link {
    material: u32,
    channel: u8,
}

impl MipDemands {
    /// All textures, by number.
    #[must_use]
    pub fn textures(&self) -> &[Option<DemandedTexture>] {
        &self.textures
    }

    /// Adds a texture, or replaces it; what draws with it stays the same.
    pub fn insert(&mut self, texture: u32, chain: MipChain, rule: DemandRule, now: f64) {
        let index = texture as usize;
        if self.textures.len() <= index {
            self.textures.resize_with(index + 1, || None);
            self.links.resize_with(index + 1, Vec::new);
            self.shown.resize(index + 1, Shown::Never);
            self.was_known.resize(index + 1, false);
        }
        let demand = Demand {
            seen: f32::INFINITY,
            unseen: f32::INFINITY,
            expected: f32::INFINITY,
            area: 0.0,
            unseen_area: 0.0,
            expected_area: 0.0,
            last_seen: now,
            rule,
        };
        self.textures[index] = Some(DemandedTexture { chain, demand });
        if !self.was_known[index] {
            self.new.push_back((texture, now));
        }
        self.touch(texture);
    }

    /// Takes a texture out, and all its links.
    pub fn remove(&mut self, texture: u32) {
        let Some(links) = self.links.get_mut(texture as usize) else {
            return;
        };
        for link in core::mem::take(links) {
            self.cut(texture, link);
        }
        self.textures[texture as usize] = None;
        self.shown[texture as usize] = Shown::Never;
        self.was_known[texture as usize] = false;
        self.dirty.push(texture);
    }

    /// Other rules.
    pub fn set_rule(&mut self, texture: u32, rule: DemandRule) {
        if let Some(Some(of)) = self.textures.get_mut(texture as usize) {
            of.demand.rule = rule;
            self.touch(texture);
        }
    }

    /// A material's channel draws with a texture that is there.
    pub fn link(&mut self, texture: u32, material: u32, channel: u8) {
        let link = Link { material, channel };
        let Some(Some(_)) = self.textures.get(texture as usize) else {
            return;
        };
        if self.links[texture as usize].contains(&link) {
            return;
        }
        self.links[texture as usize].push(link);
        self.was_known[texture as usize] = true;
        if self.of_material.len() <= material as usize {
            self.of_material.resize_with(material as usize + 1, Vec::new);
        }
        self.of_material[material as usize].push(texture);
        self.touch(texture);
    }

    /// It does so no more.
    pub fn unlink(&mut self, texture: u32, material: u32, channel: u8) {
        let link = Link { material, channel };
        let links = self.links.get_mut(texture as usize);
        let place = links.as_ref().and_then(|links| links.iter().position(|of| *of == link));
        if let (Some(links), Some(place)) = (links, place) {
            links.swap_remove(place);
            self.cut(texture, link);
            self.touch(texture);
        }
    }

    /// The texture is drawn as it is, or not any more: all of it is wanted then, whatever its [bias](DemandRule::bias).
    pub(super) fn set_shown(&mut self, texture: u32, shown: Shown) {
        if let Some(Some(_)) = self.textures.get(texture as usize)
            && core::mem::replace(&mut self.shown[texture as usize], shown) != shown
        {
            self.was_known[texture as usize] = true;
            self.dirty.push(texture);
        }
    }

    /// Whether a texture has come so lately that more may be wanted of it though nobody comes who draws it.
    pub(super) fn has_new(&self) -> bool {
        let is_strange = |(texture, _): &(u32, f64)| {
            let is_there = self.textures.get(*texture as usize).is_some_and(Option::is_some);
            is_there && !self.was_known(*texture)
        };
        self.new.iter().any(is_strange)
    }

    #[cfg(test)]
    pub(super) fn is_linked(&self, texture: u32) -> bool {
        self.links.get(texture as usize).is_some_and(|links| !links.is_empty())
    }

    /// Whether somebody draws with the texture, or did since it is there.
    pub(super) fn was_known(&self, texture: u32) -> bool {
        self.was_known.get(texture as usize).is_some_and(|known| *known)
    }

    /// Says who is too coarse to make a difference, with this [margin](Wanting::margin) at most. Call it before [`Watch::update`].
    pub fn set_limits(&mut self, watch: &mut Watch, margin: f32) {
        let margin = margin.clamp(0.0, Wanting::MOST_MARGIN);
        if self.margin.to_bits() != margin.to_bits() {
            self.margin = margin;
            self.unlimited.extend(self.links.iter().flatten());
        }
        self.unlimited.sort_unstable();
        self.unlimited.dedup();
        for link in core::mem::take(&mut self.unlimited) {
            let textures = self.of_material[link.material as usize].iter();
            let limits = textures.filter(|texture| self.links[**texture as usize].contains(&link));
            let limit = limits
                .filter_map(|texture| self.limit(*texture))
                .fold(f32::NEG_INFINITY, f32::max);
            watch.limit(link.material, link.channel, limit);
        }
    }

    /// What materials were seen with, instead of what was told before; of others, what is predicted counts alone.
    pub(super) fn set_truth(&mut self, truth: HashMap<u32, LayerTruth>) {
        let before = core::mem::replace(&mut self.truth, truth);
        let others = before.keys().filter(|material| !self.truth.contains_key(*material));
        let changed = self
            .truth
            .iter()
            .filter(|(material, of)| before.get(*material) != Some(of));
        for material in others.chain(changed.map(|(material, _)| material)) {
            self.dirty
                .extend(self.of_material.get(*material as usize).into_iter().flatten());
        }
    }

    /// Other terms of joining what was seen with what is predicted.
    pub(super) fn set_joining(&mut self, joining: Joining) {
        if core::mem::replace(&mut self.joining, joining) != joining {
            let of_material = |material: &u32| self.of_material.get(*material as usize).into_iter().flatten();
            self.dirty.extend(self.truth.keys().flat_map(of_material));
        }
    }

    /// Takes what has changed. `now` is in seconds.
    pub fn update(&mut self, watch: &Watch, now: f64) {
        let mut changed = core::mem::take(&mut self.changed);
        changed.clear();
        while let Some((texture, _)) = self.new.pop_front_if(|(_, came)| now >= *came + STRANGE) {
            if !self.was_known(texture) {
                self.dirty.push(texture);
            }
        }
        changed.append(&mut self.dirty);
        for material in watch.changed() {
            changed.extend(self.of_material.get(*material as usize).into_iter().flatten());
        }
        changed.sort_unstable();
        changed.dedup();
        for texture in &changed {
            self.demand(*texture, watch, now);
        }
        self.changed = changed;
    }

    /// The textures that have come or gone, or of which something else is wanted, since the update before the last.
    #[must_use]
    pub fn changed(&self) -> &[u32] {
        &self.changed
    }

    fn demand(&mut self, texture: u32, watch: &Watch, now: f64) {
        let Some(Some(of)) = self.textures.get_mut(texture as usize) else {
            return;
        };
        let demand = &mut of.demand;
        let side = of.chain.side(0) as f32;
        let offset = side.log2() + demand.rule.bias;
        let was_seen = demand.seen < f32::INFINITY;
        let links = &self.links[texture as usize];
        let (mut least, mut area) = ([f32::INFINITY; 3], [0.0_f32; 3]);
        for link in links {
            let mut lods = watch.least(link.material, link.channel);
            let mut areas = watch.area(link.material, link.channel);
            if let Some(truth) = self.truth.get(&link.material) {
                // Where somebody is expected, nothing was seen yet.
                let ([seen, unseen, _], [area, unseen_area, _]) = (&mut lods, &mut areas);
                ([*seen, *unseen], [*area, *unseen_area]) =
                    join([*seen, *unseen], [*area, *unseen_area], truth, self.joining);
            }
            for part in 0..3 {
                least[part] = least[part].min(lods[part] + offset);
                area[part] += areas[part];
            }
        }
        let whole = side * side;
        match self.shown[texture as usize] {
            Shown::Seen => (least[0], area[0]) = (least[0].min(0.0), area[0] + whole),
            Shown::Hidden => (least[1], area[1]) = (least[1].min(0.0), area[1] + whole),
            // Nobody has seen it: that was when it came.
            Shown::Never if !self.was_known[texture as usize] && now >= demand.last_seen + STRANGE => {
                (least[1], area[1]) = (Demand::WHOLE, whole);
            }
            Shown::Never => {}
        }
        [demand.seen, demand.unseen, demand.expected] = least;
        [demand.area, demand.unseen_area, demand.expected_area] = area;
        if was_seen || demand.seen < f32::INFINITY {
            demand.last_seen = now;
        }
    }

    /// The lod of who draws with the texture from which on it is at its floor.
    fn limit(&self, texture: u32) -> Option<f32> {
        let of = self.textures[texture as usize].as_ref()?;
        let offset = (of.chain.side(0) as f32).log2() + of.demand.rule.bias;
        Some(f32::from(of.floor()) + self.margin + ROUNDING - offset)
    }

    fn touch(&mut self, texture: u32) {
        self.dirty.push(texture);
        self.unlimited.extend(&self.links[texture as usize]);
    }

    fn cut(&mut self, texture: u32, link: Link) {
        let textures = &mut self.of_material[link.material as usize];
        if let Some(place) = textures.iter().position(|of| *of == texture) {
            textures.swap_remove(place);
        }
        // Its number may be another's.
        self.truth.remove(&link.material);
        self.unlimited.push(link);
    }
}
