//! What the feature `migrations` leaves behind when it is off: the types that patches are written with, of which no value is
//! ever made. So a game's patches compile, and the linker leaves them out.

use core::convert::Infallible;

use bevy_reflect::{FromReflect, Reflect, TypePath};

/// The fields of a value that is migrated. Without the feature `migrations` nothing is, and there is no such value.
pub struct Fields(Infallible);

/// The value of one field. Without the feature `migrations` there is no such value.
pub struct Field(Infallible);

impl Default for Fields {
    fn default() -> Self {
        Self::new()
    }
}

/// As with the feature; only what runs in a migration calls these, and none runs.
impl Fields {
    /// No fields, for a value that is made anew.
    #[must_use]
    pub fn new() -> Self {
        unreachable!("this build has no migrations that could run")
    }

    /// The type path of the value at this point of its history.
    #[must_use]
    pub fn type_path(&self) -> &str {
        match self.0 {}
    }

    /// The variant that an enum's value is.
    #[must_use]
    pub fn variant(&self) -> Option<&str> {
        match self.0 {}
    }

    /// Makes it another variant of its enum.
    pub fn set_variant(&mut self, _: &str) {
        match self.0 {}
    }

    /// The names of the fields that are there.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        core::iter::once(self.type_path())
    }

    /// Whether there is such a field.
    #[must_use]
    pub fn contains(&self, _: &str) -> bool {
        match self.0 {}
    }

    /// A copy of a field's value.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn get<T: FromReflect + TypePath>(&self, _: &str) -> Result<T, String> {
        match self.0 {}
    }

    /// Sets a field.
    pub fn set<T: Reflect>(&mut self, _: &str, _: T) {
        match self.0 {}
    }

    /// The fields of a struct or enum inside this value.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn inner(&mut self, _: &str) -> Result<&mut Self, String> {
        match self.0 {}
    }

    /// Takes a field's value out.
    ///
    /// # Errors
    /// When there is no such field.
    pub fn take(&mut self, _: &str) -> Result<Field, String> {
        match self.0 {}
    }

    /// Puts a value in as this field.
    pub fn put(&mut self, _: &str, _: Field) {
        match self.0 {}
    }
}
