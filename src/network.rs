//! How remote servers are reached from here: whom to trust. Read from the environment once, with the names that clients use.

use std::path::PathBuf;

use crate::environment::Environment;

/// Whose certificates are trusted, and with which one this side shows itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Network {
    /// Whether the roots of Mozilla's program are trusted, which come with this tool as they come with the client.
    pub(crate) bundled_roots: bool,
    /// Whether the roots of this system are trusted: its store, or what `SSL_CERT_FILE` and `SSL_CERT_DIR` name in its place.
    pub(crate) system_roots: bool,
    /// A file of further roots (`NODE_EXTRA_CA_CERTS`).
    pub(crate) extra_roots: Option<PathBuf>,
    /// The files of a certificate for this side and of its key (`CLAUDE_CODE_CLIENT_CERT`, `CLAUDE_CODE_CLIENT_KEY`).
    pub(crate) own_certificate: Option<(PathBuf, PathBuf)>,
}

impl Network {
    /// Reads the variables (`clients.md` 1.5, proxies and certificate authorities).
    pub(crate) fn new(environment: &Environment) -> Self {
        let path = |name| environment.setting(name).map(|path| environment.folder.join(path));
        let stores = environment.setting("CLAUDE_CODE_CERT_STORE");
        let has_store = |wanted| {
            stores
                .as_ref()
                .is_none_or(|stores| stores.split(',').any(|store| store.trim().eq_ignore_ascii_case(wanted)))
        };
        Self {
            bundled_roots: has_store("bundled"),
            // A file that is named here is meant to be read, whatever the stores.
            system_roots: has_store("system")
                || environment.setting("SSL_CERT_FILE").or_else(|| environment.setting("SSL_CERT_DIR")).is_some(),
            extra_roots: path("NODE_EXTRA_CA_CERTS"),
            own_certificate: path("CLAUDE_CODE_CLIENT_CERT").zip(path("CLAUDE_CODE_CLIENT_KEY")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Network;
    use crate::environment::Environment;

    fn of(variables: &[(&str, &str)]) -> Network {
        Network::new(&Environment::of(variables))
    }

    #[test]
    fn stores_are_chosen_as_the_client_chooses() {
        let both = of(&[]);
        assert!(both.bundled_roots && both.system_roots && both.extra_roots.is_none());
        let system = of(&[("CLAUDE_CODE_CERT_STORE", "system")]);
        assert!(!system.bundled_roots && system.system_roots);
        let bundled = of(&[("CLAUDE_CODE_CERT_STORE", " Bundled ")]);
        assert!(bundled.bundled_roots && !bundled.system_roots);
        assert!(of(&[("CLAUDE_CODE_CERT_STORE", "bundled"), ("SSL_CERT_FILE", "/ca.pem")]).system_roots);
    }

    #[test]
    fn files_are_found_from_the_current_folder() {
        let network = of(&[("NODE_EXTRA_CA_CERTS", "ca.pem"), ("CLAUDE_CODE_CLIENT_CERT", "/a")]);
        assert_eq!(network.extra_roots.as_deref(), Some(std::path::Path::new("/ca.pem")));
        // One without the other is nothing.
        assert_eq!(network.own_certificate, None);
    }
}
