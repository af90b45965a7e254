//! A request and its answer where both directions are streams of messages: pipes, HTTP+SSE, WebSocket.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::channel::Call;
use super::jsonrpc::{self, Incoming, Reply};
use super::trace::Trace;
use crate::deviation::{Carrier, Deviation};
use crate::observed::{ProbeFailure, Step};

/// How long a better answer is waited for after an error that names no request: it may mean ours, or a notification before it.
const DOUBT: Duration = Duration::from_millis(500);

/// Two streams of messages.
pub(super) trait Duplex {
    /// Sends a message.
    ///
    /// # Errors
    /// When it cannot be delivered.
    fn send(&mut self, step: Step, message: &Value) -> Result<(), ProbeFailure>;

    /// The next messages, possibly none; `None` when `until` has come first.
    ///
    /// # Errors
    /// When there will be no more, or not in time.
    fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure>;

    /// What remembers the messages.
    fn trace(&mut self) -> &mut Trace;
}

/// Sends a request and waits for its answer, answering what the server asks meanwhile.
///
/// # Errors
/// Whatever keeps the answer from coming.
pub(super) fn ask(duplex: &mut dyn Duplex, call: &Call, id: u64) -> Result<Reply, ProbeFailure> {
    let step = call.step;
    duplex.trace().asks(call);
    duplex.send(step, &jsonrpc::request(id, step.as_str(), call.params.as_ref()))?;
    // An error that names no request is believed when nothing better follows.
    let mut doubtful: Option<(Instant, Reply)> = None;
    loop {
        let until = doubtful.as_ref().map(|(until, _)| *until);
        let messages = match (duplex.receive(step, until), doubtful.take()) {
            (Ok(Some(messages)), known) => {
                doubtful = known;
                messages
            }
            (Ok(None) | Err(_), Some((_, reply))) => return Ok(reply),
            (Ok(None), None) => continue,
            (Err(failure), None) => return Err(failure),
        };
        for message in messages {
            match message {
                Incoming::Reply { id: answered, reply } if duplex.trace().is_answer(&answered, id) => {
                    if doubtful.is_some() {
                        duplex.trace().note(Deviation::StrayError(Carrier::Stream));
                    }
                    return Ok(reply);
                }
                Incoming::Reply { id: answered, reply } if jsonrpc::is_unaddressed(&answered, &reply) => {
                    doubtful.get_or_insert((Instant::now() + DOUBT, reply));
                }
                Incoming::Request { id, method } => duplex.send(step, &jsonrpc::response_to(&id, &method))?,
                Incoming::Reply { .. } | Incoming::Notification => {}
            }
        }
        if let Some((_, reply)) = doubtful.take_if(|(until, _)| *until <= Instant::now()) {
            return Ok(reply);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::time::Instant;

    use serde_json::{Value, json};

    use super::{Duplex, ask};
    use crate::observed::{Era, FailureClass, ProbeFailure, Step};
    use crate::probe::channel::Call;
    use crate::probe::jsonrpc::{self, Incoming, Text};
    use crate::probe::trace::Trace;

    /// Hands out messages, then waits for ever, or ends.
    struct Scripted {
        messages: VecDeque<Value>,
        is_endless: bool,
        sent: Vec<Value>,
        trace: Trace,
    }

    impl Duplex for Scripted {
        fn send(&mut self, _: Step, message: &Value) -> Result<(), ProbeFailure> {
            self.sent.push(message.clone());
            Ok(())
        }

        fn receive(&mut self, step: Step, until: Option<Instant>) -> Result<Option<Vec<Incoming>>, ProbeFailure> {
            match self.messages.pop_front() {
                Some(message) => match jsonrpc::read(message.to_string().as_bytes()) {
                    Text::Messages(messages) => Ok(Some(messages)),
                    other => panic!("{other:?}"),
                },
                None if self.is_endless && until.is_some() => Ok(None),
                None => Err(ProbeFailure::new(FailureClass::Exited, step, "over")),
            }
        }

        fn trace(&mut self) -> &mut Trace {
            &mut self.trace
        }
    }

    fn run(is_endless: bool, messages: &[Value]) -> (Result<Result<Value, i64>, FailureClass>, Vec<Value>) {
        let messages = messages.iter().cloned().collect();
        let mut duplex = Scripted { messages, is_endless, sent: Vec::new(), trace: Trace::default() };
        let call = Call { step: Step::ToolsList, era: Era::Legacy, params: None };
        let reply = ask(&mut duplex, &call, 7);
        let reply = reply.map(|reply| reply.map_err(|error| error.code)).map_err(|failure| failure.class);
        (reply, duplex.sent)
    }

    fn error() -> Value {
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32600, "message": "no" } })
    }

    fn answer(id: u64) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "result": id })
    }

    #[test]
    fn the_answer_is_the_one_with_the_id() {
        let (reply, _) = run(true, &[answer(6), answer(7), answer(8)]);
        assert_eq!(reply, Ok(Ok(json!(7))));
    }

    #[test]
    fn an_error_without_id_is_believed_last() {
        assert_eq!(run(true, &[error(), answer(7)]).0, Ok(Ok(json!(7))));
        assert_eq!(run(true, &[error()]).0, Ok(Err(-32600)));
        assert_eq!(run(false, &[error()]).0, Ok(Err(-32600)));
        assert_eq!(run(false, &[]).0, Err(FailureClass::Exited));
    }

    #[test]
    fn what_the_server_asks_is_answered() {
        let ping = json!({ "jsonrpc": "2.0", "id": "p", "method": "ping" });
        let (_, sent) = run(true, &[ping, answer(7)]);
        assert_eq!(sent[1], json!({ "jsonrpc": "2.0", "id": "p", "result": {} }));
    }
}
