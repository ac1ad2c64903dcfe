//! How many concurrent requests a device has, and how long it has none.
//!
//! A request with a lost completion looks as if the device still had it. Once that is known, its
//! time is taken out again ([`Depth::lost`]). For this the latest changes are kept one by one, and
//! older ones as sums of ever longer spans.

/// Depths from here on are counted as one.
pub const DEEPEST: usize = 256;
/// Limit of the changes that are kept individually.
const CHANGES_MAX: usize = 1 << 14;
/// Limit of the spans that sum up older changes.
const SPANS_MAX: usize = 64;

/// A depth, and since when it lasts: until the next change.
#[derive(Clone, Copy, Debug)]
struct Change {
    since_ns: u64,
    depth: u64,
}

/// How long each depth lasted in a span of time.
#[expect(clippy::struct_field_names, reason = "each name ends in its unit")]
#[derive(Clone, Debug)]
struct Span {
    since_ns: u64,
    until_ns: u64,
    lasted_ns: Vec<u64>,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Depth {
    now: u64,
    since_ns: u64,
    /// How long each depth lasted.
    pub lasted_ns: Vec<u64>,
    /// The greatest depth.
    pub max: u64,
    changes: Vec<Change>,
    spans: Vec<Span>,
}

impl Depth {
    /// A device that has nothing to do since `since_ns`.
    pub fn since(since_ns: u64) -> Self {
        let (changes, spans) = (Vec::new(), Vec::new());
        Self { now: 0, since_ns, lasted_ns: vec![0; DEEPEST + 1], max: 0, changes, spans }
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

    /// Takes out a request that was issued at `issued_ns`: its completion was lost.
    ///
    /// This is exact as far back as the changes go, and in proportion in the oldest span before.
    #[cold]
    pub fn lost(&mut self, issued_ns: u64, now_ns: u64) {
        self.less(now_ns);
        let mut until_ns = self.since_ns;
        for change in self.changes.iter_mut().rev() {
            if until_ns <= issued_ns {
                break;
            }
            let ns = until_ns - change.since_ns.max(issued_ns).min(until_ns);
            shift(&mut self.lasted_ns, change.depth, ns);
            until_ns = change.since_ns;
            if change.since_ns >= issued_ns {
                change.depth = change.depth.saturating_sub(1);
            }
        }
        for span in self.spans.iter_mut().rev() {
            if span.until_ns <= issued_ns {
                break;
            }
            let whole_ns = (span.until_ns - span.since_ns).max(1) as f64;
            let share = (span.until_ns - span.since_ns.max(issued_ns)) as f64 / whole_ns;
            for depth in 1..DEEPEST {
                let ns = (span.lasted_ns[depth] as f64 * share) as u64;
                shift(&mut span.lasted_ns, depth as u64, ns);
                shift(&mut self.lasted_ns, depth as u64, ns);
            }
        }
        let deepest = self.lasted_ns.iter().rposition(|ns| *ns > 0).unwrap_or(0);
        if deepest < DEEPEST {
            self.max = deepest as u64;
        }
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
        let ns = now_ns.saturating_sub(self.since_ns);
        if ns == 0 {
            return;
        }
        self.lasted_ns[(self.now as usize).min(DEEPEST)] += ns;
        if self.changes.len() >= CHANGES_MAX {
            self.sum_up();
        }
        self.changes.push(Change { since_ns: self.since_ns, depth: self.now });
        self.since_ns = now_ns;
    }

    /// Makes a span of the older half of the changes.
    #[cold]
    fn sum_up(&mut self) {
        if self.spans.len() >= SPANS_MAX {
            let halves: Vec<Span> = std::mem::take(&mut self.spans);
            self.spans = halves.chunks(2).map(Span::of).collect();
        }
        let half = self.changes.len() / 2;
        let until_ns = self.changes[half].since_ns;
        let since_ns = self.changes[0].since_ns;
        let mut lasted_ns = vec![0; DEEPEST + 1];
        let ends = self.changes[1..=half].iter().map(|next| next.since_ns);
        for (change, end_ns) in self.changes[..half].iter().zip(ends) {
            lasted_ns[(change.depth as usize).min(DEEPEST)] += end_ns - change.since_ns;
        }
        self.spans.push(Span { since_ns, until_ns, lasted_ns });
        self.changes.drain(..half);
    }
}

impl Span {
    /// Spans that follow one another, as one.
    fn of(spans: &[Self]) -> Self {
        let mut all = spans[0].clone();
        for span in &spans[1..] {
            all.until_ns = span.until_ns;
            all.lasted_ns.iter_mut().zip(&span.lasted_ns).for_each(|(sum, ns)| *sum += ns);
        }
        all
    }
}

/// Moves time from a depth to the one below.
fn shift(lasted_ns: &mut [u64], depth: u64, ns: u64) {
    // Greater depths than the deepest stay there: one request less makes no difference.
    if depth == 0 || depth > DEEPEST as u64 {
        return;
    }
    let ns = ns.min(lasted_ns[depth as usize]);
    lasted_ns[depth as usize] -= ns;
    lasted_ns[depth as usize - 1] += ns;
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
        depth.less(160); // its beginning was not traced
        depth.finish(200);
        assert_eq!(depth.lasted_ns[..3], [50, 20, 30]);
        assert_eq!((depth.busy_ns(), depth.idle_ns(), depth.max), (50, 50, 2));
        assert_eq!(depth.mean(), Some(0.8));
    }

    #[test]
    fn a_lost_request_is_taken_out_again() {
        let mut depth = Depth::since(0);
        depth.more(10); // lost
        depth.more(20);
        depth.less(30);
        depth.more(40);
        depth.less(45);
        depth.lost(10, 100);
        depth.finish(120);
        assert_eq!(depth.lasted_ns[..3], [105, 15, 0]);
        assert_eq!((depth.busy_ns(), depth.max), (15, 1));
    }

    #[test]
    fn two_lost_requests_that_overlap_are_both_taken_out() {
        let mut depth = Depth::since(0);
        depth.more(10); // lost
        depth.more(20); // lost, too
        depth.more(30);
        depth.less(31);
        depth.lost(20, 50);
        depth.lost(10, 60);
        depth.finish(60);
        assert_eq!(depth.lasted_ns[..4], [59, 1, 0, 0]);
    }

    #[test]
    fn what_was_lost_long_ago_is_taken_out_nearly_exactly() {
        let mut depth = Depth::since(0);
        depth.more(0); // lost
        let changes = (CHANGES_MAX * SPANS_MAX * 3) as u64;
        for at in 0..changes {
            depth.more(1000 * at + 100);
            depth.less(1000 * at + 200);
        }
        depth.lost(0, 1000 * changes);
        let busy = depth.busy_ns() as f64 / (1000 * changes) as f64;
        assert!((busy - 0.1).abs() < 1e-6, "{busy}");
        assert!(depth.changes.len() <= CHANGES_MAX && depth.spans.len() <= SPANS_MAX);
    }

    #[test]
    fn greater_depths_count_as_the_deepest() {
        let mut depth = Depth::since(0);
        (0..1000).for_each(|_| depth.more(0));
        depth.finish(7);
        assert_eq!((depth.lasted_ns[DEEPEST], depth.max), (7, 1000));
        assert_eq!(Depth::since(0).mean(), None);
    }
}
