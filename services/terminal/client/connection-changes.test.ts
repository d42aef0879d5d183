import { expect } from 'chai';
import type { RunSummary } from '#kit/contracts/run.ts';
import { RunChanges } from './connection.ts';

const run = (run_id: string, status: RunSummary['status']) => ({ run_id, status }) as RunSummary;

describe('Changes of runs', () => {
  it('are reported together, the last one of each run', () => {
    const reported: (readonly RunSummary[])[] = [];
    const changes = new RunChanges((runs) => reported.push(runs));
    for (let event = 0; event < 10_000; event++) changes.add(run(`run_${event % 3}`, 'executing'));
    changes.add(run('run_1', 'failed'));
    changes.flush();
    changes.flush();
    expect(reported).to.have.length(1);
    expect(reported[0]!.map(({ run_id, status }) => [run_id, status])).to.deep.equal([
      ['run_0', 'executing'],
      ['run_1', 'failed'],
      ['run_2', 'executing'],
    ]);
  });

  it('are reported without a request', async () => {
    const reported = await new Promise<readonly RunSummary[]>((resolve) => {
      new RunChanges(resolve).add(run('run_1', 'failed'));
    });
    expect(reported).to.deep.equal([run('run_1', 'failed')]);
  });
});
