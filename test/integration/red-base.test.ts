import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { ValidationReport } from '../../services/kit/contracts/stored-texts.ts';
import { decodeJson } from '../../services/kit/decode.ts';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';

/** A program in pytest's words: test_a always fails, test_b fails where the change is. */
const redBase = 'echo "FAILED t.py::test_a - no"; echo "=== 1 failed, 3 passed in 0.1s ==="; exit 1';
const redChange = `if grep -rq stranger src; then echo "FAILED t.py::test_b - no"; echo "FAILED t.py::test_a - no"; echo "=== 2 failed, 3 passed in 0.1s ==="; exit 1; fi; ${redBase}`;

describe('A base that already fails', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  function configure(program: string, allow_red_base: boolean): void {
    const pytest = join(world.home, 'programs/pytest');
    mkdirSync(join(world.home, 'programs'), { recursive: true });
    writeFileSync(pytest, `#!/bin/sh\n${program}\n`, { mode: 0o755 });
    const commands = [
      { name: 'test', run: pytest },
      { name: 'lint', run: 'true' },
    ];
    writeFileSync(
      join(world.home, 'config/validation.json'),
      JSON.stringify({ sandbox: 'none', allow_unsandboxed: true, default: { commands } }),
    );
    writeFileSync(join(world.home, 'config/policy.json'), JSON.stringify({ allow_red_base }));
  }

  async function executed(program: string, allow_red_base: boolean) {
    configure(program, allow_red_base);
    const planned = await world.plannedAndApproved();
    return execute(planned.run_id);
  }

  async function execute(run_id: string) {
    const request = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
    const run = await world.agent.execute(request, quiet);
    const action = (kind: string) => run.actions.find(({ definition }) => definition.kind === kind)!;
    const validation = action('run_validation');
    const bytes = Buffer.from(await world.agent.artifact(run_id, String(validation.outcome!.facts.report)));
    return { run, action, validation, report: decodeJson(ValidationReport, bytes.toString(), 'report') };
  }

  it('is named, and nothing is published', async () => {
    const { action, validation, report } = await executed(redBase, false);
    expect(validation.state).to.equal('failed');
    expect(validation.outcome!.message).to.match(/; also fails on the base: 1 of 1$/);
    expect(action('push_branch').state).to.equal('blocked');
    expect(report.steps.map(({ name, exit_code }) => [name, exit_code])).to.deep.equal([
      ['test', 1],
      ['lint', 0],
    ]);
    expect(report.base).to.include({ failures: 1, on_base: 1 });
  });

  it('does not stop publishing if the policy allows that and nothing new fails', async () => {
    const { action, validation, report } = await executed(redBase, true);
    expect(validation.state).to.equal('succeeded');
    expect(validation.outcome!.facts.passed).to.equal(false);
    expect(report.passed).to.equal(false);
    const pull = action('open_pull_request');
    expect(pull.state).to.equal('succeeded');
    const { body } = pull.intent!.rendered as { body: string };
    expect(body).to.match(
      /Validation: `+ ?failed as the base does \(also fails on the base: 1 of 1; allow_red_base/,
    );
    const { stdout } = await world.command(['show', validation.definition.run_id]);
    expect(stdout).to.contain('failed as the base does');
  });

  it('stops publishing if something new fails', async () => {
    const { action, validation } = await executed(redChange, true);
    expect(validation.state).to.equal('failed');
    expect(validation.outcome!.message).to.contain(
      'new failures: 1 (t.py::test_b); also fails on the base: 1 of 2',
    );
    expect(action('push_branch').state).to.equal('blocked');
  });

  it('stops publishing if it is unknown what fails', async () => {
    const { action, validation } = await executed('echo broken; exit 1', true);
    expect(validation.outcome!.message).to.contain('does not say for certain which tests failed');
    expect(action('push_branch').state).to.equal('blocked');
  });

  it('stops publishing if the policy no longer allows it after the approval, or did not allow it then', async () => {
    for (const [approved, now] of [
      [true, false],
      [false, true],
    ] as const) {
      configure(redBase, approved);
      const { run_id } = await world.plannedAndApproved();
      configure(redBase, now);
      const { code } = await world.command([
        'execute-approved',
        '--run-id',
        run_id,
        '--repo-dir',
        world.checkout.dir,
      ]);
      expect(code).not.to.equal(0);
      const run = await world.agent.run(run_id);
      const states = run.actions.map(({ definition: { kind }, state }) => `${kind} ${state}`);
      expect(states).to.include('run_validation failed').and.to.include('push_branch blocked');
    }
  });
});
