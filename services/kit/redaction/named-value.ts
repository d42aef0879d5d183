/** Values beside a name such as `password`: which of them are secrets, and which are placeholders, references or words. */

/** What stands for a value in documents, tests and templates. */
const placeholder =
  /example|placeholder|change[_-]?(?:me|it|this)|your[_-]|xxxx|\*{4}|\.\.\.|redacted|0123456789|1234567890|abcdefgh|replace|insert|dummy|sample|fake|mock|todo/i;
/** Words of test values; what is left beside them is too little to be a secret. */
const testWords =
  /pass(?:word|wd|phrase)?|pwd|secret|token|test(?:ing)?|user(?:name)?|admin|root|key|qwerty|letmein|welcome|foo|bar|baz|abc|xyz|default|demo|auth|hello|world|my|the|new|old|1234+/gi;

/** Values that name a place where the secret is, in the syntax of some language or tool. */
const references: readonly RegExp[] = [
  // ${X}, $X, $(x), {{ x }}, #{x}, %X%, %(x)s, <x>, @x, ENC[...], a call, a pattern, a path of Windows.
  /[\\{}()[\]|<>]|^[$%@!&*#~]/,
  // vault:kv/data/app#key, file:/run/x, arn:aws:…, std::env
  /^[A-Za-z][A-Za-z0-9+.-]*:/,
  // process.env.X, os.environ, settings.database1
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+(?:[-+]\d+)?[.?!]?$/,
  // Names of constants and variables of the environment.
  /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/,
  // Paths.
  /^\.{0,2}\/|^[a-z][a-z.-]{2,}\/|\/.*\/.*\.|\.(?:pem|key|txt|json|ya?ml|env|crt|ts|js|py)$/,
];

/** Ids, versions, times and digests. */
const ids: readonly RegExp[] = [
  /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  /^[v^~=]?\d+(?:\.\d+)+/i,
  /^\d{4}-\d\d-\d\d/,
  /^(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:=]/i,
  /^(?:0x)?[\d_.,:-]+$/,
];

/** Technical names with a number. */
const technical =
  /(?:(?<![A-Za-z0-9])|(?=[A-Z][a-z]))(?:utf|base|sha|md|oauth|u?int|float|http|ed|aes|rsa|[hepr]s|iso|ipv)[-_]?\d{1,5}/gi;

/** True for a value of at least 8 characters that neither stands for another nor is made of words. */
export function isSecretValue(value: string): boolean {
  if ([...references, ...ids, placeholder].some((harmless) => harmless.test(value))) return false;
  const rest = value.replace(testWords, '').replace(/[^A-Za-z0-9]|\d+$/g, '');
  if (rest.length < 4) return false;
  const bare = value.replace(technical, '');
  if (bare.length < 6 || isPhrase(bare)) return false;
  const random = randomLength(bare) / bare.replace(/[^A-Za-z0-9]/g, '').length;
  const mixed = isMixed(bare);
  if (value.length < 20) return mixed || random >= 0.5;
  return random >= (mixed ? 0.25 : 0.6);
}

/** True for a value of at least 6 characters, as people write passwords in prose: with a digit or a sign, and not a place, a time or a name of code. */
export function isPassword(value: string): boolean {
  if (!/[\d!@#$%^&*+=~|?]/.test(value) || /[\\(){}[\]<>]/.test(value)) return false;
  if (/^[$%@]\{?[A-Za-z_]\w*%?\}?$/.test(value) || /^[~.]{0,2}\/|^[A-Za-z]:\\|:\/\//.test(value))
    return false;
  if (/^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  if (/^\d{4}-\d\d-\d\d/.test(value)) return false;
  return !/^(?:argon2|bcrypt|scrypt|pbkdf2|sha-?\d|md5|base\d\d|oauth|utf-?\d|x{3,}|\*{3,})|example|changeme|placeholder|redacted/i.test(
    value,
  );
}

/** Words and numbers with signs between them, such as `my-app-2-staging`. */
function isPhrase(text: string): boolean {
  const parts = text.split(/[^A-Za-z0-9]+/).filter((part) => part !== '');
  return parts.length > 1 && parts.every((part) => /^\d+$/.test(part) || isNamed(part));
}

/** One or more words in camel case, and perhaps a number at the end. */
function isNamed(text: string): boolean {
  const words = text.replace(/\d{1,4}$/, '').match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g) ?? [];
  const long = words.filter((word) => word.length >= 3);
  return (long.length > 0 || text.length < 3) && long.every(isPronounceable) && !isMixed(text);
}

/** Digits in several places between letters: `hunter2hunter2`, and not `oauth2Bearer`. */
function isMixed(text: string): boolean {
  const digits = text.match(/\d+/g)?.length ?? 0;
  const letters = text.match(/[A-Za-z]+/g)?.length ?? 0;
  return digits > 1 && letters > 1;
}

/** Letters that are in no word, and digits beside such letters. */
function randomLength(text: string): number {
  const words = (text.match(/[A-Z]?[a-z]{2,}|[A-Z]{3,}/g) ?? []).filter(
    (word) => word.length >= 3 && isPronounceable(word),
  );
  const inWords = words.reduce((length, word) => length + word.length, 0);
  const letters = text.replace(/[^A-Za-z]/g, '').length;
  const digits = text.replace(/\D/g, '').length;
  const outside = letters - inWords;
  return outside === 0 ? 0 : outside + digits;
}

function isPronounceable(word: string): boolean {
  const lower = word.toLowerCase();
  const vowels = lower.match(/[aeiouy]/g)?.length ?? 0;
  return vowels / lower.length >= 0.2 && !/[^aeiouy]{5}|[aeiou]{4}|(.)\1\1|q(?!u)/.test(lower);
}
