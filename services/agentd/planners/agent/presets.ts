import type { AgentDialect, AgentPresetName, AgentSettings } from '../../planning/agent-settings.ts';

/**
 * What Core knows of an agent. In `environment` and `home` the words `{address}`, `{model}` and `{key}` stand for the address of the
 * model inside the sandbox, its name, and what the agent is given for a key.
 */
export interface AgentPreset {
  /** For people. */
  readonly title: string;
  /** Its page on the site. */
  readonly page: string;
  /** Program and arguments of its server of the Agent Client Protocol. */
  readonly command: readonly [program: string, ...args: string[]];
  /** What installs it. */
  readonly install: string;
  readonly dialect: AgentDialect;
  /** With a model of core-model-gateway. */
  readonly environment: Readonly<Record<string, string>>;
  /** Files of its home, by their path there. */
  readonly home: Readonly<Record<string, string>>;
  /** How the session asks to be authenticated, where the agent asks for it. */
  readonly authenticate: string | null;
  readonly mode: string | null;
  /** Whether it is offered to read and write files through Core; it can do so by itself. */
  readonly files: boolean;
  /** With a login of its own in place of the model; null where it has none. */
  readonly login:
    | (Required<Pick<AgentSettings, 'credentials'>> & {
        readonly hosts: readonly string[];
        readonly environment: Readonly<Record<string, string>>;
        /** What makes the login. */
        readonly command: string;
      })
    | null;
}

const claudeQuiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  DISABLE_AUTOUPDATER: '1',
};

export const presets: Readonly<Record<AgentPresetName, AgentPreset>> = {
  claude: {
    title: 'Claude Code',
    page: 'agent-claude',
    command: ['claude-agent-acp'],
    install: 'npm install -g @agentclientprotocol/claude-agent-acp',
    dialect: 'messages',
    environment: {
      ANTHROPIC_BASE_URL: '{address}',
      ANTHROPIC_AUTH_TOKEN: '{key}',
      ANTHROPIC_MODEL: '{model}',
      ANTHROPIC_SMALL_FAST_MODEL: '{model}',
      ANTHROPIC_DEFAULT_HAIKU_MODEL: '{model}',
      ...claudeQuiet,
    },
    home: {},
    authenticate: null,
    // It asks, and is answered by rule. Its mode auto would have the model judge each call.
    mode: 'default',
    files: true,
    login: {
      hosts: ['api.anthropic.com'],
      credentials: ['~/.claude/.credentials.json'],
      environment: claudeQuiet,
      command: 'claude /login',
    },
  },
  codex: {
    title: 'Codex',
    page: 'agent-codex',
    command: ['codex-acp'],
    install: 'npm install -g @agentclientprotocol/codex-acp',
    dialect: 'responses',
    environment: { CORE_MODEL_KEY: '{key}' },
    home: {
      '.codex/config.toml': [
        'model = "{model}"',
        'model_provider = "core"',
        'check_for_update_on_startup = false',
        // The server would have to search, which a translation cannot.
        'web_search = "disabled"',
        '[model_providers.core]',
        'name = "core-model-gateway"',
        'base_url = "{address}/v1"',
        'wire_api = "responses"',
        'env_key = "CORE_MODEL_KEY"',
        '',
      ].join('\n'),
    },
    authenticate: null,
    // Its own sandbox does not work inside another, and ours is around all of it.
    mode: 'agent-full-access',
    files: true,
    login: {
      hosts: ['chatgpt.com', 'api.openai.com', 'auth.openai.com'],
      credentials: ['~/.codex/auth.json'],
      environment: {},
      command: 'codex login',
    },
  },
  opencode: {
    title: 'OpenCode',
    page: 'agent-opencode',
    command: ['opencode', 'acp', '--pure'],
    install: 'npm install -g opencode-ai',
    dialect: 'chat',
    environment: {
      // Its list of models lies where nothing in the sandbox leads.
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'core/{model}',
        small_model: 'core/{model}',
        provider: {
          core: {
            npm: '@ai-sdk/openai-compatible',
            name: 'core-model-gateway',
            options: { baseURL: '{address}/v1', apiKey: '{key}' },
            models: { '{model}': {} },
          },
        },
        autoupdate: false,
        share: 'disabled',
      }),
    },
    home: {},
    authenticate: null,
    mode: null,
    files: true,
    login: null,
  },
  gemini: {
    title: 'Gemini CLI',
    page: 'agent-gemini',
    command: ['gemini', '--experimental-acp'],
    install: 'npm install -g @google/gemini-cli',
    dialect: 'google',
    environment: {
      GOOGLE_GEMINI_BASE_URL: '{address}',
      GEMINI_API_KEY: '{key}',
      GEMINI_MODEL: '{model}',
    },
    home: {
      '.gemini/settings.json': JSON.stringify({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
        general: { disableAutoUpdate: true },
      }),
    },
    authenticate: 'gemini-api-key',
    mode: null,
    // Its version 0.61 takes the answer that a file is missing for a failure, and makes no new file.
    files: false,
    login: {
      hosts: ['cloudcode-pa.googleapis.com', 'oauth2.googleapis.com'],
      credentials: ['~/.gemini/oauth_creds.json'],
      environment: {},
      command: 'gemini, then "Login with Google"',
    },
  },
};
