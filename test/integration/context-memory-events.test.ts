import { expect } from 'chai';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

/** What people recorded, each with a question about it in other words. */
const facts = [
  ['Patches to the parser need a benchmark before approval', 'approval of parser patches'],
  ['Never open a pull request on Fridays', 'when may a pull request be opened'],
  ['The validation suite is slow on arm, run it with two workers', 'validation on arm'],
  ['Branches are named after the issue', 'naming branches of issues'],
  ['Undo only after asking mira', 'undo of a run'],
  ['Execution of migrations waits for the backup', 'execution waits for what'],
] as const;

const events = [
  'planned demo/hello#4 as bug-fixer: apply_patch, create_branch, run_validation, open_pull_request',
  'approved 1 apply_patch, 2 create_branch, 3 run_validation',
  'executed 4 actions of the run',
  '1 apply_patch succeeded: the patch was applied',
  '2 create_branch succeeded: branch core/issue-4 made for the issue',
  '3 run_validation succeeded: the validation passed',
  '4 open_pull_request succeeded: pull request opened for approval',
  'execution ended: all actions of the run succeeded',
  'pull request #9 is open, checks pending',
  'undo of 2 create_branch: done, the branch is gone',
];

describe('Looking up among the episodes of runs', () => {
  let place: MemoryPlace;

  before(async () => {
    place = openMemory();
    for (let run = 0; run < 40; run++)
      for (const [seq, content] of events.entries())
        await place.remember({
          layer: 'episodic',
          kind: 'run_event',
          session: `run_${run}`,
          speaker: 'core',
          source: 'core',
          seq,
          content: `${content} (${run})`,
        });
    for (const [content] of facts) await place.remember({ layer: 'semantic', content, source: 'mira' });
    await place.remember({
      layer: 'semantic',
      content: 'Is owned by jo',
      subject: 'pull_request action',
      source: 'jo',
    });
    await place.remember({
      layer: 'episodic',
      session: 'talk',
      speaker: 'jo',
      content: 'The zanzibar of it all',
    });
  });

  after(() => place.close());

  it('ranks what people recorded before what runs noted', async () => {
    const places: number[] = [];
    for (const [content, query] of facts) places.push((await place.texts(query)).indexOf(content));
    expect(places.filter((at) => at === 0).length).to.be.at.least(5);
    expect(places.filter((at) => at >= 0 && at < 3)).to.have.length(facts.length);
  });

  it('lets no run fill the first results, and runs not more than half of them', async () => {
    const { results } = await place.memory.lookup({
      query: 'validation passed, pull request open',
      limit: 4,
    });
    const ofRuns = results.filter(({ kind }) => kind === 'run_event');
    expect(ofRuns).to.have.length(2);
    const many = await place.memory.lookup({ query: 'branch patch validation succeeded', limit: 20 });
    const sessions = Map.groupBy(
      many.results.slice(0, 10).filter(({ kind }) => kind === 'run_event'),
      ({ session }) => session,
    );
    for (const [session, some] of sessions) expect(some.length, session!).to.be.at.most(2);
    expect(many.results).to.have.length(20);
  });

  it('shows all of a run to who asks for it', async () => {
    const { results } = await place.memory.lookup({
      query: 'branch patch validation execution undo',
      session: 'run_3',
      limit: 20,
    });
    expect(results.length).to.be.above(6);
    expect(results.every(({ session }) => session === 'run_3')).to.equal(true);
  });

  it('puts what has the asked name for its subject or title first', async () => {
    expect((await place.texts('pull_request action'))[0]).to.equal('Is owned by jo');
    expect((await place.texts('pull_request action zanzibar'))[0]).to.equal('Is owned by jo');
    expect((await place.texts('branches are named after the issue.'))[0]).to.equal(
      'Branches are named after the issue',
    );
  });
});
