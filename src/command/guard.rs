//! What a guard does about a server: finds its entry and its record, has it probed where nothing fresh is known, and keeps what came of it.
//! It executes nothing but what the client itself runs (`config::claude_running`), and what the person gave to bring a server back.

use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use super::answer::{Answer, say, say_all};
use super::gather;
use super::hook::unable;
use crate::config::claude_running::{self, Called, Running};
use crate::environment::Environment;
use crate::event::Call;
use crate::health::breaker::{Decision, decide, failed, leased_until, succeeded};
use crate::health::file::{HealthFile, Records};
use crate::health::policy::{Policy, Variables};
use crate::health::{self, Entry, Failure, Key, Millis, Status, classify, seen, wording};
use crate::interrupt::Interrupt;
use crate::observed::Observation;
use crate::probe::{self, Limits};
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::server::{Server, Transport};
use crate::settings::{Hook, Settings};

/// How long one that waits for another's probe sleeps between two looks.
const GLANCE: Duration = Duration::from_millis(10);
/// What a probe may take beyond its time, in milliseconds, until others no longer wait for it.
const GRACE: Millis = 2_000;

/// A guard, for one event.
pub(super) struct Guard<'a> {
    settings: &'a Settings,
    hook: &'a Hook,
    environment: Environment,
    policy: Policy,
    file: Option<HealthFile>,
    configs: Vec<PathBuf>,
    fails_open: bool,
    untrusted: Vec<String>,
}

/// Who may ask a server now.
enum Turn {
    /// Nobody needs to: this is known.
    Known(Decision, Option<Entry>),
    /// Somebody does already.
    Other(Millis),
    /// This one, knowing this.
    Own(Option<Entry>),
}

impl<'a> Guard<'a> {
    /// A guard of the session that was started in the project's folder, wherever it stands now.
    pub(super) fn new(settings: &'a Settings, environment: &Environment, hook: &'a Hook, folder: Option<&str>) -> Self {
        let mut environment = environment.clone();
        let own = environment.setting("CLAUDE_PROJECT_DIR").or_else(|| folder.map(str::to_owned));
        let here = environment.folder.clone();
        // Without a slash at its end: folders are known by their exact names.
        environment.folder = own.map_or(here.clone(), |folder| here.join(folder).components().collect());
        // What the project's settings put into the environment is not the person's word.
        let untrusted = claude_running::set_by_project(&environment);
        let variables = Variables::new(&environment, &untrusted);
        let mut complaints = Vec::new();
        let policy = variables.policy(&mut complaints);
        let passed_over = variables.passed_over();
        if !passed_over.is_empty() {
            complaints.push(format!("set by the project's own settings, and passed over: {}", passed_over.join(", ")));
        }
        say_all(&complaints);
        let named = hook.file.as_ref().map(|path| here.join(path));
        let file = named.or_else(|| variables.file()).map(HealthFile::new);
        // A path on the command line is counted from where the hook runs.
        let given = settings.configs.iter().map(|path| here.join(path));
        let configs = given.chain(variables.configs()).collect();
        let fails_open = variables.fails_open();
        let home = ["HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR", "CLAUDE_PID"].map(str::to_owned);
        let moved: Vec<String> = home.into_iter().filter(|name| untrusted.contains(name)).collect();
        let environment = environment.without(&moved);
        let policy = Policy { probe: settings.timeout.unwrap_or(policy.probe), ..policy };
        Self { settings, hook, environment, policy, file, configs, fails_open, untrusted }
    }

    /// Whether a variable says that nothing is to be blocked.
    pub(super) fn fails_open(&self) -> bool {
        self.fails_open
    }

    /// Before a call: what is known decides, or the server does.
    pub(super) fn before(&self, call: &Call) -> Answer {
        let running = self.find(call);
        let key = key(&running);
        let entry = self.file.as_ref().and_then(|file| file.glance().get(&key));
        let now = now();
        match decide(entry.as_ref(), now) {
            _ if self.is_skipped(&running) => self.let_through("it is skipped (--skip-server)", &running),
            Decision::Allow => self.let_through("it was healthy a moment ago", &running),
            Decision::Block { until } => blocked(&running, entry.as_ref(), until, now),
            Decision::Probe => match &running.entry {
                Ok(server) => self.ask(server, &key, &running),
                Err(unprobed) => {
                    let why = format!("the server {:?} is not guarded: {}", running.name.as_str(), unprobed.why);
                    if unprobed.is_fault {
                        return unable(&why, self.hook);
                    }
                    say(&why);
                    Answer::Allow
                }
            },
        }
    }

    /// After a call that failed: what its error says of the server is kept, unless the server itself says otherwise now.
    pub(super) fn after_failure(&self, call: &Call, error: &str) {
        let Some(signal) = classify::classify(error) else {
            return self.murmur("the error says nothing of the server: nothing is recorded");
        };
        let running = self.find(call);
        if self.is_skipped(&running) {
            return;
        }
        let key = key(&running);
        let error = self.redactor(running.entry.as_ref().ok()).mask(error);
        let failure = Failure { code: signal.code, error: seen::shortened(&error), wait: signal.wait };
        match &running.entry {
            Ok(server) if signal.is_refutable => {
                self.change(|records, now| {
                    if let Some(entry) = records.get(&key).filter(|entry| entry.status == Status::Healthy) {
                        records.put(&key, Entry { expires_at: now, ..entry });
                    }
                });
                self.ask(server, &key, &running);
            }
            Ok(server) => {
                let before = self.keep_failure(&key, failure.clone());
                self.bring_back(server, &key, &before, &failure);
            }
            Err(_) if signal.is_certain => {
                self.keep_failure(&key, failure);
            }
            Err(unprobed) => self.murmur(&unprobed.why),
        }
    }

    /// After a call that succeeded: a server that was thought to be down is not.
    pub(super) fn after_success(&self, call: &Call) {
        let key = key(&self.find(call));
        let known = self.file.as_ref().and_then(|file| file.glance().get(&key));
        if known.is_some_and(|entry| entry.status == Status::Unhealthy) {
            self.keep_success(&key, None);
        }
    }

    /// At the start of a session: every server of which nothing fresh is known is probed, all at once.
    pub(super) fn warm(&self) {
        let (running, left_out) = claude_running::all(&self.configs, &self.environment);
        say_all(&left_out);
        let records = self.file.as_ref().map(HealthFile::glance).unwrap_or_default();
        let is_wanted = |running: &Running| {
            !self.is_skipped(running) && decide(records.get(&key(running)).as_ref(), now()) == Decision::Probe
        };
        let wanted = running.into_iter().filter(is_wanted);
        let wanted: Vec<(Key, Server)> = wanted.filter_map(|one| Some((key(&one), one.entry.ok()?))).collect();
        let servers: Vec<Server> = wanted.iter().map(|(_, server)| server.clone()).collect();
        for ((key, server), observation) in wanted.iter().zip(self.observe(&servers)) {
            match seen::judged(&observation, server) {
                Ok(()) => self.keep_success(key, None),
                Err(failure) => {
                    self.keep_failure(key, failure);
                }
            }
        }
    }

    /// Forgets records.
    pub(super) fn forget(&self, server: Option<&str>) -> Result<Vec<String>, String> {
        let file = self.file.as_ref().ok_or(NO_PLACE)?;
        let (forgotten, said) = file.update(now(), |records| records.remove(server))?;
        say_all(said.as_slice());
        Ok(forgotten)
    }

    fn find(&self, call: &Call) -> Running {
        let called = Called { tool: &call.tool, server: call.server.as_deref(), scope: call.scope.as_deref() };
        let mut running = claude_running::find(called, &self.configs, &self.environment);
        running.faults.iter().for_each(|fault| say(&format!("{fault}: its servers are not known")));
        if let Ok(server) = &mut running.entry
            && let Ok(Transport::Stdio(stdio)) = &mut server.transport
        {
            // Where the client was started, not where its session stands.
            stdio.folder.get_or_insert_with(|| self.environment.folder.clone());
        }
        running
    }

    /// Asks the server, unless somebody else does or has just done so: then their answer counts.
    fn ask(&self, server: &Server, key: &Key, running: &Running) -> Answer {
        let lease = self.lease();
        let give_up = Instant::now() + Duration::from_millis(2 * lease);
        loop {
            match self.turn(key, lease) {
                Turn::Known(Decision::Block { until }, entry) => return blocked(running, entry.as_ref(), until, now()),
                Turn::Known(..) => return self.let_through("it has just answered", running),
                Turn::Own(before) => return self.probe(server, key, before.as_ref(), running),
                Turn::Other(until) if Instant::now() < give_up => self.wait_for_other(key, until),
                Turn::Other(_) => return self.let_through("somebody else is asking it, for too long", running),
            }
        }
    }

    /// Takes the turn where there is one to be had. Without a file everybody has a turn of his own.
    fn turn(&self, key: &Key, lease: Millis) -> Turn {
        self.change(|records, now| {
            let entry = records.get(key);
            match (decide(entry.as_ref(), now), leased_until(entry.as_ref(), now)) {
                (Decision::Probe, Some(until)) => Turn::Other(until),
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

    fn wait_for_other(&self, key: &Key, until: Millis) {
        let Some(file) = &self.file else { return };
        while now() < until && leased_until(file.glance().get(key).as_ref(), now()).is_some() {
            std::thread::sleep(GLANCE);
        }
    }

    fn probe(&self, server: &Server, key: &Key, before: Option<&Entry>, running: &Running) -> Answer {
        let Some(observation) = self.observe(std::slice::from_ref(server)).pop() else {
            self.give_back(key);
            return unable("the probe was interrupted; the call is not guarded", self.hook);
        };
        let Err(failure) = seen::judged(&observation, server) else {
            self.keep_success(key, None);
            return self.let_through("it answered", running);
        };
        let now = now();
        let entry = failed(before, failure.clone(), now, &self.policy, roll());
        self.change(|records, _| records.put(key, entry.clone()));
        if self.bring_back(server, key, &entry, &failure) {
            return self.let_through("it answers again", running);
        }
        blocked(running, Some(&entry), entry.next_retry_at.unwrap_or(now), now)
    }

    /// Runs the command that brings the server back, where there is one for such a failure, and asks once more.
    fn bring_back(&self, server: &Server, key: &Key, failing: &Entry, failure: &Failure) -> bool {
        let variables = Variables::new(&self.environment, &self.untrusted);
        let reconnect = match variables.reconnect(server.name.as_str()) {
            Ok(Some(reconnect)) if seen::helps(&reconnect, failure) => reconnect,
            Ok(_) => return false,
            Err(why) => {
                say(&why);
                return false;
            }
        };
        let Ok(interrupt) = Interrupt::install() else { return false };
        if let Err(why) = probe::reconnect(&reconnect.words, self.policy.reconnect, &interrupt) {
            let why = self.redactor(Some(server)).mask(&why);
            say(&format!("{}: {why}", reconnect.name));
            return false;
        }
        let observation = self.observe(std::slice::from_ref(server)).pop();
        if observation.is_none_or(|observation| seen::judged(&observation, server).is_err()) {
            return false;
        }
        self.change(|records, now| records.put(key, succeeded(Some(failing), now, &self.policy, Some("reconnect"))));
        true
    }

    /// Probes servers; nothing where a signal interrupts it.
    fn observe(&self, servers: &[Server]) -> Vec<Observation> {
        let limits = Limits {
            timeout: Some(self.policy.probe),
            run_end: None,
            network: self.settings.network.clone(),
            protocol: self.settings.protocol,
            jobs: None,
            transcript: false,
        };
        let redactor = Redactor::new(servers, &self.environment);
        let observed = Interrupt::install().map_err(|error| error.to_string()).and_then(|interrupt| {
            let quiet = Progress::new(false);
            gather::observe(servers, &limits, &redactor, &interrupt, &quiet).map_err(|error| error.to_string())
        });
        match observed {
            Ok((observations, _)) => observations,
            Err(why) => {
                say(&why);
                Vec::new()
            }
        }
    }

    fn keep_success(&self, key: &Key, restored_by: Option<&str>) {
        self.change(|records, now| {
            let entry = succeeded(records.get(key).as_ref(), now, &self.policy, restored_by);
            records.put(key, entry);
        });
    }

    fn keep_failure(&self, key: &Key, failure: Failure) -> Entry {
        let kept = self.change(|records, now| {
            let entry = failed(records.get(key).as_ref(), failure.clone(), now, &self.policy, roll());
            records.put(key, entry.clone());
            entry
        });
        kept.unwrap_or_else(|| failed(None, failure, now(), &self.policy, roll()))
    }

    /// A lease that came to nothing.
    fn give_back(&self, key: &Key) {
        self.change(|records, _| {
            if let Some(entry) = records.get(key) {
                records.put(key, Entry { probing_until: None, ..entry });
            }
        });
    }

    /// Changes the records; `None` where that cannot be, which is said.
    fn change<T>(&self, change: impl FnOnce(&mut Records, Millis) -> T) -> Option<T> {
        let now = now();
        let changed = match &self.file {
            Some(file) => file.update(now, |records| change(records, now)),
            None => Err(NO_PLACE.to_owned()),
        };
        match changed {
            Ok((result, said)) => {
                say_all(said.as_slice());
                Some(result)
            }
            Err(why) => {
                say(&format!("nothing is remembered: {why}"));
                None
            }
        }
    }

    /// For how long others wait for a probe, and for what may follow it, in milliseconds.
    fn lease(&self) -> Millis {
        let longest = 2 * self.policy.probe + self.policy.reconnect;
        Millis::try_from(longest.as_millis()).unwrap_or(Millis::MAX).saturating_add(GRACE)
    }

    fn redactor(&self, server: Option<&Server>) -> Redactor {
        let servers: Vec<Server> = server.cloned().into_iter().collect();
        let redactor = Redactor::new(&servers, &self.environment);
        server.map_or(redactor.clone(), |server| redactor.for_server(server))
    }

    fn is_skipped(&self, running: &Running) -> bool {
        self.settings.skipped.iter().any(|name| name == running.name.as_str())
    }

    fn let_through(&self, why: &str, running: &Running) -> Answer {
        self.murmur(&format!("{:?} of {} is let through: {why}", running.name.as_str(), running.source));
        Answer::Allow
    }

    /// What only somebody who looks into a guard wants to read.
    fn murmur(&self, text: &str) {
        if self.settings.output.verbose > 0 {
            say(text);
        }
    }
}

/// No home, no record.
const NO_PLACE: &str =
    "there is no home folder to keep it in: name a file with --health-file, or in MCP_PREFLIGHT_HEALTH_STATE_PATH";

fn key(running: &Running) -> Key {
    let parts = running.entry.as_ref().map(Server::parts).unwrap_or_default();
    let fingerprint = if parts.is_empty() { String::new() } else { health::fingerprint(parts.into_iter()) };
    Key { server: running.name.as_str().to_owned(), source: running.source.clone(), fingerprint }
}

fn blocked(running: &Running, entry: Option<&Entry>, until: Millis, now: Millis) -> Answer {
    let credential = running.entry.as_ref().ok().map(seen::credential).unwrap_or_default();
    Answer::Block(wording::down(running.name.as_str(), entry, &credential, until, now))
}

fn now() -> Millis {
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
