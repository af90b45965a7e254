//! TLS of a run: one configuration, made when the first server needs it, because loading roots costs about 15 ms.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};

use crate::network::Network;

/// A configuration, and what could not be loaded for it.
#[derive(Debug)]
pub(super) struct Tls {
    pub(super) config: Arc<ClientConfig>,
    /// What was wanted and could not be had: likely causes, should a certificate be refused.
    problems: Vec<String>,
}

static TLS: OnceLock<Result<Tls, String>> = OnceLock::new();

/// The configuration of this run.
///
/// # Errors
/// When no root certificate at all can be had, or the certificate of this side cannot be used.
pub(super) fn of(network: &Network) -> Result<&'static Tls, &'static str> {
    TLS.get_or_init(|| make(network)).as_ref().map_err(String::as_str)
}

/// What could not be loaded, once something was.
pub(super) fn problems() -> &'static [String] {
    TLS.get().and_then(|tls| tls.as_ref().ok()).map(|tls| tls.problems.as_slice()).unwrap_or_default()
}

fn make(network: &Network) -> Result<Tls, String> {
    let mut problems = Vec::new();
    let mut roots = RootCertStore::empty();
    if network.bundled_roots {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    if network.system_roots {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
        problems.extend(found.errors.iter().map(ToString::to_string));
    }
    if let Some(path) = &network.extra_roots {
        match certificates(path) {
            Ok(certificates) => {
                roots.add_parsable_certificates(certificates);
            }
            // The client goes on without them, too.
            Err(error) => problems.push(format!("NODE_EXTRA_CA_CERTS names {}: {error}", path.display())),
        }
    }
    if roots.is_empty() {
        problems.insert(0, "no root certificate could be loaded".to_owned());
        return Err(problems.join("; "));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots);
    let mut config = match &network.own_certificate {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let key = PrivateKeyDer::from_pem_file(key)
                .map_err(|error| format!("CLAUDE_CODE_CLIENT_KEY names {}: {error}", key.display()))?;
            let chain = certificates(certificate)
                .map_err(|error| format!("CLAUDE_CODE_CLIENT_CERT names {}: {error}", certificate.display()))?;
            builder
                .with_client_auth_cert(chain, key)
                .map_err(|error| format!("CLAUDE_CODE_CLIENT_CERT and CLAUDE_CODE_CLIENT_KEY: {error}"))?
        }
    };
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Tls { config: Arc::new(config), problems })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> =
        CertificateDer::pem_file_iter(path).and_then(Iterator::collect).map_err(|error| error.to_string());
    match found? {
        found if found.is_empty() => Err("no certificate in it".to_owned()),
        found => Ok(found),
    }
}
