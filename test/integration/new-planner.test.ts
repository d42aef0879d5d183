import { expect } from 'chai';
import { listedFiles, type ScratchCopy, scratchCopy } from '../fixtures/contributing/scratch-copy.ts';
import { describeWith } from '../needs.ts';

const planner = `import { issueInfluence } from '../../planning/influences.ts';
import type { PlannerType } from '../../planning/planner.ts';

/** Answers every issue with a comment. */
export const toy: PlannerType = {
  missing: () => null,
  create: () => ({
    name: 'toy',
    model: null,
    propose: async ({ repository, issue }) => ({
      kind: 'comment',
      body: 'The toy planner was here.',
      influences: [issueInfluence(repository, issue)],
    }),
  }),
};
`;
const planning = `import { expect } from 'chai';
import { everybody, makeWorld, quiet, ref } from '../../../../test/fixtures/world/world.ts';

it('the toy planner plans an issue', async function () {
  this.timeout(60_000);
  const world = await makeWorld({ vcs: 'git' });
  try {
    const number = await world.newIssue('Anything at all.');
    const run = await world.agent.planIssue({ ...ref, number, planner: 'toy', by: everybody }, quiet);
    expect(run.plan?.planner).to.equal('toy');
    const [action] = run.actions.map(({ definition }) => definition);
    expect(action).to.deep.include({ kind: 'comment_issue' });
    expect(JSON.stringify(action!.params)).to.contain('The toy planner was here.');
    const { planners } = await world.agent.capabilities();
    expect(planners).to.deep.include({ name: 'toy', works: true, reason: null });
  } finally {
    await world.close();
  }
});
`;

describeWith(['time'], 'a new planner, by the list of CONTRIBUTING.md', function () {
  this.timeout(900_000);
  const registry = 'services/agentd/planners/registry.ts';
  const folder = 'services/agentd/planners/toy/';
  let copy: ScratchCopy;

  before(() => {
    copy = scratchCopy();
  });

  it('does not compile until the registry has its line', async () => {
    copy.insert('services/kit/contracts/vocabulary.ts', "plannerKinds = ['patch', 'model'", ", 'toy'");
    const errors = await copy.compile([registry]);
    expect(errors.join('\n')).to.contain("Property 'toy' is missing");
  });

  it('is complete with the files that are listed, and plans an issue', async () => {
    copy.add(`${folder}toy-planner.ts`, planner);
    copy.insert(
      registry,
      "import { patch } from './patch/patch-planner.ts';\n",
      "import { toy } from './toy/toy-planner.ts';\n",
    );
    copy.insert(registry, '{ patch, model', ', toy');
    const places = copy.touched.map((file) => (file.startsWith(folder) ? folder : file));
    expect(places.sort()).to.deep.equal(listedFiles('A new planner', 'toy').sort());

    const test = `${folder}toy-planner.test.ts`;
    copy.add(test, planning);
    expect(await copy.compile([registry, test])).to.deep.equal([]);
    const { passed, output } = await copy.run([test]);
    expect(passed, output).to.equal(true);
    expect(output).to.contain('1 passing');
  });
});
