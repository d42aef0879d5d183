import { Minimatch } from 'minimatch';
import { Refused } from '#kit/errors.ts';
import type { ForgeKind } from '#kit/forges/registry.ts';
import { canonicalPath, spellingMatcher } from '../git/path-spelling.ts';

/**
 * CODEOWNERS as forges read it: docs.github.com/…/about-code-owners. A pattern without a slash in it fits at any depth, a folder fits
 * all below it, `dir/*` fits files of that folder alone, and the last line that fits a file says who owns it, which may be nobody.
 */

/** Where each kind of forge looks; the first that is there counts. */
const places: Readonly<Record<ForgeKind, readonly string[]>> = {
  github: ['.github/CODEOWNERS', 'CODEOWNERS', 'docs/CODEOWNERS'],
  gitea: ['CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS'],
  local: ['.github/CODEOWNERS', 'CODEOWNERS', 'docs/CODEOWNERS', '.gitea/CODEOWNERS', '.gitlab/CODEOWNERS'],
};

/** Files that have the same owners. */
export interface OwnedFiles {
  /** As the file writes them. */
  readonly owners: readonly string[];
  readonly files: readonly string[];
}

export interface CodeOwners {
  /** Where the file is; null where there is none. */
  readonly path: string | null;
  /** What of the patch has owners. */
  readonly owned: readonly OwnedFiles[];
}

/**
 * Who owns what of these files.
 * @param read a file of the base commit; null where there is none
 * @throws Refused (`code_owners_unreadable`)
 */
export async function codeOwnersOf(
  kind: ForgeKind,
  read: (path: string) => Promise<Uint8Array | null>,
  files: readonly string[],
): Promise<CodeOwners> {
  for (const path of places[kind]) {
    const bytes = await read(path);
    if (bytes === null) continue;
    const lines = parseCodeOwners(Buffer.from(bytes).toString('utf8'), path, kind);
    const owned = files.flatMap((file) => allOwnersOf(lines, file).map((owners) => ({ owners, file })));
    const groups = Map.groupBy(owned, ({ owners }) => JSON.stringify(owners));
    return {
      path,
      owned: [...groups.values()].map((group) => ({
        owners: group[0]!.owners,
        files: group.map(({ file }) => file),
      })),
    };
  }
  return { path: null, owned: [] };
}

export interface OwnerLine {
  readonly patterns: readonly Minimatch[];
  /** The same in every spelling that a file system takes for the same file. */
  readonly spellings: readonly ((file: string) => boolean)[];
  readonly owners: readonly string[];
}

/** Owners of a file as it is written, and of the file that Windows or macOS take it for: each must agree. */
export function allOwnersOf(lines: readonly OwnerLine[], file: string): (readonly string[])[] {
  const other = canonicalPath(file);
  const spelled =
    lines.findLast(({ spellings }) => spellings.some((matches) => matches(other)))?.owners ?? [];
  const distinct = new Map(
    [ownersOf(lines, file), spelled].map((owners) => [JSON.stringify(owners), owners]),
  );
  return [...distinct.values()].filter((owners) => owners.length > 0);
}

/** Whose file it is by the last line that fits; empty where it is nobody's. */
export function ownersOf(lines: readonly OwnerLine[], file: string): readonly string[] {
  return lines.findLast(({ patterns }) => patterns.some((one) => one.match(file)))?.owners ?? [];
}

/** @throws Refused (`code_owners_unreadable`) for a line that some forge reads otherwise */
export function parseCodeOwners(text: string, path: string, kind: ForgeKind): OwnerLine[] {
  return text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line, index) => {
      // A space within a pattern is written `\ `.
      const words = line.match(/(?:\\.|[^\s\\])+/g) ?? [];
      const comment = words.findIndex((word) => word.startsWith('#'));
      const [pattern, ...owners] = comment === -1 ? words : words.slice(0, comment);
      // Gitea skips a line without owners as one of a wrong format: it takes no file from anybody.
      if (pattern === undefined || (kind === 'gitea' && owners.length === 0)) return [];
      const why = whyUnreadable(pattern, owners, kind);
      if (why !== null) throw unreadable(path, index + 1, line.trim(), why);
      const globs = globsOf(pattern.replaceAll('\\ ', ' '));
      return [
        {
          patterns: globs.map((glob) => new Minimatch(glob, options)),
          spellings: globs.map((glob) => spellingMatcher(glob, options)),
          owners,
        },
      ];
    });
}

/** A line that is misread could leave a file without its owner, so that it stops all. */
function whyUnreadable(pattern: string, owners: readonly string[], kind: ForgeKind): string | null {
  if (/^\^?\[/.test(pattern)) return 'sections are not read';
  if (pattern.startsWith('!')) return 'a pattern that starts with ! is not read';
  if (kind === 'gitea' && /\.\*|[\^$()|+[\]{}\\]/.test(pattern))
    return 'it is a regular expression, and only plain paths and globs are read';
  if (/[[\]]|\\[^ ]/.test(pattern))
    return 'sets of characters and escapes other than of a space are not read';
  const strange = owners.find((owner) => !/^@[^@\s]+$|^[^@\s]+@[^@\s]+$/.test(owner));
  return strange === undefined ? null : `'${strange}' is no owner: must be @login, @org/team or an address`;
}

function unreadable(path: string, number: number, line: string, why: string): Refused {
  return new Refused(
    'code_owners_unreadable',
    `a rule of policy.json asks for code owners, and line ${number} of ${path} cannot be read: ${JSON.stringify(line)}: ${why}`,
    {
      hint: 'Correct the line on the base branch, or take code_owners out of the rule, and plan again.',
    },
  );
}

function globsOf(pattern: string): string[] {
  const folder = pattern.endsWith('/');
  const body = pattern.replace(/^\//, '').replace(/\/$/, '');
  const anchored = pattern.startsWith('/') || body.includes('/');
  const glob = anchored ? body : `**/${body}`;
  // `*` as the last part fits files alone; any other name is a file, or a folder with all in it.
  const filesAlone = anchored && (body === '*' || body.endsWith('/*'));
  return folder ? [`${glob}/**`] : filesAlone ? [glob] : [glob, `${glob}/**`];
}

const options = { dot: true, nobrace: true, noext: true, nonegate: true, nocomment: true } as const;
