import { closeSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type ContextProcess, startContext } from '../e2e/context-process.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { smallDisk } from '../fixtures/world/own-mounts.ts';
import { itWith } from '../needs.ts';

const memory = (text: string) => ({ layer: 'semantic', content: text });

describe('the record of a running core-context', () => {
  let home: string;
  let service: ContextProcess | undefined;
  beforeEach(() => {
    home = temporaryFolder();
  });
  afterEach(() => service?.stop());

  itWith(['time'], 'keeps every acknowledged write through twenty kills', async () => {
    const acknowledged = new Map<string, string>();
    for (let round = 0; round < 20; round++) {
      service = await startContext(home);
      let going = true;
      const writers = Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; going; n++) {
          const text = `round ${round} writer ${writer} note ${n}: ${crypto.randomUUID()}`;
          const answer = await service!.post('/v1/memory/record', memory(text)).catch(() => null);
          if (answer?.status !== 201) return;
          acknowledged.set(answer.json.id, text);
        }
      });
      const enough = acknowledged.size + 1 + Math.floor(Math.random() * 30);
      await until('writes', () => acknowledged.size >= enough);
      await service.kill();
      going = false;
      await Promise.all(writers);
    }
    service = await startContext(home);
    const { text } = await service.get('/v1/memory/export');
    const kept = new Map(
      text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
        .map(({ id, content }: { id: string; content: string }) => [id, content]),
    );
    const lost = [...acknowledged].filter(([id, content]) => kept.get(id) !== content);
    expect(acknowledged.size).to.be.at.least(20);
    expect(lost).to.deep.equal([]);
    expect((await service.get('/v1/admin/check')).json.record).to.deep.include({ damage: [], orphans: 0 });
  });

  it('is one process’s: a second one is refused with who holds it, and takes over when that is killed', async () => {
    service = await startContext(home);
    const refused = await startContext(home).catch((error) => error);
    expect(refused.message).to.contain('[record_held]');
    expect(refused.message).to.match(/held by process \d+ on \S+ since \d{4}-/);
    expect(refused.exitCode).to.equal(3);
    expect((await service.get('/healthz')).status).to.equal(200);
    await service.kill();
    service = await startContext(home);
  });

  it('is set aside when it is damaged, made again from what remains, and both are said', async () => {
    service = await startContext(home);
    const ids: string[] = [];
    for (let n = 0; n < 300; n++) {
      const { json } = await service.post(
        '/v1/memory/record',
        memory(`Fact ${n}: ${crypto.randomUUID().repeat(6)}`),
      );
      ids.push(json.id);
    }
    await service.stop();
    const path = join(home, 'state/context/record.sqlite');
    const middle = Math.floor(statSync(path).size / 4096 / 2) * 4096;
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, 0);
    writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, middle);
    closeSync(file);
    service = await startContext(home);
    const { json } = await service.get('/healthz');
    expect(json.status).to.equal('degraded');
    expect(json.checks.record.detail).to.contain('was damaged').and.to.contain('record.sqlite.corrupt-');
    expect(service.said()).to.contain('is damaged').and.to.contain('is set aside');
    const names = readdirSync(join(home, 'state/context'));
    expect(names.filter((name) => /^record\.sqlite\.corrupt-[^/]+Z$/.test(name))).to.have.length(1);
    const { text } = await service.get('/v1/memory/export');
    const kept = text.split('\n').filter((line) => line !== '').length;
    expect(kept)
      .to.be.greaterThan(ids.length - 40)
      .and.to.be.at.most(ids.length);
    expect((await service.get('/v1/admin/check')).json.record).to.deep.include({ damage: [], orphans: 0 });
    const found = await service.post('/v1/memory/lookup', { query: 'Fact 299' });
    expect(found.json.results).to.not.deep.equal([]);
  });

  itWith(
    ['mounts'],
    'on a full disk refuses writes, answers questions, and goes on when there is room',
    async () => {
      service = await startContext(home);
      await service.post('/v1/memory/record', memory('Before the disk was full.'));
      await service.stop();
      const disk = await smallDisk(home, 40);
      try {
        service = await startContext(home, { within: disk.enter });
        disk.fill(0);
        const written: string[] = [];
        let refused = null;
        for (let n = 0; n < 400 && refused === null; n++) {
          const text = `While it fills ${n}: ${crypto.randomUUID().repeat(50)}`;
          const answer = await service.post('/v1/memory/record', memory(text));
          if (answer.status === 201) written.push(answer.json.id);
          else refused = answer;
        }
        expect([refused?.status, refused?.json.code], refused?.text).to.deep.equal([503, 'disk_full']);
        expect(refused!.headers.get('retry-after')).to.equal('30');
        expect((await service.post('/v1/memory/lookup', { query: 'disk' })).status).to.equal(200);
        // An answer of the health check is good for a second.
        await until(
          'the health to report it',
          async () => (await service!.get('/healthz')).json.checks.disk.status === 'degraded',
        );
        disk.free();
        const after = await service.post('/v1/memory/record', memory('There is room again.'));
        expect(after.status, after.text).to.equal(201);
        await service.kill();
        service = await startContext(home, { within: disk.enter });
        const { text } = await service.get('/v1/memory/export');
        for (const id of [...written, after.json.id]) expect(text).to.contain(id);
        expect((await service.get('/v1/admin/check')).json.record).to.deep.include({
          damage: [],
          orphans: 0,
        });
      } finally {
        await service?.stop();
        disk.close();
      }
    },
  );
});
