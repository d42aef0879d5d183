import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { StatusReport } from '#kit/contracts/status.ts';
import { decodeJson } from '#kit/decode.ts';
import { becomes, type ContextHost, useContextHosts } from '../fixtures/context/context-host.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';

const served = ['ok', 'degraded'];
const backupPoints = [
  'context.piece_written:3',
  'context.journal_written:3',
  'context.backup_named:2',
  'context.backup_copied:2',
  'context.pieces_noted:2',
  'context.backup_written:2',
  'context.backup_collected:2',
];
const programs = {
  core: fileURLToPath(new URL('../../core', import.meta.url)),
  status: fileURLToPath(new URL('../../bin/core-status', import.meta.url)),
};

describeWith(['s3', 'postgres'], 'the record of core-context on several hosts', function () {
  this.timeout(180_000);
  const place = useContextHosts();

  const host = (seconds = 1) => place.make({ seconds });

  const ask = <R extends object>(text: string) => place.server.ask<R>(place.database, text);

  function remember(at: ContextHost, content: string) {
    return at.post('/v1/memory/record', { layer: 'semantic', content });
  }

  async function requireRemembered(at: ContextHost, ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const answer = await at.get(`/v1/memory/${id}`);
      expect(answer.status, `${id}: ${JSON.stringify(answer.json)}\n${at.log()}`).to.equal(200);
    }
  }

  async function rememberOne(at: ContextHost, content: string): Promise<string> {
    const answer = await remember(at, content);
    expect(answer.status, JSON.stringify(answer.json)).to.equal(201);
    return answer.json.id as string;
  }

  /** @param ids gets what was acknowledged */
  async function rememberUntilKilled(at: ContextHost, point: string, ids: string[]): Promise<void> {
    for (let n = 0; n < 600; n++) {
      const answer = await remember(at, `fact ${n} before ${point}`).catch(() => null);
      if (answer === null) {
        await at.ended();
        return;
      }
      ids.push(answer.json.id as string);
      await pause(50);
    }
    throw new Error(`${point} was not reached`);
  }

  /** Of a killed host: on other machines it takes the lease's 30 s, here its end is seen at once. */
  async function take(over: ContextHost, from: ContextHost): Promise<void> {
    from.signal('SIGKILL');
    await from.ended();
    await becomes(over, served);
  }

  it('is served by one; the other says by whom, and goes on when that one is killed', async () => {
    const [one, other] = [await host(3_600), await host()];
    one.start();
    await becomes(one, served);
    other.start();
    await becomes(other, ['standby']);
    const refused = await remember(other, 'not here');
    expect([refused.status, refused.json.code, refused.retryAfter]).to.deep.equal([
      503,
      'context_standby',
      '1',
    ]);
    expect(refused.json.detail).to.match(/^core-context is active on \S+ \(process \d+\) since 20/);
    expect((await other.get('/v1/nothing')).status).to.equal(503);
    expect((await other.get('/v1/metrics')).json.text).to.match(/^context_active\S* 0$/m);
    expect(other.log(), 'every standby answers so').to.not.match(/ warn +(GET|POST) /);
    const ids = [
      await rememberOne(one, 'the cache is flushed at noon'),
      await rememberOne(one, 'owls hunt at night'),
    ];
    await take(other, one);
    await requireRemembered(other, ids);
    expect((await other.get('/v1/metrics')).json.text).to.match(/^context_active\S* 1$/m);
    one.start();
    await becomes(one, ['standby']);
  });

  it('is shown as a standby with who is active, which is no problem', async () => {
    const [one, other] = [await host(3_600), await host(3_600)];
    one.start();
    await becomes(one, served);
    other.start();
    await becomes(other, ['standby']);
    const optional = platformServices.filter((name) => name !== 'core-context');
    const file = join(other.home, 'config', 'core.json');
    const { port } = JSON.parse(readFileSync(join(one.home, 'config', 'context.json'), 'utf8'));
    const url = `http://127.0.0.1:${port}`;
    const settings = JSON.parse(readFileSync(file, 'utf8'));
    writeFileSync(file, JSON.stringify({ ...settings, context: { url } }));
    writeFileSync(join(other.home, 'config', 'status.json'), JSON.stringify({ manager: 'none', optional }));
    const run = (program: string, ...args: string[]) =>
      promisify(execFile)(program, [...args, '--json', '--home', other.home]);
    const { stdout: status } = await run(programs.status);
    const report = decodeJson(StatusReport, status, 'report');
    expect(report.ok).to.equal(true);
    const { ok, health, detail } = report.here['core-context']!;
    expect([ok, health!.status]).to.deep.equal([true, 'standby']);
    expect(report.http['core-context']).to.include({ ok: true, url: `${url}/healthz`, status: 200 });
    expect(detail).to.match(/^standby; active: core-context is active on \S+ \(process \d+\) since 20/);
    expect(report.warnings.map(({ part }) => part).filter((part) => part.includes('context'))).to.deep.equal(
      [],
    );
    const { stdout: found } = await run(programs.core, 'doctor');
    expect(found).to.match(
      /"state":"works","detail":"core-context \S+ \(standby\) answers on \S+; active: core-context is active/,
    );
  });

  it('loses nothing that was acknowledged when the active one is killed at each step of a backup', async () => {
    let [active, next] = [await host(), await host()];
    const ids: string[] = [];
    active.start(backupPoints[0]);
    await becomes(active, served);
    for (const [index, point] of backupPoints.entries()) {
      next.start(backupPoints[index + 1]);
      await becomes(next, ['standby']);
      const before = ids.length;
      await rememberUntilKilled(active, point, ids);
      await becomes(next, served);
      expect(ids.length, point).to.be.above(before);
      await requireRemembered(next, ids);
      [active, next] = [next, active];
    }
    ids.push(await rememberOne(active, 'it goes on'));
    await until('a backup that leaves nothing to delete', async () => {
      const [row] = await ask<{ left: number }>(
        'SELECT count(*)::int AS left FROM context_pieces WHERE going',
      );
      return row!.left === 0;
    });
    await requireRemembered(active, ids);
  });

  it('restores again when the next one is killed at each step of a restore', async () => {
    const [one, other] = [await host(), await host()];
    one.start();
    await becomes(one, served);
    const ids = [await rememberOne(one, 'ferns like shade')];
    other.start('context.restore_fetched');
    await becomes(other, ['standby']);
    one.signal('SIGKILL');
    expect(await other.ended()).to.equal(null);
    other.start('context.restore_placed');
    expect(await other.ended()).to.equal(null);
    other.start();
    await becomes(other, served);
    await requireRemembered(other, ids);
  });

  it('has no effect by an active one that was paused until another took over', async () => {
    const [one, other] = [await host(3_600), await host(3_600)];
    one.start();
    await becomes(one, served);
    const id = await rememberOne(one, 'moss grows in the north');
    one.signal('SIGSTOP');
    await ask("UPDATE leases SET expires_at = core_clock_ms() WHERE name = 'context/record'");
    other.start();
    await becomes(other, served);
    const late = Promise.all([remember(one, 'too late'), one.get(`/v1/memory/${id}`)]).catch(() => null);
    const before = await ask('SELECT backup FROM context_backups');
    one.signal('SIGCONT');
    const written = await late;
    if (written !== null) expect(written[0].status).to.equal(503);
    expect(await one.ended()).to.equal(5);
    expect(await ask('SELECT backup FROM context_backups')).to.deep.equal(before);
    const rows = await ask<{ input: string }>('SELECT input FROM context_journal');
    expect(JSON.stringify(rows)).to.not.contain('too late');
    await requireRemembered(other, [id]);
  });

  it('records on while the bucket is away, and says for how long', async () => {
    const [one, other] = [await host(), await host()];
    one.start();
    await becomes(one, served);
    await place.s3.kill();
    let isBack = false;
    try {
      const ids = [await rememberOne(one, 'rain falls up in the fountain')];
      await until('a growing number', async () => {
        const { json } = await one.get('/v1/metrics');
        return Number(/^context_backup_behind_seconds\S* (\d+)$/m.exec(String(json.text))?.[1] ?? 0) >= 3;
      });
      const { json } = await one.get('/healthz');
      expect(JSON.stringify(json)).to.contain('does not answer');
      ids.push(await rememberOne(one, 'tides follow the moon'));
      await place.s3.restart();
      isBack = true;
      other.start();
      await becomes(other, ['standby']);
      await take(other, one);
      await requireRemembered(other, ids);
    } finally {
      if (!isBack) await place.s3.restart();
    }
  });

  it('refuses a damaged piece, names the backup before, and loses nothing by it', async () => {
    const [one, other] = [await host(), await host()];
    one.start();
    await becomes(one, served);
    const ids: string[] = [];
    for (const content of ['amber is old resin', 'basalt is cooled lava', 'chalk was once alive']) {
      const [before] = await ask<{ last: string }>('SELECT max(backup) AS last FROM context_backups');
      ids.push(await rememberOne(one, content));
      await until('a backup', async () => {
        const [now] = await ask<{ last: string }>('SELECT max(backup) AS last FROM context_backups');
        return now!.last !== before!.last;
      });
    }
    one.signal('SIGKILL');
    await one.ended();
    const [piece] = await ask<{ name: string; backup: string }>(
      `SELECT 'core/context/' || digest || '-' || piece AS name, backup FROM context_pieces JOIN context_backups b ON piece = ANY(pieces)
       WHERE backup = (SELECT max(backup) FROM context_backups)
         AND NOT EXISTS (SELECT 1 FROM context_backups o WHERE o.backup < b.backup AND piece = ANY(o.pieces)) LIMIT 1`,
    );
    writeFileSync(place.s3.fileOf(piece!.name), 'something else');
    other.start();
    await becomes(other, served);
    expect(other.log()).to.contain(`backup ${piece!.backup} of the context record is refused`);
    expect(other.log()).to.contain(`has the sha256`).and.to.contain('the one before it is backup');
    await requireRemembered(other, ids);
  });

  it('keeps only the pieces that backups need, and nothing that was forgotten', async () => {
    const one = await host();
    one.start();
    await becomes(one, served);
    const id = await rememberOne(one, 'the password of the gate is xyzzyplugh');
    await until('some backups', async () => {
      const [row] = await ask<{ n: number }>('SELECT count(*)::int AS n FROM context_backups');
      return row!.n > 1;
    });
    const forgotten = await one.post('/v1/memory/forget', { id });
    expect(forgotten.json.wiped, JSON.stringify(forgotten.json)).to.equal(true);
    await pause(2_500);
    const pieces = await ask<{ name: string }>(
      "SELECT 'core/context/' || digest || '-' || piece AS name FROM context_pieces",
    );
    const mine = place.s3.objects().filter((name) => pieces.some((piece) => piece.name === name));
    expect(mine.length).to.equal(pieces.length);
    expect(JSON.stringify(await ask('SELECT input FROM context_journal'))).to.not.contain('xyzzyplugh');
  });

  /** Two hosts, of which the other took over, recorded this and ended. */
  async function endedAfterTakeOver(content: string) {
    const [one, other] = [await host(), await host()];
    one.start();
    await becomes(one, served);
    other.start();
    await becomes(other, ['standby']);
    await take(other, one);
    await rememberOne(other, content);
    other.signal('SIGTERM');
    await other.ended();
    return { one, other };
  }

  it('replaces a copy whose identity a fail-over of the database lost', async () => {
    const { one, other } = await endedAfterTakeOver('recorded in transactions that are lost');
    const db = new DatabaseSync(other.record);
    const { id } = db.prepare('SELECT id FROM record_identity').get() as { id: string };
    db.close();
    for (const table of ['context_backups', 'context_records'])
      expect(await ask(`DELETE FROM ${table} WHERE record = '${id}' RETURNING 1`), table).to.not.be.empty;
    one.start();
    await becomes(one, served);
    other.start();
    await becomes(other, ['standby']);
  });

  it('does not replace a record that is no copy of the shared one', async () => {
    const { one, other } = await endedAfterTakeOver('mine alone');
    const db = new DatabaseSync(other.record);
    db.exec("UPDATE record_identity SET id = 'another'; DELETE FROM record_origins");
    db.close();
    one.start();
    await becomes(one, served);
    other.start();
    expect(await other.ended()).to.equal(3);
    expect(other.log()).to.contain('[context_record_foreign]');
  });
});
