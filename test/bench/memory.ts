import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { createHttpServer } from '#kit/http/server.ts';
import { createLogger } from '#kit/log.ts';
import { Redactor } from '#kit/redaction/redactor.ts';
import { createToken, openTokens } from '#kit/tokens/tokens.ts';
import { memoryRoutes } from '../../services/context/http/memory-routes.ts';
import { Memory } from '../../services/context/memory/memory.ts';
import { openRecord, Readers, Writer } from '../../services/context/store/access.ts';
import { loopbackBinding } from '../fixtures/http/loopback-binding.ts';
import { type Benchmark, compare, takeTurns } from './comparison.ts';

const load = fileURLToPath(new URL('./memory-load.ts', import.meta.url));
const connections = 32;
/** Of both in each turn; enough for a checkpoint or more of either. */
const each = 1_500;
const content =
  'Request 12345 told that the deployment of the service waits for the second reviewer. It went on after the break.';

/** Each memory is acknowledged when it is durable, and so is each bare commit of one row with the same text. */
export const memory: Benchmark = {
  summary: `memories recorded over HTTP, ${connections} at a time`,
  async run(folder) {
    const service = await startService(folder);
    // The load comes from a process of its own, the same in all rounds.
    const client = fork(load, [service.url, service.token, String(connections)]);
    const bare = openBare(join(folder, 'bare.sqlite'));
    try {
      const samples = await takeTurns(8, {
        bare: () => bareRate(bare),
        recorded: () => recordedRate(client),
      });
      const what = { subject: 'POST /v1/memory/record', yardstick: 'single-row commits, synchronous = FULL' };
      return [compare({ ...what, measure: 'rate', bar: 0.2 }, samples.recorded, samples.bare)];
    } finally {
      bare.close();
      client.disconnect();
      await service.stop();
    }
  },
};

function nowhere(): Writable {
  return new Writable({ write: (_chunk, _encoding, done) => done() });
}

interface Service {
  readonly url: string;
  readonly token: string;
  stop(): Promise<void>;
}

async function startService(folder: string): Promise<Service> {
  const record = openRecord(join(folder, 'state'));
  const writer = new Writer(record.path);
  const readers = new Readers(record.path);
  const folders = { tokens: join(folder, 'tokens') };
  const { text: token } = createToken(folders, { name: 'bench', scopes: ['read', 'plan'] });
  const redactor = new Redactor();
  const server = createHttpServer({
    service: 'core-context',
    version: '0',
    binding: loopbackBinding,
    tokens: openTokens(folders),
    // What it logs it logs, as where it runs for people.
    logger: createLogger({
      service: 'core-context',
      level: 'info',
      format: 'json',
      redactor,
      stream: nowhere(),
    }),
    redactor,
    health: async () => ({ status: 'ok', service: 'core-context', version: '0', checks: {} }),
    routes: memoryRoutes(new Memory({ writer, readers, path: record.path })),
  });
  const { url } = await server.start();
  return {
    url,
    token,
    async stop() {
      await server.close();
      await writer.close();
      await readers.close();
      record.close();
    },
  };
}

async function recordedRate(client: ChildProcess): Promise<number> {
  client.send(each);
  const [rate] = await Promise.race([
    once(client, 'message'),
    once(client, 'exit').then(([code]) => {
      throw new Error(`the client ended with ${code}`);
    }),
  ]);
  return rate as number;
}

function openBare(path: string): DatabaseSync {
  const db = new DatabaseSync(path);
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)',
  );
  return db;
}

function bareRate(db: DatabaseSync): number {
  const insert = db.prepare('INSERT INTO rows (text) VALUES (?)');
  const started = performance.now();
  for (let done = 0; done < each; done++) insert.run(content);
  return (each * 1000) / (performance.now() - started);
}
