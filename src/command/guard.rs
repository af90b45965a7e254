//! What a guard does about a server: finds its entry and its record, has it probed where nothing fresh is known, and keeps what came of it.
//! It executes nothing but what the client itself runs (`config::claude_running`), and what the person gave to bring a server back.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::answer::{Answer, say, say_all, unable};
use super::gather;
use super::memory::{Memory, Turn, now};
use crate::config::claude_running::{self, Called, Running, Unprobed};
use crate::environment::Environment;
use crate::error::{Error, signal_name};
use crate::event::Call;
use crate::health::breaker::{Decision, decide};
use crate::health::file::HealthFile;
use crate::health::policy::{Policy, Untrusted, Variables};
use crate::health::{self, Entry, Failure, FailureCode, Key, Millis, Status, classify, seen, wording};
use crate::interrupt::Interrupt;
use crate::observed::Observation;
use crate::probe::{self, Limits};
use crate::progress::Progress;
use crate::redact::Redactor;
use crate::server::{Server, Transport};
use crate::settings::{Hook, Settings};

/// A guard, for one event.
pub(super) struct Guard<'a> {
    settings: &'a Settings,
    hook: &'a Hook,
    environment: Environment,
    memory: Memory,
    configs: Vec<PathBuf>,
    fails_open: bool,
    untrusted: Untrusted,
    /// Variables whose value the project's settings have taken away.
    overwritten: Vec<String>,
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
        let names = claude_running::set_by_project(&environment);
        let untrusted = names.map_or(Untrusted::Unknown, Untrusted::Names);
        let variables = Variables::new(&environment, &untrusted);
        let mut complaints = Vec::new();
        let policy = variables.policy(&mut complaints);
        let passed_over = variables.passed_over();
        if !passed_over.is_empty() {
            complaints.push(format!("set by the project's own settings, and passed over: {}", passed_over.join(", ")));
        }
        say_all(&complaints);
        let file = hook.file.as_ref().map(|path| here.join(path));
        let file = file.or_else(|| variables.file()).map(|path| HealthFile::new(&path));
        // A path on the command line is counted from where the hook runs.
        let given = settings.configs.iter().map(|path| here.join(path));
        let configs = given.chain(variables.configs()).collect();
        let fails_open = variables.fails_open();
        let (environment, overwritten) = match &untrusted {
            Untrusted::Names(names) => claude_running::as_launched(names, &environment),
            Untrusted::Unknown => (environment, Vec::new()),
        };
        let policy = Policy { probe: settings.timeout.unwrap_or(policy.probe), ..policy };
        let memory = Memory::new(policy, file);
        Self { settings, hook, environment, memory, configs, fails_open, untrusted, overwritten }
    }

    /// Whether a variable says that nothing is to be blocked.
    pub(super) fn fails_open(&self) -> bool {
        self.fails_open
    }

    /// Before a call: what is known decides, or the server does.
    pub(super) fn before(&self, call: &Call) -> Answer {
        let running = self.find(call);
        let key = key(&running);
        let entry = self.memory.recall(&key);
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
        let running = self.find(call);
        if self.is_skipped(&running) {
            return;
        }
        let is_remote = running.entry.as_ref().is_ok_and(|server| server.url().is_some());
        let failed = classify::Failed { server: running.name.as_str(), is_remote };
        let Some(signal) = classify::classify(error, failed) else {
            return self.murmur("the error says nothing of the server: nothing is recorded");
        };
        let key = key(&running);
        let error = self.redactor(running.entry.as_ref().ok()).mask(&seen::on_one_line(error));
        let error = seen::shortened(&seen::without_secrets(&error));
        let failure = Failure { code: signal.code, error, wait: signal.wait };
        match &running.entry {
            Ok(server) if signal.is_refutable => {
                self.memory.doubt(&key, signal.is_certain.then_some(failure));
                self.ask(server, &key, &running);
            }
            Ok(server) => {
                let before = self.memory.keep_failure(&key, failure.clone());
                self.bring_back(server, &key, &before, &failure);
            }
            Err(_) if signal.is_certain => {
                self.memory.keep_failure(&key, failure);
            }
            Err(unprobed) => self.murmur(&unprobed.why),
        }
    }

    /// After a call that succeeded: a server that was thought to be down is not.
    pub(super) fn after_success(&self, call: &Call) {
        let key = key(&self.find(call));
        let known = self.memory.recall(&key);
        if known.is_some_and(|entry| entry.status == Status::Unhealthy) {
            self.memory.keep_success(&key);
        }
    }

    /// At the start of a session: every server of which nothing fresh is known is probed, all at once.
    pub(super) fn warm(&self) {
        let (running, left_out) = claude_running::all(&self.configs, &self.environment);
        say_all(&left_out);
        let is_wanted = |running: &Running| {
            // Without a file there is nothing to warm.
            let has_turn = || self.memory.has_place() && matches!(self.memory.turn(&key(running)), Turn::Own(_));
            let is_known = running.entry.as_ref().is_ok_and(|server| self.known(server.clone()).is_ok());
            is_known && !self.is_skipped(running) && has_turn()
        };
        let wanted = running.into_iter().filter(is_wanted);
        let wanted: Vec<(Key, Server)> = wanted.filter_map(|one| Some((key(&one), one.entry.ok()?))).collect();
        let servers: Vec<Server> = wanted.iter().map(|(_, server)| self.placed(server.clone())).collect();
        let observations = self.observe(&servers);
        for (index, (key, server)) in wanted.iter().enumerate() {
            match observations.get(index).map(|observation| self.judged(observation, server)) {
                Some(Ok(())) => self.memory.keep_success(key),
                // Everything starts at once here: one that is slow now may be quick when it is called.
                Some(Err(failure)) if failure.code != FailureCode::Word("timeout".to_owned()) => {
                    self.memory.keep_failure(key, failure);
                }
                _ => self.memory.give_back(key),
            }
        }
    }

    /// What is remembered.
    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    fn find(&self, call: &Call) -> Running {
        let called = Called { tool: &call.tool, server: call.server.as_deref(), scope: call.scope.as_deref() };
        let mut running = claude_running::find(called, &self.configs, &self.environment);
        running.faults.iter().for_each(|fault| say(&format!("{fault}: its servers are not known")));
        running.entry = running.entry.and_then(|server| self.known(server)).map(|server| self.placed(server));
        running
    }

    /// The server, unless its entry uses a variable that the project's settings have given another value: the client uses the one it was started
    /// with.
    fn known(&self, server: Server) -> Result<Server, Unprobed> {
        let used = server.variables.iter().map(|variable| &variable.name);
        let names: Vec<&str> = used.filter(|name| self.overwritten.contains(name)).map(String::as_str).collect();
        if names.is_empty() {
            return Ok(server);
        }
        let why = format!("the project's settings set {}, and what the client uses cannot be told", names.join(", "));
        Err(Unprobed { why, is_fault: false })
    }

    /// The server, to be started where the client was started, not where its session stands.
    fn placed(&self, mut server: Server) -> Server {
        if let Ok(Transport::Stdio(stdio)) = &mut server.transport {
            stdio.folder.get_or_insert_with(|| self.environment.folder.clone());
        }
        server
    }

    /// What an observation says of the server's health.
    fn judged(&self, observation: &Observation, server: &Server) -> Result<(), Failure> {
        // Once more: a secret that was broken over lines is whole again on one.
        let masked = |failure: Failure| {
            let error = seen::shortened(&self.redactor(Some(server)).mask(&failure.error));
            Failure { error, ..failure }
        };
        seen::judged(observation, server).map_err(masked)
    }

    /// Asks the server, unless somebody else does or has just done so: then their answer counts.
    fn ask(&self, server: &Server, key: &Key, running: &Running) -> Answer {
        let give_up = Instant::now() + Duration::from_millis(self.memory.lease());
        loop {
            match self.memory.turn(key) {
                Turn::Known(Decision::Block { until }, entry) => return blocked(running, entry.as_ref(), until, now()),
                Turn::Known(..) => return self.let_through("it has just answered", running),
                Turn::Own(before) => return self.probe(server, key, before.as_ref(), running),
                Turn::Other if Instant::now() < give_up => self.memory.wait_for_other(key, give_up),
                // Whoever it was has had more time than anybody needs.
                Turn::Other => return self.probe(server, key, None, running),
            }
        }
    }

    fn probe(&self, server: &Server, key: &Key, before: Option<&Entry>, running: &Running) -> Answer {
        let began = now();
        let Some(observation) = self.observe(std::slice::from_ref(server)).pop() else {
            self.memory.give_back(key);
            return unable("the probe was interrupted; the call is not guarded", self.hook);
        };
        let Err(failure) = self.judged(&observation, server) else {
            self.memory.keep_success(key);
            return self.let_through("it answered", running);
        };
        let Some(entry) = self.memory.keep_failed_probe(key, before, &failure, began) else {
            return self.let_through("a call has just succeeded", running);
        };
        if self.bring_back(server, key, &entry, &failure) {
            return self.let_through("it answers again", running);
        }
        match decide(Some(&entry), now()) {
            Decision::Block { until } => blocked(running, Some(&entry), until, now()),
            _ => blocked(running, Some(&entry), now(), now()),
        }
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
        let withheld = match &self.untrusted {
            Untrusted::Names(names) => names.as_slice(),
            Untrusted::Unknown => &[],
        };
        if let Err(why) = probe::reconnect(&reconnect.words, withheld, self.memory.policy.reconnect, &interrupt) {
            let why = self.redactor(Some(server)).mask(&why);
            say(&format!("{}: {why}", reconnect.name));
            return false;
        }
        let observation = self.observe(std::slice::from_ref(server)).pop();
        if observation.is_none_or(|observation| self.judged(&observation, server).is_err()) {
            return false;
        }
        self.memory.keep_restored(key, failing);
        true
    }

    /// Probes servers; nothing where a signal interrupts it.
    fn observe(&self, servers: &[Server]) -> Vec<Observation> {
        let limits = Limits {
            timeout: Some(self.memory.policy.probe),
            run_end: None,
            network: self.settings.network.clone(),
            protocol: self.settings.protocol,
            jobs: None,
            transcript: false,
        };
        let redactor = Redactor::new(servers, &self.environment);
        let observed = Interrupt::install().map_err(|error| error.to_string()).and_then(|interrupt| {
            let quiet = Progress::new(false);
            gather::observe(servers, &limits, &redactor, &interrupt, &quiet).map_err(|error| match error {
                Error::Interrupted(signal) => format!("a signal came ({})", signal_name(signal)),
                error => error.to_string(),
            })
        });
        match observed {
            Ok((observations, _)) => observations,
            Err(why) => {
                say(&why);
                Vec::new()
            }
        }
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

fn key(running: &Running) -> Key {
    let parts = running.entry.as_ref().map(Server::parts).unwrap_or_default();
    let fingerprint = if parts.is_empty() { String::new() } else { health::fingerprint(parts.into_iter()) };
    Key { server: running.name.as_str().to_owned(), source: running.source.clone(), fingerprint }
}

fn blocked(running: &Running, entry: Option<&Entry>, until: Millis, now: Millis) -> Answer {
    let credential = running.entry.as_ref().map_or_else(|_| seen::sign_in(), seen::credential);
    Answer::Block(wording::down(running.name.as_str(), entry, &credential, until, now))
}
