//! How a conversation begins, in either era, without IO: the algorithm of `protocol.md` section 7.
//!
//! Over pipes `initialize` comes first, because some older servers end, or never answer, when anything else does; a server that
//! refuses it is asked `server/discover`. Over HTTP `server/discover` comes first, and whatever a gateway answers to it that is no
//! answer of the modern era leads to `initialize`.

use serde_json::{Value, json};

use super::channel::{Call, Channel, MODERN, client_info, malformed, params, rejected};
use super::jsonrpc::RpcError;
use crate::observed::{Era, FailureClass, HandshakeFault, Identity, ProbeFailure, Step};
use crate::values::Protocol;

/// The version offered in a handshake: the newest one that has a handshake.
const OFFERED: &str = "2025-11-25";
/// Versions that have a handshake.
const LEGACY: [&str; 5] = [OFFERED, "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"];
/// `UnsupportedProtocolVersion`.
const UNSUPPORTED_VERSION: i64 = -32022;
/// `HeaderMismatch` and `MissingRequiredClientCapability`: the request itself is at fault.
const OUR_FAULT: [i64; 2] = [-32020, -32021];

/// An open conversation.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) identity: Identity,
    pub(super) declares_tools: bool,
    /// What a stricter client would refuse in the answer to `initialize`.
    pub(super) faults: Vec<HandshakeFault>,
}

/// What came of asking `server/discover`.
enum Discovery {
    /// The server speaks the modern era.
    Modern(Opened),
    /// It does not, or what answered is no evidence either way.
    Unknown(ProbeFailure),
    /// It does, and turned us down: there is nothing else to try.
    Refused(ProbeFailure),
}

/// Opens the conversation.
///
/// # Errors
/// Why neither era can be spoken.
pub(super) fn open(channel: &mut dyn Channel, protocol: Protocol) -> Result<Opened, ProbeFailure> {
    match protocol {
        Protocol::Legacy => initialize(channel, OFFERED)?.map_err(|error| rejected(Step::Initialize, &error)),
        Protocol::Modern => match discover(channel) {
            Discovery::Modern(opened) => Ok(opened),
            Discovery::Unknown(failure) | Discovery::Refused(failure) => Err(failure),
        },
        Protocol::Auto if channel.discovers_first() => discover_first(channel),
        Protocol::Auto => initialize_first(channel),
    }
}

fn discover_first(channel: &mut dyn Channel) -> Result<Opened, ProbeFailure> {
    let unknown = match discover(channel) {
        Discovery::Modern(opened) => return Ok(opened),
        Discovery::Refused(failure) => return Err(failure),
        // Nobody was reached: asking otherwise would not help.
        Discovery::Unknown(failure) if failure.step == Step::Connect => return Err(failure),
        Discovery::Unknown(failure) => failure,
    };
    let failure = match initialize(channel, OFFERED) {
        Ok(Ok(opened)) => return Ok(opened),
        Ok(Err(error)) => rejected(Step::Initialize, &error),
        Err(failure) => failure,
    };
    // A missing credential is the reason, whatever is said to a question of the other era.
    let (reason, other) = match (unknown.class, failure.class) {
        (FailureClass::Auth, class) if class != FailureClass::Auth => (unknown, failure),
        _ => (failure, unknown),
    };
    // Both answers, where they differ: a gateway may stand in front of one of them only.
    if other.http_status.is_some() && other.http_status != reason.http_status {
        let other = other.text();
        let said = if reason.said.is_empty() { other } else { format!("{}; besides, {other}", reason.said) };
        return Err(ProbeFailure { said, ..reason });
    }
    Err(reason)
}

fn initialize_first(channel: &mut dyn Channel) -> Result<Opened, ProbeFailure> {
    let (failure, discovered) = match initialize(channel, OFFERED) {
        Ok(Ok(opened)) => return Ok(opened),
        Ok(Err(error)) => {
            if let Some(version) = mutual_legacy(&error) {
                // Clients do not take this turn (tried on Claude Code 2.1.332).
                let fault = HandshakeFault { what: "it is an error that names another version", is_null: false };
                return initialize(channel, version)?
                    .map(|opened| Opened { faults: vec![fault], ..opened })
                    .map_err(|error| rejected(Step::Initialize, &error));
            }
            let discovered = match discover(channel) {
                // Some servers refuse `initialize` and end.
                Discovery::Unknown(gone) if gone.class == FailureClass::Exited => discover_again(channel),
                discovered => discovered,
            };
            (rejected(Step::Initialize, &error), discovered)
        }
        Err(failure) if failure.class == FailureClass::Exited && failure.step == Step::Initialize => {
            (failure, discover_again(channel))
        }
        Err(failure) => return Err(failure),
    };
    match discovered {
        Discovery::Modern(opened) => Ok(opened),
        // What the server said first is the reason; the second question was only an attempt.
        Discovery::Unknown(_) | Discovery::Refused(_) => Err(failure),
    }
}

fn discover_again(channel: &mut dyn Channel) -> Discovery {
    match channel.restart() {
        Ok(()) => discover(channel),
        Err(failure) => Discovery::Unknown(failure),
    }
}

/// A handshake. The inner error is the server's refusal.
fn initialize(channel: &mut dyn Channel, version: &str) -> Result<Result<Opened, RpcError>, ProbeFailure> {
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client_info() });
    let call = Call { step: Step::Initialize, era: Era::Legacy, params: Some(params) };
    let result = match channel.request(&call)? {
        Ok(result) => result,
        Err(error) => return Ok(Err(error)),
    };
    let Some(version) = result["protocolVersion"].as_str() else {
        return Err(malformed(Step::Initialize, "the result has no protocolVersion", &result));
    };
    let identity = identity(Era::Legacy, version, &result["serverInfo"]);
    channel.agreed(version);
    channel.notify(Step::Initialized)?;
    let declares_tools = result["capabilities"]["tools"].is_object();
    Ok(Ok(Opened { identity, declares_tools, faults: handshake_faults(&result) }))
}

/// Asks which versions the server speaks. A server that names the modern version as an error is asked once more.
fn discover(channel: &mut dyn Channel) -> Discovery {
    let mut failure = None;
    for _ in 0..2 {
        let call = Call { step: Step::Discover, era: Era::Modern, params: params(Era::Modern, None) };
        let error = match channel.request(&call) {
            Ok(Ok(result)) => return discovered(&result),
            Ok(Err(error)) => error,
            Err(failure) => return Discovery::Unknown(failure),
        };
        let rejection = rejected(Step::Discover, &error);
        if OUR_FAULT.contains(&error.code) {
            return Discovery::Refused(rejection);
        }
        if error.code != UNSUPPORTED_VERSION || mutual_legacy(&error).is_some() && !names(&error.data, MODERN) {
            return Discovery::Unknown(rejection);
        }
        let is_worth_another = names(&error.data, MODERN);
        failure = Some(Discovery::Refused(rejection));
        if !is_worth_another {
            break;
        }
    }
    failure.unwrap_or_else(|| {
        Discovery::Unknown(ProbeFailure::new(FailureClass::Protocol, Step::Discover, "no answer to server/discover"))
    })
}

fn discovered(result: &Value) -> Discovery {
    if !result["supportedVersions"].as_array().is_some_and(|versions| versions.iter().any(|version| version == MODERN))
    {
        let what = format!("supportedVersions does not name {MODERN}");
        return Discovery::Unknown(malformed(Step::Discover, &what, result));
    }
    let info = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = if info.is_object() { info } else { &result["serverInfo"] };
    let identity = identity(Era::Modern, MODERN, info);
    let declares_tools = result["capabilities"]["tools"].is_object();
    Discovery::Modern(Opened { identity, declares_tools, faults: Vec::new() })
}

/// What the TypeScript SDK 1.32.2, on which clients are built, refuses in the result of `initialize` (tried field by field).
fn handshake_faults(result: &Value) -> Vec<HandshakeFault> {
    let info = &result["serverInfo"];
    let capabilities = &result["capabilities"];
    let known = ["tools", "prompts", "resources", "logging", "completions", "experimental"];
    let values = || known.iter().filter_map(|name| capabilities.get(*name));
    let switches =
        || values().flat_map(|value| ["listChanged", "subscribe"].map(|name| value.get(name)).into_iter().flatten());
    let experiments = || capabilities["experimental"].as_object().into_iter().flat_map(|map| map.values());
    let wrong = [
        (info["name"].is_string(), "serverInfo.name is no string"),
        (info["version"].is_string(), "serverInfo.version is no string"),
        (capabilities.is_object(), "capabilities is no object"),
        (values().all(|value| value.is_object() || value.is_null()), "a capability is no object"),
        (
            switches().all(|value| value.is_boolean() || value.is_null()),
            "listChanged or subscribe of a capability is no boolean",
        ),
        (experiments().all(Value::is_object), "an experimental capability is no object"),
        (result.get("instructions").is_none_or(|text| text.is_string() || text.is_null()), "instructions is no string"),
    ];
    let null = [
        (values().all(|value| !value.is_null()), "a capability is null"),
        (switches().all(|value| !value.is_null()), "a member of a capability is null"),
        (result.get("instructions").is_none_or(|text| !text.is_null()), "instructions is null"),
    ];
    let of = |is_null: bool| {
        move |(is_fine, what): (bool, &'static str)| (!is_fine).then_some(HandshakeFault { what, is_null })
    };
    wrong.into_iter().filter_map(of(false)).chain(null.into_iter().filter_map(of(true))).collect()
}

fn identity(era: Era, version: &str, info: &Value) -> Identity {
    let text = |key: &str| info[key].as_str().unwrap_or_default().to_owned();
    Identity { era, protocol_version: version.to_owned(), name: text("name"), version: text("version") }
}

/// The newest version with a handshake that an error names as supported.
fn mutual_legacy(error: &RpcError) -> Option<&'static str> {
    LEGACY.into_iter().find(|version| names(&error.data, version))
}

fn names(data: &Value, version: &str) -> bool {
    data["supported"].as_array().is_some_and(|versions| versions.iter().any(|named| named == version))
}
