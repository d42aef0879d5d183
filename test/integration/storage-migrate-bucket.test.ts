import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { sha256 } from '#kit/digest.ts';
import { openS3 } from '#kit/objects/s3.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import type { RunStore } from '../../services/agentd/runs/run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { sampleRequest } from '../contract/run-store.sample.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { runStoreIn } from '../fixtures/runs/run-store-in.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { type Installation, makeInstallation, storedIn } from '../fixtures/storage/installation.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { describeWith } from '../needs.ts';

const contents = ['one', 'two', 'x'.repeat(3_000_000)];

describeWith(['postgres', 's3'], 'a move of the storage with artifacts in a bucket', () => {
  let server: PostgresServer;
  let s3: S3Server;
  let settings: PostgresSettings;
  let installation: Installation;
  let run: string;

  before(async () => {
    server = await startPostgres();
    s3 = await startS3();
  });
  after(async () => {
    await s3?.kill();
    await server?.stop();
  });

  beforeEach(async () => {
    settings = await server.database();
    installation = await makeInstallation(settings);
    const path = join(installation.folders.config, 'core.json');
    const { storage, ...rest } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...rest, storage: { ...storage, s3: s3.settings } }));
    await moved('postgres');
    const store = databaseStore();
    run = (await store.create(sampleRequest(), 'a task')).run_id;
    for (const content of contents) await store.putArtifact(run, content);
    await store.close();
    expect(ownObjects(), 'artifacts in the bucket').to.have.length(contents.length);
  });

  const ownObjects = () => s3.objects().filter((name) => name.includes(run));

  const typed = (to: string, env: Record<string, string> = {}) =>
    ended(core, ['storage', 'migrate', '--to', to, '--yes', '--home', installation.home], env);

  async function moved(to: string): Promise<void> {
    const { code, stderr } = await typed(to);
    expect(code, stderr).to.equal(0);
  }

  function databaseStore(): DatabaseRunStore {
    return new DatabaseRunStore({
      stateDir: installation.folders.state,
      database: openPostgres(settings, 'core-test', { schema: agentdSchema }),
      objects: { store: openS3(s3.settings), minBytes: 0 },
    });
  }

  async function expectArtifacts(store: RunStore): Promise<void> {
    for (const content of contents) {
      const found = await store.artifact(run, sha256(content));
      expect(sha256(found)).to.equal(sha256(content));
    }
    expect((await store.verify(run)).problems).to.deep.equal([]);
    await store.close();
  }

  const expectInFiles = () => expectArtifacts(runStoreIn(installation.folders.state));

  it('fetches them into files, and gives them back to the database, the same by their digests', async () => {
    await moved('files');
    await expectInFiles();
    const there = storedIn(installation.folders);
    await moved('postgres');
    await expectArtifacts(databaseStore());
    await moved('files');
    await expectInFiles();
    expect(storedIn(installation.folders)).to.deep.equal(there);
  });

  for (const point of [
    'storage.rows_written:2',
    'storage.copied',
    'storage.source_left',
    'storage.target_in_use',
  ])
    it(`to files and back loses none when killed at ${point}`, async () => {
      for (const to of ['files', 'postgres']) {
        const killed = await typed(to, { CORE_CRASH_AT: point });
        expect(killed.signal, killed.stderr).to.equal('SIGKILL');
        await moved(to);
        if (to === 'files') await expectInFiles();
        else await expectArtifacts(databaseStore());
      }
    });

  it('is refused while the bucket does not answer, leaves the database in use, and is done when it does', async () => {
    await s3.kill();
    const refused = await typed('files');
    await s3.restart();
    expect(refused.code, refused.stderr).to.not.equal(0);
    expect(refused.stderr).to.contain('[objects_unavailable]');
    await expectArtifacts(databaseStore());
    await moved('files');
    await expectInFiles();
  });
});
