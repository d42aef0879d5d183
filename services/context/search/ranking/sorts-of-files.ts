import type { DatabaseSync } from 'node:sqlite';
import { nameWords, type Prefix, type SortOfFiles } from '../words/prefix.ts';
import { joined } from '../words/words.ts';
import { type Group, groupAt, keyOf, rowOf, scale } from './groups.ts';
import { isTest } from './order.ts';
import { type NodeRow, type Scope, textHits, type Weights } from './text-hits.ts';

interface Sort {
  has(row: NodeRow & { readonly path: string }): boolean;
  /** Where all of them are worth a look, whatever words they have: how FTS5 finds them by their names. */
  readonly match: string | null;
}

/** By ecosystem: what names the packages that a project depends on, and their versions. */
const manifests = new Set(
  `package.json package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.json deno.jsonc deno.lock jsr.json
  Cargo.toml Cargo.lock go.mod go.sum go.work go.work.sum
  pyproject.toml setup.py setup.cfg requirements.txt Pipfile Pipfile.lock uv.lock poetry.lock pdm.lock tox.ini environment.yml
  pom.xml build.gradle build.gradle.kts settings.gradle settings.gradle.kts gradle.lockfile libs.versions.toml build.sbt
  Gemfile Gemfile.lock composer.json composer.lock packages.config packages.lock.json Directory.Packages.props paket.dependencies paket.lock
  Package.swift Package.resolved pubspec.yaml pubspec.lock mix.exs mix.lock conanfile.txt conanfile.py vcpkg.json stack.yaml flake.lock
  Chart.lock Project.toml Manifest.toml`.split(/\s+/),
);
/** Manifests whose names differ, and the word in them by which the index has them. */
const namedManifests = [
  { word: 'requirements', pattern: /^requirements[\w.-]*\.(?:txt|in)$/ },
  { word: 'gemspec', pattern: /\.gemspec$/ },
  { word: 'csproj', pattern: /\.csproj$/ },
  { word: 'cabal', pattern: /\.cabal$/ },
  { word: 'podspec', pattern: /\.podspec$/ },
];

function isManifest(path: string): boolean {
  const name = path.split('/').at(-1)!;
  return manifests.has(name) || namedManifests.some(({ pattern }) => pattern.test(name));
}

const ciFolders = ['.github', '.gitlab', '.circleci'];

const byName: Readonly<Record<SortOfFiles, Sort>> = {
  document: { has: ({ path, kind }) => kind === 'document' || /(?:^|\/)docs?\//.test(path), match: null },
  test: { has: ({ path }) => isTest(path), match: null },
  ci: {
    has: ({ path }) => ciFolders.includes(path.split('/', 1)[0]!),
    match: `path : (${ciFolders.map((name) => `"${joined(name)}"`).join(' OR ')})`,
  },
  manifest: {
    has: ({ path }) => isManifest(path),
    match: `name : (${[...manifests, ...namedManifests.map(({ word }) => word)].map((name) => `"${joined(name)}"`).join(' OR ')})`,
  },
  types: { has: ({ path }) => /\.d\.[cm]?ts$|\btypes?\b/.test(path), match: null },
  benchmark: { has: ({ path }) => /bench/i.test(path), match: null },
};

/**
 * `ci:`, `deps:` and `Bump … to 1.2` say which files are meant where no word of the text does: each gets a share of the best score.
 *
 * Measured without history on six repositories (site/figures.md): +4.1 MRR, +3.9 recall at 20.
 */
export function addFilesOfSorts(
  db: DatabaseSync,
  { sorts }: Prefix,
  scope: Scope,
  groups: Map<string, Group>,
  weights: Weights,
): void {
  for (const sort of sorts) {
    const { has, match } = byName[sort];
    if (match === null) continue;
    for (const { row } of textHits(db, 'path', [match], scope, weights)) {
      if (row.path === null || !has({ ...row, path: row.path })) continue;
      const group = groupAt(groups, keyOf(row, false));
      group.whole ??= row;
      group.text += weights.filesOfSort;
      group.score += weights.filesOfSort;
    }
  }
}

/**
 * Files of the sort and in the place that a leading `test:` or `fix(router):` names count more.
 *
 * Measured without history on six repositories (site/figures.md): +3.5 MRR for the sort, +1.0 for the place.
 */
export function favourPrefix({ sorts, place }: Prefix, groups: Iterable<Group>, weights: Weights): void {
  if (sorts.length === 0 && place.length === 0) return;
  for (const group of groups) {
    const row = rowOf(group);
    if (row === null || row.path === null) continue;
    const file = { ...row, path: row.path };
    const ofSort = sorts.some((sort) => byName[sort].has(file)) ? 1 + weights.sort : 1;
    const words = new Set(place.length === 0 ? [] : nameWords(row.path));
    const share = place.length === 0 ? 0 : place.filter((word) => words.has(word)).length / place.length;
    scale(group, ofSort * (1 + weights.place * share));
  }
}
