import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { environment } from '#kit/environment.ts';
import { codeOf, InvalidInput } from '#kit/errors.ts';
import { personalEnvironment } from '#kit/git/git-environment.ts';
import { runProgram } from '#kit/run-program.ts';
import { isPublicKey } from './ssh-keygen.ts';

/**
 * The key that a person signs with: the one they name, else `signing.key` of core.json, else git's `user.signingkey`.
 * @returns an absolute path, or a public key whose private half the ssh-agent holds
 * @throws InvalidInput (`signing_key_missing`)
 */
export async function findSigningKey(given: string | undefined, configured: string | null): Promise<string> {
  if (given !== undefined) return usableKey(given, '--key');
  if (configured !== null) return usableKey(configured, 'signing.key of core.json');
  const ofGit = await signingKeyOfGit();
  if (ofGit !== null) return usableKey(ofGit, "git's user.signingkey");
  throw keyMissing('no key to sign with is named');
}

function usableKey(text: string, source: string): string {
  const literal = text.replace(/^key::/, '').trim();
  if (isPublicKey(literal)) return literal;
  const path = resolve(text.replace(/^~(?=\/)/, environment.HOME ?? '~'));
  if (existsSync(path)) return path;
  if (existsSync(`${path}.pub`)) return `${path}.pub`;
  throw keyMissing(`${source} is '${text}', which is no file and no public key`);
}

function keyMissing(what: string): InvalidInput {
  const example = join(environment.HOME ?? '~', '.ssh', 'id_ed25519');
  return new InvalidInput('signing_key_missing', `${what}; nothing was signed`, {
    hint: [
      'Name an SSH key in one of these ways, the first of which counts:',
      `--key ${example}  (a private key, or a public one whose private half is in your ssh-agent)`,
      'signing.key in core.json',
      `git config --global user.signingkey ${example}`,
      `ssh-keygen -t ed25519 makes a key.`,
    ].join('\n'),
  });
}

/** As the person's git has it where they stand; null where it has none. */
async function signingKeyOfGit(): Promise<string | null> {
  try {
    const { stdout } = await runProgram('git', ['config', '--get', 'user.signingkey'], {
      cwd: process.cwd(),
      env: personalEnvironment(),
      signal: AbortSignal.timeout(10_000),
    });
    return stdout.toString('utf8').trim() || null;
  } catch (error) {
    if (codeOf(error) === 'git_missing') return null;
    throw error;
  }
}
