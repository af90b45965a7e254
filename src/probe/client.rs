//! The HTTP clients of a run, built only when a server needs them: one for `http:`, one for `https:`, because loading the root
//! certificates costs about 15 ms that a local server should not pay.

use std::sync::{Arc, OnceLock};

use reqwest::Url;
use reqwest::blocking::{Client, ClientBuilder};
use reqwest::redirect::Policy;

use crate::observed::{FailureClass, ProbeFailure, Step};

/// Builds each client once.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients {
    plain: Arc<OnceLock<Result<Client, String>>>,
    secure: Arc<OnceLock<Result<Client, String>>>,
}

impl Clients {
    /// The client for this address.
    ///
    /// # Errors
    /// When it cannot be built, for example because no root certificate can be read.
    pub(super) fn for_url(&self, url: &Url) -> Result<&Client, ProbeFailure> {
        let client = if url.scheme() == "https" {
            self.secure.get_or_init(|| build(builder()))
        } else {
            self.plain.get_or_init(|| build(builder().tls_certs_only([])))
        };
        client.as_ref().map_err(|message| {
            ProbeFailure::new(FailureClass::Tls, Step::Connect, format!("cannot set up an HTTP client: {message}"))
        })
    }
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
