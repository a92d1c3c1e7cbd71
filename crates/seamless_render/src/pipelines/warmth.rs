//! How far the pipelines of a level have come. See [`Warmth`].

#[cfg(test)]
mod tests;

use bevy_platform::collections::HashSet;
use bevy_render::render_resource::CachedRenderPipelineId;
use seamless_asset::InstanceId;

use super::keys::PassKey;
use crate::drawn::DrawnSet;

/// Pipelines that nobody has asked for before, in a frame, for all levels that wait: each takes about a tenth of a millisecond.
const NEW_PER_FRAME: usize = 16;

/// The same of those that are there, which take some microseconds each.
const KNOWN_PER_FRAME: usize = 64;

/// A level waits also for what it was drawn with so many frames ago: views may take turns.
const RECENT: u32 = 8;

/// So many passes are remembered, and those of the last frames.
const MOST_PASSES: usize = 64;

/// What may still be asked for in a frame.
pub(super) struct Left {
    new: usize,
    known: usize,
    /// All pipelines with lower numbers were there.
    first_new: usize,
}

impl Left {
    /// So many pipelines are there.
    pub fn of(pipelines: usize) -> Self {
        Self {
            new: NEW_PER_FRAME,
            known: KNOWN_PER_FRAME,
            first_new: pipelines,
        }
    }

    fn is_any(&self) -> bool {
        self.new > 0 && self.known > 0
    }

    /// One was asked for; none, if it is not drawn there.
    fn take(&mut self, pipeline: Option<CachedRenderPipelineId>) {
        match pipeline.map(|pipeline| pipeline.id()) {
            Some(number) if number >= self.first_new => {
                self.first_new = number + 1;
                self.new = self.new.saturating_sub(1);
            }
            _ => self.known = self.known.saturating_sub(1),
        }
    }
}

/// How far the pipelines of a level have come that waits.
#[derive(Default)]
pub(super) struct LevelWarmth {
    /// What it is drawn with.
    pub own: Warmth,
    /// Its lights add to how others are drawn, and it waits for that, too.
    pub is_light: bool,
}

/// So many ways in which others are drawn are heard of in a frame, and those of one level more.
const HEARD_PER_FRAME: usize = 1024;

/// Levels that are gone are known until they are more than those that are there, and than so many.
const MOST_GONE: usize = 64;

/// How far the pipelines of levels have come that are there, in the passes that lights add to which are to come.
#[derive(Default)]
pub(super) struct LightWarmth {
    warmth: Warmth,
    /// What they are drawn with, each once. More is only put behind: how far passes have come is counted in it.
    sets: Vec<DrawnSet>,
    known: HashSet<DrawnSet>,
    levels: HashSet<InstanceId>,
    /// Whether all of them were heard of.
    is_complete: bool,
}

impl LightWarmth {
    /// What is there, by level; what of it is known already is passed over.
    pub fn hear<'a>(&mut self, levels: impl ExactSizeIterator<Item = (InstanceId, &'a [DrawnSet])>) {
        if self.levels.len() > 2 * levels.len() + MOST_GONE {
            *self = Self::default();
        }
        let most = self.sets.len() + HEARD_PER_FRAME;
        self.is_complete = true;
        for (level, sets) in levels {
            if self.levels.contains(&level) {
                continue;
            }
            if self.sets.len() >= most {
                self.is_complete = false;
                break;
            }
            self.levels.insert(level);
            let new = sets.iter().copied().filter(|set| self.known.insert(*set));
            self.sets.extend(new);
        }
    }

    /// Asks for their pipelines in these passes, as [`Warmth::ask`] does. What they were drawn with may be gone.
    pub fn ask(
        &mut self,
        passes: &[PassKey],
        left: &mut Left,
        mut ask_for: impl FnMut(&DrawnSet, &[PassKey]) -> Option<Vec<Option<CachedRenderPipelineId>>>,
    ) {
        self.warmth.begin(passes, self.sets.len());
        let known = &mut self.known;
        self.warmth.ask(&self.sets, left, |set, passes| {
            let pipelines = ask_for(set, passes);
            if pipelines.is_none() {
                // Whoever brings it again is heard of again.
                known.remove(set);
            }
            Some(pipelines.unwrap_or_else(|| vec![None; passes.len()]))
        });
    }

    /// Whether all of them are asked for, and change no more.
    pub fn is_ready(&self, is_final: impl Fn(CachedRenderPipelineId) -> bool) -> bool {
        self.is_complete && self.warmth.is_ready(is_final)
    }
}

/// How far the pipelines of one level have come, in each pass that it is drawn in.
#[derive(Default)]
pub(super) struct Warmth {
    passes: Vec<Pass>,
    /// How many ways there are in which the level is drawn.
    sets: usize,
}

struct Pass {
    key: PassKey,
    /// The first set whose pipeline was not asked for.
    next: usize,
    pipelines: Vec<CachedRenderPipelineId>,
    /// Frames since it was last drawn in.
    unseen: u32,
}

impl Warmth {
    /// What views draw the level with in this frame. Of other passes it is remembered how far they have come.
    pub fn begin(&mut self, passes: &[PassKey], sets: usize) {
        self.sets = sets;
        for pass in &mut self.passes {
            pass.unseen = pass.unseen.saturating_add(1);
        }
        for &key in passes {
            match self.passes.iter_mut().find(|pass| pass.key == key) {
                Some(pass) => pass.unseen = 0,
                None => self.passes.push(Pass {
                    key,
                    next: 0,
                    pipelines: Vec::new(),
                    unseen: 0,
                }),
            }
        }
        if self.passes.len() > MOST_PASSES {
            self.passes.retain(|pass| pass.unseen < RECENT);
        }
    }

    /// Asks for the pipelines of this frame's passes, as many as are left. `ask_for` gives those of some passes for a set, or nothing while its mesh
    /// or its material is not there.
    pub fn ask(
        &mut self,
        sets: &[DrawnSet],
        left: &mut Left,
        mut ask_for: impl FnMut(&DrawnSet, &[PassKey]) -> Option<Vec<Option<CachedRenderPipelineId>>>,
    ) {
        while left.is_any()
            && let Some(next) = self.first_missing()
            && let Some(set) = sets.get(next)
        {
            let passes = self.passes.iter_mut();
            let passes: Vec<_> = passes.filter(|pass| pass.unseen == 0 && pass.next == next).collect();
            let keys: Vec<_> = passes.iter().map(|pass| pass.key).collect();
            let Some(pipelines) = ask_for(set, &keys) else {
                return;
            };
            for (pass, pipeline) in passes.into_iter().zip(pipelines) {
                left.take(pipeline);
                pass.pipelines.extend(pipeline);
                pass.next += 1;
            }
        }
    }

    /// The first set that was not asked for in each pass of this frame.
    fn first_missing(&self) -> Option<usize> {
        let seen = self.passes.iter().filter(|pass| pass.unseen == 0);
        seen.map(|pass| pass.next).min()
    }

    /// Whether all that the level is drawn with is asked for, and changes no more.
    pub fn is_ready(&self, is_final: impl Fn(CachedRenderPipelineId) -> bool) -> bool {
        let mut recent = self.passes.iter().filter(|pass| pass.unseen < RECENT);
        recent.all(|pass| pass.next >= self.sets && pass.pipelines.iter().all(|pipeline| is_final(*pipeline)))
    }
}
