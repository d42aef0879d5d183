/** Forms that secrets are known by. The group `secret` is the part to hide; without it, the whole match is. */
export interface SecretPattern {
  readonly kind: string;
  /** Words of which one must be in the text, so that most text is never matched at all. */
  readonly hints: readonly string[];
  readonly pattern: RegExp;
  /** Least Shannon entropy of the secret in bits for each character; examples in documents have less. */
  readonly entropy: number;
  /** Whether people also write examples in this form, which say that they are some. */
  readonly examples?: true;
}

const before = '(?<![A-Za-z0-9_])';
const after = '(?![A-Za-z0-9_])';
const nameHints = ['ecret', 'ECRET', 'oken', 'OKEN', 'assw', 'ASSW', 'pi_key', 'PI_KEY', 'piKey', 'api-key'];

function token(kind: string, hints: readonly string[], source: string, entropy = 3): SecretPattern {
  return { kind, hints, pattern: new RegExp(`${before}(?<secret>${source})${after}`, 'dg'), entropy };
}

/** A form so peculiar that it is one whatever stands around it. */
function mark(kind: string, hints: readonly string[], source: string): SecretPattern {
  return { kind, hints, pattern: new RegExp(`(?<secret>${source})`, 'dg'), entropy: 3 };
}

/** Formats as their makers publish them; lengths are lower bounds, because they grow. */
export const secretPatterns: readonly SecretPattern[] = [
  mark('core_token', ['core_'], 'core_[a-z0-9][a-z0-9-]{0,39}_[0-9a-f]{48}'),
  mark('github_token', ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'], 'gh[pousr]_[A-Za-z0-9]{36,251}'),
  mark('github_token', ['github_pat_'], 'github_pat_[A-Za-z0-9_]{22,255}'),
  mark('gitlab_token', ['glpat-', 'gldt-', 'glrt-', 'glptt-'], 'gl(?:pat|dt|rt|ptt)-[A-Za-z0-9_-]{20,}'),
  token('aws_access_key_id', ['AKIA', 'ASIA'], '(?:AKIA|ASIA)(?![A-Z2-7]{9}EXAMPLE)[A-Z2-7]{16}', 2.5),
  token('slack_token', ['xox', 'xapp-'], '(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{20,}'),
  {
    kind: 'slack_webhook',
    hints: ['hooks.slack.com'],
    pattern: /(?<secret>hooks\.slack\.com\/(?:services|workflows)\/[A-Za-z0-9+/]{40,})/dg,
    entropy: 3,
    examples: true,
  },
  token('anthropic_key', ['sk-ant-'], 'sk-ant-[A-Za-z0-9_-]{32,}'),
  token(
    'openai_key',
    ['sk-proj-', 'sk-svcacct-', 'sk-admin-'],
    'sk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{32,}',
  ),
  token('openai_key', ['sk-'], 'sk-[A-Za-z0-9]{32,}', 3.5),
  token('google_api_key', ['AIza'], 'AIza[A-Za-z0-9_-]{35}'),
  token('google_oauth_secret', ['GOCSPX-'], 'GOCSPX-[A-Za-z0-9_-]{28}'),
  mark('npm_token', ['npm_'], 'npm_[A-Za-z0-9]{36}'),
  token('stripe_key', ['_live_'], '[rs]k_live_[A-Za-z0-9]{20,}'),
  {
    kind: 'private_key',
    hints: ['PRIVATE KEY'],
    // A whole block, or the first lines of one that was cut off, headers such as Proc-Type included. The body needs real
    // content: documents show dots.
    pattern:
      /(?<secret>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:[\s+>|#*"']|\\[nr]){0,12}[A-Za-z][A-Za-z-]{1,30}: [^\r\n\\]{0,200}(?:\r?\n|\\[nr])){0,5}[^-]{0,200}?[A-Za-z0-9+/=]{32}[^-]{0,20000}(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?)/dg,
    entropy: 3.5,
  },
  {
    kind: 'json_web_token',
    hints: ['eyJ'],
    pattern:
      /(?<![A-Za-z0-9_-])(?<secret>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})/dg,
    entropy: 3.5,
  },
  {
    kind: 'url_password',
    hints: ['://'],
    pattern:
      /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>$\\{}]{0,100}:(?<secret>[^\s/:@"'`<>$\\{}]{6,200})@[A-Za-z0-9[]/dg,
    entropy: 2.8,
    examples: true,
  },
  {
    kind: 'authorization_header',
    hints: ['uthorization', 'UTHORIZATION'],
    pattern:
      /\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?(?<secret>[A-Za-z0-9._~+/=-]{16,})/dgi,
    entropy: 3,
    examples: true,
  },
  {
    kind: 'gitea_token',
    hints: ['gitea', 'forgejo', 'GITEA', 'FORGEJO', 'Gitea', 'Forgejo'],
    // Forty hex digits are also every commit id: only beside the name and a word for tokens.
    pattern:
      /\b(?:gitea|forgejo)[\w .-]{0,20}(?:token|key|secret|password)["']?\s*[:=]\s*["']?(?<secret>[0-9a-f]{40})\b/dgi,
    entropy: 3,
    examples: true,
  },
  {
    kind: 'aws_secret_key',
    hints: ['aws', 'AWS', 'Aws'],
    pattern:
      /\baws[\w .-]{0,20}(?:secret|key)[\w .-]{0,20}["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/dgi,
    entropy: 4,
    examples: true,
  },
  {
    kind: 'generic_secret',
    hints: nameHints,
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)["']?\s*(?:[:=]|=>|:=)\s*["'`](?<secret>[A-Za-z0-9+/=_.-]{20,200})["'`]/dgi,
    entropy: 4,
    examples: true,
  },
  {
    kind: 'generic_secret',
    hints: nameHints,
    // Without quotes, as in .env and YAML. No dots: those are members of objects in code.
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)\w{0,20}[ \t]{0,20}[:=][ \t]{0,20}(?<secret>[A-Za-z0-9+/=_-]{20,200})(?=[\s"'`,;&<]|$)/dgi,
    entropy: 4,
    examples: true,
  },
];
