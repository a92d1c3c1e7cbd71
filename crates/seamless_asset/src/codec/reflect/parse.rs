//! The text of a stored schema, read back. See [`parse`].

use bevy_platform::collections::{HashMap, HashSet};

use super::describe::{SchemaField, SchemaNode, SchemaShape, SchemaTree};

/// The longest text that is read; StandardMaterial's has 4 KiB.
const MAX_TEXT: usize = 1 << 20;
/// The most types that one type may consist of.
const MAX_TYPES: usize = 1 << 14;

/// Reads what [`description_of`](crate::codec::description_of) wrote. Types refer to each other by path, not by nesting, so no
/// text is too deep to be read; values are, when they are decoded.
pub(in crate::codec) fn parse(text: &str) -> Result<SchemaTree, String> {
    if text.len() > MAX_TEXT {
        return Err(format!("it has {} bytes, {MAX_TEXT} are allowed", text.len()));
    }
    let blocks = blocks(text)?;
    let mut paths = HashMap::default();
    for (at, block) in blocks.iter().enumerate() {
        if paths.insert(block.path, at).is_some() {
            return Err(format!("`{}` is there twice", block.path));
        }
    }
    let nodes = blocks.iter().map(|block| block.node(&paths));
    Ok(SchemaTree {
        nodes: nodes.collect::<Result<_, _>>()?,
    })
}

/// The lines of one type.
struct Block<'t> {
    is_own: bool,
    kind: &'t str,
    path: &'t str,
    /// How long an array is.
    len: usize,
    /// Parts that belong to no variant.
    parts: Vec<(&'t str, &'t str)>,
    variants: Vec<(&'t str, Vec<(&'t str, &'t str)>)>,
}

fn blocks(text: &str) -> Result<Vec<Block<'_>>, String> {
    let mut blocks: Vec<Block> = Vec::new();
    for line in text.lines() {
        let of_nothing = || format!("`{line}` belongs to no type");
        if let Some(part) = line.strip_prefix('.') {
            let part = part.split_once(' ').ok_or_else(|| format!("`{line}` has no type"))?;
            let block = blocks.last_mut().ok_or_else(of_nothing)?;
            let parts = block
                .variants
                .last_mut()
                .map_or(&mut block.parts, |variant| &mut variant.1);
            parts.push(part);
        } else if let Some(variant) = line.strip_prefix('|') {
            let block = blocks.last_mut().ok_or_else(of_nothing)?;
            block.variants.push((variant, Vec::new()));
        } else if blocks.len() == MAX_TYPES {
            return Err(format!("it has more than {MAX_TYPES} types"));
        } else {
            blocks.push(Block::head(line)?);
        }
    }
    if blocks.is_empty() {
        return Err("it is empty".into());
    }
    Ok(blocks)
}

type Paths<'t> = HashMap<&'t str, usize>;

impl<'t> Block<'t> {
    fn head(line: &'t str) -> Result<Self, String> {
        let (is_own, rest) = line.strip_prefix("own ").map_or((false, line), |rest| (true, rest));
        let is_no_type = || format!("`{line}` is no type");
        let (kind, mut path) = rest.split_once(' ').ok_or_else(is_no_type)?;
        let mut len = 0;
        if kind == "array" {
            let (count, rest) = path.split_once(' ').ok_or_else(is_no_type)?;
            len = count.parse().map_err(|_| is_no_type())?;
            path = rest;
        }
        Ok(Self {
            is_own: is_own || kind == "leaf",
            kind,
            path,
            len,
            parts: Vec::new(),
            variants: Vec::new(),
        })
    }

    fn node(&self, paths: &Paths) -> Result<SchemaNode, String> {
        if !self.variants.is_empty() && self.kind != "enum" {
            return Err(format!("`{}` has variants and is no enum", self.path));
        }
        let shape = self.shape(paths).map_err(|error| format!("`{}`: {error}", self.path))?;
        Ok(SchemaNode {
            path: self.path.to_owned().into(),
            is_own: self.is_own,
            shape,
        })
    }

    fn shape(&self, paths: &Paths) -> Result<SchemaShape, String> {
        let fields = || fields(&self.parts, paths);
        Ok(match self.kind {
            "struct" => SchemaShape::Struct(fields()?),
            "tuple_struct" => SchemaShape::TupleStruct(fields()?),
            "tuple" => SchemaShape::Tuple(fields()?),
            "enum" => self.variants(paths)?,
            "option" => SchemaShape::Option(self.one("0", paths)?),
            "list" => SchemaShape::List(self.one("item", paths)?),
            "set" => SchemaShape::Set(self.one("item", paths)?),
            "array" => SchemaShape::Array(self.one("item", paths)?, self.len),
            "map" => match self.parts[..] {
                [("key", key), ("value", value)] => SchemaShape::Map(node_of(key, paths)?, node_of(value, paths)?),
                _ => return Err("a map has a key and a value".into()),
            },
            "handle" => SchemaShape::Handle,
            "leaf" => SchemaShape::Leaf,
            "opaque" => SchemaShape::Opaque,
            other => return Err(format!("`{other}` is no kind of type")),
        })
    }

    fn one(&self, name: &str, paths: &Paths) -> Result<usize, String> {
        match self.parts[..] {
            [(only, path)] if only == name => node_of(path, paths),
            _ => Err(format!("it has more or less than its `{name}`")),
        }
    }

    fn variants(&self, paths: &Paths) -> Result<SchemaShape, String> {
        let mut names = HashSet::<&str>::default();
        let mut variants = Vec::with_capacity(self.variants.len());
        for (name, parts) in &self.variants {
            if !names.insert(name) {
                return Err(format!("variant `{name}` is there twice"));
            }
            variants.push(((*name).to_owned().into(), fields(parts, paths)?));
        }
        Ok(SchemaShape::Enum(variants))
    }
}

fn fields(parts: &[(&str, &str)], paths: &Paths) -> Result<Vec<SchemaField>, String> {
    let mut names = HashSet::<&str>::default();
    let mut fields = Vec::with_capacity(parts.len());
    for (name, path) in parts {
        if !names.insert(name) {
            return Err(format!("field `{name}` is there twice"));
        }
        fields.push(((*name).to_owned().into(), node_of(path, paths)?));
    }
    Ok(fields)
}

fn node_of(path: &str, paths: &Paths) -> Result<usize, String> {
    paths
        .get(path)
        .copied()
        .ok_or_else(|| format!("type `{path}` is not described"))
}
