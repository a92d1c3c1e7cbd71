//! Which migrations a package needs. See [`Plan`].

use core::ops::Range;
use std::{borrow::Cow, sync::Arc};

use seamless_package::VersionId;

use super::ops::{Op, Step, rename_in};
use crate::codec::MigrationLists;

/// What the entries that a package has not seen do, oldest first.
#[derive(Default)]
pub(crate) struct Plan {
    pub(super) steps: Vec<Arc<Step>>,
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

impl Plan {
    /// The pending entries of `lists`: those in the range given for the list's id.
    pub fn new(lists: &MigrationLists, pending: &[(VersionId, Range<usize>)]) -> Self {
        let steps = lists.iter().flat_map(|list| {
            let of_list = pending.iter().find(|(id, _)| *id == list.id());
            list.steps(of_list.map_or(0..0, |(_, range)| range.clone()))
        });
        Self {
            steps: steps.cloned().collect(),
        }
    }

    /// What a type is called today.
    pub fn renamed<'p>(&self, path: &'p str) -> Cow<'p, str> {
        let mut path = Cow::Borrowed(path);
        for step in &self.steps {
            if let Op::RenameType { old, new } = &step.op
                && let Cow::Owned(renamed) = rename_in(&path, old, new)
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
            match &step.op {
                Op::RenameType { old, new } => {
                    if let Cow::Owned(renamed) = rename_in(&path, old, new) {
                        path = renamed;
                    }
                }
                Op::DropType { type_path } if *type_path == path => return Fate::Dropped,
                Op::Split { type_path, .. } if *type_path == path => return Fate::Split,
                _ => {}
            }
        }
        Fate::Is(path)
    }
}
