//! What tags may be made while a file is read: a tag is made for good, so a file with a typo, or a hostile one, must not make any.

use std::cell::RefCell;

/// Says why a tag must not be made.
type Gate = Box<dyn FnMut(&str) -> Result<(), String>>;

thread_local! {
    /// Files are read without a pause, each on one thread.
    static GATE: RefCell<Option<Gate>> = const { RefCell::new(None) };
}

/// Opens the gate again, also where reading panics.
struct Reopen;

impl Drop for Reopen {
    fn drop(&mut self) {
        GATE.with_borrow_mut(|gate| *gate = None);
    }
}

/// Reads something of which tags are made only if the gate lets them pass.
pub(crate) fn guarded<R>(gate: impl FnMut(&str) -> Result<(), String> + 'static, read: impl FnOnce() -> R) -> R {
    GATE.with_borrow_mut(|own| *own = Some(Box::new(gate)));
    let _reopen = Reopen;
    read()
}

/// Whether a tag may be made.
pub(super) fn pass(name: &str) -> Result<(), String> {
    GATE.with_borrow_mut(|gate| gate.as_mut().map_or(Ok(()), |gate| gate(name)))
}
