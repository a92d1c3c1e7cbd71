//! Finds the first difference between the list here and that of the peer, which arrives in pieces and is not kept.

use super::error::{HandshakeError, Mismatch};
use super::map::{PackageInfo, PackageMap};
use std::sync::Arc;

/// A comparison under way. The digests say that there is a difference before `end`.
#[derive(Debug, Clone)]
pub(super) struct Comparison {
    /// Position of the package that is looked at next.
    next: u32,
    end: u32,
    swapped: Option<Swapped>,
}

/// At this position, the peer has a package that stands elsewhere here. Whether it lacks the one that stands here, or has
/// it elsewhere, is known when the rest of its list has been seen.
#[derive(Debug, Clone)]
struct Swapped {
    position: u32,
    here: PackageInfo,
    there: Arc<str>,
}

impl Comparison {
    /// The first `next` packages are the same, those up to `end` are not.
    pub(super) fn new(next: u32, end: u32) -> Self {
        let swapped = None;
        Self { next, end, swapped }
    }

    /// Position of the package that is needed next.
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Goes on with `packages`, which start at [`next`](Self::next) of the peer's list of `total`.
    ///
    /// # Errors
    /// The difference, once it is known; a contradiction if there is none.
    pub(super) fn advance(
        &mut self,
        map: &PackageMap,
        packages: &[PackageInfo],
        total: u32,
    ) -> Result<(), HandshakeError> {
        for there in packages {
            match &self.swapped {
                None => self.look_at(map, there)?,
                Some(swapped) if swapped.here.path == there.path => return Err(swapped.order().into()),
                Some(_) => {}
            }
            self.next = self.next.saturating_add(1);
        }
        match &self.swapped {
            Some(swapped) if self.next >= total => Err(swapped.missing_there().into()),
            None if self.next >= self.end.min(total) => Err(HandshakeError::Contradiction { end: self.end }),
            _ => Ok(()),
        }
    }

    fn look_at(&mut self, map: &PackageMap, there: &PackageInfo) -> Result<(), HandshakeError> {
        let Some(here) = map.package(self.next) else {
            return Err(HandshakeError::Contradiction { end: self.end });
        };
        if here.path == there.path {
            return Ok(same_content(here, there)?);
        }
        if map.position(&there.path).is_none() {
            return Err(missing_here(there).into());
        }
        self.swapped = Some(Swapped {
            position: self.next,
            here: here.clone(),
            there: there.path.clone(),
        });
        Ok(())
    }
}

impl Swapped {
    fn order(&self) -> Mismatch {
        Mismatch::Order {
            position: self.position,
            here: self.here.path.clone(),
            there: self.there.clone(),
        }
    }

    fn missing_there(&self) -> Mismatch {
        missing_there(&self.here)
    }
}

/// The peer alone lists `info`.
pub(super) fn missing_here(info: &PackageInfo) -> Mismatch {
    Mismatch::MissingHere {
        path: info.path.clone(),
        content_hash: info.content_hash,
    }
}

/// The peer does not list `info`.
pub(super) fn missing_there(info: &PackageInfo) -> Mismatch {
    Mismatch::MissingThere {
        path: info.path.clone(),
        content_hash: info.content_hash,
    }
}

fn same_content(here: &PackageInfo, there: &PackageInfo) -> Result<(), Mismatch> {
    let path = here.path.clone();
    if here.content_hash != there.content_hash {
        let (here, there) = (here.content_hash, there.content_hash);
        return Err(Mismatch::Content { path, here, there });
    }
    if here.export_count != there.export_count {
        return Err(Mismatch::ExportCount {
            path,
            content_hash: here.content_hash,
            here: here.export_count,
            there: there.export_count,
        });
    }
    Ok(())
}
