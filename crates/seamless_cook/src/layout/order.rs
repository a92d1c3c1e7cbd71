//! Assets in an order in which each comes after what it refers to. See [`dependency_order`].

use std::collections::BTreeMap;

use crate::assets::{AssetKey, ObjectRecord};
use crate::report::ContentError;

/// All assets, each after those that it refers to; otherwise by key.
pub(super) fn dependency_order(
    objects: &BTreeMap<AssetKey, ObjectRecord>,
) -> Result<Vec<&AssetKey>, Vec<ContentError>> {
    let mut order = Vec::with_capacity(objects.len());
    // False while its references are on the way.
    let mut seen: BTreeMap<&AssetKey, bool> = BTreeMap::new();
    let mut errors = Vec::new();
    for root in objects.keys() {
        let mut open = vec![(root, false)];
        while let Some((key, left)) = open.pop() {
            if left {
                seen.insert(key, true);
                order.push(key);
                continue;
            }
            match seen.get(key) {
                Some(true) => continue,
                Some(false) => {
                    let path = key.path();
                    let (file, object) = path.split_once('#').unwrap_or((&path, ""));
                    errors.push(ContentError::new(
                        file,
                        object,
                        "refers to itself, directly or through other assets; break the circle",
                    ));
                    continue;
                }
                None => {}
            }
            seen.insert(key, false);
            open.push((key, true));
            let references = objects.get_key_value(key).map(|(_, object)| &object.references);
            let known = references
                .into_iter()
                .flatten()
                .filter(|key| objects.contains_key(*key));
            let open_references = known.rev().filter(|key| seen.get(*key) != Some(&true));
            open.extend(open_references.map(|key| (key, false)).collect::<Vec<_>>());
        }
    }
    if errors.is_empty() { Ok(order) } else { Err(errors) }
}
