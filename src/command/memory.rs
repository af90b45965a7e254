//! What a guard remembers: the records of servers, and whose turn it is to ask one. Without a place for them nothing is remembered, which is
//! said, and everybody asks for himself.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime};

use super::answer::{say, say_all};
use crate::health::breaker::{Decision, LONGEST_LEASE, decide, failed, leased_until, succeeded};
use crate::health::file::{HealthFile, Records};
use crate::health::policy::Policy;
use crate::health::{Entry, Failure, Key, Millis, Status};

/// How long one that waits for another's probe sleeps between two looks.
const GLANCE: Duration = Duration::from_millis(10);
/// What a probe may take beyond its time, in milliseconds, until others no longer wait for it.
const GRACE: Millis = 2_000;

/// The records of servers.
pub(super) struct Memory {
    pub(super) policy: Policy,
    file: Option<HealthFile>,
    said: RefCell<Vec<String>>,
}

/// Who may ask a server now.
pub(super) enum Turn {
    /// Nobody needs to: this is known.
    Known(Decision, Option<Entry>),
    /// Somebody does already.
    Other,
    /// This one, knowing this.
    Own(Option<Entry>),
}

impl Memory {
    /// Records in this file, kept by this policy.
    pub(super) fn new(policy: Policy, file: Option<HealthFile>) -> Self {
        Self { policy, file, said: RefCell::default() }
    }

    /// Whether there is a place for records.
    pub(super) fn has_place(&self) -> bool {
        self.file.is_some()
    }

    /// What is known of a server.
    pub(super) fn recall(&self, key: &Key) -> Option<Entry> {
        self.file.as_ref()?.glance().get(key)
    }

    /// Whose records there are.
    pub(super) fn known(&self) -> Vec<String> {
        self.file.as_ref().map(|file| file.glance().keys()).unwrap_or_default()
    }

    /// Forgets records.
    ///
    /// # Errors
    /// Why nothing was forgotten, in words.
    pub(super) fn forget(&self, server: Option<&str>) -> Result<Vec<String>, String> {
        let file = self.file.as_ref().ok_or(NO_PLACE)?;
        let (forgotten, said) = file.update(now(), |records| records.remove(server))?;
        say_all(said.as_slice());
        Ok(forgotten)
    }

    /// Takes the turn where there is one to be had. Without a file everybody has a turn of his own.
    pub(super) fn turn(&self, key: &Key) -> Turn {
        let lease = self.lease();
        self.change(|records, now| {
            let entry = records.get(key);
            match (decide(entry.as_ref(), now), leased_until(entry.as_ref(), now)) {
                (Decision::Probe, Some(_)) => Turn::Other,
                (Decision::Probe, None) => {
                    let leased = entry.clone().unwrap_or_else(|| Entry { checked_at: now, ..Entry::default() });
                    records.put(key, Entry { probing_until: Some(now + lease), ..leased });
                    Turn::Own(entry)
                }
                (decision, _) => Turn::Known(decision, entry),
            }
        })
        .unwrap_or(Turn::Own(None))
    }

    /// Waits for the answer that somebody else gets.
    pub(super) fn wait_for_other(&self, key: &Key, until: Instant) {
        let Some(file) = &self.file else { return };
        while Instant::now() < until && leased_until(file.glance().get(key).as_ref(), now()).is_some() {
            std::thread::sleep(GLANCE);
        }
    }

    /// Keeps that a server is healthy.
    pub(super) fn keep_success(&self, key: &Key) {
        self.change(|records, now| {
            let entry = succeeded(records.get(key).as_ref(), now, &self.policy, None);
            records.put(key, entry);
        });
    }

    /// Keeps that a server has failed.
    pub(super) fn keep_failure(&self, key: &Key, failure: Failure) -> Entry {
        let kept = self.change(|records, now| {
            let entry = failed(records.get(key).as_ref(), failure.clone(), now, &self.policy, roll());
            records.put(key, entry.clone());
            entry
        });
        kept.unwrap_or_else(|| failed(None, failure, now(), &self.policy, roll()))
    }

    /// A lease that came to nothing.
    pub(super) fn give_back(&self, key: &Key) {
        self.change(|records, _| {
            if let Some(entry) = records.get(key) {
                records.put(key, Entry { probing_until: None, ..entry });
            }
        });
    }

    /// Changes the records; `None` where that cannot be, which is said.
    fn change<T>(&self, change: impl FnOnce(&mut Records, Millis) -> T) -> Option<T> {
        let changed = match &self.file {
            // The time once the file is ours: waiting for it takes some.
            Some(file) => file.update(now(), |records| change(records, now())),
            None => Err(NO_PLACE.to_owned()),
        };
        match changed {
            Ok((result, said)) => {
                say_all(said.as_slice());
                Some(result)
            }
            Err(why) => {
                let mut said = self.said.borrow_mut();
                if !said.contains(&why) {
                    say(&format!("nothing is remembered: {why}"));
                    said.push(why);
                }
                None
            }
        }
    }

    /// For how long others wait for a probe, in milliseconds. Once it has failed they need not: that is known then.
    pub(super) fn lease(&self) -> Millis {
        Millis::try_from(self.policy.probe.as_millis())
            .unwrap_or(LONGEST_LEASE)
            .saturating_add(GRACE)
            .min(LONGEST_LEASE)
    }

    /// Keeps that a probe which began then has failed; nothing where a call has succeeded since, which is the better witness.
    pub(super) fn keep_failed_probe(
        &self,
        key: &Key,
        before: Option<&Entry>,
        failure: &Failure,
        began: Millis,
    ) -> Option<Entry> {
        let kept = self.change(|records, now| {
            let known = records.get(key);
            if known.as_ref().is_some_and(|entry| entry.status == Status::Healthy && entry.checked_at > began) {
                return None;
            }
            let entry = failed(known.as_ref().or(before), failure.clone(), now, &self.policy, roll());
            records.put(key, entry.clone());
            Some(entry)
        });
        kept.unwrap_or_else(|| Some(failed(before, failure.clone(), now(), &self.policy, roll())))
    }

    /// Keeps that a failing server was brought back by a command.
    pub(super) fn keep_restored(&self, key: &Key, failing: &Entry) {
        self.change(|records, now| records.put(key, succeeded(Some(failing), now, &self.policy, Some("reconnect"))));
    }

    /// From now on nothing fresh is known of a server that was healthy; what its call failed with is kept, where that is the server's.
    pub(super) fn doubt(&self, key: &Key, failure: Option<Failure>) {
        self.change(|records, now| {
            let known = records.get(key);
            let entry = known.clone().unwrap_or_else(|| Entry { checked_at: now, ..Entry::default() });
            if entry.status == Status::Unhealthy || known.is_none() && failure.is_none() {
                return;
            }
            let (error, code) = failure.map(|failure| (failure.error, failure.code)).unzip();
            let (last_error, last_failure_code) = (error.or(entry.last_error), code.or(entry.last_failure_code));
            records.put(key, Entry { expires_at: now, last_error, last_failure_code, ..entry });
        });
    }
}

/// No home, no record.
const NO_PLACE: &str =
    "there is no home folder to keep it in: name a file with --health-file, or in MCP_PREFLIGHT_HEALTH_STATE_PATH";

/// Milliseconds since 1970.
pub(super) fn now() -> Millis {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Millis::try_from(since.as_millis()).unwrap_or_default()
}

/// A number in 0..1 by chance.
#[expect(clippy::cast_precision_loss, reason = "chance needs no precision")]
fn roll() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let chance = std::hash::RandomState::new().build_hasher().finish();
    (chance >> 11) as f64 / (1_u64 << 53) as f64
}
