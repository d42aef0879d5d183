import { Redactor } from '#kit/redaction/redactor.ts';

const redactor = new Redactor();
const maskPattern = /\[redacted [^\]\n]*\]/g;

/** What people write beside the word for a password, which no known form of secrets matches. */
const password =
  /(?:pass(?:word|wd|phrase)|pwd|secret)(?<name>["'`]?)[ \t]{0,5}(?:=>|:=|[:=])(?!=)[ \t]{0,5}(?:(?<quote>["'`])(?<quoted>[^"'`\s]{6,200})\k<quote>|(?<bare>(?:[^\s"'`,;&<>(){}[\]]|&(?!\w+=)){6,200})(?![(<[{]))/dgi;

/** A text without what looks like a secret; of how many there are. */
export function masked(text: string): { readonly text: string; readonly count: number } {
  const redacted = withoutPasswords(redactor.redact(text));
  if (redacted === text) return { text, count: 0 };
  const count = (redacted.match(maskPattern)?.length ?? 0) - (text.match(maskPattern)?.length ?? 0);
  return { text: redacted, count: Math.max(1, count) };
}

export function maskedName(name: string | null | undefined): {
  readonly text: string | null;
  readonly count: number;
} {
  return name == null ? { text: null, count: 0 } : masked(name);
}

function withoutPasswords(text: string): string {
  if (!/pass(?:w|phrase)|pwd|secret/i.test(text)) return text;
  let result = '';
  let from = 0;
  for (const match of text.matchAll(password)) {
    const { quoted, bare } = match.groups!;
    const [start, end] = match.indices!.groups![quoted === undefined ? 'bare' : 'quoted']!;
    const trimmed = (quoted ?? bare!).replace(/[.:?]+$/, '');
    if (!isPassword(trimmed)) continue;
    result += `${text.slice(from, start)}[redacted password]`;
    from = quoted === undefined ? start + trimmed.length : end;
  }
  return result + text.slice(from);
}

/** Words, names of code, places, and what stands for a value are none; of the rest those with a digit or a sign. */
function isPassword(value: string): boolean {
  if (value.length < 6 || !/[\d!@#$%^&*+=~|?]/.test(value)) return false;
  if (/^[$%@]\{?[A-Za-z_]\w*%?\}?$/.test(value) || /^[~.]{0,2}\/|^[A-Za-z]:\\|:\/\//.test(value))
    return false;
  if (/^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$/.test(value)) return false;
  if (/^\d{4}-\d\d-\d\d/.test(value)) return false;
  return !/^(?:argon2|bcrypt|scrypt|pbkdf2|sha-?\d|md5|base\d\d|oauth|utf-?\d|x{3,}|\*{3,})|example|changeme|placeholder|redacted/i.test(
    value,
  );
}
