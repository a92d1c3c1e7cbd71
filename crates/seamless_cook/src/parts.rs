//! Work in parts, which threads share. See [`in_parts`].

use core::num::NonZeroUsize;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Does all parts of `work`, on so many threads, the calling one included; the results in order.
pub(crate) fn in_parts<P: Sync, T: Send>(threads: NonZeroUsize, parts: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(part) = parts.get(index) else { return done };
            done.push((index, work(part)));
        }
    };
    let mut done = scope(|scope| {
        let helpers = 1..threads.get().min(parts.len());
        // Where there is no thread to be had, this one does it all.
        let spawn = |_| Builder::new().spawn_scoped(scope, take).ok();
        let helpers: Vec<_> = helpers.filter_map(spawn).collect();
        let mut done = take();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests;
