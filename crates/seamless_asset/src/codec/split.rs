//! Columns taken apart by the schema that is stored with them, without the types that they are of: for tools that compare packages or
//! follow references, and know no game. See [`ColumnSplitter`].

#[cfg(test)]
mod tests;

use bevy_camera::{
    CameraMainTextureUsages,
    primitives::Aabb,
    visibility::{InheritedVisibility, ViewVisibility, Visibility},
};
use bevy_ecs::{entity::Entity, name::Name};
use bevy_reflect::TypePath;
use bevy_transform::components::{GlobalTransform, Transform, TransformTreeChanged};
use seamless_package::{Cursor, Schema};

use super::{
    DecodeError, Encoding, PlainLayout,
    reflect::{MAX_DEPTH, SchemaShape, SchemaTree, StoredHandle, TOO_DEEP, parse},
};

/// A piece of a value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part<'a> {
    /// Bytes that mean the same wherever the value lies.
    Bytes(&'a [u8]),
    /// An object, by its index in the export's reference list.
    Reference(u32),
    /// An entity of the level, by row.
    Entity(u32),
}

/// The values of a column, each in its parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SplitRows<'a> {
    parts: Vec<Part<'a>>,
    /// Where the parts of each row end.
    ends: Vec<usize>,
}

impl<'a> SplitRows<'a> {
    /// The parts of each value, row by row.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[Part<'a>]> {
        self.ends.iter().enumerate().map(|(row, end)| {
            let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.parts[start..*end]
        })
    }
}

/// Takes the columns of one class apart.
///
/// ```
/// # use seamless_asset::codec::{ColumnSplitter, Encoding, Part, schema};
/// let splitter = ColumnSplitter::of(&schema("game::Follows", Encoding::Relation, 1, "row"))?.expect("it tells where rows end");
/// let rows = splitter.split(&[2, 0, 0, 0, 7, 0, 0, 0], 2, 9)?;
/// assert_eq!(rows.iter().collect::<Vec<_>>(), [[Part::Entity(2)], [Part::Entity(7)]]);
/// # Ok::<(), seamless_asset::codec::DecodeError>(())
/// ```
pub struct ColumnSplitter {
    type_path: String,
    form: Form,
}

/// How values lie in a column.
enum Form {
    /// So many bytes each.
    Fixed(usize),
    /// A length of four bytes, and so many bytes.
    Text,
    Row,
    Rows,
    Handle,
    Tree(SchemaTree),
}

impl ColumnSplitter {
    /// A splitter for columns of the class `stored`; none if only the code of the type knows where its values end: records of
    /// a game's own, and what is no column.
    ///
    /// # Errors
    /// When the schema's description cannot be read.
    pub fn of(stored: &Schema) -> Result<Option<Self>, DecodeError> {
        let form = match Encoding::from_u8(stored.encoding) {
            Some(Encoding::Record) => record_form(stored),
            Some(Encoding::Handle) => Some(Form::Handle),
            Some(Encoding::Relation) if stored.description == "row" => Some(Form::Row),
            Some(Encoding::Relation) if stored.description == "rows" => Some(Form::Rows),
            Some(Encoding::Plain) => Some(Form::Fixed(PlainLayout::of(stored)?.size())),
            Some(Encoding::Reflect) => Some(Form::Tree(parse(&stored.description).map_err(|why| {
                DecodeError::Malformed(format!("the stored layout of `{}`: {why}", stored.type_path))
            })?)),
            _ => None,
        };
        let type_path = stored.type_path.clone();
        Ok(form.map(|form| Self { type_path, form }))
    }

    /// Takes a column of `rows` values of a level of `entities` apart. Types that serialise themselves are taken to lie as their
    /// fields.
    ///
    /// # Errors
    /// When the bytes are no such column, or a type in it that serialises itself lies in a way of its own.
    pub fn split<'a>(&self, data: &'a [u8], rows: usize, entities: u32) -> Result<SplitRows<'a>, DecodeError> {
        let mut walk = Walk {
            cursor: Cursor::new(data),
            data,
            taken: 0,
            entities,
            // A forged schema must not make many values of no bytes.
            budget: data.len().saturating_mul(16).saturating_add(rows.saturating_mul(256)),
            split: SplitRows::default(),
        };
        for _ in 0..rows {
            walk.value(self)?;
            walk.split.ends.push(walk.split.parts.len());
        }
        walk.cursor.finish()?;
        Ok(walk.split)
    }

    fn unreadable(&self, message: impl core::fmt::Display) -> DecodeError {
        DecodeError::Reflect {
            type_path: self.type_path.clone(),
            message: message.to_string(),
        }
    }
}

/// Bevy's own records; those of a game are as it likes.
fn record_form(stored: &Schema) -> Option<Form> {
    let fixed = [
        (Transform::type_path(), 40),
        (GlobalTransform::type_path(), 48),
        (Aabb::type_path(), 24),
        (Visibility::type_path(), 1),
        (InheritedVisibility::type_path(), 1),
        (ViewVisibility::type_path(), 1),
        (TransformTreeChanged::type_path(), 0),
        (CameraMainTextureUsages::type_path(), 4),
    ];
    if stored.version != 1 {
        return None;
    }
    if stored.type_path == Name::type_path() {
        return Some(Form::Text);
    }
    let known = fixed.iter().find(|(path, _)| *path == stored.type_path);
    known.map(|(_, size)| Form::Fixed(*size))
}

/// A column, and how far it is read.
struct Walk<'a> {
    cursor: Cursor<'a>,
    data: &'a [u8],
    /// Bytes that are in a part.
    taken: usize,
    entities: u32,
    budget: usize,
    split: SplitRows<'a>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, splitter: &ColumnSplitter) -> Result<(), DecodeError> {
        match &splitter.form {
            Form::Fixed(size) => drop(self.cursor.bytes(*size)?),
            Form::Text => {
                let length = self.cursor.u32()?;
                self.cursor.bytes(length as usize)?;
            }
            Form::Row => self.row()?,
            Form::Rows => {
                let count = self.cursor.u32()?;
                self.flush();
                (0..count).try_for_each(|_| self.row())?;
            }
            Form::Handle => match self.cursor.u32()?.checked_sub(1) {
                Some(index) => self.part(Part::Reference(index)),
                None => drop(self.cursor.bytes(16)?),
            },
            Form::Tree(tree) => self.node(splitter, tree, 0, 0)?,
        }
        self.flush();
        Ok(())
    }

    fn row(&mut self) -> Result<(), DecodeError> {
        let row = self.cursor.u32()?;
        self.part(Part::Entity(row));
        Ok(())
    }

    /// What was read since the last part.
    fn flush(&mut self) {
        let (start, end) = (self.taken, self.cursor.offset());
        if start < end {
            self.split.parts.push(Part::Bytes(&self.data[start..end]));
        }
        self.taken = end;
    }

    /// A part in place of the bytes just read.
    fn part(&mut self, part: Part<'a>) {
        self.split.parts.push(part);
        self.taken = self.cursor.offset();
    }

    fn node(&mut self, of: &ColumnSplitter, tree: &SchemaTree, at: usize, depth: usize) -> Result<(), DecodeError> {
        if depth >= MAX_DEPTH {
            return Err(of.unreadable(TOO_DEEP));
        }
        let left = self.budget.checked_sub(1);
        self.budget = left.ok_or_else(|| of.unreadable("it has far more parts than bytes"))?;
        let node = &tree.nodes[at];
        let mut walk = |at: usize| self.node(of, tree, at, depth + 1);
        match &node.shape {
            SchemaShape::Struct(fields) | SchemaShape::TupleStruct(fields) | SchemaShape::Tuple(fields) => {
                fields.iter().try_for_each(|(_, at)| walk(*at))
            }
            SchemaShape::Array(at, len) => (0..*len).try_for_each(|_| walk(*at)),
            SchemaShape::Enum(variants) => {
                let index = self.varint(of)?;
                let variant = usize::try_from(index).ok().and_then(|index| variants.get(index));
                let (_, fields) = variant.ok_or_else(|| of.unreadable(format_args!("it has no variant {index}")))?;
                fields
                    .iter()
                    .try_for_each(|(_, at)| self.node(of, tree, *at, depth + 1))
            }
            SchemaShape::Option(at) => match self.cursor.u8()? {
                0 => Ok(()),
                _ => self.node(of, tree, *at, depth + 1),
            },
            SchemaShape::List(at) | SchemaShape::Set(at) => {
                let len = self.varint(of)?;
                (0..len).try_for_each(|_| self.node(of, tree, *at, depth + 1))
            }
            SchemaShape::Map(key, value) => {
                let len = self.varint(of)?;
                (0..len).try_for_each(|_| {
                    self.node(of, tree, *key, depth + 1)?;
                    self.node(of, tree, *value, depth + 1)
                })
            }
            SchemaShape::Handle => self.handle(of),
            SchemaShape::Leaf => self.leaf(of, &node.path),
            SchemaShape::Opaque => Err(of.unreadable(format_args!("nobody can read its `{}`", node.path))),
        }
    }

    fn handle(&mut self, of: &ColumnSplitter) -> Result<(), DecodeError> {
        let start = self.cursor.offset();
        let (handle, rest) =
            postcard::take_from_bytes::<StoredHandle>(&self.data[start..]).map_err(|error| of.unreadable(error))?;
        self.flush();
        self.cursor.bytes(self.data.len() - start - rest.len())?;
        if let StoredHandle::Object(index) = handle {
            self.part(Part::Reference(index));
        }
        Ok(())
    }

    /// A value without parts, in postcard.
    fn leaf(&mut self, of: &ColumnSplitter, path: &str) -> Result<(), DecodeError> {
        let floats = match path {
            "f32" => 1,
            // Twice as many bytes.
            "f64" | "glam::Vec2" => 2,
            "glam::Vec3" => 3,
            "glam::Vec4" | "glam::Quat" => 4,
            _ => 0,
        };
        match path {
            "bool" | "u8" | "i8" => drop(self.cursor.u8()?),
            "u16" | "u32" | "u64" | "usize" | "i16" | "i32" | "i64" | "isize" | "u128" | "i128" => {
                self.varint(of)?;
            }
            "char" | "alloc::string::String" => {
                let length = self.varint(of)?;
                let length = usize::try_from(length).map_err(|_| of.unreadable("a text is too long"))?;
                self.cursor.bytes(length)?;
            }
            path if path == Entity::type_path() => self.entity(of)?,
            path if floats == 0 => return Err(of.unreadable(format_args!("only its own code can read `{path}`"))),
            _ => drop(self.cursor.bytes(floats * 4)?),
        }
        Ok(())
    }

    /// An entity's bits; a row where it is one of the level's.
    fn entity(&mut self, of: &ColumnSplitter) -> Result<(), DecodeError> {
        let start = self.cursor.offset();
        let bits = self.varint(of)?;
        // Rows have no generation; `PLACEHOLDER` has one, and is nobody's row.
        let index = u32::try_from(bits).ok();
        let entity = index.and_then(|bits| Entity::try_from_bits(bits.into()));
        let row = entity.map(Entity::index_u32);
        if let Some(row) = row.filter(|row| *row < self.entities) {
            let end = self.cursor.offset();
            if self.taken < start {
                self.split.parts.push(Part::Bytes(&self.data[self.taken..start]));
            }
            self.taken = end;
            self.split.parts.push(Part::Entity(row));
        }
        Ok(())
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self, of: &ColumnSplitter) -> Result<u128, DecodeError> {
        let mut value = 0_u128;
        for shift in (0..19).map(|byte| byte * 7) {
            let byte = self.cursor.u8()?;
            value |= u128::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(of.unreadable("a number is too long"))
    }
}
