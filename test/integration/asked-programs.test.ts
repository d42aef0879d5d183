import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { ActionOf } from '../../services/agentd/actions/registry.ts';
import { actionOfKind } from '../../services/agentd/runs/run.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const patch = `diff --git a/api/app.py b/api/app.py
--- a/api/app.py
+++ b/api/app.py
@@ -1 +1 @@
-a = 1
+a = 2
`;

describe('A plan for a repository that asks for programs and has code without tests', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({
      vcs: 'git',
      files: {
        '.core.json': '{}',
        '.nvmrc': '1.2.3\n',
        'package.json': '{"scripts":{"test":"node --version"}}',
        'api/app.py': 'a = 1\n',
      },
    });
  });
  afterEach(() => world.close());

  it('names both, in the plan, the risk and the pull request', async () => {
    writeFileSync(
      join(world.home, 'config/validation.json'),
      JSON.stringify({ sandbox: 'none', allow_unsandboxed: true }),
    );
    const number = await world.newIssue(`Change it.\n\n\`\`\`diff\n${patch}\`\`\`\n`);
    const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const validation = actionOfKind(run, 'run_validation')!.definition as ActionOf<'run_validation'>;
    const [node] = validation.params.plan.programs!;
    expect(node).to.include({ name: 'node', wanted: '1.2.3', from: '.nvmrc', fits: false });
    expect(node!.version).to.match(/^v\d/);
    const untested = 'not tested: api/app.py (no Python tests configured)';
    expect(validation.risk_reasons).to.include(untested);
    expect(run.plan!.notices).to.include(untested);
    expect(run.plan!.notices.join('\n')).to.contain('.nvmrc asks for node 1.2.3, and the validation uses v');
    const pull = actionOfKind(run, 'open_pull_request')!.definition as ActionOf<'open_pull_request'>;
    expect(pull.params.body).to.contain('\n- Not tested: `api/app.py` (`no Python tests configured`)\n');
    const { stdout } = await world.command(['show', run.run_id]);
    expect(stdout).to.contain(untested);
  });
});
