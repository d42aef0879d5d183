import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf, Failed, messageOf, Refused } from '#kit/errors.ts';
import { requireRegularFile } from '#kit/small-file.ts';
import { makeTemporaryFolder } from '#kit/temporary-folder.ts';
import { remembered } from './good-signatures.ts';

/** OpenSSH's own program makes and checks every signature. */
const program = 'ssh-keygen';

/** Timeout of ssh-keygen, in ms. It answers immediately, because it prompts for nothing. */
const verifyMs = 10_000;

export interface SignOptions {
  readonly namespace: string;
  /** Path of a key file, or a public key as one line, whose private half the ssh-agent holds. */
  readonly key: string;
}

/**
 * Signs each text, with one start of the program, so that a passphrase is asked for once. It asks on the terminal.
 * @returns armoured signatures, in the order of the texts
 * @throws Failed (`ssh_keygen_missing`, `not_a_regular_file`), Refused (`signing_failed`)
 */
export function sign(texts: readonly (string | Uint8Array)[], { namespace, key }: SignOptions): string[] {
  if (!isPublicKey(key) && existsSync(key)) requireRegularFile(key);
  return inFolder((folder) => {
    const files = texts.map((text, index) => put(folder, `text-${index + 1}`, text));
    const keyFile = isPublicKey(key) ? put(folder, 'key.pub', `${key}\n`) : key;
    const { status, signal, stderr } = run(['-q', '-Y', 'sign', '-f', keyFile, '-n', namespace, ...files], {
      stdio: ['inherit', 'pipe', 'pipe'],
    });
    if (status === 0) return files.map((file) => readFileSync(`${file}.sig`, 'utf8'));
    throw new Refused(
      'signing_failed',
      `${program} did not sign with ${key}: ${lastLine(stderr) ?? (signal === null ? 'it did not say why' : 'it was stopped')}`,
      {
        hint: 'For a key in the ssh-agent: ssh-add -l lists those that it holds.',
      },
    );
  });
}

/** True for a public key in OpenSSH's form, in place of a path. */
export function isPublicKey(text: string): boolean {
  return /^(?:ssh-|ecdsa-|sk-)\S+ [A-Za-z0-9+/]+=*(?: .*)?$/.test(text);
}

export interface VerifyOptions {
  readonly namespace: string;
  /** OpenSSH's `allowed_signers`. */
  readonly signersFile: string;
  readonly principal: string;
  /** The key must be valid then, by what the file says of it. */
  readonly at: Date;
}

/**
 * Whether the principal signed the text.
 * @returns the fingerprint of the key, or why not
 * @throws Failed (`ssh_keygen_missing`, `not_a_regular_file`), Refused (`allowed_signers_missing`)
 */
export function verifySignature(
  text: string | Uint8Array,
  signature: string,
  { namespace, signersFile, principal, at }: VerifyOptions,
): { readonly key: string } | { readonly problem: string } {
  requireSigners(signersFile);
  let content: Buffer;
  try {
    content = readFileSync(signersFile);
  } catch (error) {
    return { problem: `${signersFile} cannot be read: ${messageOf(error)}` };
  }
  const signers = content.toString('latin1');
  const time = localTime(at);
  const utc = at.toISOString().replaceAll(/\D/g, '').slice(0, time.length);
  const checked = { text, signature, namespace, signers, principal, at: { local: time, utc } };
  return remembered(checked, () =>
    inFolder((folder) => {
      const file = put(folder, 'signature', signature);
      // Uses the content that was read, because the file may change meanwhile.
      const copy = put(folder, 'allowed_signers', content);
      const args = ['-Y', 'verify', '-f', copy, '-I', principal, '-n', namespace];
      const { status, stdout, stderr } = run([...args, '-s', file, `-Overify-time=${time}`], {
        input: text,
        timeout: verifyMs,
      });
      const [, key] = /with \S+ key (SHA256:\S+)/.exec(stdout) ?? [];
      if (status === 0 && key !== undefined) return { key };
      const problem = lastLine(stderr)?.replaceAll(copy, signersFile);
      return { problem: problem ?? `${signersFile} has no such key for ${principal}` };
    }),
  );
}

/**
 * Signer of a text: the key, and the principals that the file lists with this key for this namespace. Without a file, or if no line has
 * the key, there is no principal.
 * @throws Refused (`signature_invalid`) if it is not a signature of the text in this namespace
 */
export function signerOf(
  text: string | Uint8Array,
  signature: string,
  { namespace, signersFile }: { readonly namespace: string; readonly signersFile: string | null },
): { readonly key: string; readonly principals: readonly string[] } {
  return inFolder((folder) => {
    const file = put(folder, 'signature', signature);
    const checked = run(['-Y', 'check-novalidate', '-n', namespace, '-s', file], {
      input: text,
      timeout: verifyMs,
    });
    const [, key] = /with \S+ key (SHA256:\S+)/.exec(checked.stdout) ?? [];
    if (checked.status !== 0 || key === undefined)
      throw new Refused(
        'signature_invalid',
        `this is no signature of it in the namespace ${namespace}: ${lastLine(checked.stderr) ?? 'ssh-keygen does not say why'}`,
      );
    if (signersFile === null || !existsSync(signersFile)) return { key, principals: [] };
    requireRegularFile(signersFile);
    const { stdout } = run(['-Y', 'find-principals', '-f', signersFile, '-s', file], { timeout: verifyMs });
    const found = stdout.split(/[,\n]+/).filter((name) => name !== '');
    // Which namespaces a key is for is not looked at when it is found.
    const options = { namespace, signersFile, at: new Date() };
    const verified = (principal: string) => verifySignature(text, signature, { ...options, principal });
    return { key, principals: found.filter((principal) => 'key' in verified(principal)) };
  });
}

/** @throws Refused (`allowed_signers_missing`), Failed (`not_a_regular_file`) */
function requireSigners(path: string): void {
  if (!existsSync(path)) {
    throw new Refused('allowed_signers_missing', `no signature can be checked: there is no ${path}`, {
      hint: `Write a line for each person: NAME namespaces="core-approval" KEY, with the public key as in ~/.ssh/id_ed25519.pub. NAME is the name of their token.`,
    });
  }
  requireRegularFile(path);
}

/** In the zone of this machine, as OpenSSH reads times that name none. */
function localTime(at: Date): string {
  const two = (number: number) => String(number).padStart(2, '0');
  return `${at.getFullYear()}${[at.getMonth() + 1, at.getDate(), at.getHours(), at.getMinutes(), at.getSeconds()].map(two).join('')}`;
}

function run(
  args: readonly string[],
  options: Pick<Parameters<typeof spawnSync>[2] & object, 'stdio' | 'input' | 'timeout'>,
): {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
} {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    ...options,
    encoding: 'utf8',
  });
  if (error === undefined) return { status, signal, stdout, stderr };
  if (codeOf(error) !== 'ENOENT')
    throw new Failed('ssh_keygen_failed', `${program}: ${error.message}`, { cause: error });
  throw new Failed('ssh_keygen_missing', `signatures need ${program}, which is not on PATH`, {
    cause: error,
    hint: 'Install OpenSSH: the package openssh-client, or openssh.',
  });
}

function lastLine(text: string): string | null {
  return (
    text
      .split(/[\r\n]+/)
      .findLast((line) => line.trim() !== '')
      ?.trim() ?? null
  );
}

function put(folder: string, name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content, { mode: 0o600 });
  return path;
}

function inFolder<T>(work: (folder: string) => T): T {
  const folder = makeTemporaryFolder('core-signature-');
  try {
    return work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
