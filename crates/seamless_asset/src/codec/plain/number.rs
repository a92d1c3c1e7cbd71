//! Plain numbers, and the places that they have in reflected values. See [`Number`] and [`visit`].

use core::any::TypeId;

use bevy_reflect::{PartialReflect, ReflectMut};

use super::{MAX_DEPTH, MAX_ROW, is_name};

macro_rules! numbers {
    ($($kind:ident $type:ident),*) => {
        /// The type of a number.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum NumberKind {
            $(#[doc = concat!("`", stringify!($type), "`")] $kind),*
        }

        /// A number of any kind.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub enum Number {
            $(#[doc = concat!("`", stringify!($type), "`")] $kind($type)),*
        }

        impl NumberKind {
            /// All kinds.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Rust's name of the type.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($type)),* }
            }

            /// Bytes that a number takes.
            #[must_use]
            pub const fn size(self) -> usize {
                match self { $(Self::$kind => size_of::<$type>()),* }
            }

            /// The kind of a Rust type, if it is a number of a size that is the same everywhere.
            #[must_use]
            pub fn of(type_id: TypeId) -> Option<Self> {
                $(if type_id == TypeId::of::<$type>() { return Some(Self::$kind); })*
                None
            }
        }

        impl Number {
            /// What kind it is of.
            #[must_use]
            pub const fn kind(self) -> NumberKind {
                match self { $(Self::$kind(_) => NumberKind::$kind),* }
            }

            /// Reads a number from exactly its little-endian bytes.
            #[must_use]
            pub fn from_le(kind: NumberKind, bytes: &[u8]) -> Option<Self> {
                Some(match kind { $(NumberKind::$kind => Self::$kind($type::from_le_bytes(bytes.try_into().ok()?))),* })
            }

            /// The number as a reflected value, to build a dynamic one from.
            #[must_use]
            pub fn to_reflect(self) -> Box<dyn PartialReflect> {
                match self { $(Self::$kind(number) => Box::new(number)),* }
            }

            /// Writes its little-endian bytes to the front of `out`; returns how many.
            pub(super) fn write_le(self, out: &mut [u8; 16]) -> usize {
                match self { $(Self::$kind(number) => {
                    let bytes = number.to_le_bytes();
                    out[..bytes.len()].copy_from_slice(&bytes);
                    bytes.len()
                }),* }
            }

            /// Appends it as postcard writes numbers.
            pub(super) fn write_postcard(self, out: &mut Vec<u8>) {
                // The longest is a `u128`, in 19 bytes.
                let mut buffer = [0; 20];
                let written = match self { $(Self::$kind(number) => postcard::to_slice(&number, &mut buffer)),* };
                out.extend_from_slice(written.map_or(&[], |bytes| bytes));
            }

            /// The number that `value` is, and its address.
            fn in_place(value: &mut dyn PartialReflect) -> Option<(Self, usize)> {
                $(if let Some(place) = value.try_downcast_mut::<$type>() {
                    return Some((Self::$kind(*place), core::ptr::from_mut(place).addr()));
                })*
                None
            }
        }
    };
}

numbers!(
    U8 u8, U16 u16, U32 u32, U64 u64, U128 u128, I8 i8, I16 i16, I32 i32, I64 i64, I128 i128, F32 f32, F64 f64
);

/// A number in a value.
pub(super) struct Place<'p> {
    /// Where it is in the value, in names and indices; for a number in an array the path of the array.
    pub path: &'p str,
    pub number: Number,
    /// Where it is in memory.
    pub address: usize,
}

/// Shows every number in `value` to `see`, in the order in which the fields are declared. Each is looked up as a place that
/// reflection lets anyone write to.
///
/// `None` when it finds something else than numbers, or too much.
pub(super) fn visit(value: &mut dyn PartialReflect, see: &mut dyn FnMut(Place)) -> Option<()> {
    let mut visitor = Visitor {
        see,
        path: String::new(),
        depth: 0,
        steps: 0,
    };
    visitor.parts(value)
}

struct Visitor<'s> {
    see: &'s mut dyn FnMut(Place),
    path: String,
    depth: usize,
    steps: usize,
}

impl Visitor<'_> {
    fn parts(&mut self, value: &mut dyn PartialReflect) -> Option<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return None;
        }
        match value.reflect_mut() {
            ReflectMut::Struct(value) => (0..value.field_len()).try_for_each(|index| {
                let name = value.name_at(index).filter(|name| is_name(name))?.to_owned();
                self.part(&name, value.field_at_mut(index)?)
            }),
            ReflectMut::TupleStruct(value) => {
                (0..value.field_len()).try_for_each(|index| self.part(&index.to_string(), value.field_mut(index)?))
            }
            ReflectMut::Tuple(value) => {
                (0..value.field_len()).try_for_each(|index| self.part(&index.to_string(), value.field_mut(index)?))
            }
            ReflectMut::Array(value) => (0..value.len()).try_for_each(|index| self.item(index, value.get_mut(index)?)),
            _ => None,
        }?;
        self.depth -= 1;
        Some(())
    }

    fn part(&mut self, name: &str, value: &mut dyn PartialReflect) -> Option<()> {
        let length = self.path.len();
        if length != 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        self.number_or_parts(value)?;
        self.path.truncate(length);
        Some(())
    }

    /// Numbers in an array have its path, all of them.
    fn item(&mut self, index: usize, value: &mut dyn PartialReflect) -> Option<()> {
        if NumberKind::of(value.get_represented_type_info()?.type_id()).is_some() {
            return self.number_or_parts(value);
        }
        self.part(&index.to_string(), value)
    }

    fn number_or_parts(&mut self, value: &mut dyn PartialReflect) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let Some((number, address)) = Number::in_place(value) else {
            return self.parts(value);
        };
        (self.see)(Place {
            path: &self.path,
            number,
            address,
        });
        Some(())
    }
}

/// A row has no more numbers than bytes, and few of them are alone in a struct of their own.
pub(super) const MAX_STEPS: usize = 2 * MAX_ROW;
