//! Variables that Claude Code keeps from remote servers: in `url` and `headers` they read as empty, and their default is not used. Each
//! name was tried on 2.1.332, set, in a header toward a server on loopback (more than two hundred others were passed on).

/// By name.
const NAMES: [&str; 108] = [
    "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
    "ACTIONS_ID_TOKEN_REQUEST_URL",
    "ACTIONS_RUNTIME_TOKEN",
    "ACTIONS_RUNTIME_URL",
    "ALL_INPUTS",
    "ALL_PROXY",
    "ANACONDA_API_TOKEN",
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_AWS_API_KEY",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_FOUNDRY_API_KEY",
    "ANTHROPIC_FOUNDRY_AUTH_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN",
    "ANTHROPIC_IDENTITY_TOKEN_FILE",
    "ARTIFACTS_CREDENTIALPROVIDER_ACCESSTOKEN",
    "ARTIFACTS_CREDENTIALPROVIDER_EXTERNAL_FEED_ENDPOINTS",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AZURE_AUTH_LOCATION",
    "AZURE_CLIENT_CERTIFICATE_PASSWORD",
    "AZURE_CLIENT_CERTIFICATE_PATH",
    "AZURE_CLIENT_SECRET",
    "AZURE_FEDERATED_TOKEN_FILE",
    "AZURE_PASSWORD",
    "BINSTAR_API_TOKEN",
    "CARGO_REGISTRY_TOKEN",
    "CI_DEPLOY_USER",
    "CI_REGISTRY_USER",
    "CLAUDE_CODE_ARTIFACTS_API_TOKEN",
    "CLAUDE_CODE_MEMORY_API_TOKEN",
    "CLAUDE_CODE_OAUTH_REFRESH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_RUNNER_MODEL_SOCKET",
    "CLAUDE_CODE_SESSIONS_OAUTH_TOKEN",
    "CLAUDE_CODE_SLACK_TAG_TOKEN",
    "CLOUDSDK_AUTH_ACCESS_TOKEN",
    "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE",
    "CLOUDSDK_AUTH_AUTHORIZATION_TOKEN_FILE",
    "CODEARTIFACT_AUTH_TOKEN",
    "COMPOSER_AUTH",
    "CONAN_LOGIN_USERNAME",
    "CONAN_PASSWORD",
    "CONSUL_HTTP_AUTH",
    "CONSUL_HTTP_TOKEN",
    "DEFAULT_WORKFLOW_TOKEN",
    "DISCORD_WEBHOOK",
    "DISCORD_WEBHOOK_URL",
    "FASTLANE_SESSION",
    "FLIT_PASSWORD",
    "FLIT_USERNAME",
    "GEM_HOST_API_KEY",
    "GOAUTH",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_GHA_CREDS_PATH",
    "GOOGLE_OAUTH_ACCESS_TOKEN",
    "GOPROXY",
    "HATCH_INDEX_AUTH",
    "HATCH_INDEX_USER",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "IDENTITY_HEADER",
    "JF_USER",
    "MATCH_GIT_BASIC_AUTHORIZATION",
    "MATURIN_PASSWORD",
    "MATURIN_PYPI_TOKEN",
    "MATURIN_USERNAME",
    "MCP_CLIENT_SECRET",
    "MSI_SECRET",
    "MS_TEAMS_WEBHOOK_URI",
    "NODE_AUTH_TOKEN",
    "NOMAD_HTTP_AUTH",
    "NOMAD_TOKEN",
    "NPM_TOKEN",
    "NUGET_AUTH_TOKEN",
    "OVERRIDE_GITHUB_TOKEN",
    "PIP_EXTRA_INDEX_URL",
    "PIP_INDEX_URL",
    "PYPI_API_TOKEN",
    "PYPI_TOKEN",
    "SLACK_WEBHOOK",
    "SLACK_WEBHOOK_URL",
    "SONARQUBE_SCANNER_PARAMS",
    "SONAR_SCANNER_JSON_PARAMS",
    "SONAR_TOKEN",
    "SSH_SIGNING_KEY",
    "TEAMS_WEBHOOK_URL",
    "TWINE_PASSWORD",
    "TWINE_USERNAME",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX_URL",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_PUBLISH_PASSWORD",
    "UV_PUBLISH_TOKEN",
    "UV_PUBLISH_USERNAME",
    "VAULT_AUTH_TOKEN",
    "VAULT_ROLE_ID",
    "VAULT_SECRET_ID",
    "VAULT_TOKEN",
    "VSS_NUGET_ACCESSTOKEN",
    "VSS_NUGET_EXTERNAL_FEED_ENDPOINTS",
];

/// The client's own tokens. Programs neither inherit them, nor get them for `${VAR}`: those read as empty (tried on 2.1.332 with every
/// name above, set, in the environment and in `env` of an entry).
const OWN: [&str; 5] = [
    "CLAUDE_CODE_ARTIFACTS_API_TOKEN",
    "CLAUDE_CODE_MEMORY_API_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_SESSIONS_OAUTH_TOKEN",
    "CLAUDE_CODE_SLACK_TAG_TOKEN",
];

/// What the client gives to its hooks, and not to its servers (seen on 2.1.332 in the environments of both).
const OF_HOOKS: [&str; 4] = ["CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID"];

/// Whether a program does not inherit a variable.
pub(super) fn is_not_inherited(name: &str) -> bool {
    name.starts_with("OTEL_") || name == "CLAUDE_CODE_CHILD_SESSION" || OWN.contains(&name) || OF_HOOKS.contains(&name)
}

/// Whether a variable reads as empty where a program's entry names it; two of these are inherited all the same.
pub(super) fn is_withheld_from_programs(name: &str) -> bool {
    name.starts_with("OTEL_")
        || OWN.contains(&name)
        || matches!(name, "CLAUDE_CODE_OAUTH_REFRESH_TOKEN" | "MCP_CLIENT_SECRET")
}

/// Whether a variable that is set reads as empty toward remote servers. The same holds for the inputs of a GitHub action.
pub(super) fn is_withheld(name: &str) -> bool {
    let name = name.strip_prefix("INPUT_").unwrap_or(name);
    let within = |start: &str, end: &str| {
        name.strip_prefix(start).and_then(|rest| rest.strip_suffix(end)).is_some_and(|rest| !rest.is_empty())
    };
    NAMES.binary_search(&name).is_ok()
        || name.starts_with("OTEL_")
        || name.strip_prefix("BUNDLE_").is_some_and(|rest| rest.contains("__"))
        || within("CARGO_REGISTRIES_", "_TOKEN")
        || within("GIT_CONFIG_KEY_", "")
        || within("GIT_CONFIG_VALUE_", "")
        || within("POETRY_HTTP_BASIC_", "_PASSWORD")
        || within("POETRY_PYPI_TOKEN_", "")
}

#[cfg(test)]
mod tests {
    use super::{NAMES, is_withheld};

    #[test]
    fn the_names_are_sorted_for_the_search() {
        assert!(NAMES.is_sorted());
    }

    /// Each was seen on the client.
    #[test]
    fn credentials_are_told_from_the_rest_as_the_client_tells_them() {
        let withheld = [
            "NPM_TOKEN",
            "INPUT_NPM_TOKEN",
            "ANTHROPIC_API_KEY",
            "VAULT_TOKEN",
            "SLACK_WEBHOOK_URL",
            "OTEL_SERVICE_NAME",
            "BUNDLE_GEMS__EXAMPLE__COM",
            "CARGO_REGISTRIES_FOO_TOKEN",
            "GIT_CONFIG_KEY_0",
            "POETRY_HTTP_BASIC_FOO_PASSWORD",
            "POETRY_PYPI_TOKEN_FOO",
        ];
        assert!(withheld.iter().all(|name| is_withheld(name)));
        let passed_on = [
            "GITHUB_TOKEN",
            "INPUT_GITHUB_TOKEN",
            "GH_TOKEN",
            "OPENAI_API_KEY",
            "AWS_ACCESS_KEY_ID",
            "CLAUDE_CODE_FOO_TOKEN",
            "GIT_CONFIG_COUNT",
            "BUNDLE_CONFIG",
            "HF_TOKEN",
            "SENTRY_AUTH_TOKEN",
            "NO_PROXY",
            "DATABASE_URL",
        ];
        assert!(!passed_on.iter().any(|name| is_withheld(name)));
    }
}
