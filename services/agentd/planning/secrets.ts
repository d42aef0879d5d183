import { isUtf8 } from 'node:buffer';
import { Refused } from '#kit/errors.ts';
import { readObjects } from '#kit/git/objects.ts';
import { differenceBetween, submoduleMode } from '#kit/git/tree.ts';
import type { SecretFinder } from '#kit/redaction/secret-finder.ts';
import type { ActionDefinition } from '../actions/registry.ts';

/**
 * No change that brings a secret becomes an action, and its bytes stay in the scratch copy. Looks at the files that the change
 * leaves and at their names, whatever the patch looks like; what the files it touches held before is not new.
 * @throws Refused (`patch_adds_secret`) naming file, kind and fingerprint, never the value
 */
export async function requireNoSecrets(
  gitDir: string,
  base: string,
  tree: string,
  secrets: SecretFinder,
): Promise<void> {
  const found = await secretsOfChange(gitDir, base, tree, secrets);
  if (found.length === 0) return;
  const before = await secretsOfChange(gitDir, tree, base, secrets);
  const known = new Set(before.map(({ fingerprint }) => fingerprint));
  const list = found
    .filter(({ fingerprint }) => !known.has(fingerprint))
    .map(({ kind, place, fingerprint }) => `${kind} in ${place} (${fingerprint})`);
  if (list.length === 0) return;
  throw new Refused(
    'patch_adds_secret',
    `the patch adds what looks like a secret: ${list.join('; ')}. Nothing of it was stored`,
    { facts: { found: list }, hint: releaseHint },
  );
}

export const releaseHint =
  'If it is harmless, add its fingerprint to released_secrets in policy.json and plan again.';

/**
 * What an action does is approved and shown as it is, so it cannot be masked.
 * @throws Refused (`action_holds_secret`) naming action, kind and fingerprint, never the value
 */
export function requireCleanActions(actions: readonly ActionDefinition[], secrets: SecretFinder): void {
  const list = actions.flatMap((action) =>
    textsIn(action).flatMap((text) =>
      secrets.find(text).map(({ kind, fingerprint }) => `${kind} in ${action.kind} (${fingerprint})`),
    ),
  );
  if (list.length === 0) return;
  throw new Refused(
    'action_holds_secret',
    `what would be proposed holds what looks like a secret: ${[...new Set(list)].join('; ')}`,
    { facts: { found: [...new Set(list)] }, hint: releaseHint },
  );
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsIn(item)]);
}

interface PlacedSecret {
  readonly kind: string;
  readonly place: string;
  readonly fingerprint: string;
}

/** Secrets in the names and contents of those entries of `to` that `from` has not, or has otherwise. */
async function secretsOfChange(
  gitDir: string,
  from: string,
  to: string,
  secrets: SecretFinder,
): Promise<PlacedSecret[]> {
  const { changed } = await differenceBetween(gitDir, from, to);
  const files = changed.filter(({ mode }) => mode !== submoduleMode);
  const found: PlacedSecret[] = [];
  for (const { path } of changed) {
    for (const { kind, fingerprint } of secrets.find(path)) {
      found.push({ kind, place: `the name ${secrets.mask(path)}`, fingerprint });
    }
  }
  let at = 0;
  for await (const { bytes } of readObjects(
    gitDir,
    files.map(({ id }) => id),
  )) {
    const place = secrets.mask(files[at++]!.path);
    for (const { kind, fingerprint } of secrets.find(textOf(bytes))) found.push({ kind, place, fingerprint });
  }
  return found;
}

/** Every byte as a character where it is no text in Unicode, so that tokens in binary files are seen too. */
function textOf(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);
  return bytes.toString(isUtf8(bytes) ? 'utf8' : 'latin1');
}
