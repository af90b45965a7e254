//! What a server does that this tool reads all the same, but that a stricter client stumbles over. A leaf: one row a deviation, each
//! with its rule and what a client does about it.

/// How many tools a sentence names.
const NAMED: usize = 4;

/// What carries a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Carrier {
    /// A line, an event or a frame.
    Stream,
    /// The body of an HTTP answer, which is read by other means than the rest.
    Body,
}

/// Something a server does that the protocol does not allow, or that some client cannot read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Deviation {
    /// A message begins with a byte order mark.
    ByteOrderMark(Carrier),
    /// A message holds bytes that are no UTF-8.
    NotUtf8,
    /// Half of a surrogate pair as an escape.
    HalfCharacter,
    /// A number beyond any range.
    BoundlessNumber,
    /// Messages come in an array.
    Batch(Carrier),
    /// An answer repeats the request's id as a string or a float.
    IdOfAnotherType,
    /// An error that names no request comes beside the answer.
    StrayError(Carrier),
    /// The server asks something of the client in an era without such requests.
    RequestOfServer,
    /// The last page says `"nextCursor": null`.
    NullCursor,
    /// A cursor comes a second time.
    RepeatedCursor,
    /// Tools are listed although the server does not declare that it has any.
    UndeclaredTools,
    /// Several tools have one name.
    RepeatedNames(Vec<String>),
    /// Names of tools with other characters than the protocol has for them, or too many.
    OddNames(Vec<String>),
    /// Something in the answer to `initialize` that the TypeScript SDK refuses.
    Handshake(&'static str),
    /// `x-mcp-header` annotations that a client must not accept over HTTP: each tool with what is wrong.
    HeaderAnnotations(Vec<(String, String)>),
}

impl Deviation {
    /// What the server does, as the end of a sentence that begins with "the server".
    pub(crate) fn what(&self) -> String {
        match self {
            Self::ByteOrderMark(_) => "begins a message with a byte order mark".to_owned(),
            Self::NotUtf8 => "sends bytes that are no UTF-8".to_owned(),
            Self::HalfCharacter => "sends half of a character (an escape of one surrogate alone)".to_owned(),
            Self::BoundlessNumber => "sends a number beyond any range".to_owned(),
            Self::Batch(_) => "sends its messages in an array (a batch)".to_owned(),
            Self::IdOfAnotherType => "answers with an id of another type than the request's".to_owned(),
            Self::StrayError(_) => "sends an error that names no request, beside its answer".to_owned(),
            Self::RequestOfServer => {
                "sends requests of its own, which 2026-07-28 does not allow (server to client)".to_owned()
            }
            Self::NullCursor => "ends its list with \"nextCursor\": null".to_owned(),
            Self::RepeatedCursor => "repeats a cursor: its list never ends by itself".to_owned(),
            Self::UndeclaredTools => "lists tools without declaring the capability \"tools\"".to_owned(),
            Self::RepeatedNames(names) => format!("lists more than one tool of the same name: {}", some_of(names)),
            Self::OddNames(names) => {
                format!("has tool names beyond 1 to 128 of the characters A-Z a-z 0-9 _ . -: {}", some_of(names))
            }
            Self::Handshake(fault) => format!("answers initialize with a fault: {fault}"),
            Self::HeaderAnnotations(tools) => {
                let tools: Vec<String> = tools.iter().map(|(tool, fault)| format!("{tool} ({fault})")).collect();
                format!("has tools with an invalid x-mcp-header: {}", some_of(&tools))
            }
        }
    }

    /// What that means for clients, with the source of the rule.
    pub(crate) fn effect(&self) -> &'static str {
        match self {
            Self::ByteOrderMark(_) => "RFC 8259 section 8.1 forbids it; a parser may refuse the message",
            Self::HalfCharacter => "RFC 8259 section 8.2 calls it unpredictable; a parser may refuse the message",
            Self::BoundlessNumber => "RFC 8259 section 6 warns of it; a parser may refuse the message",
            Self::NotUtf8 => "RFC 8259 section 8.1 demands UTF-8; a client may drop the message",
            Self::Batch(_) => {
                "the protocol has no batches since 2025-06-18; the SDKs for TypeScript 2.4.0, Python 2.3.0 and Rust 3.11.0 read none over pipes"
            }
            Self::IdOfAnotherType => {
                "JSON-RPC 2.0 section 5 demands the same value; a client that compares strictly waits in vain"
            }
            Self::StrayError(_) => "a client may take it for the answer, or close the connection",
            Self::RequestOfServer => "a client of that era does not answer (2026-07-28, section Messages)",
            Self::NullCursor => "the TypeScript SDK 2.4.0 and what is built on it refuse the whole page",
            Self::RepeatedCursor => "a client without a bound asks for ever (the Rust SDK 3.11.0 does)",
            Self::UndeclaredTools => "clients on the TypeScript SDK do not ask such a server for tools",
            Self::RepeatedNames(_) => "names must be unique within a server; a client keeps one of them",
            Self::OddNames(_) => "2025-11-25, section Tool Names; a client may rename or refuse such tools",
            Self::Handshake(_) => "the TypeScript SDK 1.32.2 and what is built on it refuse the server",
            Self::HeaderAnnotations(_) => {
                "clients on Streamable HTTP must leave such tools out (2026-07-28, section Tools)"
            }
        }
    }

    /// The tools concerned, sorted; none where it is about the server.
    pub(crate) fn tools(&self) -> Vec<String> {
        match self {
            Self::RepeatedNames(names) | Self::OddNames(names) => names.clone(),
            Self::HeaderAnnotations(tools) => tools.iter().map(|(tool, _)| tool.clone()).collect(),
            _ => Vec::new(),
        }
    }
}

/// The first few, and how many there are beyond.
fn some_of(names: &[String]) -> String {
    let shown = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}
