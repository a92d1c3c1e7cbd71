//! Types that serialise themselves: whether they are still the ones that were stored. See [`same`].

use bevy_platform::collections::HashSet;

use super::Plan;
use crate::codec::reflect::{SchemaField, SchemaShape, SchemaTree};

/// Whether two types consist of the same parts, all the way down, when the first's are renamed as `plan` does.
pub(super) fn same(was: (&SchemaTree, usize), is: (&SchemaTree, usize), plan: &Plan) -> bool {
    Comparison {
        was: was.0,
        is: is.0,
        plan,
        seen: HashSet::default(),
    }
    .nodes(was.1, is.1)
}

struct Comparison<'a> {
    was: &'a SchemaTree,
    is: &'a SchemaTree,
    plan: &'a Plan,
    seen: HashSet<(usize, usize)>,
}

impl Comparison<'_> {
    fn nodes(&mut self, was_at: usize, is_at: usize) -> bool {
        // Types may contain themselves; a forged tree may be a long chain of them.
        let mut open = vec![(was_at, is_at)];
        while let Some((was_at, is_at)) = open.pop() {
            if !self.seen.insert((was_at, is_at)) {
                continue;
            }
            let (was, is) = (&self.was.nodes[was_at], &self.is.nodes[is_at]);
            let is_same = was.is_own == is.is_own
                && self.plan.renamed(&was.path) == is.path
                && shapes(&was.shape, &is.shape, &mut open);
            if !is_same {
                return false;
            }
        }
        true
    }
}

fn shapes(was: &SchemaShape, is: &SchemaShape, open: &mut Vec<(usize, usize)>) -> bool {
    use SchemaShape::{Array, Enum, Handle, Leaf, List, Map, Opaque, Option, Set, Struct, Tuple, TupleStruct};
    match (was, is) {
        (Struct(was), Struct(is)) | (TupleStruct(was), TupleStruct(is)) | (Tuple(was), Tuple(is)) => {
            fields(was, is, open)
        }
        (Enum(was), Enum(is)) => {
            let mut pairs = was.iter().zip(is);
            was.len() == is.len() && pairs.all(|(was, is)| was.0 == is.0 && fields(&was.1, &is.1, open))
        }
        (Option(was), Option(is)) | (List(was), List(is)) | (Set(was), Set(is)) => {
            open.push((*was, *is));
            true
        }
        (Array(was, was_len), Array(is, is_len)) => {
            open.push((*was, *is));
            was_len == is_len
        }
        (Map(was_key, was), Map(is_key, is)) => {
            open.extend([(*was_key, *is_key), (*was, *is)]);
            true
        }
        (Handle, Handle) | (Leaf, Leaf) | (Opaque, Opaque) => true,
        _ => false,
    }
}

fn fields(was: &[SchemaField], is: &[SchemaField], open: &mut Vec<(usize, usize)>) -> bool {
    open.extend(was.iter().zip(is).map(|(was, is)| (was.1, is.1)));
    was.len() == is.len() && was.iter().zip(is).all(|(was, is)| was.0 == is.0)
}
