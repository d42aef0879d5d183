import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openPostgres } from '#kit/database/postgres.ts';
import { DatabaseRunStore } from '../../services/agentd/runs/database-run-store.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { sampleRequest, turn } from '../contract/run-store.sample.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { emptyDisk, type OwnMounts, readOnlyState, smallDisk } from '../fixtures/world/own-mounts.ts';
import { makeWorld } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(
  ['git', 'mounts', 'postgres'],
  'a host whose own disk takes nothing, with runs in PostgreSQL',
  () => {
    let server: PostgresServer;
    let disk: OwnMounts | undefined;
    let warnings: string[];

    before(async () => {
      server = await startPostgres();
    });
    after(() => server.stop());

    beforeEach(() => {
      warnings = [];
    });
    afterEach(() => disk?.close());

    async function openStore(stateDir: string): Promise<DatabaseRunStore> {
      const database = openPostgres(await server.database(), 'core-test', { schema: agentdSchema });
      return new DatabaseRunStore({ stateDir, database, warn: (message) => void warnings.push(message) });
    }

    it('appends to runs, says once that their folders are behind, and writes all of them when there is room', async () => {
      disk = await emptyDisk(temporaryFolder(), 8, null);
      const store = await openStore(disk.state);
      const runs = [await store.create(sampleRequest()), await store.create(sampleRequest())];
      disk.fill(0);
      for (const { run_id } of runs) {
        await store.append(run_id, () => [turn()]);
        await store.writeViews(run_id);
      }
      expect(warnings).to.have.length(1);
      expect(warnings[0])
        .to.contain(runs[0]!.run_id)
        .and.contain('no room left')
        .and.contain('./core mirror');
      disk.free();
      const third = await store.create(sampleRequest());
      await store.writeViews(third.run_id);
      expect(warnings.slice(1)).to.deep.equal([
        `${disk.state} can be written again: folders of runs are up to date`,
      ]);
      for (const { run_id } of [...runs, third]) {
        const { seq } = (await store.read(run_id)).head;
        expect(logOf(disk.state, run_id)).to.have.length(seq);
      }
      disk.fill(0);
      await store.append(third.run_id, () => [turn()]);
      await store.writeViews(third.run_id);
      expect(warnings).to.have.length(3);
      await store.close();
    });

    it('appends to runs where the state folder is read-only, and says so', async () => {
      const home = temporaryFolder();
      mkdirSync(join(home, 'state'));
      disk = await readOnlyState(home);
      const store = await openStore(disk.state);
      const { run_id } = await store.create(sampleRequest());
      await store.append(run_id, () => [turn()]);
      await store.writeViews(run_id);
      expect(warnings.join()).to.contain('is not writable');
      expect((await store.read(run_id)).head.seq).to.equal(2);
      await store.close();
    });

    it('ends an execution by name, which goes on when there is room', async () => {
      const world = await makeWorld({ vcs: 'git', storage: await server.database() });
      const { run_id } = await world.plannedAndApproved();
      await world.close();
      disk = await smallDisk(world.home, 64);
      disk.fill(0);
      const args = ['execute-approved', '--repo-dir', world.checkout.dir, '--run-id', run_id];
      const ended = await disk.command(args);
      expect(ended.code).to.equal(1);
      expect(ended.stderr).to.contain('the disk is full').and.contain(`warning  the folder of run ${run_id}`);
      disk.free();
      const resumed = await disk.command(['resume', run_id]);
      expect(resumed.code, resumed.stderr).to.equal(0);
      expect(resumed.stderr).not.to.contain('warning');
      const verified = await disk.command(['verify', run_id]);
      expect(verified.code, verified.stdout).to.equal(0);
      const offline = await disk.command(['verify', run_id, '--offline']);
      expect(offline.code, offline.stdout).to.equal(0);
    });
  },
);

function logOf(state: string, runId: string): string[] {
  return readFileSync(join(state, 'runs', runId, 'events.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
}
