import type { DatabaseSync } from 'node:sqlite';
import type { SearchRequest, SearchResult } from '#kit/contracts/context/search.ts';
import { defaultLimit, type EntityKind } from '#kit/contracts/context/vocabulary.ts';
import { NotFound } from '#kit/errors.ts';
import { learnedCommit } from './history.ts';
import { addPastChanges, expand, type Group, groupsOf, putFirst } from './ranking/groups.ts';
import { namedIn } from './ranking/named.ts';
import { lowerTests, mixed, withFallingScores, withoutHubFirst } from './ranking/order.ts';
import { addPathWords } from './ranking/path-words.ts';
import { addFilesOfSorts, favourPrefix } from './ranking/sorts-of-files.ts';
import { matchesOf, matchOfAny, type WeighedTerm, weighedTerms } from './ranking/terms.ts';
import {
  weights as chosen,
  type NodeRow,
  nameHits,
  rows,
  type Scope,
  textHits,
  type Weights,
} from './ranking/text-hits.ts';
import { snippetOf, termsIn } from './snippet.ts';
import { prefixOf } from './words/prefix.ts';
import { pathTermsOf } from './words/words.ts';

export const searchQueries = {
  search: (db: DatabaseSync, request: SearchRequest): SearchResult[] => search(db, request),
  learnedCommit,
} as const;

/**
 * What the record has on a query, best first: text relevance of files and of their parts, then what similar changes of the past
 * touched and what the graph joins with the best results, added up. What the query names outright, by a whole title or path or as a
 * place in a stack trace, comes first. A file is one result, shown by its best part; where kinds are asked for, every node is one.
 *
 * @throws NotFound (`repository_unknown`)
 */
export function search(db: DatabaseSync, request: SearchRequest, weights: Weights = chosen): SearchResult[] {
  const scope = scopeOf(db, request);
  const apart = scope.kinds !== null;
  let terms = weighedTerms(db, request.query, scope, weights.matches);
  let groups = byText(db, request.query, terms, scope, weights);
  if (groups.size === 0 && scope.wide) {
    // Its rare words may stand only in what is over.
    terms = weighedTerms(db, request.query, { ...scope, wide: false }, weights.matches);
    groups = byText(db, request.query, terms, scope, weights);
  }
  if (!apart) {
    const prefix = prefixOf(request.query);
    if (weights.pathWords > 0 && terms.length > 0)
      addPathWords(db, request.query, terms, scope, groups, weights);
    if (weights.filesOfSort > 0) addFilesOfSorts(db, prefix, scope, groups, weights);
    if (weights.history > 0 && terms.length > 0)
      addPastChanges(db, matchOfAny(terms), scope, groups, weights.history);
    expand(db, scope, groups, weights.edges);
    favourPrefix(prefix, groups.values(), weights);
    lowerTests(groups.values(), request.query);
  }
  putFirst(groups, namedIn(db, request.query, scope), apart);
  const limit = request.limit ?? defaultLimit;
  const ranked = [...groups.values()].toSorted(better);
  const ordered = apart ? ranked : mixed(withoutHubFirst(ranked, request.query), request.query, limit);
  const best = ordered[0]?.score ?? 1;
  return withFallingScores(ordered.slice(0, limit).map((group) => resultOf(db, group, terms, best)));
}

function byText(
  db: DatabaseSync,
  query: string,
  terms: readonly WeighedTerm[],
  scope: Scope,
  weights: Weights,
): Map<string, Group> {
  const matches = terms.length === 0 ? [] : matchesOf(terms);
  const parts = textHits(db, 'part', matches, scope, weights);
  const found = new Set(parts.map(({ row }) => row.node));
  const names = nameHits(db, query, scope, parts[0]?.score ?? 1).filter(({ row }) => !found.has(row.node));
  const all = names.length === 0 ? parts : [...parts, ...names].toSorted((a, b) => b.score - a.score);
  return groupsOf(textHits(db, 'whole', matches, scope, weights), all, scope.kinds !== null, weights);
}

/** Of equals, the one whose key sorts first: the same query gives the same list. */
function better(a: Group, b: Group): number {
  return b.score - a.score || (a.key < b.key ? -1 : 1);
}

function scopeOf(db: DatabaseSync, { kinds, repository, as_of }: SearchRequest): Scope {
  return {
    kinds: kinds === undefined || kinds.length === 0 ? null : kinds,
    repositories: repository === undefined ? null : repositoriesOf(db, repository),
    at: new Date(as_of ?? Date.now()).toISOString(),
    wide: kinds === undefined && repository === undefined && as_of === undefined,
  };
}

/** The repositories of that name, or whose name ends with it. */
function repositoriesOf(db: DatabaseSync, name: string): string[] {
  const known = rows<{ repository: string }>(
    db,
    "SELECT DISTINCT repository FROM nodes WHERE kind = 'repository' AND repository IS NOT NULL ORDER BY repository",
  ).map(({ repository }) => repository);
  const exact = known.filter((one) => one === name);
  const meant = exact.length > 0 ? exact : known.filter((one) => one.endsWith(`/${name}`));
  if (meant.length > 0) return meant;
  const some = known.slice(0, 10).join(', ');
  throw new NotFound(
    'repository_unknown',
    `there is no repository '${name}' in the context; ${some === '' ? 'none is there yet' : `the choices are ${some}`}`,
  );
}

const maxTermsShown = 8;
const maxEdgesShown = 3;

/** What the caller is shown of a group: its best part, or the whole, and why. @param best score of the first result */
export function resultOf(
  db: DatabaseSync,
  group: Group,
  terms: readonly WeighedTerm[],
  best: number,
): SearchResult {
  const row = representativeOf(group);
  const rarity = new Map(terms.map(({ term, rarity }) => [term, rarity]));
  const text = textOf(db, row);
  return {
    id: row.id,
    kind: row.kind as EntityKind,
    title: row.title,
    repository: row.repository,
    path: row.path,
    start_line: row.start_line,
    end_line: row.end_line,
    snippet: snippetOf(text, rarity),
    score: rounded(group.score / best),
    why: {
      terms: matchedWords(db, group, row, text, terms, rarity),
      text: rounded(group.text / group.score),
      named: group.named?.written ?? null,
      edges: group.edges
        .toSorted((a, b) => b.score - a.score)
        .slice(0, maxEdgesShown)
        .map((edge) => ({ ...edge, score: rounded(edge.score / best) })),
    },
  };
}

/** What was named; else the best part, where there is one: it says where in the file to look. */
function representativeOf({ named, whole, parts }: Group): NodeRow {
  return named?.row ?? parts[0]?.row ?? whole!;
}

/** As the query has them, the rarest first. */
function matchedWords(
  db: DatabaseSync,
  { whole }: Group,
  row: NodeRow,
  text: string,
  terms: readonly WeighedTerm[],
  rarity: ReadonlyMap<string, number>,
): string[] {
  const found = termsIn(text, rarity);
  if (whole !== null && whole.node !== row.node) {
    for (const term of termsIn(textOf(db, whole).slice(0, maxWholeLength), rarity)) found.add(term);
  }
  const names = pathTermsOf(row.title, row.path ?? '');
  const matched = terms.filter(({ term }) => found.has(term) || names.has(term));
  return [...new Set(matched.map(({ written }) => written.slice(0, 100)))].slice(0, maxTermsShown);
}

const maxTextLength = 100_000;
const maxWholeLength = 20_000;

function textOf(db: DatabaseSync, row: NodeRow): string {
  const found = rows<{ text: string }>(
    db,
    `SELECT substr(text, 1, ${maxTextLength}) AS text FROM bodies WHERE node = :node`,
    { node: row.node },
  );
  return found[0]?.text ?? '';
}

function rounded(score: number): number {
  return Math.round(score * 10_000) / 10_000;
}
