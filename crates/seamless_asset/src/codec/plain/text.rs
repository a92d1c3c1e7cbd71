//! Layouts as text, and back: `size 16 align 4; place.x f32@0; place.y f32@4; slots u16x4@8`.

use core::{fmt, str::FromStr};

use seamless_package::Schema;

use super::{LayoutError, Leaf, MAX_DESCRIPTION, MAX_LEAVES, NumberKind, PlainLayout, is_name};
use crate::codec::DecodeError;

impl fmt::Display for PlainLayout {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "size {} align {}", self.size, self.align)?;
        for leaf in &self.leaves {
            write!(f, "; {} {}", leaf.path, leaf.kind.name())?;
            if leaf.count != 1 {
                write!(f, "x{}", leaf.count)?;
            }
            write!(f, "@{}", leaf.offset)?;
        }
        Ok(())
    }
}

/// A description of rows: their layout, and below it the type with all its parts, as
/// [`description_of`](super::super::description_of) has it.
pub(in crate::codec) fn description(layout: &PlainLayout, tree: &str) -> String {
    format!("{layout}\n{tree}")
}

/// The two parts of a [`description`].
pub(in crate::codec) fn parts_of(description: &str) -> (&str, &str) {
    description.split_once('\n').unwrap_or((description, ""))
}

impl PlainLayout {
    /// The layout of rows of this schema, whose encoding is [`Plain`](super::super::Encoding::Plain).
    ///
    /// # Errors
    /// When its description is not one of rows.
    pub fn of(stored: &Schema) -> Result<Self, DecodeError> {
        Self::parse(parts_of(&stored.description).0).map_err(|error| DecodeError::Layout {
            type_path: stored.type_path.clone(),
            error,
        })
    }

    /// Reads the first line of the description of a schema of [`Encoding::Plain`](super::super::Encoding::Plain).
    ///
    /// # Errors
    /// When it is no such text, or tells of a layout that cannot be.
    pub fn parse(description: &str) -> Result<Self, LayoutError> {
        if description.len() > MAX_DESCRIPTION {
            return Err(LayoutError::TooLong(description.len()));
        }
        let mut reader = Reader {
            text: description,
            rest: description,
        };
        reader.expect("size ", "`size`")?;
        let size = reader.number()?;
        reader.expect(" align ", "` align `")?;
        let align = reader.number()?;
        let mut leaves = Vec::new();
        while !reader.rest.is_empty() {
            if leaves.len() == MAX_LEAVES {
                return Err(LayoutError::TooManyLeaves);
            }
            reader.expect("; ", "`; `")?;
            leaves.push(reader.leaf()?);
        }
        Self::new(size, align, leaves)
    }
}

struct Reader<'t> {
    text: &'t str,
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn lacks(&self, expected: &'static str) -> LayoutError {
        LayoutError::Syntax {
            at: self.text.len() - self.rest.len(),
            expected,
        }
    }

    fn expect(&mut self, what: &str, name: &'static str) -> Result<(), LayoutError> {
        self.rest = self.rest.strip_prefix(what).ok_or_else(|| self.lacks(name))?;
        Ok(())
    }

    /// What comes in front of `end`, or of the end of the text.
    fn until(&mut self, end: &str) -> &'t str {
        let (word, rest) = self.rest.split_once(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    fn number(&mut self) -> Result<usize, LayoutError> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit());
        let (digits, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        let number = parse_number(digits).ok_or_else(|| self.lacks("a number"))?;
        self.rest = rest;
        Ok(number)
    }

    fn leaf(&mut self) -> Result<Leaf, LayoutError> {
        let lacks = self.lacks("a path");
        let path = self.until(" ");
        if !path.split('.').all(is_name) {
            return Err(lacks);
        }
        let lacks = self.lacks("a count");
        let kind = self.until("@");
        let (kind, count) = match kind.split_once('x') {
            Some((kind, count)) => (kind, parse_number(count).filter(|count| *count > 1).ok_or(lacks)?),
            None => (kind, 1),
        };
        let known = NumberKind::ALL.iter().find(|known| known.name() == kind);
        let kind = *known.ok_or_else(|| LayoutError::UnknownKind {
            path: path.to_owned(),
            kind: kind.to_owned(),
        })?;
        Ok(Leaf {
            path: path.to_owned(),
            kind,
            count,
            offset: self.number()?,
        })
    }
}

/// A number as it is written: no sign, no zero in front.
fn parse_number(text: &str) -> Option<usize> {
    usize::from_str(text).ok().filter(|number| number.to_string() == text)
}
