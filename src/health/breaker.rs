//! The circuit breaker: closed while a server is healthy, open while a failing one is left alone, half-open when one may be asked again.
//! Pure: a record and the time go in, a decision comes out.

use super::policy::{Policy, jittered};
use super::{Entry, Failure, Millis, Status};

/// No record is believed for longer, whatever it says: an hour.
const LONGEST_TRUST: Millis = 3_600_000;
/// No wait that a server asks for is longer: an hour.
pub(super) const LONGEST_WAIT: Millis = 3_600_000;
/// No lease is longer: ten minutes, in milliseconds. Who holds a longer one has a clock of his own.
pub(crate) const LONGEST_LEASE: Millis = 600_000;
/// Clocks of one machine differ by less, in milliseconds.
const SKEW: Millis = 2_000;

/// What a record says at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Closed: healthy, and that is fresh.
    Allow,
    /// Open: failing, and to be left alone until then.
    Block {
        /// When it may be asked again.
        until: Millis,
    },
    /// Nothing fresh is known (closed), or a failing server may be asked again (half-open): ask.
    Probe,
}

/// What to do with a call.
pub(crate) fn decide(entry: Option<&Entry>, now: Millis) -> Decision {
    let Some(entry) = entry else { return Decision::Probe };
    // From a clock that was set back since: nothing in it can be counted on.
    if entry.checked_at > now + SKEW {
        return Decision::Probe;
    }
    match entry.status {
        Status::Healthy if now < entry.expires_at.min(entry.checked_at + LONGEST_TRUST) => Decision::Allow,
        Status::Unhealthy => match entry.next_retry_at.map(|at| at.min(entry.checked_at + LONGEST_WAIT)) {
            Some(until) if now < until => Decision::Block { until },
            _ => Decision::Probe,
        },
        Status::Healthy | Status::Unknown => Decision::Probe,
    }
}

/// Until when somebody else is asking the server.
pub(crate) fn leased_until(entry: Option<&Entry>, now: Millis) -> Option<Millis> {
    entry?.probing_until.filter(|until| now < *until && *until <= now + LONGEST_LEASE + SKEW)
}

/// The record of a server that has just answered. What it failed with last stays readable.
pub(crate) fn succeeded(before: Option<&Entry>, now: Millis, policy: &Policy, restored_by: Option<&str>) -> Entry {
    let before = before.cloned().unwrap_or_default();
    let was_failing = before.status == Status::Unhealthy;
    Entry {
        status: Status::Healthy,
        checked_at: now,
        expires_at: now.saturating_add(policy.ttl),
        failure_count: 0,
        failing_since: None,
        next_retry_at: None,
        probing_until: None,
        last_restored_at: if was_failing { Some(now) } else { before.last_restored_at },
        restored_by: if was_failing { restored_by.map(str::to_owned) } else { before.restored_by.clone() },
        ..before
    }
}

/// The record of a server that has just failed. `roll` in 0..1 is chance: it takes up to a tenth off the wait, so that those who wait
/// for one server do not all come back at once.
pub(crate) fn failed(before: Option<&Entry>, failure: Failure, now: Millis, policy: &Policy, roll: f64) -> Entry {
    let before = before.cloned().unwrap_or_default();
    let was_failing = before.status == Status::Unhealthy;
    // Calls that were made at once fail at once: that is one failure, and its time is set already.
    if let Some(until) = before.next_retry_at.filter(|until| was_failing && now < *until && before.checked_at <= now) {
        let until = failure.wait.map_or(until, |wait| until.max(now + wait.min(LONGEST_WAIT)));
        return Entry { next_retry_at: Some(until), probing_until: None, ..before };
    }
    // A refused credential or a full quota says nothing of how long an outage lasts.
    let is_of_a_kind =
        before.last_failure_code.as_ref().is_some_and(|code| code.is_outage() == failure.code.is_outage());
    let failure_count = if was_failing && is_of_a_kind { before.failure_count.saturating_add(1) } else { 1 };
    let wait = match failure.wait {
        // The server knows best.
        Some(wait) => wait.clamp(1_000, LONGEST_WAIT),
        // Waiting does not mend a credential: somebody does, and should not be kept waiting then.
        None if failure.is_of_credential() => jittered(policy.backoff, roll).min(LONGEST_WAIT),
        None => jittered(policy.backoff_after(failure_count), roll).min(LONGEST_WAIT),
    };
    Entry {
        status: Status::Unhealthy,
        checked_at: now,
        expires_at: now,
        failure_count,
        last_error: Some(failure.error),
        last_failure_code: Some(failure.code),
        failing_since: before.failing_since.filter(|_| was_failing).or(Some(now)),
        next_retry_at: Some(now.saturating_add(wait)),
        probing_until: None,
        ..before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Decision, LONGEST_LEASE, LONGEST_WAIT, SKEW, decide, failed, leased_until, succeeded};
    use crate::health::policy::Policy;
    use crate::health::{Entry, Failure, FailureCode, Millis, Status};

    const NOW: Millis = 1_800_000_000_000;

    fn failure(code: FailureCode, wait: Option<Millis>) -> Failure {
        Failure { code, error: "gone".to_owned(), wait }
    }

    fn refused() -> Failure {
        failure(FailureCode::Word("connect".to_owned()), None)
    }

    /// A server that fails each time it is asked, as early as it may be.
    fn failing(times: u32, roll: f64) -> (Entry, Millis) {
        let (mut entry, mut now) = (failed(None, refused(), NOW, &Policy::default(), roll), NOW);
        for _ in 1..times {
            now = entry.next_retry_at.expect("a time");
            entry = failed(Some(&entry), refused(), now, &Policy::default(), roll);
        }
        (entry, now)
    }

    #[test]
    fn waits_double_from_half_a_minute_to_ten() {
        let waits: Vec<Millis> = (1..=7)
            .map(|times| {
                let (entry, now) = failing(times, 0.0);
                assert_eq!((entry.failure_count, entry.failing_since), (times, Some(NOW)));
                entry.next_retry_at.expect("a time") - now
            })
            .collect();
        assert_eq!(waits, [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000]);
    }

    #[test]
    fn a_refused_credential_is_asked_about_again_and_again() {
        let policy = Policy::default();
        let (mut entry, mut now) = (failed(None, failure(FailureCode::Status(401), None), NOW, &policy, 0.0), NOW);
        for _ in 0..10 {
            now = entry.next_retry_at.expect("a time");
            entry = failed(Some(&entry), failure(FailureCode::Status(403), None), now, &policy, 0.0);
            assert_eq!(entry.next_retry_at, Some(now + 30_000));
        }
        // Nor does that make an outage longer which comes next.
        now += 30_000;
        let entry = failed(Some(&entry), refused(), now, &policy, 0.0);
        assert_eq!((entry.failure_count, entry.next_retry_at), (1, Some(now + 30_000)));
    }

    #[test]
    fn calls_that_fail_at_once_are_one_failure() {
        let policy = Policy::default();
        let mut entry = failed(None, refused(), NOW, &policy, 0.0);
        for later in 1..20 {
            entry = failed(Some(&entry), refused(), NOW + later, &policy, 0.0);
        }
        assert_eq!((entry.failure_count, entry.next_retry_at), (1, Some(NOW + 30_000)));
        // The server's own word counts all the same.
        let entry = failed(Some(&entry), failure(FailureCode::Status(429), Some(60_000)), NOW + 20, &policy, 0.0);
        assert_eq!(entry.next_retry_at, Some(NOW + 60_020));
    }

    #[test]
    fn the_servers_own_wait_is_honoured_within_an_hour() {
        for (asked, given) in [(17_000, 17_000), (0, 1_000), (Millis::MAX, LONGEST_WAIT)] {
            let entry = failed(None, failure(FailureCode::Status(429), Some(asked)), NOW, &Policy::default(), 0.9);
            assert_eq!(entry.next_retry_at, Some(NOW + given));
        }
    }

    #[test]
    fn a_server_that_answers_again_starts_anew() {
        let (entry, now) = failing(5, 0.5);
        let back = succeeded(Some(&entry), now, &Policy::default(), Some("reconnect"));
        assert_eq!((back.status, back.failure_count, back.next_retry_at), (Status::Healthy, 0, None));
        assert_eq!((back.last_restored_at, back.restored_by.as_deref()), (Some(now), Some("reconnect")));
        assert_eq!(back.last_error.as_deref(), Some("gone"));
        assert_eq!(decide(Some(&back), now + 119_999), Decision::Allow);
        assert_eq!(decide(Some(&back), now + 120_000), Decision::Probe);
        let again = failed(Some(&back), refused(), now, &Policy::default(), 0.0);
        assert_eq!((again.failure_count, again.next_retry_at), (1, Some(now + 30_000)));
    }

    #[test]
    fn nothing_known_is_asked_about() {
        assert_eq!(decide(None, NOW), Decision::Probe);
        assert_eq!(decide(Some(&Entry::default()), NOW), Decision::Probe);
    }

    #[test]
    fn a_lease_ends_by_itself() {
        let lease = |until| Some(Entry { probing_until: Some(until), ..Entry::default() });
        assert_eq!(leased_until(lease(NOW + 5_000).as_ref(), NOW), Some(NOW + 5_000));
        assert_eq!(leased_until(lease(NOW).as_ref(), NOW), None);
        // Who looked at the clock before the other one took his turn, and waited for the file, is behind.
        let longest = NOW + LONGEST_LEASE;
        assert_eq!(leased_until(lease(longest + 50).as_ref(), NOW), Some(longest + 50));
        assert_eq!(leased_until(lease(NOW + 10_000_000).as_ref(), NOW), None);
        assert_eq!(leased_until(None, NOW), None);
    }

    prop_compose! {
        /// Any record, sensible or not.
        fn any_entry()(
            status in prop_oneof![Just(Status::Healthy), Just(Status::Unhealthy), Just(Status::Unknown)],
            checked in any::<u32>(), expires in any::<u64>(), retry in any::<Option<u64>>(), count in any::<u32>(),
        ) -> Entry {
            let checked_at = NOW - u64::from(u32::MAX / 2) + u64::from(checked);
            Entry { status, checked_at, expires_at: expires, next_retry_at: retry, failure_count: count, ..Entry::default() }
        }
    }

    proptest! {
        /// Whatever a file says, no server is blocked for longer than an hour after it was asked, nor believed for longer.
        #[test]
        fn no_record_is_believed_for_ever(entry in any_entry(), later in 0_u64..20_000_000_000) {
            let now = NOW + later;
            let age = now.saturating_sub(entry.checked_at);
            if age >= LONGEST_WAIT || entry.checked_at > now + SKEW {
                prop_assert_eq!(decide(Some(&entry), now), Decision::Probe);
            }
        }

        /// Only a failing server blocks, only a healthy one is let through unasked, and time alone opens neither of the two.
        #[test]
        fn decisions_follow_the_status(entry in any_entry(), later in 0_u64..20_000_000_000) {
            match decide(Some(&entry), NOW + later) {
                Decision::Allow => prop_assert_eq!(entry.status, Status::Healthy),
                Decision::Block { until } => {
                    prop_assert_eq!(entry.status, Status::Unhealthy);
                    prop_assert!(NOW + later < until);
                    // The very moment that is named is the one from which it may be asked.
                    prop_assert_eq!(decide(Some(&entry), until), Decision::Probe);
                }
                Decision::Probe => {}
            }
        }

        /// After any history: a failure blocks at once and for the time of its count, an answer lets through at once.
        #[test]
        fn any_history_ends_as_its_last_event(history in prop::collection::vec(any::<bool>(), 1..30), roll in 0.0..1.0_f64) {
            let policy = Policy::default();
            let (mut entry, mut now, mut failures) = (None, NOW, 0);
            for is_answer in history {
                failures = if is_answer { 0 } else { failures + 1 };
                let next = if is_answer { succeeded(entry.as_ref(), now, &policy, None) } else { failed(entry.as_ref(), refused(), now, &policy, roll) };
                let nominal = policy.backoff_after(failures.max(1));
                match decide(Some(&next), now) {
                    Decision::Allow => prop_assert!(is_answer),
                    Decision::Block { until } => {
                        prop_assert!(!is_answer);
                        prop_assert!(until - now <= nominal && until - now >= nominal / 10 * 9);
                    }
                    Decision::Probe => prop_assert!(false, "nobody was asked"),
                }
                prop_assert_eq!(next.failure_count, failures);
                now = next.next_retry_at.unwrap_or(now + 1_000);
                entry = Some(next);
            }
        }
    }
}
