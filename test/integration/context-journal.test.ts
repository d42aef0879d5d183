import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { expect } from 'chai';
import {
  becomes,
  type ContextHost,
  type HostOptions,
  useContextHosts,
} from '../fixtures/context/context-host.ts';
import { startCuttingProxy } from '../fixtures/cutting-proxy.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { emptyDisk } from '../fixtures/world/own-mounts.ts';
import { describeWith } from '../needs.ts';

const served = ['ok', 'degraded'];

describeWith(['s3', 'postgres', 'mounts'], 'the journal of core-context', function () {
  this.timeout(180_000);
  const place = useContextHosts();

  /** Active, with the one backup that it begins with: what comes after it is in the journal alone. */
  async function activeHost(settings = place.database, options: HostOptions = {}): Promise<ContextHost> {
    const host = await place.make({ seconds: 3_600, ...options }, settings);
    host.start();
    await becomes(host, served);
    return host;
  }

  function record(at: ContextHost, key: string, more: object = {}) {
    return at.post('/v1/memory/record', { layer: 'semantic', content: `what ${key} says`, key, ...more });
  }

  /** What another host has, which performs the journal again. */
  async function takenOver(from: ContextHost): Promise<ContextHost> {
    from.signal('SIGKILL');
    await from.ended();
    return activeHost();
  }

  async function requireRecorded(
    at: ContextHost,
    recorded: ReadonlyMap<string, string>,
    more: object = {},
  ): Promise<void> {
    for (const [key, id] of recorded) {
      const found = await at.get(`/v1/memory/${id}`);
      expect(found.status, `${key}: ${JSON.stringify(found.json)}`).to.equal(200);
      const again = await record(at, key, more);
      expect([again.status, again.json.id], key).to.deep.equal([200, id]);
    }
  }

  it('accepts nothing later that it refused', async () => {
    const one = await activeHost();
    const refused = await record(one, 'k', { about: ['nothing-that-is-known'] });
    expect([refused.status, refused.json.code]).to.deep.equal([422, 'entity_unknown']);
    const accepted = await record(one, 'k');
    expect(accepted.status).to.equal(201);
    const alone = await record(one, 'alone', { about: ['nothing-that-is-known'] });
    expect(alone.status).to.equal(422);
    const other = await takenOver(one);
    await requireRecorded(other, new Map([['k', accepted.json.id as string]]));
    const { status } = await record(other, 'alone');
    expect(status, 'not there before').to.equal(201);
  });

  it('keeps the id of what a full disk refused at first', async () => {
    const home = temporaryFolder();
    const disk = await emptyDisk(home, 48, null);
    try {
      const one = await activeHost(place.database, { home, enter: disk.enter });
      const recorded = new Map<string, string>();
      disk.fill(0);
      let refused: string | null = null;
      for (let n = 0; refused === null; n++) {
        const { status, json } = await record(one, `k${n}`);
        if (status === 201) recorded.set(`k${n}`, json.id as string);
        else {
          expect([status, json.code]).to.deep.equal([503, 'disk_full']);
          refused = `k${n}`;
        }
      }
      disk.free();
      const accepted = await record(one, refused);
      expect(accepted.status, JSON.stringify(accepted.json)).to.equal(201);
      recorded.set(refused, accepted.json.id as string);
      await requireRecorded(await takenOver(one), recorded);
    } finally {
      disk.close();
    }
  });

  it('finds what it wrote when the answer to a commit is lost', async () => {
    const proxy = await startCuttingProxy(place.database);
    try {
      const one = await activeHost(proxy.settings);
      const recorded = new Map<string, string>();
      for (const awayMs of [0, 3_000]) {
        proxy.cutAfter('COMMIT', awayMs);
        const { status, json } = await record(one, `away for ${awayMs}`);
        expect(status, JSON.stringify(json)).to.equal(201);
        recorded.set(`away for ${awayMs}`, json.id as string);
      }
      const rows = await place.server.ask(place.database, 'SELECT 1 FROM context_journal');
      expect(rows).to.have.length(recorded.size);
      await requireRecorded(await takenOver(one), recorded);
    } finally {
      await proxy.close();
    }
  });

  it('leaves no command to another host that cannot perform it', async () => {
    const one = await activeHost();
    const place = { layer: 'episodic', session: 's', seq: 1 };
    const turn = await record(one, 'turn', place);
    expect(turn.status, JSON.stringify(turn.json)).to.equal(201);
    one.signal('SIGKILL');
    await one.ended();
    one.start('context.journal_written');
    await becomes(one, served);
    const summary = record(one, 'summary', { ...place, kind: 'summary' });
    expect(await summary.catch(() => null)).to.equal(null);
    await requireRecorded(await takenOver(one), new Map([['turn', turn.json.id as string]]), place);
  });

  it('goes on behind a command that nobody can perform', async () => {
    const one = await activeHost();
    const { json } = await record(one, 'k');
    one.signal('SIGKILL');
    await one.ended();
    await place.server.ask(place.database, 'UPDATE context_journal SET seq = seq + 1');
    await place.server.ask(
      place.database,
      "INSERT INTO context_journal (seq, command, input) SELECT seq - 1, 'recordMemory', '{}' FROM context_journal",
    );
    const other = await takenOver(one);
    await requireRecorded(other, new Map([['k', json.id as string]]));
    expect(other.log()).to.match(/error +command \d+ of the journal cannot be performed and is left out/);
  });

  it('says the same of outcomes to every host', async () => {
    const one = await activeHost();
    const { json } = await record(one, 'playbook', { layer: 'procedural' });
    const outcome = await one.post('/v1/memory/outcome', { id: json.id, run: 'run_1', worked: true });
    expect(outcome.status, JSON.stringify(outcome.json)).to.equal(200);
    const exported = await one.get('/v1/memory/export');
    expect(await (await takenOver(one)).get('/v1/memory/export')).to.deep.equal(exported);
  });

  for (const seconds of [3_600, 1])
    it(`gives what a damaged disk lost, with a backup every ${seconds} s`, async () => {
      const one = await activeHost(place.database, { seconds });
      const text = (key: string) => `what ${key} says ${key.repeat(300)}`;
      const recorded = new Map<string, string>();
      const say = async (key: string) =>
        recorded.set(key, (await record(one, key, { content: text(key) })).json.id as string);
      for (let n = 0; n < 30; n++) await say(`k${n}`);
      one.signal('SIGTERM');
      await one.ended();
      one.start();
      await becomes(one, served);
      const newest = 'SELECT max(backup) AS newest FROM context_backups';
      const [before] = await place.server.ask<{ newest: string }>(place.database, newest);
      damagePage(one.record, text('k15'));
      await say('last');
      await until('a backup of the damaged record', async () => {
        const [now] = await place.server.ask<{ newest: string }>(place.database, newest);
        return seconds > 1 || now!.newest !== before!.newest;
      });
      expect((await one.get(`/v1/memory/${recorded.get('k15')}`)).json.code).to.equal('record_damaged');
      await one.ended();
      const other = await activeHost();
      for (const [key, id] of recorded) {
        const { status, json } = await other.get(`/v1/memory/${id}`);
        expect(status, `${key}: ${JSON.stringify(json)}`).to.equal(200);
      }
    });
});

/** Overwrites the page of a record that holds this text. */
function damagePage(path: string, text: string): void {
  const file = readFileSync(path);
  const page = 4096 * Math.floor(file.indexOf(text) / 4096);
  expect(page).to.be.greaterThan(0);
  const handle = openSync(path, 'r+');
  writeSync(handle, Buffer.alloc(4096, 0x55), 0, 4096, page);
  closeSync(handle);
}
