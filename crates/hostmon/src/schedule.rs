//! Sampling times, and the cost of sampling.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The next multiple of `interval` (at least a nanosecond) after `elapsed`: deadlines are absolute,
/// so a late sample does not push the later ones, and a missed one is skipped.
pub fn next_tick(elapsed: Duration, interval: Duration) -> Duration {
    let interval_ns = interval.as_nanos().max(1);
    let next_ns = (elapsed.as_nanos() / interval_ns + 1).saturating_mul(interval_ns);
    Duration::from_nanos(u64::try_from(next_ns).unwrap_or(u64::MAX))
}

/// CPU time of this process so far, user and system, all threads.
pub fn process_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_do_not_drift() {
        let second = Duration::from_secs(1);
        let from_ms = |ms| next_tick(Duration::from_millis(ms), second);
        assert_eq!(from_ms(0), second);
        assert_eq!(from_ms(999), second);
        assert_eq!(from_ms(1003), 2 * second);
        assert_eq!(from_ms(2000), 3 * second);
        assert_eq!(from_ms(4200), 5 * second, "the ticks it missed are skipped");
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = process_cpu_s();
        let mut sum = 0_u64;
        while process_cpu_s() - before < 0.002 {
            sum = std::hint::black_box(sum.wrapping_mul(31).wrapping_add(7));
        }
        assert!(process_cpu_s() > before);
    }
}
