import type { PostgresSettings } from '#kit/config/storage.ts';
import { startBridge } from '../../fixtures/bridge/bridge-service.ts';
import { storageIn } from '../../fixtures/bridge/storage-place.ts';

/**
 * A whole core-bridge whose plans take no time: `<settings of the database, as JSON> <prefix of ids>`. For each number that it is sent
 * it takes so many webhooks, 16 at a time, and says `done` when all events of the database are.
 */
const [settings = '', prefix = ''] = process.argv.slice(2);
const postgres = JSON.parse(settings) as PostgresSettings;
const bridge = await startBridge({ postgres, config: { processing: { automatic: true, concurrency: 8 } } });
const { eventJobs } = storageIn(postgres);
let sent = 0;

process.on('message', async (count: number) => {
  const last = sent + count;
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      while (sent < last) await post(sent++);
    }),
  );
  for (;;) {
    const { pending = 0, processing = 0 } = await eventJobs.counts({});
    if (pending + processing === 0) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  process.send!('done');
});
process.send!('ready');

async function post(nth: number): Promise<void> {
  const { status } = await bridge.post('/v1/ingress/dashboard-issue', {
    ...{ event_id: `${prefix}-${nth}`, kind: 'issue.status_changed', occurred_at: '2026-01-01T00:00:00Z' },
    issue: {
      ...{ id: `T-${nth}`, title: 'Greeting is wrong when the name is empty', status: 'todo' },
      forge: { owner: 'demo', repo: prefix, number: nth + 1, name: 'local' },
    },
    actor: 'mira',
  });
  if (status !== 202) throw new Error(`the bridge answered ${status}`);
}
