import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, extname } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { codeOf, InvalidInput } from './errors.ts';
import { readSmallFile } from './small-file.ts';
import { containsPath, isFolder } from './tool-path.ts';

/**
 * Ending that an editor, a package manager or a person gives the name of a copy: `.bak`, `.swp`, `.1`, `.dpkg-old`, ` (copy)`, `~`; no
 * module of a program, such as `credentials_new.py`.
 */
const copy =
  '(?!.*\\.(pyi?|pyc|[cm]?[jt]s|map|go|rs)$)([~#].*| ?\\(.*| copy.*|' +
  '[._-]((bak|backup|old|orig|original|saved?|copy|te?mp|sw[a-z]|rej|new|dist|(dpkg|ucf|rpm)-?[a-z]+|pac(new|save))(?![a-z])|\\d).*)?';

/** Names of files and folders with tokens and keys, with the name of the folder around them if one name says too little. */
const known = new RegExp(
  // An editor puts `.` or `#` before the name of what it has open.
  `/(${[
    '[.#]{0,2}credentials(\\.(toml|json|tfrc\\.json|db|ya?ml|ini|xml|csv|sbt|txt|enc))?', // cargo, gem, sbt, AWS, Google Cloud, Terraform, Claude
    'legacy_credentials', // Google Cloud
    '[.#]{0,2}oauth_creds\\.json', // Gemini
    '[.#]{0,2}git-credentials',
    '[.#]{0,2}_netrc',
    '[.#]{1,2}(netrc|pypirc|pgpass|my\\.cnf|vault-token|git-credentials|dockercfg)([~#._-].*)?',
    '[.#]{0,2}hosts\\.ya?ml', // gh
    'github-copilot/(hosts|apps)\\.json',
    '\\.docker/\\.?config\\.json',
    '\\.?kube/\\.?config([._-].*)?',
    '\\.m2/\\.?settings(-security)?\\.xml',
    '\\.gradle/\\.?gradle\\.properties',
    '\\.hex/hex\\.config',
    '\\.?huggingface/token',
    'application_default_credentials\\.json',
    'access_tokens\\.db',
    '(access|service_principal|msal)_?[a-z_]*token[a-z_]*\\.(json|bin)', // Azure
    'azureProfile\\.json',
    'rclone\\.conf',
    '[.#]{0,2}auth\\.(json|toml)', // containers, composer, coding agents, Poetry
    '[.#]{1,2}(s3cfg|boto)',
    'secring\\.gpg',
    '[.#]{0,2}id_(rsa|dsa|ecdsa|ed25519)(?!.*\\.pub$)([._-].*)?',
  ].join('|')})${copy}$`,
  'i',
);
/** Folders in which everything is secret. */
const secretFolder =
  /\/(\.(ssh|gnupg\d*|password-store)([~._-].*)?|\.(aws|azure|gcloud)|\.config\/gcloud|private-keys-v1\.d)$/i;

/** Settings that are harmless without one of these members. A name in quotes may hold escaped characters. */
const conditional: readonly (readonly [file: RegExp, secret: RegExp])[] = [
  [/\/[.#]{0,2}npmrc([~#._-].*)?$/i, /_auth|_password|token|keyfile|^\s*key\b|\\u/im],
  [/\/[.#]{0,2}yarnrc(\.yml)?([~#._-].*)?$/i, /npmAuth|_auth|_password|token|\\[ux]/i],
  [
    /\/([.#]?pip\.(conf|ini)|[.#]{0,2}condarc|[.#]?uv\.toml|[.#]{1,2}env)([~#._-].*)?$/i,
    /:\/\/[^\s/]*@|(token|passw|pass|pwd|secret|key)[\w-]*["']?\s*[:=]/i,
  ],
  [
    /\/([.#]{0,2}gitconfig|\.git\/config)([~#._-].*)?$/i,
    /:\/\/[^\s/]*@|extraheader|(token|password|secret)\s*=/i,
  ],
  [
    /\/(\.cargo\/[.#]?config(\.toml)?|glab-cli\/[.#]?config\.yml|[.#]{1,2}terraformrc|[.#]{0,2}bunfig\.toml)([~#._-].*)?$/i,
    /^(?!\s*#).*((token|secret-key|password)["']?\s*[:=]|:\/\/[^\s/]*@|\\u)/im,
  ],
  [
    /\/(\.config\/hub|hcloud\/cli\.toml|\.fly\/config\.yml|config\/default\.toml|\.?netlify\/config\.json|\.claude\.json)([~#._-].*)?$/i,
    /token|secret|key|oauth/i,
  ],
  // Bundler names hosts with two underscores for each point.
  [/\/\.bundle\/config([~#._-].*)?$/i, /__|:\/\/[^\s/]*@|token|password|secret/i],
  [/\/[.#]?gradle\.properties([~#._-].*)?$/i, /(token|password|secret|api_?key)\s*[:=]/i],
  [/\/(conf|maven)\/[.#]?settings\.xml([~#._-].*)?$/i, /<([\w.-]+:)?(password|passphrase|privateKey)\b/i],
  [/\/[.#]?nuget\.config([~#._-].*)?$/i, /password|apikeys/i],
];
const isXml = /\/(settings\.xml|nuget\.config)/i;

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

/** Maximum number of files and folders in a folder that is searched: 200,000 take 1.4 s on two busy cores. */
const maxEntries = 1_000_000;
/** Maximum number of paths that a sandbox hides; each is a mount and a few words on a command line. */
const maxHidden = 500;
/** Time for which a search keeps the process from other work, in ms. */
const sliceMs = 20;

/**
 * Known credentials files in a folder, at any depth, including the targets of its links; the folder itself if it is one.
 * @throws InvalidInput (`tool_path_too_large`), or the system's error if a folder cannot be listed
 */
export function credentialFiles(folder: string, limit = maxEntries): CredentialPath[] {
  const search = searchFor(folder, limit);
  for (;;) {
    const step = search.next();
    if (step.done) return step.value;
  }
}

/** Same as `credentialFiles`, but lets other work of this process run in between. */
async function credentialFilesInSlices(folder: string): Promise<CredentialPath[]> {
  const search = searchFor(folder, maxEntries);
  let began = performance.now();
  for (;;) {
    const step = search.next();
    if (step.done) return step.value;
    if (performance.now() - began < sliceMs) continue;
    await setImmediate();
    began = performance.now();
  }
}

/** Pauses after each folder. */
function* searchFor(folder: string, limit: number): Generator<void, CredentialPath[]> {
  const found: CredentialPath[] = [];
  const root = realpathSync(folder);
  // Its own name counts, as listed and as real: ~/.m2 may be a link to a folder of another name.
  const names = [...new Set([root, folder])];
  let entries = 0;
  if (names.some(isSecretByName)) add(root);
  else yield* search(root, [...new Set(names.map((name) => basename(name)))]);
  return found;

  /** @param called names of the folder */
  function* search(path: string, called: readonly string[]): Generator<void> {
    for (const entry of entriesOf(path)) {
      count();
      const below = `${path}/${entry.name}`;
      if (called.some((name) => isCredential(`/${name}/${entry.name}`, below, entry))) add(below);
      else if (entry.isDirectory()) yield* search(below, [entry.name]);
      else if (entry.isSymbolicLink() && isFolder(below)) searchLinked(below, entry.name);
    }
    yield;
  }

  /** Searches a linked folder by the name of the link, as in `.docker/config.json`. Its own folder is searched under its own name. */
  function searchLinked(path: string, name: string): void {
    for (const entry of entriesOf(path)) {
      count();
      const below = `${path}/${entry.name}`;
      if (isCredential(`/${name}/${entry.name}`, below, entry)) add(below);
    }
  }

  function count(): void {
    entries += 1;
    if (entries <= limit) return;
    throw new InvalidInput(
      'tool_path_too_large',
      `tool_paths: '${folder}' has more than ${limit} files and folders, too many to search for credentials`,
      { hint: 'List the folders of the tools alone, for example ~/.cargo/bin.' },
    );
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

/**
 * Credentials files in folders of tools and in settings of the machine, at each path at which the sandbox would show them.
 * @throws InvalidInput (`tool_path_too_large`, `tool_path_not_allowed`)
 */
export async function hiddenCredentials(tools: readonly string[]): Promise<CredentialPath[]> {
  const shown = [...shownBySystem.filter(isFolder), ...tools].map((path) => ({
    path,
    real: realpathSync(path),
  }));
  const hidden = new Map<string, CredentialPath>();
  for (const folder of [...systemSettings.filter(isFolder), ...tools]) {
    for (const { path: secret, kind } of await credentialFilesInSlices(folder)) {
      for (const { path, real } of shown) {
        if (!containsPath(real, secret)) continue;
        const target = path + secret.slice(real.length);
        hidden.set(target, { path: target, kind });
      }
    }
  }
  // A mount in a folder that is covered would fail.
  const paths = [...hidden.values()].filter(({ path }) => !isCovered(path, hidden));
  if (paths.length <= maxHidden) return paths;
  throw new InvalidInput(
    'tool_path_not_allowed',
    `tool_paths show ${paths.length} credentials files; a sandbox can hide at most ${maxHidden}`,
    { hint: `List folders without them. The first: ${namedPaths(paths.map(({ path }) => path))}` },
  );
}

function isCovered(path: string, hidden: ReadonlyMap<string, CredentialPath>): boolean {
  for (let folder = dirname(path); folder !== dirname(folder); folder = dirname(folder)) {
    if (hidden.has(folder)) return true;
  }
  return false;
}

/** For plan and doctor; null where there is nothing that another list of folders would change. */
export async function hiddenCredentialsText(tools: readonly string[]): Promise<string | null> {
  const paths = (await hiddenCredentials(tools))
    .map(({ path }) => path)
    .filter((path) => tools.some((folder) => containsPath(folder, path)));
  if (paths.length === 0) return null;
  return `tool_paths show credentials: ${namedPaths(paths)}. Sandboxes hide them; list a folder without them`;
}

function namedPaths(paths: readonly string[]): string {
  const rest = paths.length > maxNamed ? ` and ${paths.length - maxNamed} more` : '';
  return `${paths.slice(0, maxNamed).join(', ')}${rest}`;
}

const maxNamed = 5;

/** True if a path lies in a package that a package manager unpacked: what looks like credentials there was published by its author. */
export function isInPackage(path: string): boolean {
  return unpacked.test(path);
}

const unpacked =
  /\/(node_modules\/(@[^/]+\/)?[^/.@][^/]*|(site|dist)-packages\/[^/.][^/]*|registry\/src\/[^/]+-[0-9a-f]{16}\/[^/]+-\d[^/]*|pkg\/mod\/([^/@]+\/)+[^/@]+@v[^/]+)\/./;

/** For a folder that is listed: its own name, or that of a folder above it. */
function isSecretByName(path: string): boolean {
  const isSecret = (folder: string) => secretFolder.test(`/${basename(dirname(folder))}/${basename(folder)}`);
  for (let folder = path; folder !== dirname(folder); folder = dirname(folder)) {
    if (isSecret(folder)) return true;
  }
  return known.test(`/${basename(dirname(path))}/${basename(path)}`) && !holdsCode(path);
}

/** @param name of the folder and in it, `/.docker/config.json` */
function isCredential(name: string, path: string, entry: Dirent): boolean {
  if (secretFolder.test(name)) return true;
  if (known.test(name)) return !(entry.isDirectory() && holdsCode(path));
  if (entry.isDirectory()) return false;
  const secrets = conditional.filter(([file]) => file.test(name)).map(([, secret]) => secret);
  return secrets.length > 0 && holdsSecret(path, isXml.test(name), secrets);
}

const code = new Set([
  '.py',
  '.pyi',
  '.pyc',
  '.js',
  '.mjs',
  '.cjs',
  '.ts',
  '.mts',
  '.cts',
  '.map',
  '.go',
  '.rs',
]);

/** True for a module of a program, such as `docker/credentials/__init__.py`: a folder with files of code alone. */
function holdsCode(folder: string): boolean {
  const files = entriesOf(folder).filter((entry) => !entry.isDirectory());
  return files.length > 0 && files.every(({ name }) => code.has(extname(name).toLowerCase()));
}

/** What cannot be listed or read for want of a right, the sandbox cannot read either: it runs as the same user. */
const unreadable = new Set(['EACCES', 'EPERM', 'ENOENT', 'ENOTDIR']);

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    if (unreadable.has(codeOf(error))) return [];
    throw error;
  }
}

/** True also for a file that is too large to be read, or no text in UTF-8. */
function holdsSecret(path: string, xml: boolean, secrets: readonly RegExp[]): boolean {
  try {
    if (!statSync(path).isFile()) return false;
  } catch (error) {
    return codeOf(error) !== 'ENOENT';
  }
  try {
    const text = readSmallFile(path);
    const judged = xml ? withoutComments(text) : text;
    return text.includes('\0') || secrets.some((secret) => secret.test(judged));
  } catch {
    return true;
  }
}

/** XML without comments. A CDATA section or a processing instruction has no comments. */
function withoutComments(text: string): string {
  return text.replaceAll(/<!\[CDATA\[[\s\S]*?\]\]>|<\?[\s\S]*?\?>|<!--[\s\S]*?-->/g, (part) =>
    part.startsWith('<!--') ? '' : part,
  );
}
