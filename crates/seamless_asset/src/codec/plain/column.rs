//! Columns of plain rows, out of bytes. See [`decode_plain`].

use bevy_platform::collections::HashMap;
use seamless_package::Schema;

use super::{Leaf, PlainLayout, PlainType, parts_of};
use crate::{
    codec::DecodeError,
    spawn::{Column, plain_column},
};

/// How stored rows become rows in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::codec) enum Plan {
    /// They are the same.
    Copy,
    /// Each leaf goes to its place.
    Gather(Vec<Move>),
}

/// A leaf that goes from one place to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::codec) struct Move {
    from: usize,
    to: usize,
    length: usize,
    /// So many bytes at a time change their order; 1: they keep it.
    swapped: usize,
}

/// How rows of the schema `stored` become rows of the type whose schema is `is`; `None` when it or a type in it has other
/// fields now. The same numbers in another type may mean something else.
pub(in crate::codec) fn plan_for(stored: &Schema, plain: &PlainType, is: &Schema) -> Result<Option<Plan>, DecodeError> {
    let layout = PlainLayout::of(stored)?;
    let plan = plain.layout().plan(&layout, cfg!(target_endian = "big"));
    let has_types = parts_of(&stored.description).1 == parts_of(&is.description).1;
    Ok(plan.filter(|_| has_types))
}

impl PlainLayout {
    /// How rows of the layout `stored` become rows of this one; `None` when the leaves are not the same. `swap`: the bytes of
    /// a number have the other order here.
    pub(super) fn plan(&self, stored: &Self, swap: bool) -> Option<Plan> {
        if stored.leaves.len() != self.leaves.len() {
            return None;
        }
        let by_path: HashMap<&str, &Leaf> = stored.leaves.iter().map(|leaf| (leaf.path.as_str(), leaf)).collect();
        let moves = self.leaves.iter().map(|to| {
            let from = by_path.get(to.path.as_str())?;
            ((from.kind, from.count) == (to.kind, to.count)).then(|| Move {
                from: from.offset,
                to: to.offset,
                length: to.size(),
                swapped: if swap { to.kind.size() } else { 1 },
            })
        });
        let moves = moves.collect::<Option<Vec<_>>>()?;
        let is_same = moves.iter().all(|part| part.from == part.to && part.swapped == 1);
        Some(if is_same { Plan::Copy } else { Plan::Gather(moves) })
    }
}

/// One copy, or two where leaves go to other places. What is allocated is as large as what is there.
pub(in crate::codec) fn decode_plain(
    plain: &PlainType,
    plan: &Plan,
    data: &[u8],
    rows: usize,
) -> Result<Box<dyn Column>, DecodeError> {
    let row = plain.row().size();
    let column = match plan {
        Plan::Copy => plain_column(plain, data, rows),
        Plan::Gather(moves) => plain_column(plain, &gather(data, row, moves), rows),
    };
    column.ok_or(DecodeError::ColumnSize {
        rows,
        row,
        bytes: data.len(),
    })
}

/// Rows of `size` bytes with each leaf at its new place.
pub(super) fn gather(data: &[u8], size: usize, moves: &[Move]) -> Vec<u8> {
    let mut out = vec![0; data.len()];
    for (from, to) in data.chunks_exact(size).zip(out.chunks_exact_mut(size)) {
        for part in moves {
            let leaf = &mut to[part.to..part.to + part.length];
            leaf.copy_from_slice(&from[part.from..part.from + part.length]);
            if part.swapped > 1 {
                leaf.chunks_exact_mut(part.swapped).for_each(<[u8]>::reverse);
            }
        }
    }
    out
}
