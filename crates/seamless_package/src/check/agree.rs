//! In every test that opens a package, and under a fuzzer: who looks at many exports at once, says nothing that the judge would not
//! say.

use super::{Ends, Progress, Tables};
use std::ops::Range;

impl Tables<'_> {
    /// Lets the judge look at a run that has passed.
    pub(super) fn assert_agreed(&self, mut before: Progress, run: &Range<usize>, ends: Ends, after: &Progress) {
        for index in run.clone() {
            let judged = self.check_export(index, &mut before);
            assert_eq!(judged, Ok(()), "export {index} of {run:?} has passed");
        }
        assert_eq!((before.next, before.ends), (run.end, ends));
        assert!(before.classes == after.classes && before.forced == after.forced);
        assert!(before.depths == after.depths, "after {run:?}");
    }
}
