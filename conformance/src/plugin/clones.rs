//! Clones of an instance on several threads.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use super::promise::{Broken, Promise, Verdict};
use super::watch::{Watch, quietly};

const THREADS: usize = 6;

/// How long they work: threads that share a processor get in each other's way only if they do for a while.
const TOGETHER: Duration = Duration::from_millis(250);

/// Gives each thread a clone of its own and another input. `work` does with the input at that number what has to give
/// the bytes at the same place of `expected`.
pub(super) fn side_by_side<T: Send>(
    watch: &Watch,
    expected: &[Vec<u8>],
    clone: impl Fn() -> T,
    work: impl Fn(&mut T, usize) -> Result<Vec<u8>, String> + Sync,
) -> Verdict {
    let clones = watch.call(|| (0..THREADS).map(|_| clone()).collect::<Vec<T>>());
    let clones = clones.map_err(|panic| Broken::new(Promise::Clones, format!("clone panicked: {panic}")))?;
    let barrier = Barrier::new(THREADS);
    let begun = Instant::now();
    let run = || {
        thread::scope(|scope| {
            let workers: Vec<_> = clones
                .into_iter()
                .enumerate()
                .map(|(thread, mut clone)| {
                    let (barrier, work) = (&barrier, &work);
                    scope.spawn(move || {
                        let input = thread % expected.len();
                        barrier.wait();
                        while begun.elapsed() < TOGETHER {
                            let found = quietly(|| work(&mut clone, input))
                                .unwrap_or_else(|panic| Err(format!("panicked: {panic}")))?;
                            if found != expected[input] {
                                let at = expected[input].iter().zip(&found).position(|(a, b)| a != b);
                                let at = at.map_or("its length".to_owned(), |at| format!("byte {at}"));
                                return Err(format!("another result than alone, it differs in {at}"));
                            }
                        }
                        Ok(())
                    })
                })
                .collect();
            // All of them end before the first error is returned.
            let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
            results.into_iter().try_for_each(|result| result.unwrap_or_else(|_| Err("a thread panicked".into())))
        })
    };
    let inputs = "on six threads, each with a clone and an input of its own";
    match watch.call(run) {
        Ok(result) => result.map_err(|what| Broken::new(Promise::Clones, format!("{inputs}: {what}"))),
        Err(panic) => Err(Broken::new(Promise::Clones, format!("{inputs}: panicked: {panic}"))),
    }
}
