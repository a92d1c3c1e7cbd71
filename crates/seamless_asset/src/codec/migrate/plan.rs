//! Which migrations a package needs. See [`Plan`].

use core::ops::Range;
use std::{borrow::Cow, sync::Arc};

use bevy_platform::collections::HashSet;
use seamless_package::VersionId;

use super::{
    ops::{Change, Op, Step, rename_in, renamed},
    value::TypeName,
};
use crate::codec::MigrationLists;

/// What the entries that a package has not seen do, oldest first.
#[derive(Default)]
pub(crate) struct Plan {
    pub(super) steps: Vec<PlannedStep>,
}

/// What becomes of a class.
pub(crate) enum Fate {
    /// It is a class of this type path.
    Is(String),
    /// Its objects become others.
    Split,
    /// Its objects are left out.
    Dropped,
}

/// A step, and what the type that it is about is called along the way.
#[derive(Clone)]
pub(super) struct PlannedStep {
    pub step: Arc<Step>,
    /// When the step runs: lists that run before may have renamed it already.
    pub at: Arc<str>,
    /// When all steps have run: values of the app's own types have these names from the start.
    pub today: Arc<str>,
}

impl PlannedStep {
    pub fn op(&self) -> &Op {
        &self.step.op
    }

    /// The name of the type that the step is about, as a value would say it.
    pub fn path_for(&self, name: &TypeName) -> &str {
        if name.is_today() { &self.today } else { &self.at }
    }

    /// What the step makes of a type path, or of one with a variant behind it.
    fn rename(&self, path: &str) -> Option<String> {
        match self.op() {
            Op::RenameType { new } => renamed(path, &self.at, new),
            Op::Change(Change::RenameVariant { old, new }) => {
                let variant = path.strip_prefix(&*self.at)?.strip_prefix("::")?;
                (variant == old).then(|| format!("{}::{new}", self.at))
            }
            _ => None,
        }
    }

    /// Whether it does anything to values that consist of `types`, or of types that are called so `today`; those that it
    /// makes join them.
    fn touches(&self, types: &mut HashSet<String>, today: &HashSet<String>) -> bool {
        match self.op() {
            Op::RenameType { .. } => {
                let renamed: Vec<_> = types.iter().filter_map(|path| self.rename(path)).collect();
                let is_any = !renamed.is_empty();
                types.extend(renamed);
                is_any
            }
            op => {
                let is_there = types.contains(&*self.at);
                if let Op::Change(Change::RenameVariant { new, .. }) = op
                    && is_there
                {
                    types.insert(format!("{}::{new}", self.at));
                }
                is_there || today.contains(&*self.today)
            }
        }
    }
}

/// What the steps that rename make of `path`.
fn rename_all(path: &str, steps: &[PlannedStep]) -> Arc<str> {
    let renamed = steps
        .iter()
        .fold(Cow::Borrowed(path), |path, step| match step.rename(&path) {
            Some(renamed) => Cow::Owned(renamed),
            None => path,
        });
    renamed.as_ref().into()
}

impl Plan {
    /// The pending entries of `lists`: those in the range given for the list's id.
    pub fn new(lists: &MigrationLists, pending: &[(VersionId, Range<usize>)]) -> Self {
        let mut steps = Vec::new();
        let mut renames: Vec<(usize, PlannedStep)> = Vec::new();
        for list in lists.iter() {
            // What this list says of a type was said before the other lists' pending entries, or of the new name.
            let before: Vec<_> = renames.iter().map(|(_, step)| step.clone()).collect();
            let of_list = pending.iter().find(|(id, _)| *id == list.id());
            for step in list.steps(of_list.map_or(0..0, |(_, range)| range.clone())) {
                let at = rename_all(&step.type_path, &before);
                let (step, today) = (step.clone(), at.clone());
                let step = PlannedStep { step, at, today };
                if matches!(
                    step.op(),
                    Op::RenameType { .. } | Op::Change(Change::RenameVariant { .. })
                ) {
                    renames.push((steps.len(), step.clone()));
                }
                steps.push(step);
            }
        }
        let (numbers, renames): (Vec<usize>, Vec<PlannedStep>) = renames.into_iter().unzip();
        for (index, step) in steps.iter_mut().enumerate() {
            let later = numbers.partition_point(|number| *number <= index);
            step.today = rename_all(&step.at, &renames[later..]);
        }
        Self { steps }
    }

    /// What a type is called today; `path` may be any text with type paths in it.
    pub fn renamed<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let mut path = Cow::Borrowed(path);
        for step in &self.steps {
            if let Op::RenameType { new } = step.op()
                && let Cow::Owned(renamed) = rename_in(&path, &step.at, new)
            {
                path = Cow::Owned(renamed);
            }
        }
        path
    }

    /// What becomes of the class of this type path.
    pub fn fate(&self, path: &str) -> Fate {
        let mut path = path.to_owned();
        for step in &self.steps {
            match step.op() {
                Op::RenameType { new } => {
                    if let Cow::Owned(renamed) = rename_in(&path, &step.at, new) {
                        path = renamed;
                    }
                }
                Op::DropType if *step.at == path => return Fate::Dropped,
                Op::Split(_) if *step.at == path => return Fate::Split,
                _ => {}
            }
        }
        Fate::Is(path)
    }

    /// The steps that do anything to values that consist of `types`, as the package names them, or of types that are called so
    /// `today`.
    pub(super) fn touching(&self, mut types: HashSet<String>, today: &HashSet<String>) -> Vec<PlannedStep> {
        let mut is_open = false;
        let touching = self.steps.iter().filter(|step| {
            // What is made on the way may consist of anything.
            let touches = is_open || step.touches(&mut types, today);
            is_open |= touches && step.op().makes_anything();
            touches
        });
        touching.cloned().collect()
    }
}
