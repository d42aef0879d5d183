import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';
import { environment } from '../environment.ts';
import { InvalidInput } from '../errors.ts';
import { shellWord } from '../shell-word.ts';

/** How git proves who it is to a remote; null where the URL needs nothing or the person's own setup decides. */
export interface GitCredential {
  readonly username: string;
  readonly password: string;
  /** The only ones that see it: `https://git.example.org`. */
  readonly origins: readonly string[];
  /** Where a person changes it, for messages: `the token in /etc/core/secrets/github-token`. */
  readonly source: string;
}

export type ConfigEntry = readonly [key: string, value: string];

/**
 * Settings that win over a repository's own, so that nothing in a hostile `.git/config` runs a program or changes
 * what a command does. Filters and diff drivers have names of their choosing and cannot be overridden: no command of
 * ours that would run them (checkout, add, status, textconv) ever runs in a repository that is not ours.
 */
const hardening: readonly ConfigEntry[] = [
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['core.untrackedCache', 'false'],
  ['core.attributesFile', '/dev/null'],
  ['core.excludesFile', '/dev/null'],
  ['core.alternateRefsCommand', 'true'],
  ['core.pager', 'cat'],
  ['core.autocrlf', 'false'],
  ['core.protectNTFS', 'true'],
  ['core.protectHFS', 'true'],
  // How long git waits for a lock, in ms. A repository could make it wait for ever.
  ['core.filesRefLockTimeout', '1000'],
  ['core.packedRefsTimeout', '1000'],
  // Files of large trees are written by one process for each core.
  ['checkout.workers', '0'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['push.recurseSubmodules', 'no'],
  ['commit.gpgSign', 'false'],
  ['push.gpgSign', 'false'],
  ['safe.directory', '*'],
  ['protocol.allow', 'never'],
  ['protocol.ext.allow', 'never'],
  ['protocol.file.allow', 'always'],
];

/** Only here: a repository at the other end keeps the reflog that its owner wants. */
const hardeningHere: readonly ConfigEntry[] = [...hardening, ['core.logAllRefUpdates', 'false']];

/** What a push may also run at the other end: maintenance, and filters of a working tree that follows its branch. */
const hardeningAtOtherEnd: readonly ConfigEntry[] = [
  ['receive.autogc', 'false'],
  ['receive.denyCurrentBranch', 'refuse'],
  ['receive.denyDeleteCurrent', 'refuse'],
  ...['file', 'ext', 'ssh', 'git', 'http', 'https'].map(
    (name): ConfigEntry => [`protocol.${name}.allow`, 'never'],
  ),
];

/**
 * The program at the other end of a local transport. Git hands it none of our environment's settings, so they stand on its command
 * line and win over those of the repository there.
 */
export function otherEnd(program: 'receive-pack' | 'upload-pack'): string {
  const settings = [...hardening, ...hardeningAtOtherEnd].map(
    ([key, value]) => `-c ${shellWord(`${key}=${value}`)}`,
  );
  return ['git', ...settings, program].join(' ');
}

/** Whether git reaches this remote on this machine, without a server. */
export function isLocalRemote(url: string): boolean {
  return isAbsolute(url) || /^file:\/\//i.test(url);
}

const networkProtocols: readonly ConfigEntry[] = ['https', 'http', 'ssh', 'git'].flatMap((name) => [
  [`protocol.${name}.allow`, 'always'],
]);

/**
 * Stands in for the person's global file. It reaches the programs that git starts at the other end of a local
 * transport, which see none of the settings above.
 */
const globalConfig = fileURLToPath(new URL('./global.gitconfig', import.meta.url));

/** The environment of a git, or of a program that runs git, that sees no setup but ours. */
export function isolatedEnvironment(config: readonly ConfigEntry[] = []): Record<string, string> {
  return {
    ...(environment.PATH === undefined ? {} : { PATH: environment.PATH }),
    HOME: '/nonexistent',
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: globalConfig,
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '',
    GIT_EDITOR: 'false',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    ...configVariables([...hardeningHere, ...config]),
  };
}

/**
 * The same, with what reaching a remote needs: the given credential, or else the person's own setup. Redirects are not
 * followed: where a push goes was approved.
 */
export function networkEnvironment(
  personal: readonly ConfigEntry[],
  credential: GitCredential | null,
): Record<string, string> {
  const own = credential === null ? personal : personal.filter(([key]) => !key.startsWith('credential.'));
  const sshCommand = environment.GIT_SSH_COMMAND ?? own.findLast(([key]) => key === 'core.sshcommand')?.[1];
  const config: ConfigEntry[] = [...networkProtocols, ['credential.helper', ''], ...own];
  config.push(['http.followRedirects', 'false'], ...(credential?.origins ?? []).map(credentialHelper));
  return {
    ...isolatedEnvironment(config),
    ...defined({
      HOME: environment.HOME,
      XDG_CONFIG_HOME: environment.XDG_CONFIG_HOME,
      SSH_AUTH_SOCK: environment.SSH_AUTH_SOCK,
      DBUS_SESSION_BUS_ADDRESS: environment.DBUS_SESSION_BUS_ADDRESS,
      HTTPS_PROXY: environment.HTTPS_PROXY,
      HTTP_PROXY: environment.HTTP_PROXY,
      http_proxy: environment.HTTP_PROXY,
      NO_PROXY: environment.NO_PROXY,
      GIT_SSL_CAINFO: environment.GIT_SSL_CAINFO,
      SSL_CERT_FILE: environment.SSL_CERT_FILE,
    }),
    GIT_SSH_COMMAND: sshCommand ?? 'ssh -o BatchMode=yes',
    ...(credential === null
      ? {}
      : {
          CORE_GIT_USERNAME: oneLine(credential.username, 'user name'),
          CORE_GIT_PASSWORD: oneLine(credential.password, 'password'),
        }),
  };
}

/** The environment in which git shows the person's own global settings; for reading them alone. */
export function personalEnvironment(): Record<string, string> {
  const { GIT_CONFIG_GLOBAL: _ours, GIT_CONFIG_NOSYSTEM: _none, ...rest } = isolatedEnvironment();
  return { ...rest, ...defined({ HOME: environment.HOME, XDG_CONFIG_HOME: environment.XDG_CONFIG_HOME }) };
}

/** Keys of the person's global settings that say how a remote is reached and by whom. */
export function reachesRemotes(key: string): boolean {
  if (/^http\..*followredirects$/.test(key)) return false;
  return /^(credential\.|http\.|core\.sshcommand$|ssh\.variant$)/.test(key);
}

/** The secret travels in the child's environment, never on a command line, and only to the origin that it is for. */
function credentialHelper(origin: string): ConfigEntry {
  const answer = `printf 'username=%s\\npassword=%s\\n' "$CORE_GIT_USERNAME" "$CORE_GIT_PASSWORD"`;
  return [`credential.${origin}.helper`, `!f() { test "$1" != get || ${answer}; }; f`];
}

function configVariables(entries: readonly ConfigEntry[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(entries.length) };
  for (const [index, [key, value]] of entries.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}

function oneLine(text: string, what: string): string {
  if (!/[\0\r\n]/.test(text)) return text;
  throw new InvalidInput('credential_invalid', `the ${what} for the remote contains a line break`);
}

function defined(values: Record<string, string | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
