//! The end of a streamable as a future. See [`Finished`].

use core::{
    pin::Pin,
    task::{Context, Poll},
};

use super::{Streamable, StreamableEnd};

/// Ends with a [`Streamable`]; see [`Streamable::finished`].
#[derive(Debug, Clone)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Finished(Streamable);

impl Finished {
    pub(super) fn new(streamable: Streamable) -> Self {
        Self(streamable)
    }
}

impl Future for Finished {
    type Output = StreamableEnd;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<StreamableEnd> {
        let end = || self.0.end().cloned();
        if let Some(end) = end() {
            return Poll::Ready(end);
        }
        self.0.0.wake_at_end(context.waker());
        // It may have ended meanwhile.
        end().map_or(Poll::Pending, Poll::Ready)
    }
}

impl IntoFuture for Streamable {
    type Output = StreamableEnd;
    type IntoFuture = Finished;

    fn into_future(self) -> Finished {
        Finished(self)
    }
}
