//! Differences between two snapshots, for people to read.

use std::{collections::BTreeSet, fmt};

use super::{
    Snapshot,
    record::{AssetRecord, EntityRecord, Fields, Leaf},
};

/// How many differences [`assert_same`] prints.
const PRINTED: usize = 30;

/// One value that differs. A side without the value reads `<absent>`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Path of the entity; `/` is the root.
    pub path: String,
    /// Type path of the component; empty when the whole entity is absent on one side.
    pub component: String,
    /// Field inside the component, ` -> ` where it goes on inside an asset; empty when it is the whole component.
    pub field: String,
    /// The value on the left side.
    pub left: String,
    /// The value on the right side.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path,
            component,
            field,
            left,
            right,
        } = self;
        write!(f, "{path} [{component}] {field}: {left} | {right}")
    }
}

/// Panics with at most 30 differences when the two are not equal.
///
/// # Panics
/// When there is any difference.
#[track_caller]
pub fn assert_same(left: &Snapshot, right: &Snapshot) {
    let differences = left.diff(right);
    if differences.is_empty() {
        return;
    }
    let mut text = format!("{} differences (left | right):\n", differences.len());
    for difference in differences.iter().take(PRINTED) {
        text.push_str(&format!("  {difference}\n"));
    }
    if differences.len() > PRINTED {
        text.push_str(&format!("  … and {} more\n", differences.len() - PRINTED));
    }
    panic!("{text}");
}

pub(super) fn diff(left: &Snapshot, right: &Snapshot) -> Vec<Difference> {
    let mut differ = Differ {
        left,
        right,
        found: Vec::new(),
    };
    let paths: BTreeSet<_> = left.entities.keys().chain(right.entities.keys()).collect();
    let mut absent: Vec<String> = Vec::new();
    for path in paths {
        match (left.entities.get(path), right.entities.get(path)) {
            (Some(a), Some(b)) => differ.entity(path, a, b),
            // The topmost absent entity stands for its whole subtree.
            _ if absent.iter().any(|top| path.starts_with(top)) => {}
            (a, b) => {
                absent.push(format!("{path}/"));
                differ.push(path, "", "", presence(a.is_some()), presence(b.is_some()));
            }
        }
    }
    differ.found
}

fn presence(present: bool) -> String {
    if present { "present" } else { "<absent>" }.to_owned()
}

struct Differ<'a> {
    left: &'a Snapshot,
    right: &'a Snapshot,
    found: Vec<Difference>,
}

impl Differ<'_> {
    fn push(&mut self, path: &str, component: &str, field: &str, left: String, right: String) {
        self.found.push(Difference {
            path: path.to_owned(),
            component: component.to_owned(),
            field: field.to_owned(),
            left,
            right,
        });
    }

    fn entity(&mut self, path: &str, left: &EntityRecord, right: &EntityRecord) {
        let (left, right) = (&left.components, &right.components);
        let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
        for name in names {
            match (left.get(name), right.get(name)) {
                (Some(a), Some(b)) => self.fields(path, name, "", a, b),
                (a, b) => self.push(path, name, "", presence(a.is_some()), presence(b.is_some())),
            }
        }
    }

    fn fields(&mut self, path: &str, component: &str, prefix: &str, left: &Fields, right: &Fields) {
        let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
        for name in names {
            let field = format!("{prefix}{name}");
            match (left.get(name), right.get(name)) {
                (Some(a), Some(b)) if a == b => {}
                (Some(a), Some(b)) => self.leaf(path, component, &field, a, b),
                (a, b) => self.push(path, component, &field, text(a), text(b)),
            }
        }
    }

    fn leaf(&mut self, path: &str, component: &str, field: &str, left: &Leaf, right: &Leaf) {
        if let (Some(a), Some(b)) = (self.left.asset(left), self.right.asset(right))
            && a.kind == b.kind
        {
            return self.asset(path, component, field, a, b);
        }
        if let (Leaf::Blob(a), Leaf::Blob(b)) = (left, right)
            && let Some((at, x, y)) = a.first_difference(b)
        {
            let say = |leaf: &Leaf, byte: u8| format!("{leaf}, byte {at} is {byte:#04x}");
            return self.push(path, component, field, say(left, x), say(right, y));
        }
        self.push(path, component, field, left.to_string(), right.to_string());
    }

    fn asset(&mut self, path: &str, component: &str, field: &str, a: &AssetRecord, b: &AssetRecord) {
        let prefix = format!("{field} -> ");
        self.fields(path, component, &prefix, &a.fields, &b.fields);
    }
}

fn text(leaf: Option<&Leaf>) -> String {
    leaf.map_or_else(|| "<absent>".to_owned(), Leaf::to_string)
}
