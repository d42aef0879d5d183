import type { DatabaseSync } from 'node:sqlite';
import type { SearchRequest, SearchResult } from '#kit/contracts/context/search.ts';
import { defaultLimit } from '#kit/contracts/context/vocabulary.ts';
import { NotFound } from '#kit/errors.ts';
import { resultOf } from './explain.ts';
import { withFallingScores } from './falling-scores.ts';
import { expand } from './ranking/expansion.ts';
import { type Group, groupsOf, putFirst } from './ranking/groups.ts';
import { mixed } from './ranking/mixed.ts';
import { nameHits } from './ranking/name-hits.ts';
import { namedIn } from './ranking/named.ts';
import { addPastChanges } from './ranking/past-changes.ts';
import { lowerTests } from './ranking/questions.ts';
import { rows } from './ranking/statements.ts';
import { matchesOf, matchOfAny, type WeighedTerm, weighedTerms } from './ranking/terms.ts';
import { type Scope, textHits } from './ranking/text-hits.ts';
import { weights as chosen, type Weights } from './ranking/weights.ts';

/**
 * What the record has on a query, best first: text relevance of files and of their parts, then what similar changes of the past
 * touched and what the graph joins with the best results, added up. What the query names outright, by a whole title or path or as a
 * place in a stack trace, comes first. A file is one result, shown by its best part; where kinds are asked for, every node is one.
 *
 * @throws NotFound (`repository_unknown`)
 */
export function search(db: DatabaseSync, request: SearchRequest, weights: Weights = chosen): SearchResult[] {
  const scope = scopeOf(db, request);
  const terms = weighedTerms(db, request.query, weights.matches);
  const apart = scope.kinds !== null;
  const groups = byText(db, request.query, terms, scope, weights);
  if (!apart && terms.length > 0) {
    if (weights.history > 0) addPastChanges(db, matchOfAny(terms), scope, groups, weights.history);
    expand(db, scope, groups, weights.edges);
    lowerTests(groups.values(), request.query);
  }
  putFirst(groups, namedIn(db, request.query, scope), apart);
  const limit = request.limit ?? defaultLimit;
  const ranked = [...groups.values()].toSorted(better);
  const best = ranked[0]?.score ?? 1;
  const ordered = apart ? ranked : mixed(ranked, request.query, limit);
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
