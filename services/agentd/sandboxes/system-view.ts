import { existsSync, lstatSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { searchPath, systemFolders } from './tool-paths.ts';

/** What a sandbox shows of the host, all of it read-only. */
export interface SystemView {
  readonly mounts: readonly { readonly source: string; readonly target: string }[];
  readonly links: readonly { readonly path: string; readonly target: string }[];
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
export const procReadOnly = ['sys', 'sysrq-trigger', 'irq', 'bus', 'fs', 'driver', 'mtrr', 'pressure'];
export const procHidden = [
  'acpi',
  'asound',
  'scsi',
  'kcore',
  'keys',
  'key-users',
  'kallsyms',
  'timer_list',
  'kmsg',
];

export const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty'];

export function systemView(tools: readonly string[], network: boolean): SystemView {
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
  return { mounts, links };
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
