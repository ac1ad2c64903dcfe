//! How many requests a device has at once, and for how long none.

/// Depths from here on are counted as one.
pub const DEEPEST: usize = 256;

/// See the module.
#[derive(Clone, Debug)]
pub struct Depth {
    now: u64,
    since_ns: u64,
    /// For how long each depth lasted.
    pub lasted_ns: Vec<u64>,
    /// The greatest there was.
    pub max: u64,
}

impl Depth {
    /// The device has nothing to do since `since_ns`.
    pub fn since(since_ns: u64) -> Self {
        Self { now: 0, since_ns, lasted_ns: vec![0; DEEPEST + 1], max: 0 }
    }

    /// It has one more.
    #[inline]
    pub fn more(&mut self, now_ns: u64) {
        self.lasted(now_ns);
        self.now += 1;
        self.max = self.max.max(self.now);
    }

    /// It has one less.
    #[inline]
    pub fn less(&mut self, now_ns: u64) {
        self.lasted(now_ns);
        self.now = self.now.saturating_sub(1);
    }

    /// The trace ends.
    pub fn finish(&mut self, now_ns: u64) {
        self.lasted(now_ns);
    }

    /// For how long the device had something to do.
    pub fn busy_ns(&self) -> u64 {
        self.lasted_ns[1..].iter().sum()
    }

    /// For how long it had nothing to do.
    pub fn idle_ns(&self) -> u64 {
        self.lasted_ns[0]
    }

    /// The mean over time; `None` of no time.
    pub fn mean(&self) -> Option<f64> {
        let all_ns = self.busy_ns() + self.idle_ns();
        let weighted = |(depth, ns): (usize, &u64)| depth as f64 * *ns as f64;
        let sum: f64 = self.lasted_ns.iter().enumerate().map(weighted).sum();
        (all_ns > 0).then(|| sum / all_ns as f64)
    }

    #[inline]
    fn lasted(&mut self, now_ns: u64) {
        self.lasted_ns[(self.now as usize).min(DEEPEST)] += now_ns.saturating_sub(self.since_ns);
        self.since_ns = self.since_ns.max(now_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_depth_lasts_from_one_change_to_the_next() {
        let mut depth = Depth::since(100);
        depth.more(110);
        depth.more(120);
        depth.less(150);
        depth.less(160);
        depth.less(160); // whose beginning was not traced
        depth.finish(200);
        assert_eq!(depth.lasted_ns[..3], [50, 20, 30]);
        assert_eq!((depth.busy_ns(), depth.idle_ns(), depth.max), (50, 50, 2));
        assert_eq!(depth.mean(), Some(0.8));
    }

    #[test]
    fn what_is_deeper_than_counted_counts_as_the_deepest() {
        let mut depth = Depth::since(0);
        (0..1000).for_each(|_| depth.more(0));
        depth.finish(7);
        assert_eq!((depth.lasted_ns[DEEPEST], depth.max), (7, 1000));
        assert_eq!(Depth::since(0).mean(), None);
    }
}
