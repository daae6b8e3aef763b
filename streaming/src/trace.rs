//! Spans of the crate `tracing` (feature `tracing`): one for each chunk, request and commit. Without the feature they
//! are nothing.

/// A span of the level DEBUG, with the target `oxiblosc`.
#[cfg(feature = "tracing")]
macro_rules! span {
    ($($span:tt)*) => { ::tracing::debug_span!(target: "oxiblosc", $($span)*) };
}

/// Nothing; fields are not evaluated.
#[cfg(not(feature = "tracing"))]
macro_rules! span {
    ($($span:tt)*) => {
        $crate::trace::Span::nothing()
    };
}

#[cfg(feature = "tracing")]
pub(crate) use ::tracing::Span;
pub(crate) use span;

/// What spans are without the feature.
#[cfg(not(feature = "tracing"))]
#[derive(Debug, Clone)]
pub(crate) struct Span;

#[cfg(not(feature = "tracing"))]
impl Span {
    /// A function, as code treats spans as values that cost something to make.
    pub(crate) fn nothing() -> Self {
        Self
    }

    pub(crate) fn in_scope<T>(&self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

/// A future whose polls are within the span.
#[cfg(feature = "tracing")]
pub(crate) fn traced<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
    ::tracing::Instrument::instrument(future, span)
}

/// The future itself.
#[cfg(not(feature = "tracing"))]
pub(crate) fn traced<F: Future>(_: Span, future: F) -> F {
    future
}
