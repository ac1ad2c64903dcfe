//! The pool of blocks, on real threads.

use std::time::Duration;

use rawio::{ALIGN, Pool};

#[test]
fn blocks_are_aligned_exclusive_and_come_back() {
    let pool = Pool::new(3, ALIGN).unwrap();
    let mut a = pool.try_take().unwrap();
    let mut b = pool.try_take().unwrap();
    a.fill(1);
    b.fill(2);
    assert!(a.iter().all(|&x| x == 1) && b.iter().all(|&x| x == 2));
    assert_eq!(a.as_ptr() as usize % ALIGN, 0);
    assert_eq!(pool.free(), 1);
    assert!(pool.take_leaving(1).is_none());
    drop((a, b));
    assert_eq!((pool.free(), pool.peak_used()), (3, 2));
}

#[test]
fn a_waiter_gets_the_block_another_drops() {
    let pool = Pool::new(1, ALIGN).unwrap();
    let held = pool.try_take().unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| pool.take().is_some());
        std::thread::sleep(Duration::from_millis(20));
        drop(held);
        assert!(waiter.join().unwrap());
    });
}

#[test]
fn closing_wakes_waiters() {
    let pool = Pool::new(1, ALIGN).unwrap();
    let _held = pool.try_take().unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| pool.take().is_none());
        std::thread::sleep(Duration::from_millis(20));
        pool.close();
        assert!(waiter.join().unwrap());
    });
}
