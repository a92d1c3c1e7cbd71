//! Tests of the cooker.
