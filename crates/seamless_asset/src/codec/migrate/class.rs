//! Whole classes brought to the types of today. See [`Migrator`].

use core::any::TypeId;
use std::sync::Arc;

use bevy_ecs::reflect::ReflectComponent;
use bevy_platform::collections::HashSet;
use bevy_reflect::{Reflect, TypeRegistration, TypeRegistry};
use seamless_package::Schema;

use super::{
    MigrateError, Plan,
    convert::convert_whole,
    ops::{Op, names_of},
    plan::PlannedStep,
    read::{Decoder, Reader},
    value::{TypeName, Value},
};
use crate::{
    codec::{
        ComponentCodec, DecodeContext, DecodeError, Encoding, PlainLayout,
        plain::parts_of,
        reflect::{SchemaTree, check_end, map_rows, parse},
    },
    spawn::{Column, reflected_column},
};

/// Decodes objects of one class of a package that is not as it would be cooked today.
pub(crate) struct Migrator {
    /// What the class was called.
    type_path: Arc<str>,
    source: Source,
    steps: Vec<PlannedStep>,
}

/// Where values come from.
enum Source {
    /// The stored schema, and how rows of nothing but numbers lie.
    Schema(Decoder, Option<PlainLayout>),
    /// A codec that knows this older or latest version.
    Codec(Arc<dyn ComponentCodec>, u32),
}

impl Migrator {
    /// The migrator of a class that was cooked by reflection; `None` when its layout is today's and no migration touches it.
    ///
    /// # Errors
    /// When the stored schema makes no sense.
    pub fn for_class(
        stored: &Schema,
        is_current: bool,
        plan: &Plan,
        registry: &TypeRegistry,
    ) -> Result<Option<Self>, DecodeError> {
        if is_current && plan.steps.is_empty() {
            return Ok(None);
        }
        let (tree, layout) = stored_tree(stored)?;
        let steps = plan.touching(names_of(&tree), &HashSet::default());
        if is_current && steps.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self {
            type_path: stored.type_path.as_str().into(),
            source: Source::Schema(Decoder::new(&tree, plan, registry), layout),
            steps,
        }))
    }

    /// The migrator of components with a codec of their own; `None` when no migration looks into them.
    pub fn for_codec(
        stored: &Schema,
        codec: &Arc<dyn ComponentCodec>,
        plan: &Plan,
        registry: &TypeRegistry,
    ) -> Option<Self> {
        let steps = steps_into(stored, codec.type_id(), plan, registry);
        (!steps.is_empty()).then(|| Self {
            type_path: stored.type_path.as_str().into(),
            source: Source::Codec(codec.clone(), stored.version),
            steps,
        })
    }

    /// Reads a column of `rows` components; they may have become none, another one or several.
    ///
    /// # Errors
    /// When the bytes are no such column, a migration fails, or a value does not fit the type of today.
    pub fn columns(
        &self,
        data: &[u8],
        rows: usize,
        context: &DecodeContext,
    ) -> Result<Vec<Box<dyn Column>>, DecodeError> {
        let mut made = Vec::new();
        match &self.source {
            Source::Schema(decoder, layout) => {
                let plain = layout
                    .as_ref()
                    .map(|layout| layout.to_postcard(data, rows))
                    .transpose()?;
                let mut reader = Reader::new(decoder, context, plain.as_deref().unwrap_or(data), rows);
                for row in 0..rows {
                    let values = self.migrate(reader.next()?)?;
                    self.add_row(row, values, &mut made, context, true)?;
                }
                check_end(reader.data)?;
            }
            Source::Codec(codec, version) => {
                let values = codec.decode_values(*version, data, rows, context)?;
                for (row, value) in values.into_iter().enumerate() {
                    let name = TypeName::then(self.type_path.clone());
                    let value = Value::Leaf(name, value.into_partial_reflect());
                    self.add_row(row, self.migrate(value)?, &mut made, context, false)?;
                }
            }
        }
        made.into_iter()
            .map(|made: Made| reflected_column(made.values, made.registration.type_id()))
            .collect()
    }

    /// Reads one object that is no component; `None` when it is left out.
    ///
    /// # Errors
    /// As [`columns`](Self::columns).
    pub fn object(&self, data: &[u8], context: &DecodeContext) -> Result<Option<Box<dyn Reflect>>, DecodeError> {
        let Source::Schema(decoder, _) = &self.source else {
            return Err(DecodeError::UnknownType(self.type_path.to_string()));
        };
        let mut reader = Reader::new(decoder, context, data, 1);
        let mut values = self.migrate(reader.next()?)?;
        check_end(reader.data)?;
        let value = values.pop();
        if !values.is_empty() {
            return Err(self.uneven("became several, and is no component"));
        }
        let value = value.map(|value| {
            let registration = registration_of(&value, context.registry)?;
            convert_whole(value, registration, context)
        });
        value.transpose()
    }

    fn migrate(&self, value: Value) -> Result<Vec<Value>, DecodeError> {
        let mut values = vec![value];
        for step in &self.steps {
            step.run(&mut values).map_err(|message| MigrateError::Failed {
                list: step.step.list.clone(),
                entry: step.step.entry.clone(),
                type_path: self.type_path.to_string(),
                message,
            })?;
        }
        Ok(values)
    }

    fn uneven(&self, message: impl Into<String>) -> DecodeError {
        DecodeError::from(MigrateError::Split {
            type_path: self.type_path.to_string(),
            message: message.into(),
        })
    }

    /// Adds what one row became to the columns; every row must become the same.
    fn add_row<'r>(
        &self,
        row: usize,
        values: Vec<Value>,
        made: &mut Vec<Made<'r>>,
        context: &DecodeContext<'r>,
        has_rows: bool,
    ) -> Result<(), DecodeError> {
        for value in values {
            let registration = registration_of(&value, context.registry)?;
            let at = made
                .iter()
                .position(|made| made.registration.type_id() == registration.type_id());
            let at = match at {
                Some(at) => at,
                None => {
                    made.push(Made::new(registration)?);
                    made.len() - 1
                }
            };
            let path = registration.type_info().type_path();
            if made[at].values.len() != row {
                return Err(self.uneven(format!("does not become one `{path}` on every entity")));
            }
            let mut value = convert_whole(value, registration, context)?;
            if has_rows {
                map_rows(&made[at].component, &mut *value, context)?;
            }
            made[at].values.push(value);
        }
        match made.iter().find(|made| made.values.len() != row + 1) {
            None => Ok(()),
            Some(made) => {
                let path = made.registration.type_info().type_path();
                Err(self.uneven(format!("does not become one `{path}` on every entity")))
            }
        }
    }
}

/// What the stored schema says: the type with all its parts, and how rows of nothing but numbers lie.
fn stored_tree(stored: &Schema) -> Result<(SchemaTree, Option<PlainLayout>), DecodeError> {
    let is_plain = Encoding::from_u8(stored.encoding) == Some(Encoding::Plain);
    let layout = is_plain.then(|| PlainLayout::of(stored)).transpose()?;
    let text = match layout {
        Some(_) => parts_of(&stored.description).1,
        None => stored.description.as_str(),
    };
    let is_own = |tree: &SchemaTree| tree.nodes.first().is_some_and(|root| *root.path == *stored.type_path);
    let tree = parse(text).and_then(|tree| {
        let fits = is_own(&tree).then_some(tree);
        fits.ok_or_else(|| "it describes another type".to_owned())
    });
    let tree = tree.map_err(|message| MigrateError::Schema {
        type_path: stored.type_path.clone(),
        message,
    })?;
    Ok((tree, layout))
}

/// The steps that look into values which a codec of their own reads, as the app's type `type_id`; none when a new name is all
/// that they bring.
fn steps_into(stored: &Schema, type_id: TypeId, plan: &Plan, registry: &TypeRegistry) -> Vec<PlannedStep> {
    if plan.steps.is_empty() {
        return Vec::new();
    }
    let info = registry.get_type_info(type_id);
    let today = info.map_or_else(HashSet::default, |info| names_of(&SchemaTree::of(info, registry)));
    let steps = plan.touching([stored.type_path.clone()].into_iter().collect(), &today);
    if steps.iter().any(is_more_than_a_name) {
        steps
    } else {
        Vec::new()
    }
}

/// Whether a migration looks into values which a codec reads that has no parts to show.
pub(crate) fn looks_into(stored: &Schema, type_id: TypeId, plan: &Plan, registry: &TypeRegistry) -> bool {
    !steps_into(stored, type_id, plan, registry).is_empty()
}

/// Refuses migrations of a class that was declared immutable; its name may change.
pub(crate) fn check_immutable(stored: &Schema, plan: &Plan) -> Result<(), DecodeError> {
    if plan.steps.is_empty() {
        return Ok(());
    }
    let (tree, _) = stored_tree(stored)?;
    let steps = plan.touching(names_of(&tree), &HashSet::default());
    match steps.iter().find(|step| is_more_than_a_name(step)) {
        None => Ok(()),
        Some(step) => Err(DecodeError::from(MigrateError::Immutable {
            type_path: stored.type_path.clone(),
            list: step.step.list.clone(),
            entry: step.step.entry.clone(),
        })),
    }
}

fn is_more_than_a_name(step: &PlannedStep) -> bool {
    !matches!(step.op(), Op::RenameType { .. })
}

/// A column in the making.
struct Made<'r> {
    registration: &'r TypeRegistration,
    component: ReflectComponent,
    values: Vec<Box<dyn Reflect>>,
}

impl<'r> Made<'r> {
    fn new(registration: &'r TypeRegistration) -> Result<Self, DecodeError> {
        let path = registration.type_info().type_path();
        let component = registration.data::<ReflectComponent>();
        let component =
            component.ok_or_else(|| DecodeError::UnknownType(format!("{path}` (it lacks `#[reflect(Component)]`)")))?;
        Ok(Self {
            registration,
            component: component.clone(),
            values: Vec::new(),
        })
    }
}

/// What a value is to be today.
fn registration_of<'r>(value: &Value, registry: &'r TypeRegistry) -> Result<&'r TypeRegistration, DecodeError> {
    let path = value.describe();
    registry
        .get_with_type_path(path)
        .ok_or_else(|| DecodeError::UnknownType(path.to_owned()))
}
