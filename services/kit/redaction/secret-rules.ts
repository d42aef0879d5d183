import tokens from './secret-tokens.json' with { type: 'json' };

/** A form that secrets are known by. */
export interface SecretRule {
  readonly kind: string;
  /** Words of which one must be in the text, so that most text is never matched at all. */
  readonly keywords: readonly string[];
  /** The group `secret` is the part to hide. */
  readonly pattern: RegExp;
  /** Least Shannon entropy of the secret in bits for each character; examples in documents have less. */
  readonly entropy: number;
  /** What matches and is no secret. */
  readonly allow: readonly RegExp[];
  /** Names and paths match too: only what is random is a secret. */
  readonly random?: true;
}

/** Such as `glpat-put-the-token-here`; no random value has neither digits nor capitals. */
const prose = /^[a-z_-]+$/;
/** Examples that say that they are some. */
const placeholder =
  /example|placeholder|changeme|your[_-]|xxxx|\*{4}|\.\.\.|<|redacted|0123456789|1234567890|abcdefgh/i;
/** As lock files and signatures write them. */
const digest = /^(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:=]/i;
/** Such as `response.headers.authorization` in code. */
const member = /^[A-Za-z_]+(?:\.[A-Za-z_]+)*$/;

const before = '(?<![A-Za-z0-9_])';
const after = '(?![A-Za-z0-9_])';
const nameWords = ['ecret', 'ECRET', 'oken', 'OKEN', 'assw', 'ASSW', 'pi_key', 'PI_KEY', 'piKey', 'api-key'];

/** A token by its form: `mark` stands for itself, `token` is a word, `assigned` differs from an id only by the name before it. */
interface TokenForm {
  readonly kind: string;
  readonly form: string;
  readonly name?: string;
  readonly keywords: readonly string[];
  readonly pattern: string;
  readonly entropy?: number;
}

function ruleOf({ kind, form, name, keywords, pattern, entropy = 3 }: TokenForm): SecretRule {
  const secret = `(?<secret>${pattern})`;
  if (form === 'mark') return { kind, keywords, pattern: new RegExp(secret, 'dg'), entropy, allow: [prose] };
  if (form === 'token')
    return { kind, keywords, pattern: new RegExp(before + secret + after, 'dg'), entropy, allow: [prose] };
  const assignment = `${before}${name}[\\w .-]{0,20}(?:token|key|secret|password|pat|auth)[\\w-]{0,10}["']?\\s{0,5}(?:=>|:=|[:=])\\s{0,5}["']?${secret}(?![A-Za-z0-9/+=_-])`;
  return { kind, keywords, pattern: new RegExp(assignment, 'dgi'), entropy, allow: [placeholder] };
}

/**
 * Formats as their makers publish them, in their documentation or for the secret scanning of forges; lengths are lower bounds where
 * they grow. Those of tokens are data, the others need a pattern of their own. Of two that match at one place the wider one names the
 * secret.
 */
export const secretRules: readonly SecretRule[] = [
  ...tokens.map(ruleOf),
  {
    kind: 'aws_secret_key',
    keywords: ['aws', 'AWS', 'Aws'],
    pattern:
      /\baws[\w .-]{0,20}(?:secret|key)[\w .-]{0,20}["']?\s*[:=]\s*["']?(?<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])/dgi,
    entropy: 4,
    allow: [placeholder],
  },
  {
    kind: 'slack_webhook',
    keywords: ['hooks.slack.com'],
    pattern: /(?<secret>hooks\.slack\.com\/(?:services|workflows|triggers)\/[A-Za-z0-9+/]{40,})/dg,
    entropy: 3,
    allow: [placeholder],
  },
  {
    kind: 'private_key',
    keywords: ['PRIVATE KEY'],
    // A whole block, or the first lines of one that was cut off, headers such as Proc-Type included. The body needs real
    // content: documents show dots.
    pattern:
      /(?<secret>-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?:(?:[\s+>|#*"']|\\[nr]){0,12}[A-Za-z][A-Za-z-]{1,30}: [^\r\n\\]{0,200}(?:\r?\n|\\[nr])){0,5}(?:\\[nr]|[^-\w.]){0,60}[A-Za-z0-9+/=]{32}[^-]{0,20000}(?:-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----)?)/dg,
    entropy: 3.5,
    allow: [prose],
  },
  {
    kind: 'private_key',
    keywords: ['PuTTY-User-Key-File-'],
    pattern:
      /PuTTY-User-Key-File-[0-9][\s\S]{0,4000}?Private-Lines: [0-9]{1,4}\r?\n(?<secret>(?:[A-Za-z0-9+/=]{4,80}(?:\r?\n|$)){1,400})/dg,
    entropy: 3.5,
    allow: [prose],
  },
  {
    kind: 'json_web_token',
    keywords: ['eyJ'],
    pattern:
      /(?<![A-Za-z0-9_-])(?<secret>eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{20,})/dg,
    entropy: 3.5,
    allow: [prose],
  },
  {
    kind: 'url_password',
    keywords: ['://'],
    pattern:
      /\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s/:@"'`<>$\\{}]{0,100}:(?<secret>[^\s/:@"'`<>$\\{}]{6,200})@[A-Za-z0-9[]/dg,
    entropy: 2.8,
    allow: [placeholder],
  },
  {
    kind: 'authorization_header',
    keywords: ['uthorization', 'UTHORIZATION'],
    pattern:
      /\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?(?<secret>[A-Za-z0-9._~+/=-]{16,})/dgi,
    entropy: 3,
    allow: [placeholder, member],
  },
  {
    kind: 'generic_secret',
    keywords: nameWords,
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)["']?\s*(?:[:=]|=>|:=)\s*["'`](?<secret>[A-Za-z0-9+/=_.-]{20,200})["'`]/dgi,
    entropy: 4,
    allow: [placeholder, digest],
    random: true,
  },
  {
    kind: 'generic_secret',
    keywords: nameWords,
    // Without quotes, as in .env and YAML. No dots: those are members of objects in code.
    pattern:
      /\b[\w.-]{0,30}(?:api[_-]?key|secret|token|passwd|password)\w{0,20}[ \t]{0,20}[:=][ \t]{0,20}(?<secret>[A-Za-z0-9+/=_-]{20,200})(?=[\s"'`,;&<]|$)/dgi,
    entropy: 4,
    allow: [placeholder, digest],
    random: true,
  },
];
