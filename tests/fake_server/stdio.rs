//! The script over pipes.

use std::collections::VecDeque;
use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Instant;

use serde_json::{Value, json};

use crate::engine::{Engine, Flow, Output};
use crate::script::{Action, Script};
use crate::system;

struct Pipes {
    lines: Receiver<String>,
    early: VecDeque<Value>,
    /// Whether stdin has ended, rather than stayed silent for too long.
    is_ended: bool,
}

/// Serves until stdin ends, or the script says otherwise.
pub(crate) fn serve(script: Script) -> ExitCode {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut engine = Engine::new(script);
    let mut pipes = Pipes { lines, early: VecDeque::new(), is_ended: false };
    match run(&mut engine, &mut pipes) {
        Ok(code) => code,
        // Nobody reads any more.
        Err(_) => ExitCode::from(98),
    }
}

fn run(engine: &mut Engine, pipes: &mut Pipes) -> io::Result<ExitCode> {
    let mut flow = engine.event("start", pipes)?;
    loop {
        match flow {
            Flow::On => {}
            Flow::Exit(code) => return Ok(code),
            Flow::StopReading => {
                std::thread::sleep(crate::LONGEST);
                return Ok(ExitCode::SUCCESS);
            }
            Flow::Hang => {
                while pipes.next().is_some() {}
                return end(engine, pipes);
            }
        }
        let Some(message) = pipes.early.pop_front().or_else(|| pipes.next()) else { return end(engine, pipes) };
        flow = engine.message(&message, pipes)?;
    }
}

fn end(engine: &mut Engine, pipes: &mut Pipes) -> io::Result<ExitCode> {
    if !pipes.is_ended {
        return Ok(ExitCode::from(96));
    }
    crate::log(&json!({ "eof": true }));
    let flow = engine.event("eof", pipes)?;
    if engine.ignores_eof {
        std::thread::sleep(crate::LONGEST);
    }
    Ok(if let Flow::Exit(code) = flow { code } else { ExitCode::SUCCESS })
}

impl Pipes {
    /// The next message; `None` at the end of stdin, or when there was none for too long.
    fn next(&mut self) -> Option<Value> {
        let line = match self.lines.recv_timeout(crate::LONGEST) {
            Ok(line) => line,
            Err(error) => {
                self.is_ended = error == RecvTimeoutError::Disconnected;
                return None;
            }
        };
        let message: Value = serde_json::from_str(&line).unwrap_or(Value::String(line));
        crate::log(&json!({ "stdio": message }));
        Some(message)
    }
}

impl Output for Pipes {
    fn message(&mut self, message: &Value) -> io::Result<()> {
        self.raw(format!("{message}\n").as_bytes())
    }

    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(bytes)?;
        output.flush()
    }

    fn await_reply(&mut self, id: &Value) {
        let until = Instant::now() + crate::LONGEST;
        while Instant::now() < until {
            match self.next() {
                Some(message) if message["id"] == *id && message.get("method").is_none() => return,
                Some(message) => self.early.push_back(message),
                None => return,
            }
        }
    }

    fn special(&mut self, action: &Action) -> io::Result<()> {
        match action {
            Action::CloseStdout => system::close_stdout(),
            Action::CloseStderr => system::close_stderr(),
            other => Err(io::Error::other(format!("no such action over pipes: {other:?}"))),
        }
    }

    fn header(&self, _: &str) -> Option<String> {
        None
    }
}
