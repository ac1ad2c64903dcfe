//! The start line under thousands of schedules, random and by priorities (PCT), chosen by shuttle.
//! A deadlock fails the test and prints its schedule, to be replayed.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

#[allow(dead_code)] // the models need not call all of it
#[path = "../src/start_line.rs"]
mod start_line;

mod sync {
    pub(crate) use shuttle::sync::{Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

// The standard library's: looking on must not give the scheduler a chance more.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use shuttle::thread::{self, JoinHandle};
use start_line::StartLine;

const CREW: usize = 3;

fn explore(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 2500);
    shuttle::check_pct(model, 2500, 3);
}

/// Threads that arrive and say whether they went; none goes before `CREW` have arrived.
fn runners(line: &Arc<StartLine<&'static str>>, count: usize) -> Vec<JoinHandle<bool>> {
    let arrived = Arc::new(AtomicUsize::new(0));
    (0..count)
        .map(|_| {
            let (line, arrived) = (Arc::clone(line), Arc::clone(&arrived));
            thread::spawn(move || {
                arrived.fetch_add(1, Relaxed);
                let went = line.arrive();
                assert!(!went || arrived.load(Relaxed) == CREW, "one began before all had arrived");
                went
            })
        })
        .collect()
}

fn went(threads: Vec<JoinHandle<bool>>) -> Vec<bool> {
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

#[test]
fn all_go_when_all_are_there() {
    explore(|| {
        let line = Arc::new(StartLine::new());
        let threads = runners(&line, CREW);
        assert_eq!(line.start(CREW), Ok(()));
        assert_eq!(went(threads), [true; CREW]);
    });
}

#[test]
fn none_goes_if_one_cannot_and_the_starter_hears_why() {
    explore(|| {
        let line = Arc::new(StartLine::new());
        let threads = runners(&line, CREW - 1);
        let refuser = {
            let line = Arc::clone(&line);
            thread::spawn(move || line.refuse("no ring"))
        };
        assert_eq!(line.start(CREW), Err("no ring"));
        refuser.join().unwrap();
        assert_eq!(went(threads), [false; CREW - 1]);
    });
}

#[test]
fn of_two_that_cannot_the_starter_hears_one_and_waits_for_neither() {
    explore(|| {
        let line = Arc::new(StartLine::new());
        let refusers: Vec<_> = (0..2)
            .map(|_| {
                let line = Arc::clone(&line);
                thread::spawn(move || line.refuse("no memory"))
            })
            .collect();
        assert_eq!(line.start(2), Err("no memory"));
        for thread in refusers {
            thread.join().unwrap();
        }
    });
}

/// A thread was refused by the system: those made so far are sent home, whether there yet or not.
#[test]
fn a_crew_that_is_dismissed_ends_without_having_begun() {
    explore(|| {
        let line = Arc::new(StartLine::<&str>::new());
        let threads = runners(&line, CREW - 1);
        line.dismiss();
        assert_eq!(went(threads), [false; CREW - 1]);
    });
}

/// A thread that panics while it prepares dismisses the others, which don't wait for it.
#[test]
fn one_that_dies_on_its_way_is_not_waited_for() {
    explore(|| {
        let line = Arc::new(StartLine::new());
        let threads = runners(&line, CREW - 1);
        let dying = {
            let line = Arc::clone(&line);
            thread::spawn(move || line.dismiss())
        };
        // It was sent home by the one that died, for which the scope has the panic.
        let _ = line.start(CREW);
        dying.join().unwrap();
        assert_eq!(went(threads), [false; CREW - 1]);
    });
}
