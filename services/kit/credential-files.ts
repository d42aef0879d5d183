import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readSmallFile } from './small-file.ts';
import { containsPath } from './tool-path.ts';

/** Where programs keep tokens and keys: a path of a file or folder, from any folder that it lies in. */
const known = new RegExp(
  `(^|/)(${[
    'credentials(\\.toml|\\.json|\\.tfrc\\.json|\\.db)?', // cargo, gem, AWS, Google Cloud, Terraform
    '\\.?git-credentials',
    '[._]netrc',
    '\\.pypirc',
    '\\.pgpass',
    '\\.my\\.cnf',
    '\\.vault-token',
    'hosts\\.yml', // gh
    '\\.docker/config\\.json',
    '\\.?kube/config',
    '\\.m2/settings(-security)?\\.xml',
    '\\.gradle/gradle\\.properties',
    'application_default_credentials\\.json',
    'access_tokens\\.db',
    '(access|service_principal|msal)_?[a-z_]*token[a-z_]*\\.(json|bin)', // Azure
    'azureProfile\\.json',
    'rclone\\.conf',
    'auth\\.json', // containers, composer, coding agents
    '\\.(ssh|gnupg|aws|azure|gcloud|password-store)',
    'gcloud',
    'id_(rsa|dsa|ecdsa|ed25519)(_sk)?',
  ].join('|')})$`,
);

/** Settings that are harmless without one of these members. */
const conditional: readonly (readonly [file: RegExp, secret: RegExp])[] = [
  [/(^|\/)(\.?npmrc)$/, /_auth(Token)?\s*=|_password\s*=/],
  [/(^|\/)\.yarnrc\.yml$/, /npmAuth(Token|Ident)\s*:/],
  [/(^|\/)(pip\.conf|\.?condarc|\.env)$/, /:\/\/[^\s/]*:[^\s/]*@|(token|password|secret|api_?key)\s*[:=]/i],
];

export interface CredentialPath {
  /** Real path on this machine. */
  readonly path: string;
  readonly kind: 'file' | 'folder';
}

/** How deep below a folder of tools programs keep their settings: `.config/gcloud/credentials.db`. */
const maxDepth = 4;
/** Folders with the code of packages, where these names are samples, and which are too large to be searched at each run. */
const packages = new Set([
  'node_modules',
  'site-packages',
  'dist-packages',
  'registry',
  'mod',
  'doc',
  '.git',
]);

/** Known credentials files in a folder and what lies in it, links to them included. */
export function credentialFiles(folder: string): CredentialPath[] {
  const found: CredentialPath[] = [];
  search(realpathSync(folder), '', 0);
  return found;

  function search(at: string, relative: string, depth: number): void {
    for (const entry of entriesOf(at)) {
      const path = join(at, entry.name);
      const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (isCredential(path, name)) add(path);
      else if (entry.isDirectory() && depth < maxDepth && !packages.has(entry.name))
        search(path, name, depth + 1);
    }
  }

  function add(path: string): void {
    try {
      const real = realpathSync(path);
      found.push({ path: real, kind: statSync(real).isDirectory() ? 'folder' : 'file' });
    } catch {
      // A link to nowhere shows nothing.
    }
  }
}

/** Credentials files in folders of tools, at each path at which the sandbox would show them. */
export function hiddenCredentials(tools: readonly string[]): CredentialPath[] {
  const shown = tools.map((path) => ({ path, real: realpathSync(path) }));
  const found = shown.flatMap(({ real }) => credentialFiles(real));
  const hidden = new Map<string, CredentialPath>();
  for (const { path: secret, kind } of found) {
    for (const { path, real } of shown) {
      if (!containsPath(real, secret)) continue;
      const target = path + secret.slice(real.length);
      hidden.set(target, { path: target, kind });
    }
  }
  return [...hidden.values()];
}

/** For plan and doctor; null where there is nothing to report. */
export function hiddenCredentialsText(tools: readonly string[]): string | null {
  const paths = hiddenCredentials(tools).map(({ path }) => path);
  if (paths.length === 0) return null;
  const rest = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '';
  return `tool_paths show credentials: ${paths.slice(0, maxNamed).join(', ')}${rest}. Sandboxes hide them; list a folder without them`;
}

const maxNamed = 5;

function isCredential(path: string, name: string): boolean {
  if (known.test(name)) return true;
  return conditional.some(([file, secret]) => file.test(name) && secret.test(textOf(path)));
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Unreadable here is unreadable in the sandbox, which runs as the same user.
    return [];
  }
}

function textOf(path: string): string {
  try {
    return statSync(path).isFile() ? readSmallFile(path) : '';
  } catch {
    return '';
  }
}
