//! Instances of a plugin that wait for the next call of their thread.

use std::cell::Cell;
use std::thread::LocalKey;

use oxiblosc_core::codec::Codec;
use oxiblosc_core::filter::Filter;
use oxiblosc_core::plugin::{Panicked, guarded};
use oxiblosc_core::plugin_params::Params;

use crate::named::AnyError;

// A library has one plugin, so a thread needs one place.
thread_local! {
    pub(crate) static CODEC: Cell<Option<Instance<dyn Codec>>> = const { Cell::new(None) };
    pub(crate) static FILTER: Cell<Option<Instance<dyn Filter>>> = const { Cell::new(None) };
}

/// An instance of a plugin. A panic when it is dropped goes nowhere: that may be at the end of a thread of C.
pub(crate) struct Instance<P: ?Sized> {
    plugin: Option<Box<P>>,
    /// The parameters that it has been given.
    params: Params,
}

impl<P: ?Sized> Drop for Instance<P> {
    fn drop(&mut self) {
        let plugin = self.plugin.take();
        let _ = guarded::<(), Panicked>(|| {
            drop(plugin);
            Ok(())
        });
    }
}

/// Calls the instance of this thread if it has these parameters, or one that `make` makes with them; one that panics is
/// not used again.
pub(crate) fn with<P: ?Sized, R>(
    place: &'static LocalKey<Cell<Option<Instance<P>>>>,
    params: &Params,
    make: impl FnOnce() -> Result<Box<P>, AnyError>,
    call: impl FnOnce(&mut P) -> Result<R, AnyError>,
) -> Result<R, AnyError> {
    // When its thread ends the place may be gone. Then each call has an instance of its own.
    let waiting = place.try_with(Cell::take).ok().flatten();
    let mut instance = match waiting.filter(|waiting| waiting.params == *params) {
        Some(instance) => instance,
        None => Instance { plugin: Some(guarded(make)?), params: params.clone() },
    };
    let plugin = instance.plugin.as_deref_mut().ok_or("the instance is gone")?;
    let result = guarded::<_, Panicked>(|| Ok(call(plugin)))?;
    let _ = place.try_with(|place| place.set(Some(instance)));
    result
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use oxiblosc_core::filter::{BlockContext, FilterError};

    use super::*;

    static MADE: AtomicUsize = AtomicUsize::new(0);

    #[derive(Clone)]
    struct Fragile;

    impl Filter for Fragile {
        fn forward(&mut self, _: &BlockContext<'_>, src: &[u8], _: &mut [u8]) -> Result<(), FilterError> {
            assert!(src[0] != 13, "no thirteen");
            Ok(())
        }

        fn backward(&mut self, ctx: &BlockContext<'_>, src: &[u8], dst: &mut [u8]) -> Result<(), FilterError> {
            self.forward(ctx, src, dst)
        }
    }

    impl Drop for Fragile {
        fn drop(&mut self) {
            panic!("not even in the end");
        }
    }

    fn call(first: u8) -> Result<(), AnyError> {
        call_with(first, &Params::default())
    }

    fn call_with(first: u8, params: &Params) -> Result<(), AnyError> {
        let make = || {
            MADE.fetch_add(1, Ordering::Relaxed);
            Ok(Box::new(Fragile) as Box<dyn Filter>)
        };
        with(&FILTER, params, make, |filter| Ok(filter.forward(&BlockContext::new(1), &[first], &mut [0])?))
    }

    #[test]
    fn an_instance_stays_until_it_panics() {
        let thread = std::thread::spawn(|| {
            call(1).unwrap();
            call(2).unwrap();
            assert_eq!(MADE.load(Ordering::Relaxed), 1);
            assert_eq!(call(13).unwrap_err().to_string(), "panicked: no thirteen");
            call(1).unwrap();
            assert_eq!(MADE.load(Ordering::Relaxed), 2);
            // With other parameters it is another one.
            let params = Params::default().with("key", 1);
            call_with(1, &params).unwrap();
            call_with(2, &params).unwrap();
            assert_eq!(MADE.load(Ordering::Relaxed), 3);
            call(1).unwrap();
            assert_eq!(MADE.load(Ordering::Relaxed), 4);
        });
        thread.join().expect("the panic of a drop stays inside");
    }
}
