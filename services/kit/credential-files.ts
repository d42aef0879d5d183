import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { readSmallFile } from './small-file.ts';
import { containsPath, isFolder } from './tool-path.ts';

/** Where programs keep tokens and keys: the end of the whole path of a file or folder, or of a copy that an editor left. */
const known = new RegExp(
  `/(${[
    '\\.?credentials(\\.toml|\\.json|\\.tfrc\\.json|\\.db)?', // cargo, gem, sbt, AWS, Google Cloud, Terraform, Claude
    'legacy_credentials', // Google Cloud
    'oauth_creds\\.json', // Gemini
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
    'auth\\.(json|toml)', // containers, composer, coding agents, Poetry
    '\\.(s3cfg|boto)',
    '\\.config/gcloud',
    'id_(rsa|dsa|ecdsa|ed25519)(_sk)?',
  ].join('|')})(\\.(bak|backup|old|orig|save)|~)?$`,
);
/** Folders in which everything is secret. */
const secretFolder = /\/(\.(ssh|gnupg|aws|azure|gcloud|password-store)|\.config\/gcloud)(\/|$)/;

/** Settings that are harmless without one of these members. */
const conditional: readonly (readonly [file: RegExp, secret: RegExp])[] = [
  [/\/\.?npmrc$/, /_auth(Token)?\s*=|_password\s*=/],
  [/\/\.yarnrc\.yml$/, /npmAuth(Token|Ident)\s*:/],
  [/\/(pip\.conf|\.?condarc|\.env)$/, /:\/\/[^\s/]*:[^\s/]*@|(token|password|secret|api_?key)\s*[:=]/i],
  [
    /\/(\.cargo\/config(\.toml)?|glab-cli\/config\.yml|\.terraformrc)$/,
    /^[^#]*(token|secret-key)["']?\s*[:=]/im,
  ],
  // Bundler names hosts with two underscores for each point.
  [/\/\.bundle\/config$/, /__|:\/\/[^\s/]*@|token|password|secret/i],
  [/\/(conf|maven)\/settings\.xml$/, /<(password|passphrase|privateKey)>/],
  [/\/nuget\.config$/i, /password|apikeys/i],
];

/** Settings of the whole machine in folders that every sandbox shows. */
const systemSettings = [
  '/usr/etc',
  '/usr/local/etc',
  '/usr/share/maven/conf',
  '/usr/local/share/maven/conf',
  '/etc/maven',
];
const shownBySystem = ['/usr', '/etc/maven'];

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

/** Known credentials files in a folder and what lies in it, links to them included; the folder itself where it is one. */
export function credentialFiles(folder: string): CredentialPath[] {
  const found: CredentialPath[] = [];
  const root = realpathSync(folder);
  // Its own name counts, as listed and as real: ~/.m2 may be a link to a folder of another name.
  const names = [...new Set([root, folder])];
  if (names.some((name) => secretFolder.test(name) || known.test(name))) add(root);
  else search('', 0);
  return found;

  function search(relative: string, depth: number): void {
    for (const entry of entriesOf(root + relative)) {
      const below = `${relative}/${entry.name}`;
      if (names.some((name) => isCredential(name + below))) add(root + below);
      else if (entry.isDirectory() && depth < maxDepth && !packages.has(entry.name)) search(below, depth + 1);
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

/** Credentials files in folders of tools and in settings of the machine, at each path at which the sandbox would show them. */
export function hiddenCredentials(tools: readonly string[]): CredentialPath[] {
  const shown = [...shownBySystem.filter(isFolder), ...tools].map((path) => ({
    path,
    real: realpathSync(path),
  }));
  const found = [...systemSettings.filter(isFolder), ...tools].flatMap(credentialFiles);
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

/** For plan and doctor; null where there is nothing that another list of folders would change. */
export function hiddenCredentialsText(tools: readonly string[]): string | null {
  const paths = hiddenCredentials(tools)
    .map(({ path }) => path)
    .filter((path) => tools.some((folder) => containsPath(folder, path)));
  if (paths.length === 0) return null;
  const rest = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '';
  return `tool_paths show credentials: ${paths.slice(0, maxNamed).join(', ')}${rest}. Sandboxes hide them; list a folder without them`;
}

const maxNamed = 5;

function isCredential(path: string): boolean {
  if (known.test(path) || secretFolder.test(path)) return true;
  return conditional.some(([file, secret]) => file.test(path) && secret.test(textOf(path)));
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
    return statSync(path).isFile() ? readSmallFile(path).replaceAll(/<!--[\s\S]*?-->/g, '') : '';
  } catch {
    return '';
  }
}
