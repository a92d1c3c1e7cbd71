//! Cooks again where only the bytes of some assets have changed: all else is what the last cook made of it. See [`Cook::again`].

use std::collections::{BTreeMap, BTreeSet};

use super::Cook;
use super::summary::slowest;
use crate::assets::{AssetKey, ObjectRecord, ObjectSize, Objects};
use crate::graph::output::Output;
use crate::graph::state::{FileUnit, LevelUnit, Outcome};
use crate::report::{CookReport, CookedTextureReport, ObjectTiming, SLOWEST_OBJECTS};
use crate::write::{self, Stop, write_world};

/// So many objects may be others, beside which it pays to look at them one by one.
pub(super) const MOST_CHANGED: usize = 64;

/// Of what the last cook left, what does not hold any more.
pub(super) struct Gone {
    pub files: Vec<(String, FileUnit)>,
    /// Where they were, the last first: each left its place to what was last then. Empty where they are more than [`MOST_CHANGED`].
    pub objects: Vec<(usize, AssetKey, ObjectRecord)>,
    /// How many objects there were.
    pub of: usize,
}

impl Gone {
    /// These files, and no objects yet.
    pub fn new(files: Vec<(String, FileUnit)>) -> Self {
        let (objects, of) = (Vec::new(), 0);
        Self { files, objects, of }
    }

    /// Takes those out of `objects` that are in these places, in order.
    pub fn take(&mut self, objects: &mut Objects, places: &[usize]) {
        let taken = places.iter().rev().filter_map(|place| {
            let (key, object) = objects.swap_remove_index(*place)?;
            Some((*place, key, object))
        });
        self.objects.extend(taken);
    }

    /// Puts what was encoded instead in their places.
    fn put_back(&self, objects: &mut Objects) {
        for (count, (place, key, _)) in self.objects.iter().enumerate().rev() {
            let last = self.of - count - 1;
            if let Some(now) = objects.get_index_of(key) {
                objects.swap_indices(now, last);
                objects.swap_indices(last, *place);
            }
        }
        debug_assert!(objects.keys().is_sorted(), "all is where it was");
    }

    fn places(&self) -> BTreeSet<usize> {
        self.objects.iter().map(|(place, ..)| *place).collect()
    }
}

/// Whether nothing but the bytes of an asset, and what is told of these, has changed.
fn is_alike(was: &ObjectRecord, is: &ObjectRecord) -> bool {
    let usage = |object: &ObjectRecord| object.texture.as_ref().map(|texture| texture.0);
    let same = ObjectRecord {
        blob: was.blob,
        size: was.size,
        seconds: was.seconds,
        texture: was.texture.clone(),
        ..is.clone()
    };
    same == *was && usage(was) == usage(is)
}

impl Cook<'_> {
    /// Whether levels, startup content and everything beside the sources are those of the last cook, and it is known where it put what.
    pub(super) fn is_as_before(&self) -> bool {
        self.is_same && !self.is_otherwise && self.told.is_some() && self.before.layout.is_some()
    }

    /// Whether, beside that, nothing is gone but objects that led nowhere.
    pub(super) fn leads_as_before(&self) -> bool {
        // What led nowhere may lead somewhere else now, and nobody may need that.
        let is_leaf = |was: &ObjectRecord| was.references.is_empty() && was.told.is_none();
        self.is_as_before() && self.gone.objects.iter().all(|(_, _, was)| is_leaf(was))
    }

    /// Where the objects are that are others than before, if that is all that has changed, and they would lie where they lay: then uses, names,
    /// layout and warnings are those of the last cook. The objects are in their order then.
    pub(super) fn again(&mut self) -> Option<BTreeSet<usize>> {
        let is_whole = self.is_as_before() && self.errors.is_empty();
        let (gone, objects) = (&self.gone, &mut self.store.objects);
        let layout = self.before.layout.as_ref().filter(|_| is_whole)?;
        // All that was encoded is what was gone, and the other way round.
        let is_all = objects.len() == gone.of && self.store.encoded_now.len() == gone.objects.len();
        let mut changed = gone.objects.iter();
        let is_known = |file: &String| self.before.packages.contains_key(file);
        let holds = is_all
            && changed.all(|(_, key, was)| objects.get(key).is_some_and(|is| is_alike(was, is)))
            && layout.holds(gone.of, gone.places().into_iter())
            && layout.files().all(is_known);
        if !holds {
            return None;
        }
        gone.put_back(objects);
        Some(gone.places())
    }

    /// Writes what has changed; `told` is what the last cook told.
    pub(super) fn write_again(
        &self,
        changed: &BTreeSet<usize>,
        told: CookReport,
        output: &mut Output,
        report: &mut CookReport,
    ) -> Result<Outcome, Stop> {
        let (plan, objects) = (&self.plan, &self.store.objects);
        let units = self.encoded_levels()?;
        let Some(layout) = self.before.layout.clone() else {
            return Err(Stop::Lost);
        };
        let again = layout.again(objects, changed);
        let bounds = plan.levels.iter();
        let bounds: Vec<_> = bounds
            .map(|level| self.before.bounds.get(&level.name).and_then(|(_, bounds)| *bounds))
            .collect();
        let (versions, world_file) = (self.versions(), self.order.world_file.display().to_string());
        let world = write::World {
            levels: &units,
            bounds: &bounds,
            packages: &again.packages,
            again: Some(&again),
            ..self.world(&world_file, objects, &versions)
        };
        *report = CookReport {
            world: core::mem::take(&mut report.world),
            ..self.told_again(told, &units)
        };
        Ok(Outcome {
            packages: write_world(&world, self.cache, output, self.order.progress, report)?,
            bounds: self.before.bounds.clone(),
            layout: Some(layout),
        })
    }

    /// What the last cook told, with what is another thing now; less what follows from the packages.
    fn told_again(&self, told: CookReport, units: &[&LevelUnit]) -> CookReport {
        let objects = &self.store.objects;
        let (mut was_size, mut is_size) = (ObjectSize::default(), ObjectSize::default());
        let (mut textures, mut seconds) = (told.textures, BTreeMap::new());
        for (_, key, was) in &self.gone.objects {
            let Some(is) = objects.get(key) else { continue };
            (was_size, is_size) = (was_size + was.size, is_size + is.size);
            let path = key.path();
            if let Some((_, texture)) = is.texture.as_deref() {
                let is_it = |known: &&mut CookedTextureReport| known.object == path;
                if let Some(known) = textures.iter_mut().find(is_it) {
                    known.texture = texture.clone();
                }
            }
            let step = if is.texture.is_some() { "compress" } else { "encode" };
            seconds.insert(path, (step, is.seconds));
        }
        let slow = slowest_again(told.slowest, &seconds);
        CookReport {
            warnings: told.warnings,
            layout: told.layout.resized(&self.plan.settings.layout, was_size, is_size),
            dialogue: told.dialogue,
            textures,
            slowest: slow.unwrap_or_else(|| {
                let needed = self.needed();
                slowest(&self.plan, units, objects, |key| needed.contains(key))
            }),
            ..CookReport::default()
        }
    }
}

/// What took longest, where these took another time than before; none if that cannot be told without all others.
fn slowest_again(before: Vec<ObjectTiming>, now: &BTreeMap<String, (&str, f64)>) -> Option<Vec<ObjectTiming>> {
    let is_full = before.len() >= SLOWEST_OBJECTS;
    let (gone, mut slowest): (Vec<_>, Vec<_>) = before.into_iter().partition(|timing| now.contains_key(&timing.object));
    // Whoever was not told took no longer than the last of those that were.
    let least = slowest.last().map_or(f64::MAX, |timing| timing.seconds);
    let is_told = |timing: &ObjectTiming| now.get(&timing.object).is_some_and(|(_, seconds)| *seconds >= least);
    if is_full && !gone.iter().all(is_told) {
        return None;
    }
    slowest.extend(now.iter().map(|(object, (step, seconds))| ObjectTiming {
        object: object.clone(),
        step: (*step).to_owned(),
        seconds: *seconds,
    }));
    slowest.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    slowest.truncate(SLOWEST_OBJECTS);
    Some(slowest)
}
