import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { until } from '../../../test/fixtures/until.ts';
import { createLeases, type Leases } from './lease.ts';

describe('leases in SQLite', () => {
  let folder: string;
  let path: string;
  let databases: DatabaseSync[];
  let all: Leases[];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-leases-'));
    path = join(folder, 'leases.sqlite');
    databases = [];
    all = [];
  });

  afterEach(() => {
    for (const leases of all) leases.close();
    for (const db of databases) db.close();
    rmSync(folder, { recursive: true });
  });

  function open(): DatabaseSync {
    const db = new DatabaseSync(path, { timeout: 2000 });
    db.exec('PRAGMA journal_mode = WAL');
    databases.push(db);
    return db;
  }

  function leasesOf(db: DatabaseSync, durationMs = 30_000): Leases {
    const leases = createLeases(() => db, { durationMs });
    all.push(leases);
    return leases;
  }

  it('are exclusive, and free again after the release', () => {
    const [one, two] = [leasesOf(open()), leasesOf(open())];
    const lease = one.acquire('a');
    two.acquire('b');
    expect(() => two.acquire('a')).to.throw(`a is held by process ${process.pid}`);
    expect(() => one.acquire('a')).to.throw('is held');
    expect(two.holder('a')?.pid).to.equal(process.pid);
    lease.release();
    expect(two.holder('a')).to.equal(null);
    two.acquire('a');
  });

  it('are not given away by a release that comes twice', () => {
    const [one, two] = [leasesOf(open()), leasesOf(open())];
    const first = one.acquire('a');
    first.release();
    two.acquire('a');
    first.release();
    expect(two.holder('a')).not.to.equal(null);
  });

  it('end with the process that holds them, at once', () => {
    const db = open();
    const leases = leasesOf(db);
    leases.acquire('of the living').release();
    const module = fileURLToPath(new URL('./lease.ts', import.meta.url));
    const script = `
      import { DatabaseSync } from 'node:sqlite';
      import { createLeases } from ${JSON.stringify(module)};
      const db = new DatabaseSync(${JSON.stringify(path)});
      createLeases(() => db).acquire('of the dead');
      process.kill(process.pid, 'SIGKILL');`;
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script]);
    expect(child.signal).to.equal('SIGKILL');
    expect(db.prepare('SELECT count(*) AS rows FROM leases').get()).to.deep.equal({ rows: 1 });
    expect(leases.holder('of the dead')).to.equal(null);
    leases.acquire('of the dead');
  });

  it('outlive a holder that cannot be seen from here until they expire', () => {
    const db = open();
    const leases = leasesOf(db);
    leases.acquire('a').release();
    elsewhere(db, 'a', Date.now() + 60_000);
    expect(() => leases.acquire('a')).to.throw(/held by process 4242 on otherhost since .*; free at /);
    elsewhere(db, 'a', Date.now() - 1);
    leases.acquire('a');
  });

  it('are not taken for alive because their process id is used again', () => {
    const db = open();
    const leases = leasesOf(db);
    leases.acquire('a');
    db.exec(`UPDATE leases SET process_started = '1'`);
    expect(leases.holder('a')).to.equal(null);
  });

  it('renew themselves while the process lives', async () => {
    const db = open();
    const lease = leasesOf(db, 2_000).acquire('a');
    const expires = (): number =>
      (db.prepare('SELECT expires_at FROM leases').get() as { expires_at: number }).expires_at;
    const first = expires();
    await until('it to be renewed', () => expires() > first);
    expect(lease.lost.aborted).to.equal(false);
  });

  it('say that they were lost to somebody else, and leave them to the new holder', async () => {
    const db = open();
    const lease = leasesOf(db, 60).acquire('a');
    elsewhere(db, 'a', Date.now() + 600_000);
    await until('its loss', () => lease.lost.aborted);
    lease.release();
    expect(db.prepare('SELECT host FROM leases').get()).to.deep.equal({ host: 'otherhost' });
  });

  it('come back when the database was rebuilt', async () => {
    const db = open();
    const leases = leasesOf(db, 2_000);
    const lease = leases.acquire('a');
    db.exec('DELETE FROM leases');
    await until('it to come back', () => leases.holder('a')?.pid === process.pid);
    expect(lease.lost.aborted).to.equal(false);
  });

  it('are lost when they could not be renewed in time', async () => {
    const db = open();
    const lease = leasesOf(db, 60).acquire('a');
    db.exec('DROP TABLE leases');
    await until('its loss', () => lease.lost.aborted);
    db.exec('CREATE TABLE leases (name TEXT, token TEXT)');
  });

  function elsewhere(db: DatabaseSync, name: string, expiresAt: number): void {
    db.prepare(
      `INSERT OR REPLACE INTO leases VALUES (?, 'other', 'otherboot', 'pid:[1]', 4242, '1', 'otherhost', 1, ?)`,
    ).run(name, expiresAt);
  }
});
