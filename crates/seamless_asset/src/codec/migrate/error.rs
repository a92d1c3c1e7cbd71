//! Why an older object cannot be brought to the types of today. See [`MigrateError`].

/// An older object that does not become one of today's types; each says how to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The text of the stored schema makes no sense.
    #[error("the schema of `{type_path}` cannot be read: {message}; cook the package again")]
    Schema {
        /// Whose schema.
        type_path: String,
        /// What is wrong in it.
        message: String,
    },
    /// A type that serialised itself is gone, so nobody knows its bytes.
    #[error(
        "`{type_path}` holds a `{leaf}`, which only itself can read and this app does not know; keep that type registered, name its new one by `Migrations::rename_type`, or cook the package again"
    )]
    Gone {
        /// The type that was being read.
        type_path: String,
        /// The type that is gone.
        leaf: String,
    },
    /// A type that serialises itself has other fields now, and may read other bytes.
    #[error(
        "`{type_path}` holds a `{leaf}`, which serialises itself and has other fields now; derive `Default` and add `#[reflect(Default)]`, so that it can be tried whether it is written as its fields are, or leave out `#[reflect(Serialize, Deserialize)]`, or cook the package again"
    )]
    OwnForm {
        /// The type that was being read.
        type_path: String,
        /// The type that changed.
        leaf: String,
    },
    /// A field that the object does not have, and that has no default.
    #[error(
        "`{type_path}` has a field `{field}` that older objects lack; derive `Default` and add `#[reflect(Default)]`, or mark the field `#[reflect(default)]`, or register `Migrations::default_field`"
    )]
    MissingField {
        /// The type of today.
        type_path: String,
        /// Its field.
        field: String,
    },
    /// A value that does not fit where it belongs.
    #[error(
        "field `{field}` of `{type_path}` was {was} and is {is}, which it does not fit; register `Migrations::patch` for it, or `rename_type` if it is the same type under another name"
    )]
    FieldChanged {
        /// The type of today.
        type_path: String,
        /// Its field; empty when it is about the whole value.
        field: String,
        /// What was stored.
        was: String,
        /// What is wanted.
        is: String,
    },
    /// A variant that its enum does not have any more.
    #[error("`{type_path}` has no variant `{variant}` any more; register `Migrations::rename_variant`, or a `patch`")]
    VariantGone {
        /// The enum.
        type_path: String,
        /// The variant that was stored.
        variant: String,
    },
    /// A migration failed.
    #[error("migration `{entry}` of `{list}` fails for a `{type_path}`: {message}; mend the migration")]
    Failed {
        /// Whose list.
        list: String,
        /// Which entry.
        entry: String,
        /// The type of the object.
        type_path: String,
        /// Why.
        message: String,
    },
    /// A value became several where only one can be, or objects of one type became different types.
    #[error("a `{type_path}` {message}; mend the `Migrations::split` of it")]
    Split {
        /// The stored type.
        type_path: String,
        /// What is wrong.
        message: String,
    },
    /// Fields that have no names, of which there were more or fewer.
    #[error(
        "`{type_path}` had {was} fields without names and has {is}; which of them came or went cannot be told, for a neighbour fits in the place as well: register `Migrations::drop_field` with the number of each that went, and `default_field` (behind a `rename_field` of those that moved) with that of each that came"
    )]
    FieldsByNumber {
        /// The type of today.
        type_path: String,
        /// How many were stored.
        was: usize,
        /// How many there are.
        is: usize,
    },
    /// A type that was declared immutable is the subject of a migration.
    #[error(
        "`{type_path}` was declared immutable when the package was cooked, but the migration `{entry}` of `{list}` changes it; give its new form a type of its own, or cook the package again"
    )]
    Immutable {
        /// The stored type.
        type_path: String,
        /// Whose list.
        list: String,
        /// Which entry.
        entry: String,
    },
}
