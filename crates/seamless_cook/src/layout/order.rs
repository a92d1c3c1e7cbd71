//! Assets in an order in which each comes after what it refers to. See [`dependency_order`].

use crate::assets::Objects;
use crate::report::ContentError;

/// The places of all assets of `objects`, which are sorted, each after those that it refers to; otherwise by key.
pub(crate) fn dependency_order(objects: &Objects) -> Result<Vec<usize>, Vec<ContentError>> {
    let mut order = Vec::with_capacity(objects.len());
    // By index in `objects`. False while its references are on the way.
    let mut seen: Vec<Option<bool>> = vec![None; objects.len()];
    let mut errors = Vec::new();
    let mut open = Vec::new();
    for root in 0..objects.len() {
        open.push((root, false));
        while let Some((index, left)) = open.pop() {
            let Some((key, object)) = objects.get_index(index) else {
                continue;
            };
            if left {
                seen[index] = Some(true);
                order.push(index);
                continue;
            }
            match seen[index] {
                Some(true) => continue,
                Some(false) => {
                    errors.push(ContentError::at(
                        &key.path(),
                        "refers to itself, directly or through other assets; break the circle",
                    ));
                    continue;
                }
                None => {}
            }
            seen[index] = Some(false);
            open.push((index, true));
            let references = object.references.iter().rev();
            let known = references.filter_map(|key| objects.get_index_of(key));
            open.extend(
                known
                    .filter(|index| seen[*index] != Some(true))
                    .map(|index| (index, false)),
            );
        }
    }
    if errors.is_empty() { Ok(order) } else { Err(errors) }
}
