import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { PostgresSettings } from '#kit/config/storage.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { sha256 } from '#kit/digest.ts';
import { codeOf } from '#kit/errors.ts';
import type { ObjectStore } from '#kit/objects/object-store.ts';
import { openS3 } from '#kit/objects/s3.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { RunFolders } from '../../services/agentd/runs/run-folders.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { type S3Server, startS3 } from '../fixtures/s3.ts';
import { describeWith } from '../needs.ts';
import { runStoreContract } from './run-store.contract.ts';
import { planned, sampleRequest } from './run-store.sample.ts';

const large = 'a line of a log\n'.repeat(100_000);
const everything = { before: '2100-01-01T00:00:00.000Z', what: 'runs', dry_run: false } as const;
const failed = { code: 'model_failed', message: 'it did not answer', retryable: true };

describeWith(['postgres', 's3'], 'runs in PostgreSQL with artifacts in S3', () => {
  let server: PostgresServer;
  let s3: S3Server;

  before(async () => {
    [server, s3] = await Promise.all([startPostgres(), startS3()]);
  });

  after(async () => {
    await server.stop();
    await s3.kill();
  });

  runStoreContract('PostgreSQL, with artifacts in S3', async () => {
    const { open, end } = makeHosts(await server.database());
    return { store: open(), another: () => open(), end };
  });

  describe('an artifact in a bucket', () => {
    let settings: PostgresSettings;
    let hosts: ReturnType<typeof makeHosts>;
    let store: DatabaseRunStore;

    beforeEach(async () => {
      settings = await server.database();
      hosts = makeHosts(settings);
      store = hosts.open();
    });

    afterEach(() => hosts.end());

    const objectsOf = (runId: string): string[] =>
      s3.objects().filter((object) => object.startsWith(`core/runs/${runId}/`));
    const states = (): Promise<{ state: string }[]> =>
      server.ask(settings, 'SELECT state FROM run_objects ORDER BY state');

    it('is written once, and small ones stay in the database', async () => {
      const some = hosts.open({ minBytes: 1_000_000 });
      const { run_id } = await some.create(sampleRequest());
      const digest = await some.putArtifact(run_id, large);
      await some.putArtifact(run_id, 'small');
      expect(await some.putArtifact(run_id, large)).to.equal(digest);
      expect(objectsOf(run_id)).to.have.length(1);
      expect(readFileSync(s3.fileOf(objectsOf(run_id)[0]!), 'utf8')).to.equal(large);
      expect(Buffer.from(await hosts.open().artifact(run_id, digest)).toString()).to.equal(large);
      const without = hosts.open({ objects: null });
      expect(Buffer.from(await without.artifact(run_id, sha256('small'))).toString()).to.equal('small');
      expect(codeOf(await failure(without.artifact(run_id, digest)))).to.equal('objects_not_configured');
    });

    it('is in the mirror byte for byte, where it is verified without database and bucket', async () => {
      const { run_id } = await store.create(sampleRequest());
      const digest = await store.putArtifact(run_id, large);
      await store.append(run_id, () => planned(run_id));
      const folder = await store.mirror(run_id);
      expect(readFileSync(join(folder, 'artifacts', digest), 'utf8')).to.equal(large);
      const inRows = hosts.open({ objects: null });
      const other = await inRows.create(sampleRequest());
      await inRows.putArtifact(other.run_id, large);
      await inRows.append(other.run_id, () => planned(other.run_id));
      const names = (path: string): string[] => readdirSync(join(path, 'artifacts')).sort();
      expect(names(folder)).to.deep.equal(names(await inRows.mirror(other.run_id)));
      const { problems } = await new RunFolders(store.stateDir).verify(run_id);
      expect(problems.map(({ what }) => what)).to.deep.equal(
        (await store.verify(run_id)).problems
          .filter(({ where }) => where.startsWith('mirror on this host'))
          .map(({ what }) => what),
      );
    });

    it('says what was changed or removed behind its back, and is replaced when it comes again', async () => {
      const { run_id } = await store.create(sampleRequest());
      const digest = await store.putArtifact(run_id, large);
      const where = s3.fileOf(objectsOf(run_id)[0]!);
      writeFileSync(where, `x${large.slice(1)}`);
      expect(codeOf(await failure(store.artifact(run_id, digest)))).to.equal('artifact_damaged');
      expect((await store.verify(run_id)).problems.map(({ what }) => what).join()).to.contain('sha256');
      rmSync(where);
      expect(codeOf(await failure(store.artifact(run_id, digest)))).to.equal('artifact_not_found');
      await store.putArtifact(run_id, large);
      expect(Buffer.from(await store.artifact(run_id, digest)).toString()).to.equal(large);
      await store.prune({ ...everything, before: '2000-01-01T00:00:00.000Z' });
      expect(objectsOf(run_id)).to.have.length(1);
      expect(await states()).to.deep.equal([{ state: 'named' }]);
    });

    it('names no object that the server acknowledged and did not keep', async () => {
      for (const keeps of [null, Buffer.from('something else')]) {
        const s3Store = openS3(s3.settings);
        const forgetful: ObjectStore = {
          ...s3Store,
          put: async (object) => {
            if (keeps !== null) await s3Store.put(object, keeps);
          },
        };
        const broken = hosts.open({ objects: forgetful });
        const { run_id } = await broken.create(sampleRequest());
        expect(codeOf(await failure(broken.putArtifact(run_id, large)))).to.equal('object_not_kept');
        expect(codeOf(await failure(store.artifact(run_id, sha256(large))))).to.equal('artifact_not_found');
      }
    });

    it('is not acknowledged while the bucket does not answer, and goes on when it does', async () => {
      const { run_id } = await store.create(sampleRequest());
      await s3.kill();
      expect(codeOf(await failure(store.putArtifact(run_id, large)))).to.equal('objects_unavailable');
      expect((await store.append(run_id, () => planned(run_id))).status).to.equal('awaiting_approval');
      await s3.restart();
      const digest = await store.putArtifact(run_id, large);
      expect(Buffer.from(await store.artifact(run_id, digest)).toString()).to.equal(large);
    });

    it('is named once where the answer to the commit that names it was lost', async () => {
      const proxy = await startCuttingProxy(settings);
      const cut = hosts.open({ settings: proxy.settings });
      const { run_id } = await store.create(sampleRequest());
      await cut.read(run_id);
      proxy.cutAfter('COMMIT');
      const digest = await cut.putArtifact(run_id, large);
      expect(Buffer.from(await store.artifact(run_id, digest)).toString()).to.equal(large);
      expect(await states()).to.deep.equal([{ state: 'named' }]);
      await proxy.close();
    });

    it('goes with its run', async () => {
      const { run_id } = await store.create(sampleRequest());
      await store.putArtifact(run_id, large);
      await store.append(run_id, () => [{ type: 'planning_failed', data: failed }]);
      const planned = await store.prune({ ...everything, dry_run: true });
      expect(planned.bytes).to.be.greaterThan(large.length);
      expect(objectsOf(run_id)).to.have.length(1);
      await s3.kill();
      expect(codeOf(await failure(store.prune(everything)))).to.equal('objects_unavailable');
      expect(codeOf(await failure(store.read(run_id)))).to.equal('run_pruned');
      await s3.restart();
      await store.prune(everything);
      expect(objectsOf(run_id)).to.deep.equal([]);
      expect(await states()).to.deep.equal([]);
    });

    it('is deleted where its writer died, and can then be named by nobody', async () => {
      const { run_id } = await store.create(sampleRequest());
      const s3Store = openS3(s3.settings);
      let paused: () => void = () => {};
      const reached = new Promise<void>((resolve) => {
        paused = resolve;
      });
      let goOn: () => void = () => {};
      const resumed = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      const slow: ObjectStore = {
        ...s3Store,
        put: async (object, content) => {
          await s3Store.put(object, content);
          paused();
          await resumed;
        },
      };
      const writing = failure(hosts.open({ objects: slow }).putArtifact(run_id, large));
      await reached;
      await store.prune(everything);
      expect(objectsOf(run_id)).to.have.length(1);
      await server.ask(settings, 'UPDATE run_objects SET begun_at = core_clock_ms() - 61 * 60000');
      await store.prune(everything);
      expect(objectsOf(run_id)).to.deep.equal([]);
      goOn();
      expect(codeOf(await writing)).to.equal('object_not_kept');
      expect(codeOf(await failure(store.artifact(run_id, sha256(large))))).to.equal('artifact_not_found');
    });
  });

  interface Opened {
    readonly objects?: ObjectStore | null;
    readonly minBytes?: number;
    readonly settings?: PostgresSettings;
  }

  /** Stores on one database and bucket, each with a state folder of its own. */
  function makeHosts(settings: PostgresSettings) {
    const homes: string[] = [];
    const stores: DatabaseRunStore[] = [];
    return {
      open({ objects = openS3(s3.settings), minBytes = 0, settings: own = settings }: Opened = {}) {
        const stateDir = mkdtempSync(join(tmpdir(), 'core-host-'));
        homes.push(stateDir);
        const database = openPostgres(own, 'core-test', { schema: agentdSchema });
        const store = new DatabaseRunStore({
          stateDir,
          database,
          objects: objects === null ? null : { store: objects, minBytes },
        });
        stores.push(store);
        return store;
      },
      async end(): Promise<void> {
        for (const store of stores) await store.close();
        for (const home of homes) rmSync(home, { recursive: true, force: true });
      },
    };
  }
});
