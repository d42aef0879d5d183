import { crashPoint } from '#kit/crash-point.ts';
import type { LanguageName } from '../extraction/languages.ts';
import type { FactsOfFile } from '../ingest-queries.ts';
import type { IngestTarget, RecordAccess } from '../record-access.ts';
import { changedTogether } from '../repository/history.ts';
import type { LinkedFile } from '../stored-rows.ts';
import { readDefinitions, readUses } from './facts.ts';
import { type KnownNames, Linker } from './linker.ts';
import { Names } from './names.ts';
import { Places } from './places.ts';

const filesOfPage = 250;
/** Links that one transaction of the writer compares and writes in about 10 ms. */
const linksOfBatch = 250;

/**
 * Makes the links between the files of a repository what its files say now. All are worked out again, as a new symbol in one file is a new link
 * from another that did not change; only files whose links differ are written.
 */
export async function linkRepository(target: IngestTarget, at: string, access: RecordAccess): Promise<void> {
  const { repository, gitDir, commit, historyCommits, full } = target;
  const files = await access.ask('ingestedFiles', { repository });
  const paths = files
    .filter(({ skipped, source }) => skipped === null && source !== null)
    .map(({ path }) => path);
  const digests = new Map(files.map(({ path, links }) => [path, full ? null : links]));
  const known = await definitionsOf(repository, paths, access);
  const together =
    commit === null ? [] : await changedTogether(gitDir, commit, known.places.files, historyCommits);
  const linker = new Linker(repository, known, together);
  let batch: LinkedFile[] = [];
  let size = 0;
  const send = async (): Promise<void> => {
    if (batch.length > 0) await access.run('linkFiles', { repository, at, files: batch });
    crashPoint('ingest_between_links');
    batch = [];
    size = 0;
  };
  for await (const { path, facts } of pages(repository, 'usesOfFiles', access)) {
    const linked = linker.linksOf(path, readUses(facts));
    if (linked.digest === digests.get(path)) continue;
    if (size + linked.links.length > linksOfBatch) await send();
    batch.push(linked);
    size += linked.links.length + 5;
  }
  await send();
}

async function definitionsOf(
  repository: string,
  paths: readonly string[],
  access: RecordAccess,
): Promise<KnownNames> {
  const places = new Places(paths);
  const names = new Names();
  const languages = new Map<string, LanguageName>();
  for await (const { path, facts } of pages(repository, 'definitionsOfFiles', access)) {
    const definitions = readDefinitions(facts);
    languages.set(path, definitions.language);
    names.add(path, definitions);
    if (definitions.module !== null) places.addModule(path, definitions.module);
  }
  return { places, names, languages };
}

async function* pages(
  repository: string,
  query: 'definitionsOfFiles' | 'usesOfFiles',
  access: RecordAccess,
): AsyncGenerator<FactsOfFile, void, undefined> {
  for (let after = ''; ; ) {
    const page = await access.ask(query, { repository, after, limit: filesOfPage });
    yield* page;
    if (page.length < filesOfPage) return;
    after = page.at(-1)!.path;
  }
}
