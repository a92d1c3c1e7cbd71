//! What is looked for in registries. See [`ObjectScan`].

use bevy_asset::Asset;

use super::{ObjectRegistry, RegistryObject};

/// Says which objects of registries are meant: all that fit each of its conditions; without any, all.
///
/// ```
/// # use bevy_mesh::Mesh;
/// # use seamless_asset::ObjectScan;
/// let rocks = ObjectScan::new().under("rocks").of::<Mesh>();
/// let hits = ObjectScan::new().under("cues").tagged("cue", "hit");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectScan {
    under: Vec<String>,
    type_path: Option<String>,
    tags: Vec<(String, Option<String>)>,
}

impl ObjectScan {
    /// All objects.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Those in this folder or below it, or of this file. Several of these mean any of them.
    #[must_use]
    pub fn under(mut self, folder: impl Into<String>) -> Self {
        let folder = folder.into();
        self.under.push(folder.trim_end_matches('/').to_owned());
        self
    }

    /// Those of a type of assets.
    #[must_use]
    pub fn of<A: Asset>(self) -> Self {
        self.of_type(A::type_path())
    }

    /// Those of a type, by its stable name; of any, if that is empty, as in a [`SoftReference`](crate::SoftReference).
    #[must_use]
    pub fn of_type(mut self, type_path: impl Into<String>) -> Self {
        self.type_path = Some(type_path.into()).filter(|path| !path.is_empty());
        self
    }

    /// Those that have this tag, whatever its value.
    #[must_use]
    pub fn with_tag(mut self, key: impl Into<String>) -> Self {
        self.tags.push((key.into(), None));
        self
    }

    /// Those that have this value for a tag.
    #[must_use]
    pub fn tagged(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.tags.push((key.into(), Some(value.into())));
        self
    }

    /// Whether an object is meant.
    #[must_use]
    pub fn fits(&self, object: &RegistryObject) -> bool {
        let has = |(key, value): &(String, Option<String>)| {
            object
                .tag(key)
                .any(|known| value.as_ref().is_none_or(|value| known == value))
        };
        (self.under.is_empty() || self.under.iter().any(|folder| is_under(&object.path, folder)))
            && self.type_path.as_ref().is_none_or(|path| **path == *object.type_path)
            && self.tags.iter().all(has)
    }

    /// The objects of a registry that are meant, in the order of their paths.
    pub(super) fn within<'r>(&self, registry: &'r ObjectRegistry) -> Vec<&'r RegistryObject> {
        let index = &registry.0;
        let of_tags = self.tags.iter().map(|(key, _)| places(index.by_tag.get(key.as_str())));
        let of_type = self.type_path.iter();
        let of_type = of_type.map(|path| places(index.by_type.get(path.as_str())));
        let fewest = of_tags.chain(of_type).min_by_key(|places| places.len());
        let of_folder = self.of_folders(&index.objects);
        match fewest {
            Some(places) if of_folder.as_ref().is_none_or(|found| found.len() > places.len()) => {
                let objects = places.iter().filter_map(|place| index.objects.get(*place as usize));
                objects.filter(|object| self.fits(object)).collect()
            }
            _ => {
                let all = || index.objects.iter().collect();
                let objects: Vec<_> = of_folder.unwrap_or_else(all);
                objects.into_iter().filter(|object| self.fits(object)).collect()
            }
        }
    }

    /// Those below the folders, if any are said: they lie together.
    fn of_folders<'r>(&self, objects: &'r [RegistryObject]) -> Option<Vec<&'r RegistryObject>> {
        if self.under.is_empty() {
            return None;
        }
        let run = |folder: &String| {
            let start = objects.partition_point(|object| *object.path < **folder);
            let rest = objects.get(start..).unwrap_or_default();
            start..start + rest.partition_point(|object| object.path.starts_with(folder.as_str()))
        };
        let mut runs: Vec<_> = self.under.iter().map(run).collect();
        runs.sort_unstable_by_key(|run| run.start);
        let mut end = 0;
        let mut found = Vec::new();
        for run in runs {
            // One folder may lie in another one.
            let start = run.start.max(end);
            found.extend(objects.get(start..run.end).unwrap_or_default());
            end = end.max(run.end);
        }
        Some(found)
    }
}

fn places(list: Option<&Vec<u32>>) -> &[u32] {
    list.map_or(&[], Vec::as_slice)
}

/// Whether a path is this folder's, this file's, or lies below.
fn is_under(path: &str, folder: &str) -> bool {
    let Some(rest) = path.strip_prefix(folder) else {
        return false;
    };
    folder.is_empty() || folder.ends_with("://") || rest.is_empty() || rest.starts_with(['/', '#'])
}
