//! What stands between a client and a server: TLS with a certificate authority of our own, proxies, another address family.

use std::io::{self, BufRead as _, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection, StreamOwned};

/// Nothing here lasts longer than a client that was given this much.
const LONGEST: Duration = Duration::from_mins(1);

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key.
pub(crate) struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Identity {
    pub(crate) fn certificate_pem(&self) -> String {
        self.certificate.pem()
    }

    pub(crate) fn key_pem(&self) -> String {
        self.key.serialize_pem()
    }
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut parameters = CertificateParams::new(Vec::new()).expect("parameters");
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self { issuer: CertifiedIssuer::self_signed(parameters, key).expect("an authority") }
    }

    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for these names, until this year.
    pub(crate) fn identity(&self, names: &[&str], until: i32) -> Identity {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut parameters = CertificateParams::new(names).expect("parameters");
        parameters.not_before = rcgen::date_time_ymd(2000, 1, 1);
        parameters.not_after = rcgen::date_time_ymd(until, 1, 1);
        parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = parameters.signed_by(&key, &self.issuer).expect("a certificate");
        Identity { certificate, key }
    }

    /// Listens with TLS on loopback, and hands everything on to a port. With `clients` it wants a certificate of theirs.
    pub(crate) fn tls(&self, names: &[&str], until: i32, port: u16, clients: Option<&Authority>) -> u16 {
        let identity = self.identity(names, until);
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .expect("versions");
        let builder = match clients {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.issuer.der().clone()).expect("a root");
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().expect("a verifier"))
            }
        };
        let key = PrivateKeyDer::try_from(identity.key.serialize_der()).expect("a key");
        let config = builder.with_single_cert(vec![identity.certificate.der().clone()], key).expect("a configuration");
        let config = Arc::new(config);
        listen("127.0.0.1:0", move |stream| {
            let session = ServerConnection::new(Arc::clone(&config)).map_err(io::Error::other)?;
            let target = TcpStream::connect(("127.0.0.1", port))?;
            stream.set_nonblocking(true)?;
            exchange(&mut StreamOwned::new(session, stream), &target)
        })
    }
}

/// Listens at an address, and hands everything on to a port of 127.0.0.1.
pub(crate) fn plain(address: &str, port: u16) -> u16 {
    listen(address, move |mut stream| {
        let target = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nonblocking(true)?;
        exchange(&mut stream, &target)
    })
}

/// A proxy, and what it was asked.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    heads: Arc<Mutex<Vec<String>>>,
}

/// How a proxy behaves.
#[derive(Clone)]
pub(crate) enum Manner {
    /// It connects everybody, to this port whatever the target is called.
    Open(u16),
    /// The same, for whoever brings this `Proxy-Authorization`.
    Closed(u16, &'static str),
    /// It answers everything with this status.
    Refusing(u16),
    /// It never answers.
    Silent,
    /// It answers everything with what it got.
    Echo,
}

impl Proxy {
    pub(crate) fn start(manner: Manner) -> Self {
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        let port = listen("127.0.0.1:0", move |stream| serve(stream, &manner, &seen));
        Self { port, heads }
    }

    /// The head of every request it got.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().expect("the heads").clone()
    }
}

fn serve(mut stream: TcpStream, manner: &Manner, seen: &Mutex<Vec<String>>) -> io::Result<()> {
    if matches!(manner, Manner::Silent) {
        std::thread::sleep(LONGEST);
        return Ok(());
    }
    stream.set_read_timeout(Some(LONGEST))?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
        }
    }
    seen.lock().expect("the heads").push(head.clone());
    let refused = |mut stream: &TcpStream, status: u16| {
        write!(stream, "HTTP/1.1 {status} No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    };
    let port = match manner {
        Manner::Refusing(status) => return refused(&stream, *status),
        Manner::Closed(_, credential)
            if !head.lines().any(|line| is_header(line, "proxy-authorization", credential)) =>
        {
            return refused(&stream, 407);
        }
        Manner::Open(port) | Manner::Closed(port, _) => *port,
        Manner::Silent => return Ok(()),
        Manner::Echo => {
            let length = head.len();
            return write!(stream, "HTTP/1.1 502 No\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{head}");
        }
    };
    let mut target = TcpStream::connect(("127.0.0.1", port))?;
    if head.starts_with("CONNECT ") {
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    } else {
        // The path alone, and one request a connection: the next one may be for somebody else.
        let (line, rest) = head.split_once("\r\n").expect("a line");
        let mut words = line.split(' ');
        let (method, target_url) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let path = target_url.splitn(4, '/').nth(3).unwrap_or_default();
        write!(target, "{method} /{path} HTTP/1.1\r\nConnection: close\r\n{rest}")?;
    }
    target.write_all(reader.buffer())?;
    drop(reader);
    stream.set_nonblocking(true)?;
    exchange(&mut stream, &target)
}

fn is_header(line: &str, name: &str, value: &str) -> bool {
    line.split_once(": ").is_some_and(|(found, text)| found.eq_ignore_ascii_case(name) && text == value)
}

fn listen(address: &str, serve: impl Fn(TcpStream) -> io::Result<()> + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind(address).expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = Arc::clone(&serve);
            // Whoever breaks a connection has its reasons: the test looks at the other end.
            std::thread::spawn(move || serve(stream));
        }
    });
    port
}

/// Hands bytes on in both directions, until one side ends. `near` does not wait.
fn exchange(near: &mut (impl Read + Write), far: &TcpStream) -> io::Result<()> {
    far.set_nonblocking(true)?;
    let mut far_end = far;
    let mut buffer = [0; 16 * 1024];
    loop {
        let from_near = moved(near, &mut far_end, &mut buffer)?;
        let from_far = moved(&mut far_end, near, &mut buffer)?;
        if from_near == Some(0) || from_far == Some(0) {
            let _ = near.flush();
            let _ = far.shutdown(Shutdown::Both);
            return Ok(());
        }
        if from_near.is_none() && from_far.is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// How many bytes were moved; `None` where there was nothing to move yet.
fn moved(from: &mut impl Read, to: &mut impl Write, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    let length = match from.read(buffer) {
        Ok(length) => length,
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
        Err(error) => return Err(error),
    };
    let mut rest = &buffer[..length];
    while !rest.is_empty() {
        match to.write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => std::thread::sleep(Duration::from_millis(1)),
            Err(error) => return Err(error),
        }
    }
    to.flush().or_else(|error| if error.kind() == ErrorKind::WouldBlock { Ok(()) } else { Err(error) })?;
    Ok(Some(length))
}
