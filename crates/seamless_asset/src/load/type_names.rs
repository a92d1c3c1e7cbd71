//! What a package's versions say: what it has not seen yet, and what its types are called today. See [`TypeNames`].

use core::ops::Range;
use std::borrow::Cow;

use seamless_package::{Package, VersionId, check_all};

#[cfg(feature = "migrations")]
use crate::codec::{Fate, Plan};
use crate::{codec::Codecs, error::LoadErrorKind, linker::Linker};

/// The entries of each list of migrations that a package has not seen.
pub(crate) type PendingEntries = Vec<(VersionId, Range<usize>)>;

/// Compares the versions that a package was saved with with those of this build.
///
/// # Errors
/// When the package is newer, when the lists have different histories, or when it is older and this build has no migrations.
pub(crate) fn pending_entries(package: &Package, codecs: &Codecs) -> Result<PendingEntries, LoadErrorKind> {
    let codecs = codecs.read();
    let lists = codecs.migrations().versions();
    let pending = check_all(package, lists)?;
    if cfg!(not(feature = "migrations"))
        && let Some((list, range)) = lists.iter().find_map(|list| {
            let (_, range) = pending
                .iter()
                .find(|(id, range)| *id == list.id() && !range.is_empty())?;
            Some((list, range))
        })
    {
        return Err(LoadErrorKind::NotLatest {
            list: list.label().to_owned(),
            package: range.start,
            build: list.number(),
        });
    }
    Ok(pending)
}

/// What the types of one package are called in this app.
pub(super) struct TypeNames {
    #[cfg(feature = "migrations")]
    pub plan: Plan,
}

#[cfg(feature = "migrations")]
impl TypeNames {
    pub fn of(linker: &Linker, codecs: &Codecs) -> Self {
        Self {
            plan: Plan::new(codecs.read().migrations(), linker.pending()),
        }
    }

    /// What a type of the package is called today; `None` when its objects are left out.
    pub fn today<'p>(&self, type_path: &'p str) -> Option<Cow<'p, str>> {
        match self.plan.fate(type_path) {
            Fate::Dropped => None,
            Fate::Is(today) => Some(Cow::Owned(today)),
            Fate::Split => Some(self.plan.renamed(type_path)),
        }
    }
}

/// Without migrations a type is called as it was.
#[cfg(not(feature = "migrations"))]
#[expect(
    clippy::unused_self,
    clippy::unnecessary_wraps,
    reason = "with migrations types can be renamed and dropped"
)]
impl TypeNames {
    pub fn of(_: &Linker, _: &Codecs) -> Self {
        Self {}
    }

    pub fn today<'p>(&self, type_path: &'p str) -> Option<Cow<'p, str>> {
        Some(Cow::Borrowed(type_path))
    }
}
