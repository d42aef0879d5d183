import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import type { Database } from '#kit/database/database.ts';
import { openSqlite } from '#kit/database/sqlite.ts';
import { codeOf } from '#kit/errors.ts';
import { eventOf, sampleEvent } from '../../test/contract/bridge-queue.contract.ts';
import { queueConfig } from '../../test/fixtures/bridge/queue-config.ts';
import { failure } from '../../test/fixtures/failure.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { BridgeStorage, openBridgeStorage } from './bridge-storage.ts';
import { EventQueue } from './queue/event-queue.ts';
import { bridgeSchema } from './schema.ts';

describe('The storage of a bridge in a file', () => {
  let folders: { config: string; state: string };
  let path: string;

  beforeEach(() => {
    folders = { config: temporaryFolder(), state: temporaryFolder() };
    path = join(folders.state, 'bridge/queue.sqlite');
  });

  const refusal = async () => codeOf(await failure(openBridgeStorage(folders)));

  it('is held by one process, and named to the second', async () => {
    const storage = await openBridgeStorage(folders);
    expect(await refusal()).to.equal('queue_held');
    await storage.close();
    await (await openBridgeStorage(folders)).close();
  });

  it('is refused at the start if it is damaged or not of this version, and then not held', async () => {
    mkdirSync(join(folders.state, 'bridge'));
    writeFileSync(path, 'SQLite format 3\0'.padEnd(8_192, 'x'));
    expect(await refusal()).to.equal('queue_damaged');
    writeFileSync(path, '');
    await (await openBridgeStorage(folders)).close();
    const file = new DatabaseSync(path);
    file.exec('PRAGMA user_version = 99');
    file.close();
    expect(await refusal()).to.equal('queue_newer');
  });

  it('has an event on the disk before it is acknowledged', async () => {
    const storage = await openBridgeStorage(folders);
    await new EventQueue(storage, queueConfig).accept(sampleEvent);
    const other = new DatabaseSync(path, { readOnly: true });
    expect(other.prepare('SELECT count(*) AS n FROM bridge_events').get()).to.deep.include({ n: 1 });
    other.close();
    await storage.close();
  });

  it('finds everything by indexes, however much there is', async () => {
    const file = openSqlite(path, bridgeSchema);
    const asked: [text: string, values: readonly unknown[]][] = [];
    const noted =
      (ask: Database['query']): Database['query'] =>
      (text, values = []) => {
        asked.push([text, values]);
        return ask(text, values);
      };
    const storage = new BridgeStorage({
      ...file,
      query: noted(file.query),
      write: noted(file.write),
      transaction: (work) => file.transaction((sql) => work({ ...sql, query: noted(sql.query.bind(sql)) })),
    });
    const queue = new EventQueue(storage, queueConfig);
    for (const number of [1, 2]) await queue.accept(eventOf(number, { issue_sha256: 'x' }));
    await queue.list({ limit: 10 });
    for (const state of ['pending', 'done'] as const) await queue.list({ state, limit: 10 });
    await queue.done((await queue.claim(1_000))!, 'run_1');
    await queue.dead((await queue.claim(1_000, 'e2'))!, { code: 'x', message: 'y' }, null);
    await queue.revive('e2');
    await queue.nextDue();
    await queue.backlog(1);
    await queue.counts();
    await queue.lastOfIssue(eventOf(1).target!);
    await queue.ofRun('run_1');
    const delivery = { dashboard: 'board', run_id: 'run_1', status: 'planned' };
    await storage.deliveries.missing([delivery]);
    await storage.deliveries.add([{ ...delivery, body: '{}', run_updated_at: '' }]);
    await storage.deliveryJobs.take(1_000, { dashboard: 'board' }, false);
    await storage.deliveryJobs.nextDue({ dashboard: 'board' });
    await storage.deliveryJobs.counts({ dashboard: 'board' });
    await storage.deliveries.problem('board');
    await storage.deliveries.oldestMs('board');
    await storage.prune({ events: { endedMs: 1, deadMs: 1 }, deliveries: { endedMs: 1, deadMs: 1 } });
    for (const [text, values] of asked) {
      const steps = await file.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, values);
      const plan = steps.map(({ detail }) => detail).join('; ');
      expect(plan, text).to.not.match(/SCAN (?!CONSTANT|wanted|given|bridge_events USING COVERING)/);
      if (/ORDER BY (due_at|seq ASC|seq DESC)/.test(text)) expect(plan, text).to.not.contain('TEMP B-TREE');
      if (text.startsWith('DELETE')) expect(plan, text).to.contain('_ended (state=? AND changed_at<?)');
    }
    await storage.close();
  });
});
