import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { cypher, newestRun, until } from './asking.ts';
import { demo } from './loop.ts';
import type { ContainerStack } from './stack/container-stack.ts';

/** Takes all volumes away, so that it comes last. */
export function backupTests(stack: ContainerStack): void {
  it('is backed up while it runs, and restored into empty volumes, Neo4j’s included, where an approved run goes on', async function () {
    this.timeout(1_200_000);
    await stack.toolsDone('core-agentd', 'plan-issue', ...demo, '--number', '1');
    const run = await newestRun(stack);
    await stack.toolsDone('core-agentd', 'approve', run, '--all');
    const said = await stack.toolsDone('core', 'backup', '/backups');
    expect(said).to.contain('as they were at');
    const [name, ...others] = readdirSync(stack.backups);
    expect(others).to.deep.equal([]);
    const file = `/backups/${name}`;
    expect(await stack.toolsDone('core', 'backup', 'verify', file)).to.contain(`${file} holds: `);
    const refused = await stack.tools('core', 'restore', file, '--state-only');
    expect(refused.stderr).to.contain('[restore_not_empty]');

    stack.loseVolumes();
    await stack.up('keeper');
    expect(await stack.toolsDone('core', 'restore', file, '--state-only')).to.contain('Restored /state');
    await stack.up();
    const executing = ['execute-approved', '--repo-dir', '/repository', '--run-id', run];
    expect(await stack.toolsDone('core-agentd', ...executing)).to.contain('completed');
    await stack.toolsDone('core-agentd', 'verify', run);
    const query =
      'MATCH (run:ReasoningRun {run_id: $run})-[:PROPOSES]->(action:Action) RETURN count(action) AS actions';
    const rows = await until(400_000, async () => {
      const found = (await cypher(stack, query, { run })) as { actions: number }[];
      return found[0]?.actions === 7 ? found : null;
    });
    expect(rows).to.have.length(1);
    const status = await until(400_000, () => stack.toolsDone('core-status', '--smoke'));
    expect(status).to.match(/^SMOKE OK run_id=run_/m);
  });
}
