import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { isKilledHere } from '../crash-matrix/points.ts';
import { makeRepository, type TestRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type IngestPlace, openIngestPlace } from './context-ingest.place.ts';

const child = fileURLToPath(new URL('./context-ingest.child.ts', import.meta.url));

function ingestUntil(crashAt: string, folder: string, { dir }: TestRepository): NodeJS.Signals | null {
  const env = { ...process.env, CORE_CRASH_AT: crashAt };
  return spawnSync(process.execPath, [child, folder, dir], { env, stdio: 'inherit' }).signal;
}

/** All that is valid now, by names that do not depend on how it came to be. */
function contentOf({ db }: IngestPlace): unknown[] {
  const nodes = db
    .prepare(
      `SELECT id, title, path, start_line, end_line, properties, text FROM nodes LEFT JOIN bodies USING (node)
       WHERE valid_to IS NULL ORDER BY id`,
    )
    .all();
  const edges = db
    .prepare(
      `SELECT f.id AS source, e.kind, t.id AS target, e.weight FROM edges e JOIN nodes f ON f.node = e.from_node
       JOIN nodes t ON t.node = e.to_node WHERE e.valid_to IS NULL ORDER BY 1, 2, 3`,
    )
    .all();
  return [...nodes, ...edges];
}

describe('An ingestion that is killed', () => {
  let repository: TestRepository;
  let expected: unknown[];

  /** First a commit of 40 files, then one that removes a third, changes a third and leaves a third. */
  before(async () => {
    const first: Record<string, string> = {};
    const second: Record<string, string | null> = {};
    for (let n = 0; n < 40; n++) {
      const path = `src/part${n % 5}/file${n}.ts`;
      const next = `../part${(n + 1) % 5}/file${(n + 1) % 40}.ts`;
      const body = `import { readItem${(n + 1) % 40} } from '${next}';\n/** ${'words '.repeat(300)} */\n`;
      first[path] = `${body}export function readItem${n}() { return readItem${(n + 1) % 40}(); }\n`;
      if (n % 3 === 0) second[path] = null;
      if (n % 3 === 1) second[path] = `${first[path]}export const other${n} = readItem${n};\n`;
    }
    repository = makeRepository(first);
    repository.commit(second);
    const place = openIngestPlace();
    await place.refresh(repository.dir);
    expected = contentOf(place);
    await place.close();
  });

  const points = [
    'ingest_between_batches:1',
    'ingest_between_batches:2',
    'ingest_between_closings',
    'ingest_between_links',
    'ingest_before_finish',
  ];
  for (const point of points.filter(isKilledHere)) {
    it(`at ${point} is completed by the next, which gives what an undisturbed one gives`, async () => {
      const folder = temporaryFolder();
      const [older] = repository.git('rev-list', 'HEAD~1').split('\n');
      const begun = openIngestPlace(folder);
      await begun.ingestion.refresh({ repositories: [{ name: 'r', path: repository.dir, commit: older! }] });
      await begun.close();
      expect(ingestUntil(point, folder, repository)).to.equal('SIGKILL');
      const place = openIngestPlace(folder);
      const [known] = await place.ingestion.known();
      expect(known).to.include({ commit: older, complete: false });
      await place.refresh(repository.dir);
      expect(contentOf(place)).to.deep.equal(expected);
      await place.close();
    });
  }
});
