//! Integration tests, in one binary: Bevy is linked once.

mod oracle;
