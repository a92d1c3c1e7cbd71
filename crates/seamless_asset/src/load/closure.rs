//! What a load needs of a package, and of the packages that it imports from. See [`Reach`].

use std::sync::Arc;

use bevy_asset::AssetPath;
use bevy_platform::collections::HashMap;
use seamless_package::{Export, ObjectId, Package, RefTarget, Role};

use super::{task::Wanted, type_names::TypeNames};
use crate::{
    codec::{BulkUse, Codecs},
    linker::Linker,
};

/// Objects of another package that a load needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Need {
    /// Where that package is.
    pub path: AssetPath<'static>,
    /// Their names.
    pub objects: Vec<Arc<str>>,
}

/// Which entries of a package's tables a load comes by, following references. A pure function of tables, wish and role.
pub(super) struct Reach {
    /// By index in the export table.
    pub exports: Vec<bool>,
    /// By index in the import table.
    pub imports: Vec<bool>,
    /// The end of the last data that is needed, in bytes of the file.
    pub end: u64,
}

impl Reach {
    /// What `wanted` needs of `package` in an app of this role; no payloads of objects that are `on_demand`.
    ///
    /// # Errors
    /// The name of an object that is wanted and that the package does not have.
    pub fn of(package: &Package, wanted: &Wanted, role: Role, on_demand: &OnDemand) -> Result<Self, Arc<str>> {
        let mut reach = Self::nothing(package);
        match wanted {
            Wanted::Level { .. } | Wanted::Assets | Wanted::Reload(_) => reach.everything(package, role),
            Wanted::Objects(names) => {
                for name in names {
                    let index = object(package, name).ok_or_else(|| name.clone())?;
                    reach.follow(package, index, role);
                }
            }
        }
        reach.end = reach.last_byte(package, on_demand);
        Ok(reach)
    }

    /// What the objects need that are live, copies of others' objects among them.
    pub fn of_live(package: &Package, is_live: impl Fn(ObjectId) -> bool, role: Role, on_demand: &OnDemand) -> Self {
        let mut reach = Self::nothing(package);
        for (index, export) in package.exports().iter().enumerate() {
            if !export.is_class() && is_live(export.object_id) {
                reach.follow(package, index, role);
            }
        }
        reach.end = reach.last_byte(package, on_demand);
        reach
    }

    fn nothing(package: &Package) -> Self {
        Self {
            exports: vec![false; package.exports().len()],
            imports: vec![false; package.imports().len()],
            end: 0,
        }
    }

    fn everything(&mut self, package: &Package, role: Role) {
        for (reached, export) in self.exports.iter_mut().zip(package.exports()) {
            *reached = export.role.intersects(role);
        }
        for (reached, import) in self.imports.iter_mut().zip(package.imports()) {
            *reached = import.role.intersects(role);
        }
    }

    /// Objects refer to earlier ones only, so this comes to an end.
    fn follow(&mut self, package: &Package, index: usize, role: Role) {
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            let (Some(reached), Some(export)) = (self.exports.get_mut(index), package.exports().get(index)) else {
                continue;
            };
            if *reached || !export.role.intersects(role) {
                continue;
            }
            *reached = true;
            for reference in package.refs(index) {
                match reference.target() {
                    RefTarget::Export(index) => open.push(index),
                    RefTarget::Import(index) => open.extend(self.import(package, index, role)),
                    RefTarget::None => {}
                }
            }
        }
    }

    /// Marks an import; gives the copy of its object in this package, if there is one.
    fn import(&mut self, package: &Package, index: usize, role: Role) -> Option<usize> {
        let import = package.imports().get(index)?;
        let is_needed = import.role.intersects(role);
        *self.imports.get_mut(index)? = is_needed;
        package.forced_for_import(index).filter(|_| is_needed)
    }

    /// Where the last export or payload that is needed ends.
    fn last_byte(&self, package: &Package, on_demand: &OnDemand) -> u64 {
        let reached = self.exports.iter().enumerate().filter(|(_, reached)| **reached);
        let ends = reached.flat_map(|(index, _)| {
            let export = package.exports().get(index);
            let count = match export.is_some_and(|export| on_demand.contains(&export)) {
                true => 0,
                false => package.bulk(index).len(),
            };
            let payloads = (0..count).filter_map(move |payload| package.bulk_location(index, payload));
            let own = payloads.filter(|payload| payload.origin.is_none());
            package
                .export_range(index)
                .into_iter()
                .chain(own.map(|payload| payload.range))
        });
        ends.map(|range| range.end).max().unwrap_or(0)
    }

    /// What is needed of other packages, by package.
    pub fn needs(&self, linker: &Linker) -> Vec<Need> {
        let package = linker.package();
        let mut needs: Vec<Need> = Vec::new();
        // By path: the name table may have it more than once.
        let mut known: HashMap<&str, usize> = HashMap::default();
        for import in self.foreign(package).filter_map(|index| package.imports().get(index)) {
            let from = package.name_of(import.package).unwrap_or_default();
            let at = *known.entry(from).or_insert_with(|| {
                needs.push(Need {
                    path: linker.sibling(from),
                    objects: Vec::new(),
                });
                needs.len() - 1
            });
            let object = package.name_of(import.object).unwrap_or_default();
            if let Some(need) = needs.get_mut(at) {
                need.objects.push(object.into());
            }
        }
        needs
    }

    /// The imports that are needed from other packages: this one has no copy of them.
    pub fn foreign(&self, package: &Package) -> impl Iterator<Item = usize> {
        let is_foreign = |index: &usize| package.forced_for_import(*index).is_none();
        self.imported().filter(is_foreign)
    }

    /// The imports that are needed.
    pub fn imported(&self) -> impl Iterator<Item = usize> {
        self.imports
            .iter()
            .enumerate()
            .filter(|(_, reached)| **reached)
            .map(|(index, _)| index)
    }
}

/// The objects of a package that are loaded without their payloads.
#[derive(Default)]
pub(super) struct OnDemand {
    /// What the classes of assets say, by index in the export table. Of one that is not here, payloads are read.
    classes: HashMap<usize, BulkUse>,
}

impl OnDemand {
    /// Whether an export is one of them: its class says so, or leaves it to its mark.
    fn contains(&self, export: &Export) -> bool {
        let RefTarget::Export(class) = export.class.target() else {
            return false;
        };
        self.classes
            .get(&class)
            .is_some_and(|bulk| leaves_payloads(*bulk, export))
    }
}

/// Whether an export of a class with this use is loaded without its payloads.
pub(super) fn leaves_payloads(bulk: BulkUse, export: &Export) -> bool {
    bulk.of_object(export.bulk_use.is_marked()) == BulkUse::OnDemand
}

/// The objects of a package that are loaded without their payloads.
pub(super) fn on_demand(linker: &Linker, codecs: &Codecs) -> OnDemand {
    let package = linker.package();
    if package.summary().bulk_count == 0 {
        return OnDemand::default();
    }
    let names = TypeNames::of(linker, codecs);
    let codecs = codecs.read();
    let bulk = |type_path| Some(codecs.asset_by_path(&names.today(type_path)?)?.bulk);
    let classes = package.schemas();
    let classes = classes.filter_map(|(class, schema)| Some((class, bulk(&schema.type_path)?)));
    OnDemand {
        classes: classes.filter(|(_, bulk)| *bulk != BulkUse::Load).collect(),
    }
}

/// The index of an object that can be loaded by its name.
pub(super) fn object(package: &Package, name: &str) -> Option<usize> {
    let index = package.find_name(name)?;
    package.class_of(index).is_some().then_some(index)
}
