import { expect } from 'chai';
import { listedFiles, type ScratchCopy, scratchCopy } from '../fixtures/contributing/scratch-copy.ts';
import { describeWith } from '../needs.ts';

/** A kind of action that greets on the issue, as comments are written. */
const type = `import { commentIssue } from './comment-issue.ts';
import type { ActionType } from './kind.ts';
import { assess } from './risk.ts';
import { plainComment } from './published-texts.ts';

type Params = { number: number; body: string };

export const greetIssue: ActionType<'greet_issue', Params> = {
  ...(commentIssue as unknown as ActionType<'greet_issue', Params>),
  kind: 'greet_issue',
  propose({ proposes, number, run_id, policy }) {
    if (proposes === 'comment' || number === null) return null;
    return {
      title: \`greets on #\${number}\`,
      rationale: 'It is polite.',
      params: ({ action_id }) => ({ number, body: plainComment('Hello', run_id, action_id) }),
      needs: [],
      risk: assess(policy.risk.base.greet_issue, [], policy),
    };
  },
};
`;
const test = `import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { everybody, makeWorld, quiet } from '../fixtures/world/world.ts';

it('greets on the issue, and takes it back', async () => {
  const files = { 'src/greet.js': "export function greet(name) {\\n  return 'Hello ' + name;\\n}\\n" };
  const world = await makeWorld({ vcs: 'git', files });
  const { run_id, actions } = await world.plannedAndApproved();
  expect(actions.at(-1)!.definition.kind).to.equal('greet_issue');
  const request = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
  const done = await world.agent.execute(request, quiet);
  expect(done.status).to.equal('completed');
  const shown = await world.command(['actions', run_id, 'greet_issue']);
  expect(shown.stdout).to.match(/state +succeeded/);
  const folder = join(world.home, 'state/forge/demo/hello/comments', String(done.request.number));
  const texts = () => readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  const greetings = () => texts().filter((text) => text.includes('Hello')).length;
  expect(greetings()).to.equal(1);
  const undone = await world.agent.undo({ run_id, by: everybody }, quiet);
  expect(undone.status).to.equal('undone');
  expect(greetings()).to.equal(0);
  await world.close();
}).timeout(120_000);
`;

describeWith(['time'], 'a new kind of action, by the list of CONTRIBUTING.md', function () {
  this.timeout(900_000);
  const registry = 'services/agentd/actions/registry.ts';
  const rules = 'test/fixtures/approved/reaching.ts';
  const sample = 'test/contract/run-store.sample.ts';
  const whole = ['services/agentd/main.ts', 'services/terminal/main.ts', 'test/contract/approved.test.ts'];
  let copy: ScratchCopy;

  before(() => {
    copy = scratchCopy();
  });

  it('does not compile until each place has said what it does', async () => {
    copy.insert('services/kit/contracts/vocabulary.ts', "  'comment_issue',\n", "  'greet_issue',\n");
    const errors = await copy.compile(whole);
    for (const place of [registry, rules]) {
      const own = errors.filter((error) => error.startsWith(place)).join('\n');
      expect(own, place).to.contain("Property 'greet_issue' is missing");
    }
    expect(errors.filter((error) => error.startsWith(sample)).join('\n'), sample).to.contain('greet_issue');
  });

  it('is complete with the files that are listed: planned, approved, executed and undone', async () => {
    copy.add('services/agentd/actions/greet_issue.ts', type);
    copy.insert(
      registry,
      "import type { ActionExecutor, ExecutionPorts } from './executor.ts';\n",
      "import { greetIssue } from './greet_issue.ts';\n",
    );
    copy.insert(registry, '  comment_issue: commentIssue,\n', '  greet_issue: greetIssue,\n');
    copy.insert('config/policy.json', '"comment_issue": 20', ',\n      "greet_issue": 20');
    const depute = 'ask instead of guessing.",\n      "tier": "large",\n      "may_propose": [\n';
    copy.insert('config/agents.json', depute, '        "greet_issue",\n');
    copy.insert(
      sample,
      "comment_issue: { number: 1, body: 'See {{pull_request}}' },\n",
      "    greet_issue: { number: 1, body: 'Hello' },\n",
    );
    copy.insert(
      rules,
      "  comment_issue: { body: 'approved', number: 'approved' },\n",
      "  greet_issue: { body: 'approved', number: 'approved' },\n",
    );
    copy.add('test/integration/greet_issue.test.ts', test);

    expect([...copy.touched].sort()).to.deep.equal(listedFiles('A new kind of action', 'greet_issue').sort());
    expect(await copy.compile([...whole, 'test/integration/greet_issue.test.ts'])).to.deep.equal([]);
    const { passed, output } = await copy.run([
      'test/integration/greet_issue.test.ts',
      'test/contract/approved.test.ts',
      '--grep=greet',
    ]);
    expect(passed, output).to.equal(true);
    expect(Number(/(\d+) passing/.exec(output)?.[1])).to.be.greaterThan(1);
  });
});
