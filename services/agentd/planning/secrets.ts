import { Refused } from '#kit/errors.ts';
import { findSecrets, fingerprintOf, secretSpans } from '#kit/redaction/find-secrets.ts';

export interface FoundSecret {
  /** For example `GitHub token`. */
  readonly kind: string;
  /** From 1, in the text searched. */
  readonly line: number;
  /** `sha256:` and the first 16 hex digits of the value's sha256. */
  readonly fingerprint: string;
}

export interface SecretFinder {
  find(text: string): readonly FoundSecret[];
  /** The text with every known or detected secret masked. */
  mask(text: string): string;
}

/**
 * No patch that adds a secret becomes an action, and its bytes are not stored.
 * @throws Refused (`patch_adds_secret`) naming file, kind and fingerprint, never the value
 */
export function requireNoSecrets(patch: Uint8Array, secrets: SecretFinder): void {
  const lines = Buffer.from(patch).toString('utf8').split('\n');
  let path = '';
  const added: { text: string; path: string }[] = [];
  for (const line of lines) {
    if (line.startsWith('+++ ')) path = line.slice(4).replace(/^b\//, '');
    else if (line.startsWith('+')) added.push({ text: line.slice(1), path });
  }
  const found = secrets.find(added.map(({ text }) => text).join('\n'));
  if (found.length === 0) return;
  const list = found.map(
    ({ kind, line, fingerprint }) => `${kind} in ${added[line - 1]?.path ?? 'the patch'} (${fingerprint})`,
  );
  throw new Refused(
    'patch_adds_secret',
    `the patch adds what looks like a secret: ${list.join('; ')}. Nothing of it was stored`,
    {
      facts: { found: list },
      hint: 'If it is harmless, add its fingerprint to released_secrets in policy.json and plan again.',
    },
  );
}

/** Finds and masks what looks like a secret, except what a person released by its fingerprint. */
export function secretFinder(released: readonly string[]): SecretFinder {
  const harmless = new Set(released);
  return {
    find: (text) => findSecrets(text).filter(({ fingerprint }) => !harmless.has(fingerprint)),
    mask(text) {
      let masked = '';
      let from = 0;
      for (const { kind, start, end } of secretSpans(text)) {
        if (harmless.has(fingerprintOf(text.slice(start, end)))) continue;
        masked += `${text.slice(from, start)}[redacted ${kind}]`;
        from = end;
      }
      return masked + text.slice(from);
    },
  };
}
