import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { faultNames } from '../hosts/faults.ts';
import { runTrial } from '../hosts/trial.ts';
import { describeWith } from '../needs.ts';

const needed = ['git', 'postgres', 'bubblewrap', 'namespaces', 's3', 'openssl', 'time'] as const;

describeWith(needed, 'Three hosts under load', function () {
  this.timeout(900_000);

  it('lose nothing and do nothing twice while each kind of fault happens once', async () => {
    const folder = join(temporaryFolder(), 'trial');
    const said: string[] = [];
    const faultEveryMs = 7_000;
    const { problems, faults, counts } = await runTrial({
      ...{ folder, seed: 1, faultEveryMs, loadMs: (faultNames.length + 6) * faultEveryMs, cases: 2 },
      say: (text) => said.push(text),
    });
    expect(problems, said.join('\n')).to.deep.equal(
      Object.fromEntries(Object.keys(problems).map((what) => [what, []])),
    );
    expect([...faults.keys()].sort()).to.deep.equal(faultNames.toSorted());
    expect(counts.get('completed')).to.be.greaterThan(0);
    rmSync(folder, { recursive: true, force: true });
  });
});
