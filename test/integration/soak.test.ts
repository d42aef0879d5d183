import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type FaultName, faultNames, losing } from '../hosts/faults.ts';
import { runTrial } from '../hosts/trial.ts';
import { describeWith } from '../needs.ts';

const needed = ['git', 'postgres', 'bubblewrap', 'namespaces', 's3', 'openssl', 'time'] as const;

describeWith(needed, 'Three hosts under load', function () {
  this.timeout(900_000);

  it('lose nothing and do nothing twice while each kind of fault happens once', async () => {
    const kinds = faultNames.filter((name) => name !== losing);
    await expectSound({ kinds, faultEveryMs: 7_000, faults: kinds.length + 6 });
  });

  it('lose no more than a fail-over may, and come to one state again, where a standby lacks the last transactions', async () => {
    const kinds: FaultName[] = [losing, 'a service is killed', 'the host is killed'];
    const counts = await expectSound({ kinds, faultEveryMs: 8_000, faults: 9 });
    expect([...counts.keys()].some((what) => what.startsWith('lost with a fail-over'))).to.equal(true);
  });

  async function expectSound(how: {
    readonly kinds: readonly FaultName[];
    readonly faultEveryMs: number;
    readonly faults: number;
  }): Promise<ReadonlyMap<string, number>> {
    const { kinds, faultEveryMs } = how;
    const folder = join(temporaryFolder(), 'trial');
    const said: string[] = [];
    const { problems, faults, counts } = await runTrial({
      ...{ folder, kinds, seed: 1, faultEveryMs, loadMs: how.faults * faultEveryMs, cases: 2 },
      say: (text) => said.push(text),
    });
    expect(problems, said.join('\n')).to.deep.equal(
      Object.fromEntries(Object.keys(problems).map((what) => [what, []])),
    );
    expect([...faults.keys()].sort()).to.deep.equal(kinds.toSorted());
    expect(counts.get('completed')).to.be.greaterThan(0);
    rmSync(folder, { recursive: true, force: true });
    return counts;
  }
});
