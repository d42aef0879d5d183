import { partsOf, termOf } from './words.ts';

/** Sorts of files that the first word of a change's description can be about. */
export const sortsOfFiles = ['document', 'test', 'ci', 'manifest', 'types', 'benchmark'] as const;
export type SortOfFiles = (typeof sortsOfFiles)[number];

/** What stands before the colon of `docs: …`, `fix(router): …`, `ignore/types: …` or in the brackets of `[docs] …`. */
export interface Prefix {
  readonly sorts: readonly SortOfFiles[];
  /** Terms of a place in the repository: a folder, a package, a file. */
  readonly place: readonly string[];
}

/** A word with a blank before the colon, or a second line, is a sentence. */
const pattern = /^\s{0,20}(?:\[([\w ./,-]{1,40})\]:?|([\w./,-]{1,40})(?:\(([^()\n]{1,60})\))?!?:)\s+\S/;

const sorts: Readonly<Record<SortOfFiles, ReadonlySet<string>>> = {
  document: new Set(['docs', 'doc', 'documentation', 'readme', 'changelog']),
  test: new Set(['test', 'tests', 'testing']),
  ci: new Set(['ci']),
  manifest: new Set(['build', 'deps', 'dep', 'deps-dev', 'dependencies']),
  types: new Set(['types', 'typing', 'typings']),
  benchmark: new Set(['bench', 'benchmark', 'benchmarks']),
};

/** What a change is, and not where. */
const works = new Set(
  `fix feat feature chore refactor perf style revert release bug bugfix hotfix wip security cleanup lint improvement enhancement
   minor misc note error warning`.split(/\s+/),
);

/** What stands before the words that say what a change does; `fix: bump the limit` is of code. */
const chore = String.raw`^\s{0,20}(?:(?:chore|build|deps|release)(?:\([^()\n]{1,60}\))?!?:\s{1,5})?`;
const dependencies = String.raw`(?:dev[- ]?|peer[- ]?)?(?:deps|dependenc(?:y|ies)|dependabot)\b(?![- ](?:injection|graph|tree|cycle|order|array|list))`;

/** A new version of the project, or what it depends on. */
const aboutVersions: readonly RegExp[] = [
  new RegExp(`${chore}(?:bump|release|upgrade|update)\\w*\\b[^\\n]{0,80}\\bv?\\d+\\.\\d+`, 'i'),
  new RegExp(
    `${chore}(?:(?:auto[- ]?)?updat|upgrad|bump|downgrad|pin|add|remov|drop|refresh|replac|deduplicat|dedup)\\w*\\b[^\\n]{0,80}\\b${dependencies}`,
    'i',
  ),
  // What is bumped is a package, unless it is a number of the code's own.
  new RegExp(
    `${chore}bump(?:s|ed|ing)?\\b(?![^\\n]{0,80}\\b(?:limits?|time-?outs?|sizes?|thresholds?|max\\w*|min\\w*|coverage|counters?|priority)\\b)`,
    'i',
  ),
  new RegExp(
    `${chore}(?:[a-z]{1,20} (?:the )?)?(?:lock ?files?|shrinkwrap|package-lock|yarn\\.lock)\\b(?: maintenance)?`,
    'i',
  ),
];

export function prefixOf(query: string): Prefix {
  const beginning = query.slice(0, 200);
  if (aboutVersions.some((pattern) => pattern.test(beginning))) return { sorts: ['manifest'], place: [] };
  const [, ...written] = pattern.exec(beginning) ?? [];
  const words = written.flatMap((part) => part?.toLowerCase().split(/[,\s]+/) ?? []);
  const named = sortsOfFiles.filter((sort) => words.some((word) => sorts[sort].has(word)));
  const isPlace = (word: string) =>
    !works.has(word) && !/(?:error|exception)$/.test(word) && !named.some((sort) => sorts[sort].has(word));
  const place = written
    .flatMap((part) => part?.split(/[,\s]+/) ?? [])
    .filter((word) => isPlace(word.toLowerCase()));
  return { sorts: named, place: [...new Set(place.flatMap(nameWords))] };
}

/** The words of a name, numbers of one digit among them: `test/plugin.1.test.js` is `test`, `plugin`, `1`, `test`, `js`. */
export function nameWords(name: string): string[] {
  return (name.normalize('NFKC').match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).flatMap(partsOf).map(termOf);
}
