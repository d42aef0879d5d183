import {
  isDatedWord,
  isDrawn,
  isMoreThanTestWords,
  isOptionValue,
  isPassword,
  isRandomValue,
  isSecretValue,
} from './named-value.ts';
import tokens from './secret-tokens.json' with { type: 'json' };

/** A form that secrets are known by. */
export interface SecretRule {
  readonly kind: string;
  /** Words of which one must be in the text, in any casing, so that most text is never matched at all. */
  readonly keywords: readonly string[];
  /** The group `secret` is the part to hide. */
  readonly pattern: RegExp;
  /** Least Shannon entropy of the secret in bits for each character; examples in documents have less. */
  readonly entropy: number;
  /** What matches and is no secret. */
  readonly allow: readonly RegExp[];
  /** What else the secret must be; a pattern alone would match names and references too. */
  readonly accept?: (secret: string, isQuoted: boolean) => boolean;
}

/** Such as `glpat-put-the-token-here`; no random value has neither digits nor capitals. */
const prose = /^[a-z_-]+$/;
/** Examples that say that they are some. */
const placeholder =
  /example|placeholder|changeme|your[_-]|xxxx|\*{4}|\.\.\.|<|redacted|0123456789|1234567890|abcdefgh/i;
/** Such as `response.headers.authorization` in code. */
const member = /^[A-Za-z_]+(?:\.[A-Za-z_]+)*$/;

/** Matches `ghp_PersonalAccessToken00000000`; random text repeats no character that often. */
const repeated = /(.)\1{7}/;
/** Tokens and passwords of the examples in RFC 5849, 6749, 6750, 7009, 7617 and 7662. */
export const publishedExamples: ReadonlySet<string> = new Set([
  '2YotnFZFEjr1zCsicMWpAA',
  'tGzv3JOkF0XG5Qx2TlKWIA',
  'SplxlOBeZQQYbYS6WxSbIA',
  'czZCaGRSa3F0MzpnWDFmQmF0M2JW',
  'gX1fBat3bV',
  '7Fjfp0ZBr1KtDRbnfVdmIw',
  'mF_9.B5f-4.1JqM',
  '45ghiukldjahdnhzdauz',
  'ad180jjd733klru7',
  'kd94hf93k423kf44',
  'kkk9d7dh3k39sjv7',
  'pfkkdhi9sl3r4s00',
  'hh5s93j4hdidpola',
  'hdhd0244k9j7ao03',
  'nnch734d00sl2jdk',
  'j49sk3j29djd',
  'h480djs93hd8',
  'QWxhZGRpbjpvcGVuIHNlc2FtZQ==',
  // The example in the documents for one-time passwords.
  'JBSWY3DPEHPK3PXP',
]);

/** Also behind an escape in an address, as in `%20`. */
const before = '(?:(?<![A-Za-z0-9_])|(?<=%[0-9A-Fa-f]{2}))';
const after = '(?![A-Za-z0-9_])';

/** Names that give their value away; words before and after them are common. */
const tellingPassword = 'pass(?:word|wd|phrase|wort)|kennwort|contraseña|пароль|pwd|(?<=[_.-])pass|secret';
const telling = `${tellingPassword}|token|(?:api|private|access|secret)[_ .-]?key`;
/** In lower case, as the text is compared. */
const nameWords = ['pass', 'kennwort', 'contrase', 'пароль', 'pwd', 'secret', 'token', 'key'];
/** Behind the telling word: `DB_PASSWORD_PROD2`, and not `token_id`, `passwordHash`, `PASSWORD_MIN_LENGTH`. */
const suffix =
  '(?:[_.-]?(?:key|value|text|prod(?:uction)?|dev|test|staging|live|main|new|old|primary|secondary|base|db|database|root|admin|for_[a-z]{1,12}|[0-9]{1,3})){0,2}s?';
/** Words that say that the value is something else about the secret. */
const otherThings =
  'files?|path|dir|folder|ids?|names?|url|uri|host|port|hash(?:ed)?|digest|sha\\d*|md5|checksum|fingerprint|thumbprint|salt|arn|ref|version|length|len|size|min|max|count|limit|type|kind|format|regex|pattern|field|column|label|class|icon|algorithm|alg|method|policy|provider|issuer|audience|scopes?|expir\\w*|ttl|age|timeout|date|time|at|usage|cost|public|pub|hint|placeholder|example|mask|prefix|suffix|index|offset|position|env|var|uuid|guid|address|contract|symbol|cursor|page|state|status|error|message|test_id|selector|xpath';
/** Any other words behind the name, as in `GITHUB_TOKEN_CI` and `API_KEY_OPENAI`. */
const words = `(?:[_-](?!(?:${otherThings})(?![A-Za-z]))[a-z0-9]{1,20}){1,3}`;
/** Types between name and value, in TypeScript, Python, Kotlin, Rust. */
const type = "(?:&[ ]?(?:'static )?)?(?:mut )?(?:str|string)\\??";
/** The same in Go and Visual Basic, without a colon. */
const typeAfterSpace = '[ \\t]{1,5}(?:as[ \\t]{1,3})?string[ \\t]{0,5}=';
/** `name = `, `"name": `, `name: string = ` and the like. */
const assignedTo = (names: string, behind = suffix) =>
  `(?:${names})(?<!\\.svg\\?token)${behind}["'?[\\]]{0,3}(?:${typeAfterSpace}|[ \\t]{0,5}(?::[ \\t]{0,3}${type}[ \\t]{0,5}=|=>|->|:=|[+?!]?={1,3}|:|%3d))[ \\t]{0,20}`;
const assigned = assignedTo(telling);
/** A value at the beginning of the next line, perhaps of a list. */
const nextLine = '(?:\\\\?\\r?\\n[ \\t]{1,40}(?:- )?)?';
/** `Some(`, `String::from(`, and what a default stands behind: `process.env.PW ?? `. */
const wrapped =
  "(?:(?:new )?[\\w.:]{1,40}\\(|\\[\\s{0,40}|\\$(?=')|[\\w.]{1,60}[ \\t]{0,3}(?:\\|\\||\\?\\?)[ \\t]{0,3})?";
const quoted = '(?<quote>["\'`])(?<secret>[^\\s"\'`]{8,200})\\k<quote>';
/** A character of a value without quotes; an ampersand ends it before the next parameter of an address. */
const nextParameter = '&[\\w.-]+=';
const bare = `(?:[^\\s"'\`,;&<>]|(?!${nextParameter})&)`;
/** Names of variables in code seldom have digits. */
const bareWithDigit = `(?=${bare}{0,200}\\d)(?<secret>${bare}{8,200}?)(?=[)\\]}]{0,3}(?:[\\s"'\`,;]|${nextParameter}|$))`;
const named: readonly RegExp[] = [
  new RegExp(`${assigned}${nextLine}${wrapped}(?:[bfru]|@)?${quoted}`, 'dgi'),
  new RegExp(`${assigned}(?:!!str[ ])?(?<quote>"""|''')(?<secret>[^\\s"']{8,200})\\k<quote>`, 'dgi'),
  // Without quotes, as in YAML and addresses.
  new RegExp(`${assigned}(?:!!str[ ])?${bareWithDigit}`, 'dgi'),
  // The next lines of YAML.
  new RegExp(
    `(?:${telling})${suffix}["']?:[ \\t]{0,5}[|>]?[+-]?\\r?\\n[ \\t]{1,40}(?:- )?${bareWithDigit}`,
    'dgi',
  ),
  // A line of .env.
  new RegExp(`^(?:export )?[\\w.-]{0,40}(?:${telling})${suffix}=(?<secret>[A-Za-z]{8,200})$`, 'dgim'),
  new RegExp(`<[\\w.:-]{0,30}(?:${telling})${suffix}>(?<secret>[^\\s<>]{8,200})</`, 'dgi'),
  // Name and value side by side, as in lists of variables and in settings of XML.
  new RegExp(
    `\\b(?:name|key)["']?[ \\t]{0,5}[:=][ \\t]{0,5}["']?[\\w.-]{0,40}(?:${telling})${suffix}["']?[\\s,]{1,40}["']?value["']?[ \\t]{0,5}[:=][ \\t]{0,5}(?<quote>["']?)(?<secret>[^\\s"'\`,;<>]{8,200})\\k<quote>`,
    'dgi',
  ),
  // Defaults and arguments: define('DB_PASSWORD', 'x'), setPassword("x"), DB_PASSWORD || 'x', ["--password", "x"].
  new RegExp(
    `(?:${telling})${suffix}(?:["'][ \\t]{0,3},|\\(|[ \\t]{0,3}(?:\\|\\||\\?\\?))[ \\t]{0,3}${quoted}`,
    'dgi',
  ),
  new RegExp(`\\$\\{\\w{0,40}(?:${telling})${suffix}:?[-=](?<secret>[^\\s"'\`}]{8,200})\\}`, 'dgi'),
];
/** Names with more words behind them. Most say something else about a secret, so that the value must look random. */
const withWords: readonly RegExp[] = [
  new RegExp(`${assignedTo(telling, suffix + words)}${nextLine}${wrapped}(?:[bfru]|@)?${quoted}`, 'dgi'),
  new RegExp(`${assignedTo(telling, suffix + words)}(?:!!str[ ])?${bareWithDigit}`, 'dgi'),
];
/** Name and value in Markdown and HTML: bold, code, cells of tables. */
const marked = new RegExp(
  `(?:${telling})${suffix}(?:[*_\`]{1,3}[ \\t]{0,3}[:=|]|[*_\`]{0,3}[ \\t]{0,20}\\|(?!\\|)|:[*_]{1,3}|</\\w{1,10}>[ \\t]{0,3}[:=]|:</\\w{1,10}>|</t[hd]>\\s{0,20}(?=<t[hd]))[ \\t]{0,20}(?:[*_\`]{1,3}|<\\w{1,10}(?:\\s[^<>]{0,80})?>){0,2}(?<secret>${bare}{8,200}?)(?=[)\\]}|*_\`]{0,4}(?:[\\s"'\`,;<]|&\\w+;|${nextParameter}|$))`,
  'dgi',
);
/** Only a space between name and value: options of commands, Dockerfile, .netrc, SQL, Redis. Prose has the same form. */
const spaced: readonly RegExp[] = [
  new RegExp(
    `(?:--[\\w-]{0,30}(?:${telling})|\\b[\\w-]{0,30}(?:${tellingPassword})|requirepass|identified by)${suffix}[ \\t]{1,5}(?<secret>[\\w!#$%*+./=@^~-]{8,200})(?=[\\s"'\`,;&]|$)`,
    'dgi',
  ),
  new RegExp(`(?:(?:${telling})${suffix}|identified by)[ \\t]{1,5}${quoted}`, 'dgi'),
];

/** A word with a number, as in `DB_PASSWORD=Summer2026`: names of code look the same, so that only names of passwords count. */
const datedWord = new RegExp(
  `${assignedTo(tellingPassword)}(?:!!str[ ])?(?<quote>["'\`]?)(?<secret>[A-Z]?[a-z]{4,30}[0-9]{2,8}[!#$%&*^@?.]?)\\k<quote>(?=[\\s,;&<]|$)`,
  'dgi',
);

/** A value of an option, in quotes or without. */
const optionValue = `["']?(?<secret>[^\\s"'\`|;&<>]{6,200})["']?(?=[\\s;|&)]|$)`;
/** Between a program and its option, in one command. */
const options = '[^\\r\\n|;]{0,200}?[ \\t]';
/** Options of programs whose letter alone says that a password follows. */
const commands: readonly (readonly [keywords: readonly string[], pattern: RegExp])[] = [
  [
    ['mysql', 'mariadb'],
    new RegExp(`\\b(?:mysql|mariadb)[\\w-]{0,20}${options}-p(?=\\S)${optionValue}`, 'dg'),
  ],
  [['sshpass'], new RegExp(`\\bsshpass[ \\t]+-p[ \\t]?${optionValue}`, 'dg')],
  [
    ['login', 'mongo'],
    new RegExp(
      `\\b(?:(?:docker|podman|helm registry|oras|crane auth|az|oc)[ \\t]+login|mongo\\w{0,10})${options}-p[ \\t=]?${optionValue}`,
      'dg',
    ),
  ],
  [['redis-cli'], new RegExp(`\\bredis-cli${options}-a[ \\t]+${optionValue}`, 'dg')],
  [
    ['ldap'],
    new RegExp(`\\bldap(?:search|modify|add|delete|whoami|passwd)${options}-w[ \\t]?${optionValue}`, 'dg'),
  ],
  [['sqlcmd', 'bcp'], new RegExp(`\\b(?:sqlcmd|bcp)${options}-P[ \\t]?${optionValue}`, 'dg')],
  [
    ['smbclient', 'rpcclient'],
    new RegExp(`\\b(?:smbclient|rpcclient)${options}-U[ \\t]?["']?[\\w./\\\\-]{1,40}%${optionValue}`, 'dg'),
  ],
  [
    ['curl', 'http', 'lftp', 'ftp'],
    new RegExp(
      `\\b(?:curl|https?|xh|l?ftp)${options}(?:-u|--user|--proxy-user|-U|-a|--auth)[ \\t=]?["']?[\\w.@-]{1,60}[:,]${optionValue}`,
      'dg',
    ),
  ],
  [['machine'], /\bmachine\s+\S{1,200}\s+login\s+\S{1,200}\s+password\s+(?<secret>\S{6,200})/dg],
  [
    ['openssl'],
    new RegExp(`\\bopenssl\\b${options}(?:-pass(?:in|out)?|-k|-passwd)[ \\t]+(?:pass:)?${optionValue}`, 'dg'),
  ],
];

/** `user:password@host` without a scheme, as drivers and programs take it. The host has a port, a dot or a protocol. */
const withoutScheme: readonly RegExp[] = [
  /(?<![\w:.%-])(?!mailto:|npm:|sha)[\w.-]{1,60}:(?<secret>[^\s/:@"'`<>$\\{}()]{8,200})@(?!sha\d)(?:(?:tcp|udp|unix)\(|[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d{2,5}\b|\.[a-z]{2,}\b))/dgi,
  /(?<![\w:])\/\/[\w.-]{1,60}:(?<secret>[^\s/:@"'`<>$\\{}()]{8,200})@[a-z0-9[]/dgi,
  /\bthin:[\w$#]{1,60}\/(?<secret>[^\s/:@"'`<>$\\{}()]{6,200})@/dgi,
];

/** Names of passwords in prose, shorter ones too. */
const spoken = `${tellingPassword}|\\bpw|\\bpass|mot de passe|senha`;
/** Between name and value in prose: `is`, an arrow, a bracket. */
const copula = `["'\`*_]{0,3}(?:[ \\t]{0,5}(?:=>|->|:=|[:=→–—])|(?:[ \\t]{1,5}|['’])(?:is|was|ist|war|est|es|are|s|-)(?=[ \\t])(?:[ \\t]now)?[ \\t]{0,3}:?|[ \\t]{1,3}(?=["'\`(]))[ \\t]{0,20}[(*_]{0,3}`;
/** Passwords that people write in prose: shorter ones too, and what follows a sentence's end is not theirs. */
const inProse: readonly RegExp[] = [
  new RegExp(`(?:${spoken})${suffix}${copula}(?<quote>["'\`])(?<secret>[^\\s"'\`]{6,200})\\k<quote>`, 'dgi'),
  new RegExp(
    `(?:${spoken})${suffix}${copula}(?!=)(?<secret>${bare}{6,200}?)(?=[.:?)*_]{0,4}(?:[\\s"'\`,;&]|$))`,
    'dgi',
  ),
];

/** Tokens in prose, with a space between or a word. */
const spokenToken = new RegExp(
  `(?:${telling})${suffix}(?:${copula}|[ \\t]{1,3})["'\`]?(?<secret>[\\w!#$%+/=@^~-]{8,200})(?=[.:?)*_]{0,4}(?:[\\s"'\`,;&]|$))`,
  'dgi',
);

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
  if (form === 'mark')
    return { kind, keywords, pattern: new RegExp(secret, 'dg'), entropy, allow: [prose, repeated] };
  if (form === 'token')
    return {
      kind,
      keywords,
      pattern: new RegExp(before + secret + after, 'dg'),
      entropy,
      allow: [prose, repeated],
    };
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
      /\b[a-z][a-z0-9+.-]{1,20}:\/\/(?<user>[^\s/:@"'`<>$\\{}]{0,100}):(?!\k<user>@)(?<secret>[^\s/:@"'`<>$\\{}]{6,200})@[A-Za-z0-9[]/dg,
    entropy: 2.8,
    allow: [placeholder],
    accept: isMoreThanTestWords,
  },
  {
    kind: 'authorization_header',
    keywords: ['uthorization', 'UTHORIZATION'],
    pattern:
      /\b(?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:(?:bearer|basic|token|digest)\s+)?(?<secret>[A-Za-z0-9._~+/=-]{16,})/dgi,
    entropy: 3,
    allow: [placeholder, member],
    // Neither calls, as in `base64.decodebytes(`, nor the names of methods such as AWS4-HMAC-SHA256.
    accept: (secret) => !/^AWS4-|^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+$/.test(secret) || isDrawn(secret),
  },
  ...named.map(
    (pattern): SecretRule => ({
      kind: 'generic_secret',
      keywords: nameWords,
      pattern,
      entropy: 1.9,
      allow: [],
      accept: isSecretValue,
    }),
  ),
  {
    kind: 'generic_secret',
    keywords: nameWords,
    pattern: datedWord,
    entropy: 1.9,
    allow: [],
    accept: isDatedWord,
  },
  ...commands.map(
    ([keywords, pattern]): SecretRule => ({
      kind: 'generic_secret',
      keywords,
      pattern,
      entropy: 1.9,
      allow: [],
      accept: isOptionValue,
    }),
  ),
  ...withoutScheme.map(
    (pattern): SecretRule => ({
      kind: 'url_password',
      keywords: ['@'],
      pattern,
      entropy: 2.5,
      allow: [placeholder],
      accept: isOptionValue,
    }),
  ),
  ...[...withWords, marked, ...spaced].map(
    (pattern): SecretRule => ({
      kind: 'generic_secret',
      keywords: [...nameWords, 'identified by'],
      pattern,
      entropy: 1.9,
      allow: [],
      accept: isRandomValue,
    }),
  ),
];

/** Secrets in what people write: beside those of known forms, short passwords. In code there would be too many that are none. */
export const proseRules: readonly SecretRule[] = [
  ...secretRules,
  ...inProse.map(
    (pattern): SecretRule => ({
      kind: 'password',
      keywords: [...nameWords, 'pw', 'mot de passe', 'senha'],
      pattern,
      entropy: 0,
      allow: [],
      accept: isPassword,
    }),
  ),
  {
    kind: 'generic_secret',
    keywords: nameWords,
    pattern: spokenToken,
    entropy: 1.9,
    allow: [],
    accept: isRandomValue,
  },
];
