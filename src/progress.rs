//! A live line per server on a terminal, on standard error, while probes run. Nothing of the kind in a pipe or in CI.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::observed::Observation;
use crate::probe::Watcher;
use crate::server::ServerName;
use crate::text;

/// The live lines, or nothing.
pub(crate) struct Progress {
    lines: Option<MultiProgress>,
    bars: RefCell<BTreeMap<ServerName, ProgressBar>>,
}

impl Progress {
    /// Lines on a terminal, unless this is a CI system or quiet was asked for.
    pub(crate) fn new(is_wanted: bool) -> Self {
        let lines = (is_wanted && std::io::stderr().is_terminal()).then(MultiProgress::new);
        Self { lines, bars: RefCell::default() }
    }
}

impl Watcher for Progress {
    fn began(&self, server: &ServerName) {
        let Some(lines) = &self.lines else { return };
        let bar = lines.add(ProgressBar::new_spinner());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(text::escape(server.as_str()));
        bar.enable_steady_tick(Duration::from_millis(100));
        self.bars.borrow_mut().insert(server.clone(), bar);
    }

    fn ended(&self, server: &ServerName, _: &Observation) {
        if let Some(bar) = self.bars.borrow_mut().remove(server) {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        for bar in self.bars.borrow().values() {
            bar.finish_and_clear();
        }
    }
}
