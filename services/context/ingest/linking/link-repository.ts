import { crashPoint } from '#kit/crash-point.ts';
import type { ModuleFacts } from '../extraction/extraction.ts';
import type { IngestTarget, RecordAccess } from '../record-access.ts';
import { changedTogether } from '../repository/history.ts';
import type { LinkedFile } from '../stored-rows.ts';
import { namesIn, readUses } from './facts.ts';
import { Linker } from './linker.ts';
import { Names } from './names.ts';
import { Places } from './places.ts';

const filesOfPage = 250;
/** Links that one transaction of the writer compares and writes in about 10 ms. */
const linksOfBatch = 250;

/**
 * Makes the links between the files of a repository what its files say now: of those that changed, that use a name which means something
 * else now, or whose history did; of all where files came or went. Only files whose links differ are written.
 */
export async function linkRepository(target: IngestTarget, at: string, access: RecordAccess): Promise<void> {
  const { repository, gitDir, commit, historyCommits, full } = target;
  const files = (await access.ask('ingestedFiles', { repository })).filter(
    ({ skipped, source }) => skipped === null && source !== null,
  );
  const { relink, modules } = await access.ask('importFacts', { repository });
  const places = new Places(files.map(({ path }) => path));
  for (const { path, module } of modules) places.addModule(path, JSON.parse(module) as ModuleFacts);
  const together = commit === null ? [] : await changedTogether(gitDir, commit, places.files, historyCommits);
  const names = new Names();
  const linker = new Linker(repository, { places, names }, together);
  const digests = new Map(files.map(({ path, links }) => [path, full ? null : links]));
  const isLinked = (path: string) => digests.get(path)?.endsWith(` ${linker.historyOf(path)}`) === true;
  const paths = files.map(({ path }) => path).filter((path) => relink === 1 || !isLinked(path));
  let batch: LinkedFile[] = [];
  let size = 0;
  const send = async (): Promise<void> => {
    if (batch.length > 0) await access.run('linkFiles', { repository, at, files: batch });
    crashPoint('ingest_between_links');
    batch = [];
    size = 0;
  };
  for (let from = 0; from < paths.length; from += filesOfPage) {
    const page = await access.ask('factsOfFiles', {
      repository,
      paths: paths.slice(from, from + filesOfPage),
    });
    const read = page.map(({ path, language, uses }) => ({ path, language, uses: readUses(uses) }));
    const unknown = names.unknown([...new Set(read.flatMap(({ uses }) => namesIn(uses)))]);
    names.add(unknown, await access.ask('symbolsNamed', { repository, names: unknown }));
    for (const { path, language, uses } of read) {
      const linked = linker.linksOf(path, language, uses);
      if (linked.digest === digests.get(path)) continue;
      if (size + linked.links.length > linksOfBatch) await send();
      batch.push(linked);
      size += linked.links.length + 5;
    }
  }
  await send();
}
