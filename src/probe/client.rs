//! The HTTP clients of a run, built only when a server needs them: one for `http:`, one for `https:`, because loading the root
//! certificates costs about 15 ms that a local server should not pay.
//!
//! They live as long as the process. Dropping a client waits for its threads, and one of them may sit in a name resolution that
//! nobody can interrupt, far beyond any deadline.

use std::sync::OnceLock;

use reqwest::Url;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;

use crate::observed::{FailureClass, ProbeFailure, Step};

static PLAIN: OnceLock<Result<Client, String>> = OnceLock::new();
static SECURE: OnceLock<Result<Client, String>> = OnceLock::new();

/// The client for this address.
///
/// # Errors
/// When it cannot be built, for example because no root certificate can be read.
pub(super) fn for_url(url: &Url) -> Result<&'static Client, ProbeFailure> {
    let client = if url.scheme() == "https" {
        SECURE.get_or_init(|| build(builder()))
    } else {
        PLAIN.get_or_init(|| build(builder().tls_certs_only([])))
    };
    client.as_ref().map_err(|message| {
        ProbeFailure::new(FailureClass::Tls, Step::Connect, "cannot set up an HTTP client").saying(message.as_str())
    })
}

fn builder() -> ClientBuilder {
    // A second installation is refused, which changes nothing.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .redirect(Policy::none())
        // Every request has its own, cut from the server's deadline.
        .timeout(None)
        .user_agent(concat!("mcp-preflight/", env!("CARGO_PKG_VERSION")))
}

fn build(builder: ClientBuilder) -> Result<Client, String> {
    builder.build().map_err(|error| super::http_failure::chain(&error).join(": "))
}
