//! Tests of the package map.
