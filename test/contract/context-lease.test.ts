import { expect } from 'chai';
import { createFencedLeases } from '#kit/database/fenced-leases.ts';
import { openPostgres } from '#kit/database/postgres.ts';
import { codeOf } from '#kit/errors.ts';
import { BackupRows } from '../../services/context/hosts/backup-rows.ts';
import { leaseName } from '../../services/context/hosts/lease.ts';
import { failure } from '../fixtures/failure.ts';
import { type PostgresServer, startPostgres } from '../fixtures/postgres.ts';
import { describeWith } from '../needs.ts';

describeWith(['postgres'], 'backups of the context record', () => {
  let server: PostgresServer;

  before(async () => {
    server = await startPostgres();
  });

  after(() => server.stop());

  it('are named by nobody who gave the lease back', async () => {
    const database = openPostgres(await server.database(), 'core-test');
    const leases = createFencedLeases(database);
    const rows = new BackupRows(database, leases);
    const lease = await leases.acquire(leaseName);
    const backup = { record: 'a', applied: 0, bytes: 0, pieces: [] };
    await rows.publish(backup, 2);
    await lease.release();
    expect(codeOf(await failure(rows.publish(backup, 1)))).to.equal('lease_lost');
    expect(await rows.list()).to.have.length(1);
    await database.close();
  });
});
