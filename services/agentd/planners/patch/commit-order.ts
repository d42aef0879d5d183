import { type FilePatch, stripped } from '#kit/git/patch.ts';
import { indexIds } from './named-blobs.ts';
import { isCopy } from './steps.ts';

/** The parts of a text that belong together. */
export interface Commit {
  /** Mark of the line `commit ID` above it; null if no such line tells it apart from the parts before. */
  readonly mark: CommitMark | null;
  readonly files: readonly FilePatch[];
}

/** `commit ID` in the output of git log. */
export interface CommitMark {
  /** Line of the text. */
  readonly line: number;
  /** In ms; null if the text does not give it. */
  readonly date: number | null;
}

/** What one part does with the content of one name: ids of blobs, '' if there is no such file, undefined if unknown. */
interface Touch {
  readonly file: FilePatch;
  readonly commit: Commit;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const howToLog = 'give the output of `git log -p --reverse`';

/**
 * All files with the oldest commit first, or in words why that order is unknown. The blobs in `index` lines tell the order: a
 * part begins with what the one before it makes.
 */
export function inCommitOrder(commits: readonly Commit[]): readonly FilePatch[] | string {
  const given = commits.flatMap(({ files }) => files);
  const chains = chainsOf(commits);
  const pairs = [...chains].flatMap(([path, chain]) =>
    chain.slice(1).map((two, at) => ({ path, one: chain[at]!, two })),
  );
  const forward = pairs.find(({ one, two }) => follows(one, two) && !follows(two, one));
  const backward = pairs.find(({ one, two }) => follows(two, one) && !follows(one, two));
  if (forward !== undefined && backward !== undefined) return noOrder(backward.path);
  if (backward === undefined) {
    const broken = [...chains].find(([, chain]) => isBroken(chain));
    if (broken !== undefined) return noOrder(broken[0]);
    return forward === undefined ? byDates(pairs, given) : given;
  }
  const broken = [...chains].find(([, chain]) => isBroken(chain.toReversed()));
  if (broken !== undefined) return noOrder(broken[0]);
  const together = pairs.find(({ one, two }) => one.commit === two.commit && follows(two, one));
  if (together === undefined) return commits.toReversed().flatMap(({ files }) => files);
  return `lines ${together.one.file.line} and ${together.two.file.line}: the text gives the newest change of ${together.path} first, and no line that shows where a commit begins; ${howToLog}`;
}

/** Without an `index` line only dates tell the order of two commits that change the same file. */
function byDates(pairs: readonly { path: string; one: Touch; two: Touch }[], given: readonly FilePatch[]) {
  const unknown = pairs.find(({ one, two }) => {
    const [first, second] = [one.commit.mark, two.commit.mark];
    if (first === null || second === null || first === second) return false;
    if ([one, two].every(({ file }) => file.hunks.length === 0 || indexIds(file) !== null)) return false;
    return first.date === null || second.date === null || first.date >= second.date;
  });
  if (unknown === undefined) return given;
  const { path, one, two } = unknown;
  return `lines ${one.file.line} and ${two.file.line}: two commits change ${path}, and the text does not say which commit comes first; ${howToLog}, with its \`index\` lines`;
}

function noOrder(path: string): string {
  return `the commits of this text are neither oldest nor newest first: see the \`index\` lines of ${path}; ${howToLog}`;
}

function follows({ after }: Touch, { before }: Touch): boolean {
  return after !== undefined && before !== undefined && after !== '' && isSame(after, before);
}

/** True if a part begins with the result of none, and the result of a later one is what an earlier one begins with. */
function isBroken(chain: readonly Touch[]): boolean {
  const hasGap = chain.slice(1).some(({ before }, at) => {
    const { after } = chain[at]!;
    return before !== undefined && after !== undefined && !isSame(after, before);
  });
  return hasGap && chain.some((one, at) => chain.slice(at + 1).some((later) => follows(later, one)));
}

function isSame(one: string, other: string): boolean {
  return one === other || (one !== '' && other !== '' && (one.startsWith(other) || other.startsWith(one)));
}

/** The parts about each name, in the order of the text. */
function chainsOf(commits: readonly Commit[]): ReadonlyMap<string, readonly Touch[]> {
  const touches = commits.flatMap((commit) =>
    commit.files.flatMap((file): [string, Touch][] => {
      const ids = indexIds(file);
      const [old, new_] = [nameOf(file, 'old'), nameOf(file, 'new')];
      const idOf = (id: string | undefined) => (id !== undefined && /^0+$/.test(id) ? '' : id);
      const [before, after] = [idOf(ids?.before), idOf(ids?.after)];
      if (old !== null && old === new_) return [[old, { file, commit, before, after }]];
      const from: [string, Touch][] =
        old === null || isCopy(file) ? [] : [[old, { file, commit, before, after: '' }]];
      return new_ === null ? from : [...from, [new_, { file, commit, before: '', after }]];
    }),
  );
  const grouped = Map.groupBy(touches, ([path]) => path);
  return new Map([...grouped].map(([path, of]) => [path, of.map(([, touch]) => touch)]));
}

/** The name without git's prefix, the same for all parts about one file. */
function nameOf({ moved, named, header }: FilePatch, side: 'old' | 'new'): string | null {
  if (moved[side] !== null) return moved[side];
  const name = (named ?? header)?.[side] ?? null;
  return name !== null && /^[abciow12]\//.test(name) ? stripped(name, 1) : name;
}
