import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { lstat, mkdir, realpath, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CredentialPath, hiddenCredentials } from '#kit/credential-files.ts';
import { codeOf, InvalidInput, Refused } from '#kit/errors.ts';
import { type SandboxRun, scratchFolders as scratchNames } from '../ports/sandbox.ts';
import { shownCertificate } from './host-certificates.ts';
import { searchPath, systemFolders } from './tool-paths.ts';

export interface SandboxOptions {
  /** Folders outside the system that hold tools; see `toolPaths`. */
  readonly tools: readonly string[];
  /** Variables that commands with network see in addition, for example a proxy or a package registry. */
  readonly networkEnvironment: Readonly<Record<string, string>>;
  /** Files with certificates for commands with network, by the variable that names them; see `hostCertificates`. */
  readonly certificates?: Readonly<Record<string, string>>;
}

/** What a sandbox shows of the host, all of it read-only. */
interface SystemView {
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
  /** Credentials below `mounts`, which are covered. */
  readonly hidden: readonly CredentialPath[];
}

/** Of /etc only what programs need to start, to check certificates and to find their own settings; never keys or accounts. */
const etcEntries =
  /^(ld\.so\.(cache|conf|conf\.d)|alternatives|localtime|timezone|mime\.types|services|protocols|os-release|ca-certificates|crypto-policies|java|java-.*|maven|perl|fonts|xml|magic)$/;
const etcPaths = [
  'ssl/certs',
  'ssl/openssl.cnf',
  'ssl/cert.pem',
  'ssl/ca-bundle.pem',
  'pki/tls/certs',
  'pki/tls/cert.pem',
  'pki/tls/openssl.cnf',
  'pki/ca-trust/extracted',
  'pki/java',
];
const networkPaths = ['resolv.conf', 'hosts'];
/** Synthetic files that stand in for those of the host. */
const ownEtc = fileURLToPath(new URL('etc/', import.meta.url));

/** Folders of /proc/ and single files that reach the host's kernel; they become read-only or empty. */
const procReadOnly = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'driver', 'mtrr', 'pressure'];
const procHidden = ['acpi', 'asound', 'scsi', 'kcore', 'keys', 'key-users', 'kallsyms', 'timer_list', 'kmsg'];

export const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

/** @throws InvalidInput (`tool_path_too_large`, `tool_path_not_allowed`) where credentials cannot be hidden */
export async function systemView(
  { tools, certificates = {} }: SandboxOptions,
  network: boolean,
): Promise<SystemView> {
  const mounts: { source: string; target: string }[] = [];
  const links: { path: string; target: string }[] = [];
  for (const folder of systemFolders) {
    const facts = lstatSync(folder, { throwIfNoEntry: false });
    if (facts?.isSymbolicLink()) links.push({ path: folder, target: readlinkSync(folder) });
    else if (facts) mounts.push({ source: folder, target: folder });
  }
  const etc = [
    ...readdirSync('/etc').filter((name) => etcEntries.test(name)),
    ...etcPaths,
    ...(network ? networkPaths : []),
  ];
  for (const name of etc) {
    const path = join('/etc', name);
    if (existsSync(path)) mounts.push({ source: realpathSync(path), target: path });
  }
  for (const name of readdirSync(ownEtc)) {
    if (!(network && networkPaths.includes(name)))
      mounts.push({ source: join(ownEtc, name), target: join('/etc', name) });
  }
  for (const path of tools) mounts.push({ source: realpathSync(path), target: path });
  for (const [variable, path] of network ? Object.entries(certificates) : [])
    mounts.push({ source: realpathSync(path), target: shownCertificate(variable) });
  return { mounts, links, hidden: await hiddenCredentials(tools) };
}

/** Variables that commands with network see in addition. @param shown where the file of a variable is for them */
export function networkVariables(
  { networkEnvironment, certificates = {} }: SandboxOptions,
  shown: (variable: string, path: string) => string,
): Record<string, string> {
  const own = Object.entries(certificates).map(([variable, path]) => [variable, shown(variable, path)]);
  return { ...Object.fromEntries(own), ...networkEnvironment };
}

/** The whole environment of a sandboxed command. */
export function sandboxEnvironment(tools: readonly string[], temporary = '/tmp'): Record<string, string> {
  return {
    PATH: searchPath(tools),
    HOME: join(temporary, 'home'),
    TMPDIR: temporary,
    LANG: 'C.UTF-8',
    CI: 'true',
    SHELL: '/bin/sh',
    USER: 'core',
    LOGNAME: 'core',
  };
}

/**
 * Entries of /proc that belong to the whole machine. Where Core runs as root the user inside owns them, whatever it is called
 * there, so that only a read-only mount keeps `/proc/sys/kernel/core_pattern` and its like from being written.
 */
export function existingProcEntries(): {
  readOnly: string[];
  hiddenFolders: string[];
  hiddenFiles: string[];
} {
  const present = (names: readonly string[]) =>
    names.map((name) => join('/proc', name)).filter((path) => kindOf(path));
  const hidden = present(procHidden);
  return {
    readOnly: present(procReadOnly),
    hiddenFolders: hidden.filter((path) => kindOf(path) === 'folder'),
    hiddenFiles: hidden.filter((path) => kindOf(path) === 'file'),
  };
}

/** Folders below read-only mounts that tools write to all the same, where preparing made them. */
export function scratchFolders(mounts: readonly Mount[]): string[] {
  return mounts.flatMap(({ source, target }) =>
    scratchNames.filter((name) => kindOf(join(source, name)) === 'folder').map((name) => `${target}/${name}`),
  );
}

function kindOf(path: string): 'folder' | 'file' | null {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (!facts) return null;
  return facts.isDirectory() ? 'folder' : 'file';
}

export interface Mount {
  /** Real path on the host. */
  readonly source: string;
  /** Relative to the workspace, for example `packages/a/node_modules`. */
  readonly target: string;
}

/**
 * Makes the folders of the workspace on which `mounts` go. The workspace holds what nobody trusts, so that no part of a target may
 * be a link: a mount point behind one would be made, and seen, outside.
 * @throws InvalidInput (`mount_not_allowed`) for a target that is not a path below the workspace
 * @throws Refused (`mount_point_blocked`) when something other than a folder stands in its way
 */
export async function makeMountPoints(run: Pick<SandboxRun, 'workspace' | 'mounts'>): Promise<Mount[]> {
  const made: Mount[] = [];
  for (const { source, target } of run.mounts) {
    const parts = target.split('/');
    if (parts.some((part) => part === '' || part === '.' || part === '..' || part.includes('\0'))) {
      throw new InvalidInput(
        'mount_not_allowed',
        `mount target '${target}' must be a relative path without '.' and '..', for example node_modules`,
      );
    }
    if (!(await stat(source)).isDirectory()) {
      throw new InvalidInput('mount_not_allowed', `mount source '${source}' must be a folder`);
    }
    await makeRealFolders(run.workspace, parts);
    made.push({ source: await realpath(source), target });
  }
  return made;
}

async function makeRealFolders(workspace: string, parts: readonly string[]): Promise<void> {
  let path = workspace;
  for (const part of parts) {
    path = join(path, part);
    await mkdir(path).catch((error: unknown) => {
      if (codeOf(error) !== 'EEXIST') throw error;
    });
    if ((await lstat(path)).isDirectory()) continue;
    throw new Refused(
      'mount_point_blocked',
      `'${parts.join('/')}' cannot be mounted: '${part}' in the repository is a file or a link, not a folder`,
      { hint: 'Change prepared_paths for this repository in config/validation.json.' },
    );
  }
}

export interface ReadOnlyBind {
  readonly source: string;
  /** Below the new root. */
  readonly target: string;
  /** `submount`: comes along with the recursive bind above it and only has to be made read-only. */
  readonly kind: 'folder' | 'file' | 'submount';
  /** Flags that the kernel wants repeated when a mount of the host is mounted again, as `,flag`. */
  readonly options: string;
}

/**
 * What has to be mounted to see `mounts` read-only below `root`, mounts inside them included: a read-only flag does not reach
 * those by itself.
 */
export function readOnlyBinds(
  mounts: readonly { readonly source: string; readonly target: string }[],
  root: string,
): ReadOnlyBind[] {
  const table = mountTable();
  return mounts.flatMap(({ source, target }) => {
    const holder = table.findLast(({ path }) => isBelow(source, path));
    const inner = table.filter(({ path }) => path !== source && isBelow(path, source));
    return [
      {
        source,
        target: root + target,
        kind: statSync(source).isDirectory() ? ('folder' as const) : ('file' as const),
        options: holder?.options ?? '',
      },
      ...inner.map(({ path, options }) => ({
        source: path,
        target: root + target + path.slice(source.length),
        kind: 'submount' as const,
        options,
      })),
    ];
  });
}

/** See proc(5), `/proc/pid/mountinfo`. Later lines lie on top of earlier ones. */
function mountTable(): { path: string; options: string }[] {
  const lines = readFileSync('/proc/self/mountinfo', 'utf8').trimEnd().split('\n');
  return lines.map((line) => {
    const [, , , , path, flags] = line.split(' ') as [string, string, string, string, string, string];
    const unescaped = path.replaceAll(/\\([0-7]{3})/g, (_, octal) =>
      String.fromCharCode(Number.parseInt(octal, 8)),
    );
    return { path: unescaped, options: flags.split(',').includes('noexec') ? ',noexec' : '' };
  });
}

function isBelow(path: string, folder: string): boolean {
  return folder === '/' || path === folder || path.startsWith(`${folder}/`);
}
