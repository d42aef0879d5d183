import { Minimatch, type MinimatchOptions } from 'minimatch';

/**
 * Spellings of a path that Windows or macOS take for the same file. They ignore case, the composition of letters and characters that
 * are not shown. Windows also takes `\` for `/`, ignores dots and spaces at the end of a name and a stream behind it (`::$DATA`), and
 * gives long names a short one (`GITHUB~1`).
 */

/** The form in which two spellings are compared; short names stay as they are. */
export function canonicalPath(path: string): string {
  const names: string[] = [];
  for (const name of fold(path).split(/[/\\]/)) {
    const read = name.replace(/:.*$/s, '').trimEnd();
    if (read === '..') names.pop();
    else if (withoutEnd(read) !== '') names.push(withoutEnd(read));
  }
  return names.join('/');
}

/** Whether two paths may be the same file. */
export function maySpellSame(left: string, right: string): boolean {
  if (left === right) return true;
  const [ours, theirs] = [left, right].map((path) => canonicalPath(path).split('/')) as [string[], string[]];
  return (
    ours.length === theirs.length &&
    ours.every((name, at) => name === theirs[at] || maySpellName(name, theirs[at]!))
  );
}

/**
 * Whether one of the names is matched by the glob in any of its spellings; where in doubt, it is.
 * @param options of minimatch
 */
export function spellingMatcher(glob: string, options: MinimatchOptions): (path: string) => boolean {
  const pattern = new Minimatch(fold(glob), options);
  let globs: readonly (readonly string[])[] | null = null;
  return (path) => {
    const canonical = canonicalPath(path);
    if (pattern.match(fold(path)) || pattern.match(canonical)) return true;
    const names = canonical.split('/');
    if (!names.some(isShortName)) return false;
    globs ??= pattern.braceExpand().map((one) => one.split('/'));
    return globs.some((parts) => matchesParts(parts, names, options));
  };
}

function matchesParts(glob: readonly string[], names: readonly string[], options: MinimatchOptions): boolean {
  const [part, ...below] = glob;
  const [name, ...rest] = names;
  if (part === undefined) return name === undefined;
  if (part === '**')
    return matchesParts(below, names, options) || (name !== undefined && matchesParts(glob, rest, options));
  if (name === undefined) return false;
  const fits = new Minimatch(part, options).match(name) || (isShortName(name) && mayBeShortFor(part, name));
  return fits && matchesParts(below, rest, options);
}

function maySpellName(left: string, right: string): boolean {
  return (
    (isShortName(left) && mayBeShortFor(literal(right), left)) ||
    (isShortName(right) && mayBeShortFor(literal(left), right))
  );
}

/** `github~1`, `packag~1.jso`: at most eight characters and three. */
export function isShortName(name: string): boolean {
  return /^(?=[^.]{3,8}(\.|$))[^.~]{1,6}~\d{1,6}(\.[^.~]{1,3})?$/.test(name);
}

/** What a glob leaves open, and letters of which the short name depends on the machine. */
const wildcard = /[*?[+@!(]|[^ -~]/;

/** Whether Windows may give this short name to a name that fits one part of a glob. */
function mayBeShortFor(part: string, short: string): boolean {
  const [stem = '', extension = ''] = short.split('.');
  const [start = '', number = ''] = stem.split('~');
  const long = part.replace(/^[. ]+/, '');
  const dot = long.lastIndexOf('.');
  const [longStem, longExtension] = dot === -1 ? [long, ''] : [long.slice(0, dot), long.slice(dot + 1)];
  return (
    mayBegin(longStem, start, Math.min(6, 7 - number.length)) &&
    (wildcard.test(longExtension) || shortCharacters(longExtension).slice(0, 3) === extension)
  );
}

/** Of several names that begin alike, Windows hashes all but two characters. @param room most characters before the number */
function mayBegin(long: string, start: string, room: number): boolean {
  const at = long.search(wildcard);
  const known = shortCharacters(at === -1 ? long : long.slice(0, at)).slice(0, room);
  const hashed = /^..[0-9a-f]{4}$/.test(start) && start.startsWith(known.slice(0, 2));
  return hashed || known === start || (at !== -1 && start.startsWith(known));
}

function shortCharacters(name: string): string {
  return name.replaceAll(/[. ]/g, '').replaceAll(/[+,;=[\]]/g, '_');
}

function literal(name: string): string {
  return name.replaceAll(/[*?[+@!(]/g, '_');
}

function withoutEnd(name: string): string {
  return name.replace(/[. ]+$/, '');
}

/** By both cases: `ß` is `SS` in upper case alone, and the Kelvin sign `k` in lower case alone. */
function fold(text: string): string {
  // Most paths are plain; a patch has up to thousands.
  if (/^[\w./-]*$/.test(text)) return text.toLowerCase();
  return text
    .normalize('NFD')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
    .toUpperCase()
    .toLowerCase()
    .replaceAll('ς', 'σ')
    .normalize('NFD');
}
