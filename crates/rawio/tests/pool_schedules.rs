//! The pool of blocks under thousands of schedules, random and by priorities (PCT), chosen by
//! shuttle. A deadlock fails the test and prints its schedule, to be replayed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[allow(dead_code)] // the models need not call all of it
#[path = "../src/pool.rs"]
mod pool;

mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

use std::collections::HashSet;
// The standard library's: looking on must not give the scheduler a chance more.
use std::sync::Mutex;

use pool::{Block, Pool, Taken};
use rawio::ALIGN;
use shuttle::thread;

fn explore(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 2500);
    shuttle::check_pct(model, 2500, 3);
}

/// The addresses of the blocks in use.
#[derive(Default)]
struct InHand(Mutex<HashSet<usize>>);

impl InHand {
    /// Holds the block exclusively for a while, then returns it.
    fn hold(&self, block: Block) {
        let address = block.as_ptr() as usize;
        assert!(self.0.lock().unwrap().insert(address), "the block is in two hands");
        thread::yield_now();
        self.0.lock().unwrap().remove(&address);
        drop(block);
    }
}

#[test]
fn every_taker_gets_a_block_of_its_own_in_the_end() {
    explore(|| {
        let pool = Pool::new(2, ALIGN).unwrap();
        let in_hand = InHand::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for _ in 0..2 {
                        in_hand.hold(pool.take().unwrap().0);
                    }
                });
            }
            scope.spawn(|| {
                for block in [pool.try_take(), pool.take_leaving(1)].into_iter().flatten() {
                    in_hand.hold(block);
                }
            });
        });
        assert_eq!(pool.free(), 2);
        assert!(pool.peak_used() <= 2);
    });
}

#[test]
fn close_wakes_all_who_wait() {
    explore(|| {
        let pool = Pool::new(1, ALIGN).unwrap();
        let held = pool.take();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| assert!(pool.take().is_none()));
            }
            scope.spawn(|| pool.close());
        });
        drop(held);
        assert_eq!(pool.free(), 1);
    });
}

#[test]
fn close_loses_no_block() {
    explore(|| {
        let pool = Pool::new(2, ALIGN).unwrap();
        let in_hand = InHand::default();
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for (block, _) in (0..3).map_while(|_| pool.take()) {
                        in_hand.hold(block);
                    }
                });
            }
            scope.spawn(|| pool.close());
        });
        assert!(pool.take().is_none());
        assert_eq!(pool.free(), 2);
    });
}

#[test]
fn news_that_came_after_the_last_look_end_a_wait() {
    explore(|| {
        let pool = Pool::new(1, ALIGN).unwrap();
        let held = Mutex::new(pool.try_take());
        let mine = Mutex::new(None);
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut waited = std::time::Duration::ZERO;
                loop {
                    let heard = pool.told();
                    // Check for the announced block before each wait.
                    drop(mine.lock().unwrap().take());
                    match pool.take_or_hear(heard, &mut waited) {
                        Taken::Block(_) => return,
                        Taken::Told => {}
                        Taken::Closed => panic!("the pool was closed"),
                    }
                }
            });
            scope.spawn(|| {
                *mine.lock().unwrap() = held.lock().unwrap().take();
                pool.tell();
            });
        });
        assert_eq!(pool.free(), 1);
    });
}
