//! The queue between stages under thousands of schedules, random and by priorities (PCT), chosen by
//! shuttle. A deadlock fails the test and prints its schedule, to be replayed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[allow(dead_code)] // the models need not call all of it
#[path = "../src/io/queue.rs"]
mod queue;

mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

use std::sync::Arc;
// The standard library's: counting must not give the scheduler a chance more.
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use queue::ByteQueue;
use shuttle::thread;

const QUOTA_BYTES: usize = 10;
const PRODUCERS: usize = 2;
const CONSUMERS: usize = 2;

fn explore(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 2500);
    shuttle::check_pct(model, 2500, 3);
}

fn pop<T>(queue: &ByteQueue<T>) -> Option<T> {
    queue.pop(&mut Duration::default())
}

/// Every producer pushes items of these sizes, in this order; the consumers take until the end.
fn everything_passes_once_in_order_within_the_quota(sizes: [usize; 3]) {
    let queue = ByteQueue::new(QUOTA_BYTES, PRODUCERS);
    let largest = sizes.into_iter().max().unwrap();
    let (pushed_bytes, pops_begun) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let produce = |producer: usize| {
        for (number, bytes) in sizes.into_iter().enumerate() {
            assert!(queue.push((producer, number), bytes).is_some());
            pushed_bytes.fetch_add(bytes, Relaxed);
            // No more than this can have left the queue, so the rest is in it.
            let left_bytes = pops_begun.load(Relaxed) * largest;
            assert!(pushed_bytes.load(Relaxed) <= left_bytes + QUOTA_BYTES.max(largest));
        }
        queue.finish();
    };
    let consume = || {
        let mut taken = Vec::new();
        loop {
            pops_begun.fetch_add(1, Relaxed);
            match queue.try_pop().or_else(|| pop(&queue)) {
                Some(item) => taken.push(item),
                None => return taken,
            }
        }
    };
    let taken: Vec<Vec<(usize, usize)>> = thread::scope(|scope| {
        let produce = &produce;
        let consumers: Vec<_> = (0..CONSUMERS).map(|_| scope.spawn(consume)).collect();
        for producer in 0..PRODUCERS {
            scope.spawn(move || produce(producer));
        }
        consumers.into_iter().map(|consumer| consumer.join().unwrap()).collect()
    });
    for producer in 0..PRODUCERS {
        for items in &taken {
            assert!(items.iter().filter(|item| item.0 == producer).is_sorted());
        }
    }
    let mut all = taken.concat();
    all.sort_unstable();
    let expected: Vec<_> =
        (0..PRODUCERS).flat_map(|p| (0..sizes.len()).map(move |n| (p, n))).collect();
    assert_eq!(all, expected);
}

#[test]
fn items_that_fit_pass_once_in_order_within_the_quota() {
    explore(|| everything_passes_once_in_order_within_the_quota([4; 3]));
}

#[test]
fn items_over_the_quota_pass_one_at_a_time() {
    explore(|| everything_passes_once_in_order_within_the_quota([QUOTA_BYTES + 2; 3]));
}

#[test]
fn items_of_any_sizes_pass_once_in_order() {
    explore(|| everything_passes_once_in_order_within_the_quota([6, QUOTA_BYTES + 2, 3]));
}

#[test]
fn the_end_waits_for_a_producer_added_before_the_last_finished() {
    explore(|| {
        let queue = ByteQueue::new(1, 1);
        thread::scope(|scope| {
            let consumer = scope.spawn(|| std::iter::from_fn(|| pop(&queue)).collect::<Vec<_>>());
            queue.reopen();
            scope.spawn(|| {
                assert!(queue.push(2, 1).is_some());
                queue.finish();
            });
            assert!(queue.push(1, 1).is_some());
            queue.finish();
            let mut taken = consumer.join().unwrap();
            taken.sort_unstable();
            assert_eq!(taken, [1, 2]);
        });
    });
}

/// Aborts while `producers` push, three items at most, and `consumers` take what comes, without end.
fn abort_wakes_all_and_drops_what_is_queued(producers: usize, consumers: usize) {
    let queue = ByteQueue::new(QUOTA_BYTES, 1);
    let item = Arc::new(());
    thread::scope(|scope| {
        for _ in 0..producers {
            scope.spawn(|| (0..3).all(|_| queue.push(Arc::clone(&item), 6).is_some()));
        }
        for _ in 0..consumers {
            scope.spawn(|| while pop(&queue).is_some() {});
        }
        scope.spawn(|| queue.abort());
    });
    assert_eq!(Arc::strong_count(&item), 1, "the queue still holds items");
    assert!(queue.push(item, 1).is_none() && pop(&queue).is_none() && queue.try_pop().is_none());
}

#[test]
fn abort_wakes_waiting_producers() {
    explore(|| abort_wakes_all_and_drops_what_is_queued(3, 0));
}

#[test]
fn abort_wakes_waiting_consumers() {
    explore(|| abort_wakes_all_and_drops_what_is_queued(0, 3));
}

#[test]
fn abort_ends_a_flow() {
    explore(|| abort_wakes_all_and_drops_what_is_queued(2, 2));
}
