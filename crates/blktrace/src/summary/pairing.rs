//! Which events belong to one request.
//!
//! | event | what it means here |
//! |---|---|
//! | Q | a request waits from now on, by the sector with which it begins |
//! | X | its second part waits as long as the first |
//! | M | the waiting request is now a part of another one, which has waited longer |
//! | F | it is the beginning of another one, and has waited as long as that |
//! | D | the request that begins there is with the device |
//! | R | it is not; its next D begins again, and is the same request |
//! | C | the device is done with so many sectors from there on: all, or the first of them |
//!
//! A C belongs to the D of the same device, sector and operation, if possible also of the same size.
//! Several of these may be under way: the first one issued is the first one done, unless
//! [`crate::summary::overlap`] finds that an end was lost. A C where only requests with another
//! operation are under way means two lost events: the D of this one, and the C of the other one. A C
//! without sectors ends a flush, and nothing else.

use crate::read::event::Operation;
use crate::summary::table::{Key, Table};

/// The most requests that may be under way. More were left behind by lost records; the oldest go.
const UNDER_WAY: usize = 1 << 20;
/// A request that was issued so long ago is given up when another one is issued at its sector: its
/// end was lost. Linux gives a device 30 s for a request (`/sys/block/*/queue/io_timeout`).
pub const GIVEN_UP_NS: u64 = 60_000_000_000;

/// The owner of a request, which the pairing carries from its issue to its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag {
    /// The number of the label of all requests that are counted together.
    pub label: u16,
    /// The number of its file; 0 if it is not known.
    pub file: u32,
}

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Where {
    /// It waits.
    Queued,
    /// It is with the device.
    Issued,
    /// It was with the device, and the driver gave it back.
    Requeued,
}

/// A request that is under way.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Since when it has been under way; [`NOT_TRACED`] if only its issue was.
    queued_ns: u64,
    /// When it was issued last; nothing of one that waits.
    issued_ns: u64,
    /// How many sectors the device has still to do; of one that waits, who made it.
    sectors_or_who: u32,
    tag: Tag,
    operation: Operation,
    at: Where,
}

const NOT_TRACED: u64 = u64::MAX;

impl Request {
    /// One that waits.
    fn queued(queued_ns: u64, who: u32) -> Self {
        let (operation, at, tag) = (Operation::Other, Where::Queued, Tag::default());
        Self { queued_ns, issued_ns: 0, sectors_or_who: who, tag, operation, at }
    }

    fn waits(&self) -> bool {
        self.at == Where::Queued
    }

    fn is_with_device(&self) -> bool {
        self.at == Where::Issued
    }

    fn is_like(&self, operation: Operation, sectors: u32) -> bool {
        self.is_with_device() && self.operation == operation && self.sectors_or_who == sectors
    }

    /// Its end.
    pub fn whole(&self, now_ns: u64) -> Completion {
        let was_queued = self.queued_ns != NOT_TRACED;
        Completion::Whole {
            operation: self.operation,
            tag: self.tag,
            issued_ns: now_ns.saturating_sub(self.issued_ns),
            queued_ns: was_queued.then(|| now_ns.saturating_sub(self.queued_ns)),
        }
    }
}

impl Default for Request {
    fn default() -> Self {
        Self::queued(NOT_TRACED, 0)
    }
}

/// The kind of an issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// The request was not with the device before.
    New,
    /// As `New`, while another one like it is with the device.
    Overlapping,
    /// The request came back from it.
    Again,
}

/// The kind of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// The end of a whole request, or of its last part.
    Whole {
        /// Its operation.
        operation: Operation,
        /// The tag of its issue.
        tag: Tag,
        /// Since it was issued last.
        issued_ns: u64,
        /// Since its oldest part was queued; `None` if that was not traced.
        queued_ns: Option<u64>,
    },
    /// The end of the first part of a request.
    Part,
    /// The request was queued, and its issue was not traced: the device has no queue of its own
    /// (device mapper, md), or the issue was lost.
    NeverIssued,
    /// Nothing else of the request was traced.
    Unknown,
    /// Nothing else of the request was traced, and one with another operation was under way there: the
    /// end of that one was lost.
    Mismatch {
        /// When the other one was issued last.
        issued_ns: u64,
    },
}

/// The requests that are under way.
#[derive(Debug)]
pub struct Pairing {
    requests: Table<Request>,
    /// How many of them wait.
    waiting: usize,
    /// Requests that were given up: their end was not traced.
    pub given_up: u64,
    limit: usize,
}

impl Default for Pairing {
    fn default() -> Self {
        Self::with_limit(UNDER_WAY)
    }
}

impl Pairing {
    fn with_limit(limit: usize) -> Self {
        Self { requests: Table::default(), waiting: 0, given_up: 0, limit }
    }

    /// Q by `who`, a number or 0.
    #[inline]
    pub fn queue(&mut self, key: Key, now_ns: u64, who: u32) {
        if self.waiting >= self.limit {
            self.forget_waiting(now_ns);
        }
        self.requests.insert(key, Request::queued(now_ns, who));
        self.waiting += 1;
    }

    /// X: `second` is where the second part begins.
    pub fn split(&mut self, key: Key, second: Key) {
        if let Some(at) = self.requests.find(key, Request::waits) {
            let Request { queued_ns, sectors_or_who: who, .. } = *self.requests.value(at);
            self.queue(second, queued_ns, who);
        }
    }

    /// Who made the request that waits there; `None` if that is not known.
    pub fn who(&mut self, key: Key) -> Option<u32> {
        let at = self.requests.find(key, Request::waits)?;
        Some(self.requests.value(at).sectors_or_who).filter(|who| *who != 0)
    }

    /// M.
    #[inline]
    pub fn back_merge(&mut self, key: Key) {
        self.wait_no_more(key);
    }

    /// F: `other` is where the request begins that it was put in front of.
    pub fn front_merge(&mut self, key: Key, other: Key) {
        let parts = [self.wait_no_more(key), self.wait_no_more(other)];
        if let Some((since_ns, who)) = parts.into_iter().flatten().min() {
            self.queue(key, since_ns, who);
        }
    }

    /// D of a request that has sectors, with a tag that its end will have. `given_up` is called with
    /// the key and the time of issue of each request that was given up.
    #[inline]
    pub fn issue(
        &mut self,
        key: Key,
        now_ns: u64,
        sectors: u32,
        (operation, tag): (Operation, Tag),
        mut given_up: impl FnMut(Key, u64),
    ) -> Issue {
        let mut issue = Issue::New;
        if self.requests.find(key, |request| !request.waits()).is_some() {
            if self.issue_again(key, now_ns, sectors) {
                return Issue::Again;
            }
            self.give_up(key, now_ns, &mut given_up);
            if self.requests.find(key, |request| request.is_like(operation, sectors)).is_some() {
                issue = Issue::Overlapping;
            }
        }
        if self.requests.count() - self.waiting >= self.limit {
            self.forget_issued(now_ns, given_up);
        }
        let (queued_ns, at) = (NOT_TRACED, Where::Issued);
        let sectors_or_who = sectors;
        let issued = Request { queued_ns, issued_ns: now_ns, sectors_or_who, tag, operation, at };
        match self.requests.find(key, Request::waits) {
            Some(at) => {
                let request = self.requests.value(at);
                *request = Request { queued_ns: request.queued_ns, ..issued };
                self.waiting -= 1;
            }
            None => self.requests.insert(key, issued),
        }
        issue
    }

    /// Takes out the oldest request like this one that is with the device, and when it was issued.
    pub fn take_issued(&mut self, key: Key, what: (Operation, u32)) -> Option<(u64, Request)> {
        let at = self.requests.find(key, |request| request.is_like(what.0, what.1))?;
        let taken = self.requests.remove_at(at);
        Some((taken.issued_ns, taken))
    }

    /// Puts back what [`Pairing::take_issued`] took.
    pub fn put_back(&mut self, key: Key, request: Request) {
        self.requests.insert(key, request);
    }

    /// R; whether the request was with the device.
    pub fn requeue(&mut self, key: Key) -> bool {
        let Some(at) = self.requests.find(key, Request::is_with_device) else { return false };
        self.requests.value(at).at = Where::Requeued;
        true
    }

    /// C of `sectors`, which are not 0; `rest` is where what is not done yet begins.
    #[inline]
    pub fn complete(
        &mut self,
        key: Key,
        now_ns: u64,
        (operation, sectors): (Operation, u32),
        rest: impl Fn() -> Key,
    ) -> Completion {
        let same = |request: &Request| request.is_like(operation, sectors);
        let is_it = |request: &Request| request.is_with_device() && request.operation == operation;
        let found = self.requests.find(key, same).or_else(|| self.requests.find(key, is_it));
        let Some(at) = found else { return self.unpaired(key) };
        let found = self.requests.remove_at(at);
        if sectors < found.sectors_or_who {
            let sectors_or_who = found.sectors_or_who - sectors;
            self.requests.insert(rest(), Request { sectors_or_who, ..found });
            return Completion::Part;
        }
        found.whole(now_ns)
    }

    /// C of a request that is not with the device in this trace.
    #[cold]
    fn unpaired(&mut self, key: Key) -> Completion {
        if let Some(at) = self.requests.find(key, Request::is_with_device) {
            self.given_up += 1;
            return Completion::Mismatch { issued_ns: self.requests.remove_at(at).issued_ns };
        }
        match self.wait_no_more(key) {
            Some(_) => Completion::NeverIssued,
            None => Completion::Unknown,
        }
    }

    /// Calls `each` with the key and the time of issue of each request that is with the device.
    pub fn each_with_device(&mut self, mut each: impl FnMut(Key, u64)) {
        self.requests.retain(|key, request| {
            if request.is_with_device() {
                each(key, request.issued_ns);
            }
            true
        });
    }

    /// How many requests are with the device, and how many wait.
    pub fn open(&self) -> (u64, u64) {
        ((self.requests.count() - self.waiting) as u64, self.waiting as u64)
    }

    /// Takes out the first request of the key that waits; since when it did, and its process.
    fn wait_no_more(&mut self, key: Key) -> Option<(u64, u32)> {
        let at = self.requests.find(key, Request::waits)?;
        self.waiting -= 1;
        let gone = self.requests.remove_at(at);
        Some((gone.queued_ns, gone.sectors_or_who))
    }

    /// D of a request that the driver gave back; whether there is one.
    #[cold]
    fn issue_again(&mut self, key: Key, now_ns: u64, sectors: u32) -> bool {
        let given_back = |request: &Request| request.at == Where::Requeued;
        let Some(at) = self.requests.find(key, given_back) else { return false };
        let request = self.requests.value(at);
        let (at, sectors_or_who) = (Where::Issued, sectors);
        *request = Request { issued_ns: now_ns, sectors_or_who, at, ..*request };
        true
    }

    /// Gives up what was issued at this sector so long ago that its end was lost.
    #[cold]
    fn give_up(&mut self, key: Key, now_ns: u64, given_up: &mut impl FnMut(Key, u64)) {
        while let Some(at) = self.requests.find(key, Request::is_with_device)
            && now_ns.saturating_sub(self.requests.value(at).issued_ns) >= GIVEN_UP_NS
        {
            let gone = self.requests.remove_at(at);
            self.given_up += 1;
            given_up(key, gone.issued_ns);
        }
    }

    #[cold]
    fn forget_waiting(&mut self, now_ns: u64) {
        let waiting = self.requests.values().filter(|request| request.waits());
        let oldest = cutoff(waiting.map(|request| request.queued_ns), now_ns);
        let before = self.requests.count();
        self.requests.retain(|_, request| !request.waits() || request.queued_ns > oldest);
        let gone = before - self.requests.count();
        self.waiting -= gone;
        self.given_up += gone as u64;
    }

    #[cold]
    fn forget_issued(&mut self, now_ns: u64, mut given_up: impl FnMut(Key, u64)) {
        let issued = self.requests.values().filter(|request| !request.waits());
        let oldest = cutoff(issued.map(|request| request.issued_ns), now_ns);
        let before = self.requests.count();
        self.requests.retain(|key, request| {
            let stays = request.waits() || request.issued_ns > oldest;
            if !stays && request.is_with_device() {
                given_up(key, request.issued_ns);
            }
            stays
        });
        self.given_up += (before - self.requests.count()) as u64;
    }
}

/// A time up to which at least half of `times` lie.
fn cutoff(times: impl Iterator<Item = u64>, now_ns: u64) -> u64 {
    let mut times: Vec<u64> = times.collect();
    let middle = times.len() / 2;
    if middle == 0 { now_ns } else { *times.select_nth_unstable(middle).1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: Operation = Operation::Read;
    const TAG: Tag = Tag { label: 3, file: 7 };

    fn key(sector: u64) -> Key {
        Key::of(0, sector)
    }

    fn issue(pairing: &mut Pairing, sector: u64, now_ns: u64, sectors: u32) -> Issue {
        pairing.issue(key(sector), now_ns, sectors, (READ, TAG), |_, _| {})
    }

    fn complete(pairing: &mut Pairing, sector: u64, now_ns: u64, sectors: u32) -> Completion {
        pairing.complete(key(sector), now_ns, (READ, sectors), || key(sector + u64::from(sectors)))
    }

    fn whole(issued_ns: u64, queued_ns: Option<u64>) -> Completion {
        Completion::Whole { operation: READ, tag: TAG, issued_ns, queued_ns }
    }

    #[test]
    fn a_request_waits_and_then_is_served() {
        let mut pairing = Pairing::default();
        pairing.queue(key(8), 100, 0);
        assert_eq!(issue(&mut pairing, 8, 130, 8), Issue::New);
        assert_eq!(complete(&mut pairing, 8, 180, 8), whole(50, Some(80)));
        assert_eq!(pairing.open(), (0, 0));
        assert_eq!(complete(&mut pairing, 8, 190, 8), Completion::Unknown);
    }

    #[test]
    fn merged_requests_have_waited_as_long_as_the_oldest() {
        let mut pairing = Pairing::default();
        pairing.queue(key(16), 100, 0);
        pairing.queue(key(24), 110, 0); // appended
        pairing.back_merge(key(24));
        pairing.queue(key(8), 120, 0); // put in front
        pairing.front_merge(key(8), key(16));
        assert_eq!(issue(&mut pairing, 8, 130, 24), Issue::New);
        assert_eq!(complete(&mut pairing, 8, 150, 24), whole(20, Some(50)));
        assert_eq!(pairing.open(), (0, 0));
    }

    #[test]
    fn who_made_a_request_is_known_until_it_is_issued() {
        let mut pairing = Pairing::default();
        pairing.queue(key(0), 5, 7);
        pairing.split(key(0), key(8));
        pairing.queue(key(16), 6, 0);
        assert_eq!([0, 8, 16, 24].map(|at| pairing.who(key(at))), [Some(7), Some(7), None, None]);
        issue(&mut pairing, 0, 10, 8);
        assert_eq!(pairing.who(key(0)), None);
    }

    #[test]
    fn both_parts_of_a_split_request_have_waited_since_it_was_queued() {
        let mut pairing = Pairing::default();
        pairing.queue(key(0), 5, 0);
        pairing.split(key(0), key(8));
        issue(&mut pairing, 0, 10, 8);
        issue(&mut pairing, 8, 11, 8);
        assert_eq!(complete(&mut pairing, 8, 20, 8), whole(9, Some(15)));
        assert_eq!(complete(&mut pairing, 0, 21, 8), whole(11, Some(16)));
    }

    #[test]
    fn of_requests_of_one_sector_the_first_issued_is_the_first_done() {
        let mut pairing = Pairing::default();
        issue(&mut pairing, 8, 10, 8);
        issue(&mut pairing, 8, 20, 8);
        assert_eq!(complete(&mut pairing, 8, 30, 8), whole(20, None));
        assert_eq!(complete(&mut pairing, 8, 31, 8), whole(11, None));
    }

    #[test]
    fn a_request_is_done_when_its_last_part_is() {
        let mut pairing = Pairing::default();
        issue(&mut pairing, 8, 10, 24);
        assert_eq!(complete(&mut pairing, 8, 20, 8), Completion::Part);
        assert_eq!(complete(&mut pairing, 16, 25, 8), Completion::Part);
        assert_eq!(complete(&mut pairing, 24, 30, 8), whole(20, None));
    }

    #[test]
    fn a_request_that_came_back_is_timed_from_its_last_issue_and_is_one() {
        let mut pairing = Pairing::default();
        pairing.queue(key(8), 5, 0);
        issue(&mut pairing, 8, 10, 8);
        assert!(pairing.requeue(key(8)));
        assert!(!pairing.requeue(key(8)));
        assert_eq!(issue(&mut pairing, 8, 40, 8), Issue::Again);
        assert_eq!(complete(&mut pairing, 8, 50, 8), whole(10, Some(45)));
    }

    #[test]
    fn a_device_without_a_queue_of_its_own_only_completes() {
        let mut pairing = Pairing::default();
        pairing.queue(key(8), 5, 0);
        assert_eq!(complete(&mut pairing, 8, 10, 8), Completion::NeverIssued);
    }

    #[test]
    fn a_completion_with_another_operation_means_two_lost_events() {
        let mut pairing = Pairing::default();
        pairing.issue(key(8), 10, 8, (Operation::Write, TAG), |_, _| {});
        assert_eq!(complete(&mut pairing, 8, 50, 8), Completion::Mismatch { issued_ns: 10 });
        assert_eq!((pairing.given_up, pairing.open()), (1, (0, 0)));
        // Both under way: each is ended by its own.
        pairing.issue(key(8), 60, 8, (Operation::Write, TAG), |_, _| {});
        issue(&mut pairing, 8, 70, 8);
        assert_eq!(complete(&mut pairing, 8, 75, 8), whole(5, None));
        assert_eq!((pairing.given_up, pairing.open()), (1, (1, 0)));
    }

    #[test]
    fn a_lost_end_does_not_shift_those_that_follow_for_ever() {
        let mut pairing = Pairing::default();
        let mut gone = 0;
        issue(&mut pairing, 8, 0, 8);
        let later_ns = GIVEN_UP_NS + 5;
        pairing.issue(key(8), later_ns, 8, (READ, TAG), |_, _| gone += 1);
        assert_eq!(complete(&mut pairing, 8, later_ns + 7, 8), whole(7, None));
        assert_eq!((pairing.given_up, gone), (1, 1));
    }

    #[test]
    fn what_never_ends_takes_bounded_memory() {
        let mut pairing = Pairing::with_limit(100);
        let mut gone = 0;
        for sector in 0..10_000 {
            pairing.queue(key(sector), sector, 0);
            pairing.issue(key(20_000 + sector), sector, 8, (READ, TAG), |_, _| gone += 1);
            let (issued, queued) = pairing.open();
            assert!(issued <= 100 && queued <= 100);
        }
        let (issued, queued) = pairing.open();
        assert_eq!(pairing.given_up, 20_000 - issued - queued);
        assert_eq!(gone, 10_000 - issued);
        // Those that stayed are the newest.
        assert!(matches!(complete(&mut pairing, 29_999, 10_001, 8), Completion::Whole { .. }));
    }
}
