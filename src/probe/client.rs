//! The HTTP clients of a run, built only when a server needs them: one for what needs TLS, one for what does not.
//!
//! They live as long as the process. Dropping a client waits for its threads, and one of them may sit in a name resolution that
//! nobody can interrupt, far beyond any deadline.

use std::sync::OnceLock;

use reqwest::Url;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;

use super::tls;
use crate::network::Network;
use crate::observed::{FailureClass, ProbeFailure, Step};

static PLAIN: OnceLock<Result<Client, String>> = OnceLock::new();
static SECURE: OnceLock<Result<Client, String>> = OnceLock::new();

/// The client for this address. It goes through the proxy that the environment names for the address, if it names one.
///
/// # Errors
/// When it cannot be built, for example because no root certificate can be read.
pub(super) fn for_url(url: &Url, network: &Network) -> Result<&'static Client, ProbeFailure> {
    let needs_tls = url.scheme() == "https" || super::connect::proxy_for(url).is_some_and(|proxy| proxy.is_secure());
    let client = if needs_tls {
        SECURE.get_or_init(|| {
            let tls = tls::of(network)?;
            build(builder().tls_backend_preconfigured((*tls.config).clone()))
        })
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
