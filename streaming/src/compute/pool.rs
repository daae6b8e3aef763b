//! A handle on worker threads.
//!
//! The threads are those of `rayon-core`, or of the program. What is added here is what sinks and readers need and it does not have: a
//! pool that starts with the first work and does it on the calling thread where there are no threads, results as
//! futures, buffers that are shared along with the threads, and an [`Executor`] that spreads a large chunk over idle
//! workers.
//! `cargo run --release -p oxiblosc-bench -- --only stream` measures it, and `.ci/models` explores its races.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::thread::available_parallelism;

use oxiblosc_core::Executor;

use super::{Buffers, Job};
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::sync::{OnceLock, thread, workers};

/// A handle to worker threads; clones share the threads, and the large buffers used for the work.
///
/// A sink or reader reuses the buffers that earlier ones have left, up to 48 MiB of them: getting fresh memory takes
/// longer than a fast codec takes to fill it.
///
/// There is no global pool: to have several sinks and readers share their threads, make one pool and clone it. The
/// threads start with the first work and end when the last handle is dropped and the work given to them is done.
#[derive(Clone)]
pub struct Pool {
    shared: Arc<PoolInner>,
}

struct PoolInner {
    threads: usize,
    buffers: Buffers,
    workers: Workers,
    /// Whether there is a processor for each thread, so that those who wait awake are in nobody's way.
    spare: bool,
    /// Jobs that have been submitted and are not done.
    jobs: AtomicUsize,
}

/// Whose threads do the work.
enum Workers {
    /// Ours, which start with the first work; `None` if the system has no threads.
    Own(OnceLock<Option<workers::ThreadPool>>),
    /// A pool of rayon that the program has anyway.
    #[cfg_attr(all(test, shuttle), allow(dead_code, reason = "the models have their own workers"))]
    Rayon(Arc<workers::ThreadPool>),
    /// Whatever runs closures.
    Spawn(Box<Spawn>),
}

type Spawn = dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync;

/// A job of a pool, counted until it is done or dropped undone.
struct Counted(Arc<PoolInner>);

impl Counted {
    fn new(shared: &Arc<PoolInner>) -> Self {
        // Relaxed is enough: the number is a hint for `share`.
        shared.jobs.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(shared))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.jobs.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Chunks of this size take many times longer to encode or decode than a thread takes to wake up, and a few of them fill
/// the caches.
const LARGE_CHUNK: usize = 2 << 20;
/// The number of buffers kept, and their total size: what a few sinks and readers of chunks of the usual size use at a
/// time.
const MOST_BUFFERS: usize = 64;
const MOST_BUFFER_BYTES: usize = 48 << 20;

/// How many rounds to linger, about 300 microseconds: codecs that take longer for a block lose little by waking up.
const LINGER: usize = if cfg!(all(test, shuttle)) { 2 } else { 200 };

impl Pool {
    /// A pool of `threads` workers. With 0 the work is done on the calling thread, at the time of the call; so it is
    /// where the system has no threads (as on some WebAssembly targets).
    pub fn new(threads: usize) -> Self {
        Self::of(threads, Workers::Own(OnceLock::new()))
    }

    /// The threads of a pool of rayon, for programs that have one. A large chunk is spread over idle threads as in a
    /// pool of this crate, and other work of the program takes its turn with the chunks.
    ///
    /// Do not wait for a sink or reader of this pool on one of its threads, with [`block_on`](super::block_on) or a
    /// blocking twin: when all of them wait, none is left to do the work.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use oxiblosc_streaming::{Pool, WriteOptions};
    /// # use oxiblosc_plugins as _;
    ///
    /// // `rayon::ThreadPoolBuilder` is the same type.
    /// let threads = rayon_core::ThreadPoolBuilder::new().num_threads(4).build()?;
    /// let pool = Pool::from_rayon(Arc::new(threads));
    /// assert_eq!(pool.threads(), 4);
    /// # let mut writer = oxiblosc_streaming::blocking::FrameWriter::in_memory(WriteOptions::default().pool(&pool))?;
    /// # std::io::Write::write_all(&mut writer, &[7; 100_000])?;
    /// # writer.finish()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(not(all(test, shuttle)))]
    pub fn from_rayon(threads: Arc<workers::ThreadPool>) -> Self {
        Self::of(threads.current_num_threads(), Workers::Rayon(threads))
    }

    /// Threads that someone else runs: `spawn` gets a closure for each chunk and has it run soon, on another thread.
    /// `threads`, at least 1, says how many of them may run at the same time, which is how many chunks are in progress.
    ///
    /// Chunks go to different threads, but a single chunk is not spread over several: make chunks small enough that
    /// there are more of them than threads. If `spawn` drops a closure instead of running it, as a runtime does that is
    /// shutting down, the operation that needs its result fails with [`ErrorKind::Panicked`](crate::ErrorKind::Panicked).
    /// It must not panic, and must not wait until the closure has run.
    ///
    /// ```
    /// # use oxiblosc_plugins as _;
    /// use oxiblosc_streaming::{FrameReader, Pool, ReadOptions, WriteOptions};
    ///
    /// # let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    /// # runtime.block_on(async {
    /// // Tokio's threads for blocking work. (A handle works outside the runtime, too.)
    /// let tokio = tokio::runtime::Handle::current();
    /// let pool = Pool::with_spawn(4, move |work| drop(tokio.spawn_blocking(work)));
    ///
    /// let mut sink = WriteOptions::default().pool(&pool).chunk_size(100_000).in_memory()?;
    /// sink.write_items(&vec![7u8; 1_000_001]).await?;
    /// sink.close().await?;
    /// let reader: FrameReader<_> = ReadOptions::new().pool(&pool).open(sink.into_target().into_bytes()).await?;
    /// assert_eq!(reader.bytes(999_999..1_000_001).await?, [7, 7][..]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_spawn(threads: usize, spawn: impl Fn(Box<dyn FnOnce() + Send>) + Send + Sync + 'static) -> Self {
        Self::of(threads.max(1), Workers::Spawn(Box::new(spawn)))
    }

    fn of(threads: usize, workers: Workers) -> Self {
        let buffers = Buffers::with_limits(MOST_BUFFERS, MOST_BUFFER_BYTES);
        let spare = threads <= processors();
        Self { shared: Arc::new(PoolInner { threads, buffers, workers, spare, jobs: AtomicUsize::new(0) }) }
    }

    /// A pool without threads: work is done on the calling thread.
    pub fn inline() -> Self {
        Self::new(0)
    }

    /// A pool with one worker for each processor that the process may use.
    pub fn per_processor() -> Self {
        Self::new(processors())
    }

    /// Number of workers; 0 for an inline pool.
    pub fn threads(&self) -> usize {
        self.shared.threads
    }

    /// Gives `work` to a worker, after all work submitted before.
    ///
    /// A panic in `work` becomes the job's [`JobPanicked`](super::JobPanicked).
    pub fn spawn<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Job<T> {
        let (job, run) = Job::new(work);
        let counted = Counted::new(&self.shared);
        // It does not unwind.
        let run = move || {
            run();
            drop(counted);
        };
        match (&self.shared.workers, self.workers()) {
            (Workers::Spawn(spawn), _) => spawn(Box::new(run)),
            (_, Some(workers)) => workers.spawn_fifo(run),
            (_, None) => run(),
        }
        job
    }

    /// One job's share when the current jobs divide the workers among them, for a job that can use several itself.
    ///
    /// With as many jobs as workers each job runs on one worker, which is fastest overall. It also bounds the stack: a
    /// worker that waits for others runs further jobs meanwhile, and if these waited too, they would pile up on the
    /// same stack.
    pub fn share(&self) -> Share<'_> {
        let jobs = self.shared.jobs.load(Ordering::Relaxed).max(1);
        Share { pool: self, workers: (Executor::workers(self) / jobs).max(1) }
    }

    /// Counts a job for each worker while the result lives, so that [`share`](Self::share) gives one worker to each.
    pub(crate) fn occupy(&self) -> Occupied {
        Occupied { _jobs: (0..self.shared.threads).map(|_| Counted::new(&self.shared)).collect() }
    }

    /// How many chunks of `chunk_len` bytes to have in progress.
    ///
    /// Without threads the work is done here and now, so no more of it than is asked for. Otherwise one for each worker
    /// and one more to go on with, which leaves the caller time to bring the next: more would only evict data from the
    /// caches and take more buffers. Smaller chunks are done before the caller is awake: with no more of them than that,
    /// the workers have nothing to do now and then.
    pub(crate) fn chunks_in_progress(&self, chunk_len: usize) -> usize {
        match self.shared.threads {
            0 => 1,
            threads if chunk_len >= LARGE_CHUNK => threads.saturating_add(1),
            threads => threads.saturating_mul(2).saturating_add(1),
        }
    }

    /// Buffers for chunks, encoded or decoded.
    pub(crate) fn buffers(&self) -> &Buffers {
        &self.shared.buffers
    }

    fn workers(&self) -> Option<&workers::ThreadPool> {
        let start = || {
            let builder = workers::ThreadPoolBuilder::new().num_threads(self.shared.threads);
            builder.thread_name(|i| format!("oxiblosc-{i}")).build().ok()
        };
        match &self.shared.workers {
            // Asking rayon for 0 threads would mean "as many as it likes".
            Workers::Own(_) if self.shared.threads == 0 => None,
            Workers::Own(started) => started.get_or_init(start).as_ref(),
            Workers::Rayon(workers) => Some(workers),
            Workers::Spawn(_) => None,
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        Self::per_processor()
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("threads", &self.shared.threads).finish()
    }
}

impl Executor for Pool {
    fn workers(&self) -> usize {
        match self.shared.workers {
            // What borrows from the caller cannot be given to threads that nobody here waits for.
            Workers::Spawn(_) => 1,
            _ => self.shared.threads.max(1),
        }
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        let Some(pool) = self.workers() else { return work(0) };
        let rounds = if self.shared.spare { LINGER } else { 0 };
        let (busy, inside) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let part = |worker| {
            inside.fetch_add(1, Ordering::Relaxed);
            busy.fetch_add(1, Ordering::Relaxed);
            work(worker);
            busy.fetch_sub(1, Ordering::Relaxed);
            linger_until_none(&busy, rounds);
            inside.fetch_sub(1, Ordering::Relaxed);
        };
        pool.in_place_scope(|scope| {
            for worker in 1..workers.min(self.shared.threads) {
                let part = &part;
                scope.spawn(move |_| part(worker));
            }
            // The caller is one of them, and starts at once. The end of the scope would put it to sleep if it were not
            // the last to leave.
            part(0);
            linger_until_none(&inside, rounds);
        });
    }
}

/// How many processors the process may use.
fn processors() -> usize {
    available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Waits for `count` to become 0, but not for long: it need not, after a panic.
///
/// Waking a thread takes 20 to 100 microseconds, as long as a fast codec takes for a block. So all who work on a chunk
/// stay awake until its last block is done, and find themselves awake when the next chunk follows.
fn linger_until_none(count: &AtomicUsize, rounds: usize) {
    for _ in 0..rounds {
        // Relaxed is enough: it is the end of the scope that orders what was done in it.
        if count.load(Ordering::Relaxed) == 0 {
            break;
        }
        (0..32).for_each(|_| std::hint::spin_loop());
        // Other programs have threads, too.
        thread::yield_now();
    }
}

/// The workers of a pool have something to do; see [`Pool::occupy`].
pub(crate) struct Occupied {
    _jobs: Vec<Counted>,
}

/// Some of the workers of a [`Pool`]; see [`Pool::share`].
#[derive(Debug, Clone, Copy)]
pub struct Share<'a> {
    pool: &'a Pool,
    workers: usize,
}

impl Executor for Share<'_> {
    fn workers(&self) -> usize {
        self.workers
    }

    fn run(&self, workers: usize, work: &(dyn Fn(usize) + Sync)) {
        self.pool.run(workers.min(self.workers), work);
    }
}

#[cfg(test)]
mod tests {
    use oxiblosc_core::executor::for_each;

    use super::*;
    use crate::compute::block_on;

    #[test]
    fn every_pool_gives_the_result() {
        for threads in [0, 1, 2, 5] {
            let pool = Pool::new(threads);
            let jobs: Vec<_> = (0..50).map(|i| pool.spawn(move || i * i)).collect();
            for (i, job) in jobs.into_iter().enumerate() {
                assert_eq!(block_on(job), Ok(i * i));
            }
        }
    }

    #[cfg(not(shuttle))]
    /// Threads of the program's own, for as many closures as there are.
    fn borrowed() -> [Pool; 2] {
        let rayon = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
        let spawn = |work: Box<dyn FnOnce() + Send>| drop(thread::spawn(work));
        [Pool::from_rayon(Arc::new(rayon)), Pool::with_spawn(3, spawn)]
    }

    #[cfg(not(shuttle))]
    #[test]
    fn threads_of_others_do_the_work() {
        for pool in borrowed() {
            assert_eq!(pool.threads(), 3);
            let here = thread::current().id();
            let jobs: Vec<_> = (0..50).map(|i| pool.spawn(move || (i * i, thread::current().id() != here))).collect();
            for (i, job) in jobs.into_iter().enumerate() {
                assert_eq!(block_on(job), Ok((i * i, true)));
            }
            let counts: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            for_each(&pool, counts.len(), |_, i| {
                counts[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1));
            let panic: Job<()> = pool.spawn(|| panic!("fixed"));
            assert_eq!(block_on(panic).expect_err("it panicked").message(), "fixed");
        }
    }

    #[test]
    fn a_job_that_its_threads_drop_is_an_error() {
        let pool = Pool::with_spawn(2, drop);
        let error = block_on(pool.spawn(|| 1)).expect_err("nobody ran it");
        assert_eq!(error.message(), "its threads have gone");
        assert_eq!(pool.shared.jobs.load(Ordering::Relaxed), 0);
        let error: std::io::Error = error.into();
        assert_eq!(crate::ErrorKind::of(&error), crate::ErrorKind::Panicked);
    }

    #[test]
    fn work_reaches_every_index_once() {
        for threads in [0, 1, 2, 5] {
            let counts: Vec<_> = (0..100).map(|_| AtomicUsize::new(0)).collect();
            for_each(&Pool::new(threads), counts.len(), |_, i| {
                counts[i].fetch_add(1, Ordering::Relaxed);
            });
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} threads");
        }
    }

    /// As the documentation of [`WriteOptions::chunks_in_flight`](crate::WriteOptions::chunks_in_flight) has it.
    #[test]
    fn large_chunks_are_fewer_in_progress() {
        for (threads, small, large) in [(0, 1, 1), (1, 3, 2), (2, 5, 3), (16, 33, 17)] {
            let in_progress = |len| Pool::new(threads).chunks_in_progress(len);
            assert_eq!([0, 1 << 20, (2 << 20) - 1].map(in_progress), [small; 3], "{threads} threads");
            assert_eq!([2 << 20, usize::MAX].map(in_progress), [large; 2], "{threads} threads");
        }
        assert_eq!(Pool::new(usize::MAX).chunks_in_progress(1), usize::MAX);
    }

    #[test]
    fn jobs_may_use_their_own_pool() {
        let pool = Pool::new(1);
        let job = pool.spawn({
            let pool = pool.clone();
            move || {
                let sum = AtomicUsize::new(0);
                for_each(&pool, 10, |_, i| {
                    sum.fetch_add(i, Ordering::Relaxed);
                });
                sum.into_inner()
            }
        });
        drop(pool);
        assert_eq!(block_on(job), Ok(45));
    }

    #[test]
    fn jobs_divide_the_workers() {
        let pool = Pool::new(4);
        assert_eq!(pool.share().workers(), 4);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let held = Arc::new(std::sync::Mutex::new(held));
        let wait = || {
            let held = Arc::clone(&held);
            pool.spawn(move || held.lock().map(|held| held.recv().is_ok()).unwrap_or(false))
        };
        let mut jobs = Vec::new();
        for expected in [4, 2, 1, 1, 1, 1] {
            jobs.push(wait());
            assert_eq!(pool.share().workers(), expected);
        }
        jobs.iter().for_each(|_| assert_eq!(release.send(()), Ok(())));
        jobs.into_iter().for_each(|job| assert_eq!(block_on(job), Ok(true)));
        assert_eq!(Pool::inline().share().workers(), 1);
    }

    #[test]
    fn a_panic_is_the_result_of_its_job_alone() {
        for threads in [0, 2] {
            let pool = Pool::new(threads);
            let before = pool.spawn(|| 1);
            let fixed: Job<()> = pool.spawn(|| panic!("fixed"));
            let formatted: Job<()> = pool.spawn(|| panic!("number {}", 3));
            let after = pool.spawn(|| 2);
            assert_eq!(block_on(before), Ok(1));
            assert_eq!(block_on(fixed).unwrap_err().message(), "fixed");
            assert_eq!(block_on(formatted).unwrap_err().message(), "number 3");
            assert_eq!(block_on(after), Ok(2));
        }
    }

    #[test]
    fn a_panic_in_divided_work_reaches_the_caller() {
        let pool = Pool::new(2);
        for guilty in [0, 1] {
            let (begun, ended) = (std::sync::Barrier::new(2), AtomicUsize::new(0));
            let run = || {
                pool.run(2, &|worker| {
                    begun.wait();
                    assert!(worker != guilty, "fixed");
                    ended.fetch_add(1, Ordering::Relaxed);
                });
            };
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).expect_err("one of the two panicked");
            assert_eq!(ended.into_inner(), 1);
        }
        assert_eq!(block_on(pool.spawn(|| 3)), Ok(3));
    }

    #[test]
    fn a_panic_while_dropping_an_unwanted_result_harms_nobody() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("dropped");
            }
        }
        let pool = Pool::new(1);
        drop(pool.spawn(|| Bomb));
        assert_eq!(block_on(pool.spawn(|| 2)), Ok(2));
    }

    #[test]
    fn dropped_jobs_that_have_not_begun_are_not_done() {
        let pool = Pool::new(1);
        let (release, held) = std::sync::mpsc::channel::<()>();
        let first = pool.spawn(move || held.recv().is_ok());
        let ran = Arc::new(AtomicUsize::new(0));
        let second = pool.spawn({
            let ran = Arc::clone(&ran);
            move || ran.fetch_add(1, Ordering::SeqCst)
        });
        drop(second);
        assert_eq!(release.send(()), Ok(()));
        assert_eq!(block_on(first), Ok(true));
        assert_eq!(block_on(pool.spawn(|| 3)), Ok(3));
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
