//! A connection of our own, for what is no HTTP request: name, proxy, TCP, TLS, each within the deadline.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::sync::mpsc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use reqwest::Url;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::deadline::Deadline;
use super::http_failure;
use super::tls;
use crate::network::Network;
use crate::observed::{FailureClass, ProbeFailure, Step};

/// How much of a proxy's answer is read.
const LONGEST_HEAD: usize = 16 * 1024;

static PROXIES: OnceLock<Matcher> = OnceLock::new();

/// A proxy to go through.
pub(super) struct Proxy(Intercept);

impl Proxy {
    /// Whether the proxy itself is spoken to over TLS.
    pub(super) fn is_secure(&self) -> bool {
        self.0.uri().scheme_str() == Some("https")
    }

    /// Its host and port, for messages: without its credential.
    pub(super) fn shown(&self) -> String {
        let uri = self.0.uri();
        format!("{}:{}", uri.host().unwrap_or_default(), self.port())
    }

    fn port(&self) -> u16 {
        self.0.uri().port_u16().unwrap_or(if self.is_secure() { 443 } else { 80 })
    }
}

/// The proxy that `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` (or their lower-case forms) name for an address.
pub(super) fn proxy_for(url: &Url) -> Option<Proxy> {
    let scheme = match url.scheme() {
        "ws" | "http" => "http",
        _ => "https",
    };
    let uri = format!("{scheme}://{}:{}", url.host_str()?, url.port_or_known_default()?).parse().ok()?;
    PROXIES.get_or_init(Matcher::from_system).intercept(&uri).map(Proxy)
}

/// A connection, plain or not.
pub(super) enum Connection {
    Plain(Timed),
    Secure(Box<StreamOwned<ClientConnection, Timed>>),
}

impl Connection {
    /// From now on nothing takes longer than until then.
    pub(super) fn set_end(&mut self, end: Instant) {
        match self {
            Self::Plain(stream) => stream.end = end,
            Self::Secure(stream) => stream.sock.end = end,
        }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}

/// A TCP connection whose every read and write ends in time: a peer that drips cannot stretch it.
pub(super) struct Timed {
    stream: TcpStream,
    end: Instant,
}

impl Timed {
    fn left(&self) -> io::Result<Duration> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

/// What a socket says when its time is up, in one word.
fn timed<T>(result: io::Result<T>) -> io::Result<T> {
    result.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    })
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        timed(self.stream.read(buffer))
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        timed(self.stream.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Connects to the host of `url` (`ws`, `wss`), through a proxy where one is named.
///
/// # Errors
/// A failure of class `dns`, `connect`, `tls`, `timeout` or (a proxy that says no) `http-status`.
pub(super) fn open(url: &Url, network: &Network, deadline: Deadline) -> Result<Connection, ProbeFailure> {
    let (host, port) = url
        .host_str()
        .zip(url.port_or_known_default())
        .ok_or_else(|| ProbeFailure::new(FailureClass::Unsupported, Step::Connect, "the url names no host"))?;
    let mut connection = match proxy_for(url) {
        None => Connection::Plain(reach(host, port, deadline)?),
        Some(proxy) => {
            let target = format!("{host}:{port}");
            tunnelled(&proxy, &target, network, deadline).map_err(|failure| match failure.http_status {
                // The proxy's own answer names it.
                Some(_) => failure,
                None => http_failure::through(&proxy.shown(), failure),
            })?
        }
    };
    if url.scheme() == "wss" {
        connection = secured(connection, host, network, deadline)?;
    }
    Ok(connection)
}

fn tunnelled(proxy: &Proxy, target: &str, network: &Network, deadline: Deadline) -> Result<Connection, ProbeFailure> {
    let scheme = proxy.0.uri().scheme_str().unwrap_or("http");
    if !matches!(scheme, "http" | "https") {
        let message = format!("a proxy of the kind {scheme:?} is not supported");
        return Err(ProbeFailure::new(FailureClass::Unsupported, Step::Connect, message));
    }
    let name = proxy.0.uri().host().unwrap_or_default();
    let reached = Connection::Plain(reach(name, proxy.port(), deadline)?);
    let mut reached = if proxy.is_secure() { secured(reached, name, network, deadline)? } else { reached };
    tunnel(&mut reached, proxy, target, deadline)?;
    Ok(reached)
}

fn reach(host: &str, port: u16, deadline: Deadline) -> Result<Timed, ProbeFailure> {
    let addresses = resolve(host, port, deadline)?;
    let mut failure = None;
    for (index, address) in addresses.iter().enumerate() {
        let Some(left) = deadline.remaining() else { break };
        // What is left is shared by the addresses that are left.
        let share = left / u32::try_from(addresses.len() - index).unwrap_or(1);
        match TcpStream::connect_timeout(address, share) {
            Ok(stream) => {
                // Messages are small and are waited for.
                let _ = stream.set_nodelay(true);
                return Ok(Timed { stream, end: deadline.end() });
            }
            Err(error) => failure = Some(error),
        }
    }
    let failure = failure.unwrap_or_else(|| io::ErrorKind::TimedOut.into());
    Err(http_failure::of_io(Step::Connect, &deadline, &failure))
}

/// The resolver knows no deadline: it is asked in a thread that nobody waits for longer than that.
fn resolve(host: &str, port: u16, deadline: Deadline) -> Result<Vec<SocketAddr>, ProbeFailure> {
    let (sender, receiver) = mpsc::channel();
    // An IPv6 address stands in brackets in a URL, and nowhere else.
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    std::thread::spawn(move || {
        let found = (name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>);
        // Nobody listens any more when the time is up.
        let _ = sender.send(found);
    });
    match receiver.recv_timeout(deadline.remaining().unwrap_or_default()) {
        Ok(Ok(addresses)) if !addresses.is_empty() => Ok(addresses),
        Ok(Ok(_)) => Err(http_failure::unresolved("it has no address")),
        Ok(Err(error)) => Err(http_failure::unresolved(&error.to_string())),
        Err(_) => Err(http_failure::of_io(Step::Connect, &deadline, &io::ErrorKind::TimedOut.into())),
    }
}

fn secured(
    connection: Connection,
    host: &str,
    network: &Network,
    deadline: Deadline,
) -> Result<Connection, ProbeFailure> {
    let unusable = |said: &str| ProbeFailure::new(FailureClass::Tls, Step::Connect, "cannot set up TLS").saying(said);
    let Connection::Plain(stream) = connection else {
        return Err(unusable("TLS inside TLS, through a proxy that is spoken to over TLS, is not supported"));
    };
    let tls = tls::of(network).map_err(unusable)?;
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = ServerName::try_from(name).map_err(|error| unusable(&error.to_string()))?;
    let mut config = (*tls.config).clone();
    // WebSocket begins as HTTP/1.1, but some servers choke on being told so here.
    config.alpn_protocols.clear();
    let session = ClientConnection::new(Arc::new(config), name).map_err(|error| unusable(&error.to_string()))?;
    let mut stream = StreamOwned::new(session, stream);
    while stream.conn.is_handshaking() {
        stream
            .conn
            .complete_io(&mut stream.sock)
            .map_err(|error| http_failure::of_io(Step::Connect, &deadline, &error))?;
    }
    Ok(Connection::Secure(Box::new(stream)))
}

/// Asks a proxy for a way to `target` (RFC 9110, section 9.3.6).
fn tunnel(connection: &mut Connection, proxy: &Proxy, target: &str, deadline: Deadline) -> Result<(), ProbeFailure> {
    let credential = match proxy.0.basic_auth().and_then(|value| value.to_str().ok()) {
        Some(value) => format!("Proxy-Authorization: {value}\r\n"),
        None => String::new(),
    };
    let request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{credential}\r\n");
    let mut head = Vec::new();
    let broken = |error: &io::Error| http_failure::of_io(Step::Connect, &deadline, error);
    connection.write_all(request.as_bytes()).map_err(|error| broken(&error))?;
    let mut byte = [0];
    // Byte by byte: what comes behind the head belongs to the server.
    while !head.ends_with(b"\r\n\r\n") && head.len() < LONGEST_HEAD {
        match connection.read(&mut byte).map_err(|error| broken(&error))? {
            0 => return Err(broken(&io::ErrorKind::UnexpectedEof.into())),
            _ => head.push(byte[0]),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let status = head.split_whitespace().nth(1).and_then(|status| status.parse::<u16>().ok()).unwrap_or_default();
    if (200..300).contains(&status) { Ok(()) } else { Err(http_failure::of_proxy(&proxy.shown(), status)) }
}
