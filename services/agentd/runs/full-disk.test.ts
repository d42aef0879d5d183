import { expect } from 'chai';
import { type OwnMounts, smallDisk } from '../../../test/fixtures/world/own-mounts.ts';
import { makeWorld } from '../../../test/fixtures/world/world.ts';
import { describeWith } from '../../../test/needs.ts';

describeWith(['mounts'], 'runs on a full disk', () => {
  let disk: OwnMounts;
  let runId: string;

  before(async () => {
    const world = await makeWorld({ vcs: 'git' });
    runId = (await world.plannedAndApproved()).run_id;
    await world.close();
    disk = await smallDisk(world.home, 24);
  });
  after(() => disk?.close());

  it('can be read and verified; a write fails because the disk is full', async () => {
    disk.fill(0);
    for (const command of ['show', 'verify']) {
      const { code, stderr } = await disk.command([command, runId]);
      expect(code, stderr).to.equal(0);
    }
    const { code, stderr } = await disk.command(['cancel', runId, '--json']);
    expect(JSON.parse(stderr).error.code).to.equal('disk_full');
    expect(code).to.equal(1);
    disk.free();
    expect((await disk.command(['runs'])).code).to.equal(0);
  });
});
