import { posix } from 'node:path';
import { type Places, within } from './places.ts';

/** `.a.b` from the folder of the file, one more dot for each folder above; `a.b` from any folder above the file, or its `src`. */
export function resolvePython(places: Places, from: string, module: string): string[] {
  const [, dots, path] = /^(\.*)(.*)$/.exec(module)!;
  const parts = path!.split('.').filter((part) => part !== '');
  const folder = posix.dirname(from);
  if (dots !== '') {
    const base = within(folder, '../'.repeat(dots!.length - 1));
    return base === null ? [] : pythonModule(places, base, parts);
  }
  for (const up of places.foldersUp(folder)) {
    for (const root of [up, posix.join(up, 'src'), posix.join(up, 'lib')]) {
      const found = pythonModule(places, root, parts);
      if (found.length > 0) return found;
    }
  }
  return [];
}

/** The last part may be a module or a name in one. */
function pythonModule(places: Places, base: string, parts: readonly string[]): string[] {
  for (const length of [parts.length, parts.length - 1]) {
    if (length < 0 || (length === 0 && parts.length > 1)) continue;
    const path = posix.join(base, ...parts.slice(0, length));
    const found = places.firstFile([`${path}.py`, `${path}.pyi`, posix.join(path, '__init__.py')]);
    if (found.length > 0) return found;
  }
  return [];
}

/** `a.b.C` is `a/b/C.java` under some folder; the last part may be a member. */
export function resolveDotted(places: Places, module: string, end: string): string[] {
  const parts = module.split('.').filter((part) => part !== '');
  for (const length of [parts.length, parts.length - 1]) {
    if (length < 2) break;
    const found = places.endingWith(`${parts.slice(0, length).join('/')}${end}`, 2);
    if (found.length > 0) return found;
  }
  return [];
}

/** A path beside the file, else under some `lib` or `app`. */
export function resolveRuby(places: Places, from: string, module: string): string[] {
  const path = module.endsWith('.rb') ? module : `${module}.rb`;
  if (path.startsWith('.')) return places.firstFile([within(posix.dirname(from), path) ?? '']);
  const inFolder = places.firstFile(['lib', 'app', ''].map((folder) => posix.join(folder, path)));
  return inFolder.length > 0 ? inFolder : places.endingWith(path);
}

/** `mod name` below the file; `crate::a::B` from the crate's `src`, `self` and `super` from the file's own module. */
export function resolveRust(places: Places, from: string, module: string): string[] {
  const own = moduleFolder(from);
  const declared = /^mod (\w+)$/.exec(module)?.[1];
  if (declared !== undefined) return rustModule(places, own, [declared]);
  const parts = module.split('::').filter((part) => part !== '');
  const first = parts.shift();
  if (first === 'crate') return rustModule(places, crateFolder(from), parts);
  if (first === 'self') return rustModule(places, own, parts);
  if (first !== 'super') return [];
  let folder = posix.dirname(own);
  for (; parts[0] === 'super'; parts.shift()) folder = posix.dirname(folder);
  return rustModule(places, folder, parts);
}

function rustModule(places: Places, folder: string, parts: readonly string[]): string[] {
  for (let length = parts.length; length > 0; length--) {
    const path = posix.join(folder, ...parts.slice(0, length));
    const found = places.firstFile([`${path}.rs`, posix.join(path, 'mod.rs')]);
    if (found.length > 0) return found;
  }
  return [];
}

/** Where the modules below a file lie: `a/b.rs` has them in `a/b`. */
function moduleFolder(path: string): string {
  const folder = posix.dirname(path);
  const name = posix.basename(path, '.rs');
  return name === 'mod' || name === 'lib' || name === 'main' ? folder : posix.join(folder, name);
}

function crateFolder(path: string): string {
  const parts = path.split('/');
  const src = parts.lastIndexOf('src');
  return src < 0 ? posix.dirname(path) : parts.slice(0, src + 1).join('/');
}
