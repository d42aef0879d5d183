/**
 * The one place that reads the process environment. Everything else is handed what it needs.
 */
export const environment = {
  /** Folder that holds `state/` and `config/` together; wins over the XDG defaults. */
  CORE_HOME: process.env.CORE_HOME,
  /** Folder of the state; wins over `CORE_HOME`. */
  CORE_STATE_DIR: process.env.CORE_STATE_DIR,
  /** Folder of the configuration, tokens and secrets; wins over `CORE_HOME`. */
  CORE_CONFIG_DIR: process.env.CORE_CONFIG_DIR,
  /** Where tokens of forges and models, tokens of this installation, and the registry of the latter lie, in place of the configuration folder. */
  CORE_SECRETS_DIR: process.env.CORE_SECRETS_DIR,
  /** Where the model commands keep keys, in place of `CORE_SECRETS_DIR`: in the tools container, where only the gateway sees them. */
  CORE_MODEL_SECRETS_DIR: process.env.CORE_MODEL_SECRETS_DIR,
  CORE_TOKENS_DIR: process.env.CORE_TOKENS_DIR,
  CORE_REGISTRY_DIR: process.env.CORE_REGISTRY_DIR,
  /** `error`, `warn`, `info` or `debug`. */
  CORE_LOG_LEVEL: process.env.CORE_LOG_LEVEL,
  /** `json` or `text`. */
  CORE_LOG_FORMAT: process.env.CORE_LOG_FORMAT,
  CORE_AGENTD_PORT: process.env.CORE_AGENTD_PORT,
  CORE_AGENTD_HOST: process.env.CORE_AGENTD_HOST,
  /** Where others find core-agentd, in place of where it is configured to listen. */
  CORE_AGENTD_URL: process.env.CORE_AGENTD_URL,
  CORE_CONTEXT_URL: process.env.CORE_CONTEXT_URL,
  CORE_CONTEXT_PORT: process.env.CORE_CONTEXT_PORT,
  CORE_CONTEXT_HOST: process.env.CORE_CONTEXT_HOST,
  /** Where core-context finds Neo4j, in place of `neo4j.url` of its configuration; `none`: nowhere. */
  CORE_NEO4J_URL: process.env.CORE_NEO4J_URL,
  CORE_BRIDGE_PORT: process.env.CORE_BRIDGE_PORT,
  CORE_BRIDGE_HOST: process.env.CORE_BRIDGE_HOST,
  /** Where others find core-bridge, in place of where it is configured to listen. */
  CORE_BRIDGE_URL: process.env.CORE_BRIDGE_URL,
  CORE_BUS_PORT: process.env.CORE_BUS_PORT,
  CORE_BUS_HOST: process.env.CORE_BUS_HOST,
  CORE_BUS_HTTP_PORT: process.env.CORE_BUS_HTTP_PORT,
  /** Where clients find the bus, in place of our own engine. */
  CORE_BUS_URL: process.env.CORE_BUS_URL,
  /** What the iii beside this container was started with, as compose.yaml says it to both. */
  III_TELEMETRY_ENABLED: process.env.III_TELEMETRY_ENABLED,
  CORE_MODELS_PORT: process.env.CORE_MODELS_PORT,
  CORE_MODELS_HOST: process.env.CORE_MODELS_HOST,
  /** Where others find core-model-gateway, in place of where it is configured to listen. */
  CORE_MODELS_URL: process.env.CORE_MODELS_URL,
  /** Name of the crash point at which the process kills itself, `name` or `name:occurrence`. Tests only. */
  CORE_CRASH_AT: process.env.CORE_CRASH_AT,
  XDG_STATE_HOME: process.env.XDG_STATE_HOME,
  XDG_CONFIG_HOME: process.env.XDG_CONFIG_HOME,
  XDG_CACHE_HOME: process.env.XDG_CACHE_HOME,
  /** Where sockets go whose path below the state folder would be too long. */
  XDG_RUNTIME_DIR: process.env.XDG_RUNTIME_DIR,
  HOME: process.env.HOME,
  /** Folder of rustup's toolchains, instead of `~/.rustup`. */
  RUSTUP_HOME: process.env.RUSTUP_HOME,
  PATH: process.env.PATH,
  NO_COLOR: process.env.NO_COLOR,
  CI: process.env.CI,
  /** `light`, `dark` or `auto`: the colours of the terminal interface. */
  CORE_THEME: process.env.CORE_THEME,
  /** The person's program for reading long texts, and the options of less. */
  PAGER: process.env.PAGER,
  /** The person's editor: VISUAL first. */
  EDITOR: process.env.VISUAL || process.env.EDITOR,
  LESS: process.env.LESS,
  LANG: process.env.LC_ALL || process.env.LC_CTYPE || process.env.LANG,
  TERM: process.env.TERM,
  /** Columns to write in, where it is exported. */
  COLUMNS: process.env.COLUMNS,
  /** How the person's own git reaches a remote; given to fetch and push alone. */
  SSH_AUTH_SOCK: process.env.SSH_AUTH_SOCK,
  GIT_SSH_COMMAND: process.env.GIT_SSH_COMMAND,
  DBUS_SESSION_BUS_ADDRESS: process.env.DBUS_SESSION_BUS_ADDRESS,
  HTTPS_PROXY: process.env.HTTPS_PROXY ?? process.env.https_proxy,
  HTTP_PROXY: process.env.HTTP_PROXY ?? process.env.http_proxy,
  NO_PROXY: process.env.NO_PROXY ?? process.env.no_proxy,
  /**
   * Certificates of authorities beside the system's; what validations prepare with the network trusts them too, and Core's git those
   * that git reads.
   */
  NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
  SSL_CERT_FILE: process.env.SSL_CERT_FILE,
  REQUESTS_CA_BUNDLE: process.env.REQUESTS_CA_BUNDLE,
  CURL_CA_BUNDLE: process.env.CURL_CA_BUNDLE,
  GIT_SSL_CAINFO: process.env.GIT_SSL_CAINFO,
  npm_config_cafile: process.env.npm_config_cafile ?? process.env.NPM_CONFIG_CAFILE,
  PIP_CERT: process.env.PIP_CERT,
  CARGO_HTTP_CAINFO: process.env.CARGO_HTTP_CAINFO,
  /** A Neo4j server for the tests, in place of one that they start; its data is replaced. Tests only. */
  NEO4J_URI: process.env.NEO4J_URI,
  NEO4J_USER: process.env.NEO4J_USER,
  NEO4J_PASSWORD: process.env.NEO4J_PASSWORD,
  /** A Gitea for the tests and an administrator of it; some of its users and repositories are replaced. Tests only. */
  CORE_TEST_GITEA_URL: process.env.CORE_TEST_GITEA_URL,
  CORE_TEST_GITEA_USER: process.env.CORE_TEST_GITEA_USER,
  CORE_TEST_GITEA_PASSWORD: process.env.CORE_TEST_GITEA_PASSWORD,
  /** A PostgreSQL server for the tests, as a user that may make databases, in place of one that they start. Tests only. */
  CORE_TEST_POSTGRES_URL: process.env.CORE_TEST_POSTGRES_URL,
  /** node_modules with the coding agents that tests drive. */
  CORE_TEST_AGENTS: process.env.CORE_TEST_AGENTS,
  /** So many times as many rounds of hosts that fail. */
  CORE_TEST_ROUNDS: process.env.CORE_TEST_ROUNDS,
  /** Names of things, separated by spaces, that this continuous integration cannot provide. Tests only. */
  CORE_TEST_WITHOUT: process.env.CORE_TEST_WITHOUT,
  /** `quick` where `npm test` runs. */
  CORE_TESTS: process.env.CORE_TESTS,
} as const;

export type Environment = Readonly<Record<keyof typeof environment, string | undefined>>;

/**
 * What a program of Core may take over from where it was started. Everything else, a cloud's credentials for one, stays behind:
 * secrets reach Core in files.
 */
const passedOn: readonly RegExp[] = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|TZ)$/,
  /^(LANG|LANGUAGE|LC_[A-Z]+|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CI|LESS|PAGER|COLUMNS|EDITOR|VISUAL)$/,
  /^XDG_[A-Z_]+$/,
  /^CORE_[A-Z0-9_]+$/,
  /^(HTTPS?_PROXY|ALL_PROXY|NO_PROXY|https?_proxy|all_proxy|no_proxy)$/,
  /^(NODE_EXTRA_CA_CERTS|NODE_USE_SYSTEM_CA|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE)$/,
  /^(GIT_SSL_CAINFO|npm_config_cafile|NPM_CONFIG_CAFILE|PIP_CERT|CARGO_HTTP_CAINFO)$/,
  // Where missing programs are looked for.
  /^RUSTUP_HOME$/,
  // How git reaches a remote as the person does, and core-status their Docker.
  /^(SSH_AUTH_SOCK|GIT_SSH_COMMAND|DBUS_SESSION_BUS_ADDRESS)$/,
  /^(DOCKER_HOST|DOCKER_CONTEXT|DOCKER_CONFIG|COMPOSE_[A-Z_]+)$/,
  // Where `core` keeps compiled code: without it a program takes several times as long to start.
  /^NODE_COMPILE_CACHE$/,
  /^(NODE_V8_COVERAGE|III_TELEMETRY_ENABLED)$/,
];

/** What a program of Core that this process starts sees: the variables that are passed on, those that CORE_PASS_ENV names, and these. */
export function childEnvironment(
  change: Readonly<Record<string, string>>,
  given: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string | undefined> {
  const named = new Set((given.CORE_PASS_ENV ?? '').split(/[\s,]+/));
  const kept = Object.entries(given).filter(
    ([name]) => named.has(name) || passedOn.some((pattern) => pattern.test(name)),
  );
  return { ...Object.fromEntries(kept), ...change };
}
