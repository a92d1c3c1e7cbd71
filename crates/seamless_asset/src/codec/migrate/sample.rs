//! Bytes of values that a described type can have, every part of it in one of them. See [`Samples`].

use super::{
    read::{Decoder, Reader},
    trial::MAX_BYTES,
};
use crate::codec::{
    DecodeContext,
    reflect::{MAX_DEPTH, SchemaField, SchemaShape, SchemaTree},
};

/// The most values that are made of one type.
const MAX_SAMPLES: usize = 1024;
/// What parts without parts are read from: a one, of whatever length it takes; else a zero.
const LEAVES: [[u8; MAX_DEPTH]; 2] = [[1; MAX_DEPTH], [0; MAX_DEPTH]];

/// Values of a type: for each of its enums one with each variant, for each option, list, set and map one with and one
/// without what may be in it.
pub(super) struct Samples<'a> {
    tree: &'a SchemaTree,
    /// Bytes of a value of each part that reads itself; empty for the others.
    leaves: Vec<Vec<u8>>,
    /// Nodes, with the number of the choice that is looked for there.
    targets: Vec<(usize, usize)>,
}

impl<'a> Samples<'a> {
    /// The values of the type that `tree` describes, and `decoder` reads by its fields. `None` when no value can be made
    /// of one of its parts, or there are too many.
    pub fn of(tree: &'a SchemaTree, decoder: &Decoder, context: &DecodeContext) -> Option<Self> {
        let mut samples = Self {
            tree,
            leaves: vec![Vec::new(); tree.nodes.len()],
            targets: Vec::new(),
        };
        for at in samples.reached_from(0) {
            if !samples.has_parts(at) {
                samples.leaves[at] = leaf(at, decoder, context)?;
            }
            let choices = choices(&tree.nodes[at].shape).filter(|_| samples.has_parts(at));
            samples
                .targets
                .extend((0..choices.unwrap_or(0)).map(|choice| (at, choice)));
        }
        (samples.targets.len() <= MAX_SAMPLES).then_some(samples)
    }

    /// Whether `is_good` holds for all values; not if one cannot be made.
    pub fn all(&self, mut is_good: impl FnMut(Vec<u8>) -> bool) -> bool {
        let targets = self.targets.iter().copied().map(Some);
        let mut targets = targets.chain(self.targets.is_empty().then_some(None));
        targets.all(|target| {
            let (mut out, mut open) = (Vec::new(), Vec::new());
            let made = self.put(0, target, &mut open, &mut out);
            made.is_some() && is_good(out)
        })
    }

    /// Whether a node is taken apart: the type that is tried, and what does not serialise itself.
    fn has_parts(&self, at: usize) -> bool {
        let node = &self.tree.nodes[at];
        (at == 0 || !node.is_own)
            && !matches!(
                node.shape,
                SchemaShape::Leaf | SchemaShape::Opaque | SchemaShape::Handle
            )
    }

    /// The node and all nodes that are parts of it.
    fn reached_from(&self, start: usize) -> Vec<usize> {
        let mut reached = vec![start];
        let mut next = 0;
        while let Some(at) = reached.get(next).copied() {
            next += 1;
            if self.has_parts(at) {
                for part in parts_of(&self.tree.nodes[at].shape) {
                    if !reached.contains(&part) {
                        reached.push(part);
                    }
                }
            }
        }
        reached
    }

    fn leads_to(&self, fields: &[SchemaField], to: usize) -> bool {
        fields.iter().any(|(_, at)| self.reached_from(*at).contains(&to))
    }

    /// Appends a value of node `at`. `open`: the nodes that it is a part of. `None` when it would have no end.
    fn put(&self, at: usize, target: Option<(usize, usize)>, open: &mut Vec<usize>, out: &mut Vec<u8>) -> Option<()> {
        if open.len() == MAX_DEPTH || out.len() > MAX_BYTES {
            return None;
        }
        if !self.has_parts(at) {
            out.extend_from_slice(&self.leaves[at]);
            return Some(());
        }
        let is_inside_itself = open.contains(&at);
        open.push(at);
        match &self.tree.nodes[at].shape {
            SchemaShape::Struct(fields) | SchemaShape::TupleStruct(fields) | SchemaShape::Tuple(fields) => {
                self.put_all(fields, target, open, out)?;
            }
            SchemaShape::Enum(variants) => {
                let wanted = target
                    .filter(|target| target.0 == at && !is_inside_itself)
                    .map(|target| target.1);
                let leads = |(_, fields): &(_, Vec<SchemaField>)| {
                    !is_inside_itself && target.is_some_and(|(to, _)| to != at && self.leads_to(fields, to))
                };
                let ends = |(_, fields): &(_, Vec<SchemaField>)| !self.leads_to(fields, at);
                let choice = wanted
                    .or_else(|| variants.iter().position(leads))
                    .or_else(|| variants.iter().position(ends))?;
                out.extend(postcard::to_allocvec(&(choice as u32)).ok()?);
                self.put_all(&variants[choice].1, target, open, out)?;
            }
            SchemaShape::Array(part, len) => {
                (0..*len).try_for_each(|_| self.put(*part, target, open, out))?;
            }
            shape => {
                let is_empty = is_inside_itself || target == Some((at, 0));
                out.push(u8::from(!is_empty));
                if !is_empty {
                    parts_of(shape)
                        .into_iter()
                        .try_for_each(|part| self.put(part, target, open, out))?;
                }
            }
        }
        open.pop();
        Some(())
    }

    fn put_all(
        &self,
        fields: &[SchemaField],
        target: Option<(usize, usize)>,
        open: &mut Vec<usize>,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        fields.iter().try_for_each(|(_, at)| self.put(*at, target, open, out))
    }
}

/// How many kinds of values there are, where there are several.
fn choices(shape: &SchemaShape) -> Option<usize> {
    match shape {
        SchemaShape::Enum(variants) => Some(variants.len()),
        SchemaShape::Option(_) | SchemaShape::List(_) | SchemaShape::Set(_) | SchemaShape::Map(..) => Some(2),
        _ => None,
    }
}

fn parts_of(shape: &SchemaShape) -> Vec<usize> {
    match shape {
        SchemaShape::Struct(fields) | SchemaShape::TupleStruct(fields) | SchemaShape::Tuple(fields) => {
            fields.iter().map(|(_, at)| *at).collect()
        }
        SchemaShape::Enum(variants) => variants
            .iter()
            .flat_map(|(_, fields)| fields)
            .map(|(_, at)| *at)
            .collect(),
        SchemaShape::Option(at) | SchemaShape::List(at) | SchemaShape::Set(at) | SchemaShape::Array(at, _) => vec![*at],
        SchemaShape::Map(key, value) => vec![*key, *value],
        SchemaShape::Handle | SchemaShape::Leaf | SchemaShape::Opaque => Vec::new(),
    }
}

/// Bytes that the node reads as a value.
fn leaf(at: usize, decoder: &Decoder, context: &DecodeContext) -> Option<Vec<u8>> {
    LEAVES.iter().find_map(|bytes| {
        let mut reader = Reader::new(decoder, context, bytes, 1);
        reader.part(at).ok()?;
        let length = bytes.len() - reader.data.len();
        Some(bytes[..length].to_vec())
    })
}
