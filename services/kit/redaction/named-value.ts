/** Values beside a name such as `password`: which of them are secrets, and which are placeholders, references or words. */

import { randomBits } from './random-bits.ts';

/** What stands for a value in documents, tests and templates. */
const placeholder = /x{4,}|\*{4,}|\.{3,}|redacted|0123456789|1234567890|abcdefgh/gi;
/** Words of such values, which may also stand by chance in a random one. */
const placeholderWords =
  /example|placeholder|change[_-]?(?:me|it|this)|your[_-]|replace|insert|dummy|sample|fake|mock|todo/gi;
/** Words of test values; what is left beside them is too little to be a secret. */
const testWords =
  /pass(?:word|wd|phrase)?|pwd|secret|token|test(?:ing)?|user(?:name)?|admin|root|key|qwerty|letmein|welcome|foo|bar|baz|abc|xyz|default|demo|auth|hello|world|my|the|new|old|1234+/gi;

/** Values that name a place where the secret is, in the syntax of some language or tool, and ids: whole, or by a clear beginning. */
const clearReferences: readonly RegExp[] = [
  // ${X}, $(x), {{ x }}, #{x}, %(x)s, <%= x %>, ENC[...]
  /^(?:[$#%@!]\s?[{([]|\{\{|<%|ENC\[|process\.env\b|import\.meta\b|os\.(?:environ|getenv)\b|System\.getenv\b)/,
  // vault:kv/data/app#key, file:/run/x, arn:aws:…, std::env, https://…
  /^(?:vault|op|file|arn|env|secrets?|(?:aws|azure|gcp)[a-z-]*|s3|k8s|kms|sops|doppler|keychain|keyring|ssm|ref|path|data|npm|git|urn|mailto):/i,
  /^[a-z][a-z0-9+.-]*:\/\/|^[A-Za-z_]\w*::/,
  /^\.{1,2}\/|^~\//,
  /^\$[A-Z_]+[A-Z0-9_]*$|^[$@][a-z_]+\d*$|^%[\w-]+%$/,
  // Examples and account ids of AWS.
  /EXAMPLE(?:KEY)?=*$|^amzn1\./,
  // Pages of manuals.
  /^[a-z]+(?:[_-][a-z]+)*\.\d[a-z]?(?:\.gz)?$/,
  /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i,
  /^[v^~=]?\d+(?:\.\d+)+(?:[-+][\w.-]*)?$/i,
  /^\d{4}-\d\d-\d\d/,
  /^(?:sha(?:1|224|256|384|512)|md5|blake[23][bs]?)[-:=]/i,
  /^(?:0x)?[\d_.,:-]+$/,
];
/** References inside a value, such as `postgres-${X}`. The rest of the value is judged. */
const inner = /[$#%@!]\s?\{[^{}]*\}|[$%]\([^()]*\)s?|\{\{.*?\}\}|<[^<>]*>|%[A-Za-z_][\w-]*%|%[0-9a-f]{2}/gi;
/** What looks like a reference, a path or code. A random value can have the same signs. */
const likeReferences: readonly RegExp[] = [
  // A call, a pattern, a path of Windows.
  /\\|[$#%@!]\s?[{([]|\{\{|<%|%[\w-]+%|^[{[<(].*[}\]>)]$|^[A-Za-z_][\w.:]*(?:\(.*\)|\[.*\]|<.*>|\{.*\})$/,
  /^(?:[a-z][a-z+.-]+|[A-Z]{2,}|[A-Za-z_]\w*):/,
  // Names of classes and settings.
  /^[A-Za-z_$]+(?:\.[A-Za-z_$]+)+$/,
  // Paths.
  /^\/.*\/|^[a-z][a-z.-]{2,}\/|\/.*\/.*\.|\.(?:pem|key|txt|json|ya?ml|env|crt|ts|js|py)$/,
  // Escapes of addresses and formats.
  /%[0-9a-f]{2}|%[sdxvfq]/i,
  // Package@version, mail addresses.
  /@[\^~]?\d|^[^@]+@[\w-]+\.[a-z]/i,
];
/** The same without quotes; in quotes they are values. */
const likeBareReferences: readonly RegExp[] = [
  /[{}()[\]|<>]|^[$%@!&*#~]/,
  /^[A-Za-z][A-Za-z0-9+.-]*:/,
  // settings.database1
  /^[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*)+(?:[-+]\d+)?[.?!]?$/,
];
const constant = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/;

/** Technical names with a number. */
const technical =
  /(?:(?<![A-Za-z0-9])|(?=[A-Z][a-z]))(?:(?:utf|base|sha|md|x?oauth|u?int|float|http|ed|aes|rsa|[hepr]s|iso|ipv)[-_]?\d{1,5}|v\d{1,2}(?:alpha|beta)\d{0,2})/gi;

/** True for a value of at least 8 characters that neither stands for another nor is made of words. */
export function isSecretValue(value: string, isQuoted = false): boolean {
  if (isNumberByChance(value)) return true;
  if (isHarmless(value, isQuoted)) return false;
  if (/^[0-9a-f]{10,}$/i.test(value)) return true;
  if (isDrawn(value)) return true;
  const plain = value.replaceAll(placeholderWords, '');
  if (plain !== value) return isRandom(plain);
  // Names in the casing of code, such as V2alpha1ApiKey.
  if (/^\w+$/.test(value) && isOfThreeKinds(value)) return false;
  // A word with digits and a sign is a password, such as Summer2024!
  if (isWordWithSigns(value, isQuoted)) return true;
  const rest = value.replace(testWords, '').replace(/[^A-Za-z0-9]|\d+$/g, '');
  if (rest.length < 4) return false;
  if (/[{}()[\]|<>]|^[/$%@!&*#~]/.test(value)) return isRandom(value);
  const bare = value.replace(technical, '');
  if (bare.length < 6 || isPhrase(bare)) return false;
  const random = randomLength(bare) / bare.replace(/[^A-Za-z0-9]/g, '').length;
  const mixed = isMixed(bare);
  if (value.length < 20) return mixed || random >= 0.5;
  return random >= (mixed ? 0.25 : 0.6);
}

/** True for a value that looks random even where prose would have the same form. */
export function isRandomValue(value: string, isQuoted = false): boolean {
  return !isHarmless(value, isQuoted) && isRandom(value.replaceAll(placeholderWords, ''));
}

/** False for a password such as `my-secret-password` or `test1234`. */
export function isMoreThanTestWords(value: string): boolean {
  return value.replaceAll(testWords, '').replace(/[^\p{L}\p{N}]/gu, '').length >= 3;
}

/** True for a password where only an option or a place in an address says that it is one. */
export function isOptionValue(value: string): boolean {
  if (isHarmless(value, false) || placeholderIn(value)) return false;
  const isMore = value.replaceAll(testWords, '').replace(technical, '').length >= 4;
  return (
    isRandom(value) ||
    isWordWithSigns(value, false) ||
    isDatedWord(value) ||
    (value.length >= 8 && isOfThreeKinds(value) && isMore)
  );
}

/** True for a word with a number at its end that is neither a placeholder nor a technical name, such as Summer2026. */
export function isDatedWord(value: string): boolean {
  const [, word, digits] = /^([A-Za-z]{4,})(\d{2,8})\W?$/.exec(value) ?? [];
  if (word === undefined || placeholderIn(value) || isHarmless(value, true)) return false;
  if (/^(?:00+|1+|32|64|128|256|512|1024|2048|4096)$/.test(digits!)) return false;
  return value.replaceAll(technical, '') === value && word.replaceAll(testWords, '').length >= 4;
}

function placeholderIn(value: string): boolean {
  return value.replaceAll(placeholderWords, '') !== value;
}

function isHarmless(value: string, isQuoted: boolean): boolean {
  if (clearReferences.some((form) => form.test(value)) || isEncodedProse(value)) return true;
  const rest = value.replaceAll(placeholder, ' ');
  if (rest !== value) return !isDrawn(rest, 8);
  const forms = [...likeReferences, ...(isQuoted ? [] : likeBareReferences)];
  // Each sign of code is a reason more to take the value for code.
  if (forms.some((form) => form.test(value)))
    return !isDrawn(value.replaceAll(inner, ' '), 8 + 4 * (value.match(/[{}()[\]|.]/g) ?? []).length);
  return constant.test(value) && !isRandom(value);
}

/** Base64 of words, as tests have it. */
function isEncodedProse(value: string): boolean {
  return (
    /^[A-Za-z0-9+/]{12,}={0,2}$/.test(value) &&
    /^[a-z]+(?: [a-z]+)+[.!]?$/i.test(Buffer.from(value, 'base64').toString('latin1'))
  );
}

/** True for at least 8 letters and digits, of both cases and with a digit, that chance explains better than words do. */
export function isDrawn(value: string, bits = 0): boolean {
  if (value.replace(/[^A-Za-z0-9]/g, '').length < 8) return false;
  const bare = value.replaceAll(technical, '');
  return isOfThreeKinds(bare) && randomBits(bare) > bits;
}

function isOfThreeKinds(value: string): boolean {
  return /[a-z]/.test(value) && /[A-Z]/.test(value) && /\d/.test(value);
}

function isRandom(value: string): boolean {
  if (isDrawn(value, 4)) return true;
  const bare = value.replace(technical, '').replaceAll(testWords, '');
  const alphanumeric = bare.replace(/[^A-Za-z0-9]/g, '');
  if (alphanumeric.length < 6 || isPhrase(bare)) return false;
  return isMixed(alphanumeric) && randomLength(bare) / alphanumeric.length >= 0.5;
}

/** Digits alone: neither round nor counted, nor a date or a time of Unix. */
function isNumberByChance(value: string): boolean {
  if (!/^\d{8,20}$/.test(value) || /^(?:19|20)\d{6}$|^1[4-9]\d{8}(?:\d{3})?$|000/.test(value)) return false;
  const steps = new Set(
    [...value].slice(1).map((digit, at) => (Number(digit) - Number(value[at]) + 10) % 10),
  );
  return new Set(value).size >= 5 && steps.size >= 4;
}

/** Letters, digits and a sign that names of code do not have. */
function isWordWithSigns(value: string, isQuoted: boolean): boolean {
  if (!/[A-Za-z]{2}/.test(value) || !/\d/.test(value) || /[(){}[\]<>|/=:]/.test(value)) return false;
  if (isQuoted) return /.[!#$%&*^@?]/.test(value);
  // In code an exclamation mark may follow a variable with a number, and signs stand between variables.
  const isVariable = /^[A-Za-z_$][\w$]*(?<!\d{3})!$/.test(value);
  return !isVariable && /.[!#$%^@]/.test(value) && /\d{2}|\d.*[!#%^@].*[a-z]/i.test(value);
}

/** True for a value of at least 6 characters, as people write passwords in prose: with a digit or a sign, and not a place, a time or a name of code. */
export function isPassword(value: string): boolean {
  if (!/[\d!@#$%^&*+=~|?]/.test(value) || /[\\(){}[\]<>]/.test(value)) return false;
  if (
    /^[$%@]\{?[A-Za-z_]\w*%?\}?$/.test(value) ||
    /^[~.]{0,2}\/|^[A-Za-z]:\\|:\/\/|^(?:vault|op|file|arn|env):/.test(value)
  )
    return false;
  if (/^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  // Dates, counts such as 12/20, percentages, versions.
  if (/^\d{4}-\d\d-\d\d|^v?\d+(?:[/.,:]\d+)+%?$/.test(value)) return false;
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
