//! Requests with the device that differ in the order of their ends only: same sector, operation
//! and size. Either they overlap (the first one issued is the first one done), or the end of the
//! older one was lost. Later events decide, so ends wait here until they do.
//!
//! | seen | decision |
//! |---|---|
//! | as many ends as requests | an overlap, unless that contradicts the usual time tenfold |
//! | fewer ends, or too many requests to wait | the closer one to the usual time of the device |
//! | no usual time is known | a lost end, if that makes the requests four times shorter |

/// So many requests wait for a decision at a place.
const WAITING: usize = 64;
/// No device serves a request in less.
const LEAST_NS: u64 = 1_000;

/// An end that waits for its request.
#[derive(Clone, Copy, Debug)]
pub struct End {
    /// How many requests had been issued before it.
    after: usize,
    /// When it was.
    pub now_ns: u64,
    /// The flags of its event.
    pub flags: u8,
}

/// A request, when it was issued, and its end.
pub type Pair<B> = (u64, B, End);

/// See the module. `B` holds the kept facts of a request.
#[derive(Clone, Debug)]
pub struct Overlap<B> {
    begun: Vec<(u64, B)>,
    ended: Vec<End>,
}

/// A decision.
#[derive(Debug)]
pub struct Settled<B> {
    /// Requests with their ends.
    pub pairs: Vec<Pair<B>>,
    /// When requests were issued that have lost their ends.
    pub lost: Vec<u64>,
    /// How many ends have lost their requests.
    pub unknown: u64,
    /// Requests that are still with the device.
    pub open: Vec<(u64, B)>,
}

impl<B> Default for Overlap<B> {
    fn default() -> Self {
        Self { begun: Vec::new(), ended: Vec::new() }
    }
}

impl<B: Copy> Overlap<B> {
    /// A request was issued; whether it is time to decide.
    pub fn begin(&mut self, now_ns: u64, request: B) -> bool {
        self.begun.push((now_ns, request));
        self.begun.len() >= WAITING
    }

    /// A request was done; whether it is time to decide. Call it only while one is with the device.
    pub fn end(&mut self, now_ns: u64, flags: u8) -> bool {
        self.ended.push(End { after: self.begun.len(), now_ns, flags });
        self.ended.len() >= self.begun.len()
    }

    /// How many requests have no end yet.
    pub fn open(&self) -> usize {
        self.begun.len() - self.ended.len()
    }

    /// Decides. `usual_ns` is how long requests of the device take that don't overlap.
    pub fn settle(self, usual_ns: Option<u64>) -> Settled<B> {
        let apart = self.one_by_one();
        let together: Vec<Pair<B>> =
            self.begun.iter().zip(&self.ended).map(|((at, b), end)| (*at, *b, *end)).collect();
        if self.is_loss(&together, &apart.pairs, usual_ns) {
            return apart;
        }
        let open = self.begun[together.len()..].to_vec();
        Settled { pairs: together, lost: Vec::new(), unknown: 0, open }
    }

    /// As if no two requests ever overlapped: an end is that of the request issued last.
    fn one_by_one(&self) -> Settled<B> {
        let (mut pairs, mut lost, mut unknown, mut before) = (Vec::new(), Vec::new(), 0, 0);
        for end in &self.ended {
            let Some(((issued_ns, request), older)) = self.begun[before..end.after].split_last()
            else {
                unknown += 1;
                continue;
            };
            pairs.push((*issued_ns, *request, *end));
            lost.extend(older.iter().map(|(at, _)| *at));
            before = end.after;
        }
        let mut open = self.begun[before..].to_vec();
        let gone = open.len().saturating_sub(1);
        lost.extend(open.drain(..gone).map(|(at, _)| at));
        Settled { pairs, lost, unknown, open }
    }

    fn is_loss(&self, together: &[Pair<B>], apart: &[Pair<B>], usual_ns: Option<u64>) -> bool {
        if together.is_empty() {
            return self.begun.len() >= WAITING;
        }
        if apart.iter().any(|pair| lasted_ns(pair) < LEAST_NS) {
            return false;
        }
        let drained = self.open() == 0;
        let shorter = match usual_ns {
            Some(usual) => distance(together, usual) - distance(apart, usual),
            None if drained => return false,
            None => distance(together, 1) - distance(apart, 1),
        };
        let least = match (usual_ns, drained) {
            (Some(_), true) => 10_f64.ln(),
            (Some(_), false) => 0.0,
            (None, _) => 4_f64.ln() * self.open() as f64,
        };
        shorter > least
    }
}

fn lasted_ns<B>((issued_ns, _, end): &Pair<B>) -> u64 {
    end.now_ns.saturating_sub(*issued_ns)
}

/// The mean distance of the times from `usual_ns`, as the logarithm of their ratio.
fn distance<B>(pairs: &[Pair<B>], usual_ns: u64) -> f64 {
    let usual = usual_ns.max(1) as f64;
    let each = pairs.iter().map(|pair| (lasted_ns(pair).max(1) as f64 / usual).ln().abs());
    each.sum::<f64>() / pairs.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The service times in ms, the lost ends, and the requests still open; steps are (time in
    /// ms, whether it is an end).
    fn settled(steps: &[(u64, bool)], usual_ns: Option<u64>) -> (Vec<u64>, usize, usize) {
        let mut overlap = Overlap::default();
        for (at_ms, is_end) in steps {
            if *is_end {
                overlap.end(at_ms * MS, 0);
            } else {
                overlap.begin(at_ms * MS, ());
            }
        }
        let found = overlap.settle(usual_ns);
        let times = found.pairs.iter().map(|pair| lasted_ns(pair) / MS).collect();
        (times, found.lost.len(), found.open.len())
    }

    #[test]
    fn a_lost_end_costs_one_request() {
        let mut steps = vec![(0, false)];
        steps.extend((1..4).flat_map(|n| [(n * 100, false), (n * 100 + 2, true)]));
        assert_eq!(settled(&steps, None), (vec![2, 2, 2], 1, 0));
        assert_eq!(settled(&steps, Some(2 * MS)), (vec![2, 2, 2], 1, 0));
        // Its beginning isn't among those of a later end, either.
        steps.push((390, true));
        assert_eq!(settled(&steps, Some(2 * MS)), (vec![2, 2, 2], 1, 0));
    }

    #[test]
    fn requests_that_overlap_end_in_the_order_of_their_issue() {
        let drained = [(0, false), (9, false), (10, true), (19, true)];
        assert_eq!(settled(&drained, None), (vec![10, 10], 0, 0));
        assert_eq!(settled(&drained, Some(10 * MS)), (vec![10, 10], 0, 0));
        // A queue that is never empty.
        let mut steps = vec![(0, false), (5, false)];
        steps.extend((2..9).flat_map(|n| [(n * 5, true), (n * 5, false)]));
        assert_eq!(settled(&steps, None), (vec![10; 7], 0, 2));
    }
}
