import { git } from '#kit/git/git.ts';
import { splitAtNul } from '#kit/git/tree.ts';
import { pathText } from './path-text.ts';

/** Two files that commits change together; `a` sorts before `b`. */
export interface ChangedTogether {
  readonly a: string;
  readonly b: string;
  /** 0 to 1: the commits with both, by the geometric mean of the commits with each and one more, as two may be chance. */
  readonly weight: number;
}

/** A commit that touches more than this says nothing about any two of its files. */
const maxFilesOfCommit = 30;
const minTogether = 2;
const maxPartners = 10;

/**
 * Which of the files history changes together, from the last `maxCommits` commits, merges left out. A file keeps its history through
 * renames.
 */
export async function changedTogether(
  gitDir: string,
  commit: string,
  files: ReadonlySet<string>,
  maxCommits: number,
): Promise<ChangedTogether[]> {
  if (maxCommits === 0) return [];
  const places = new Map([...files].map((path, place) => [path, place]));
  const alone = new Map<number, number>();
  const together = new Map<number, number>();
  for (const paths of await changesOf(gitDir, commit, maxCommits)) {
    if (paths.size > maxFilesOfCommit) continue;
    const present = [...paths].flatMap((path) => places.get(path) ?? []).sort((x, y) => x - y);
    for (const [at, one] of present.entries()) {
      alone.set(one, (alone.get(one) ?? 0) + 1);
      for (const other of present.slice(at + 1)) {
        const key = one * places.size + other;
        together.set(key, (together.get(key) ?? 0) + 1);
      }
    }
  }
  return strongest([...files], alone, together);
}

function strongest(
  paths: readonly string[],
  alone: ReadonlyMap<number, number>,
  together: ReadonlyMap<number, number>,
): ChangedTogether[] {
  const partners = new Map<number, number>();
  const pairs = [...together]
    .filter(([, count]) => count >= minTogether)
    .map(([key, count]) => {
      const one = Math.floor(key / paths.length);
      const other = key % paths.length;
      const weight = count / (1 + Math.sqrt(alone.get(one)! * alone.get(other)!));
      return { one, other, count, weight };
    })
    .sort((x, y) => y.weight - x.weight || y.count - x.count || x.one - y.one || x.other - y.other);
  const kept = pairs.filter(({ one, other }) => {
    const room = (partners.get(one) ?? 0) < maxPartners || (partners.get(other) ?? 0) < maxPartners;
    if (!room) return false;
    for (const place of [one, other]) partners.set(place, (partners.get(place) ?? 0) + 1);
    return true;
  });
  return kept.map(({ one, other, weight }) => {
    const [a, b] = [paths[one]!, paths[other]!].sort() as [string, string];
    return { a, b, weight: Math.round(weight * 1000) / 1000 };
  });
}

/** The paths of each commit, newest first, each by the name that it has now. */
async function changesOf(gitDir: string, commit: string, maxCommits: number): Promise<Set<string>[]> {
  const shape = ['-z', '--name-status', '--format=%x01', '--no-show-signature', '--no-relative'];
  const which = ['--no-merges', '-M', '-l200', `--max-count=${maxCommits}`];
  const { stdout } = await git(['log', ...shape, ...which, '--end-of-options', commit, '--'], { gitDir });
  const fields = splitAtNul(stdout);
  const names = new Map<string, string>();
  const nameNow = (path: string) => names.get(path) ?? path;
  const commits: Set<string>[] = [];
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at]!.toString('latin1').trim();
    if (field === '\x01') commits.push(new Set());
    const status = /^[A-Z]/.exec(field)?.[0];
    if (status === undefined) continue;
    const path = pathText(fields[++at]!);
    if (status !== 'R' && status !== 'C') commits.at(-1)?.add(nameNow(path));
    else {
      const to = pathText(fields[++at]!);
      commits.at(-1)?.add(nameNow(to));
      if (status === 'R') names.set(path, nameNow(to));
    }
  }
  return commits;
}
