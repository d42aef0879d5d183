import { expect } from 'chai';
import { type ActorRight, actorRights } from '#kit/contracts/plan.ts';
import { codeOf } from '#kit/errors.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

const body = `It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;

/** By what they wrote on the local forge, except of unknown. */
const actors = {
  ada: 'owner',
  ben: 'collaborator',
  eve: 'none',
  mira: 'contributor',
  unknown: null,
} as const;

describe('a plan that an event asks for', () => {
  let world: World;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    const number = await world.newIssue(body);
    for (const [author, association] of Object.entries(actors))
      if (association !== null)
        await world.forgeAdmin.comment({ ...ref, number, body: 'Yes.', author, association });
  });
  after(() => world?.close());

  const plan = (number: number, event_actor?: { login: string; needs: ActorRight }): Promise<Run> =>
    world.agent.planIssue({ ...ref, number, by: everybody, event_actor }, quiet);

  for (const state of ['waiting', 'approved'] as const) {
    for (const needs of actorRights) {
      for (const [login, association] of Object.entries(actors)) {
        const writes = association === 'owner' || association === 'collaborator';
        const refused = !writes && needs !== 'anyone';
        const replaces = writes && state === 'waiting';
        it(`${replaces ? 'replaces' : 'does not replace'} one that is ${state}, by ${login} where by is ${needs}`, async () => {
          const number = await world.newIssue(body);
          const planned = await plan(number);
          const first = state === 'approved' ? await world.approve(planned) : planned;
          const second = await plan(number, { login, needs }).catch((error: unknown) => error);
          const now = await world.agent.run(first.run_id);
          if (replaces) expect(now.status).to.equal('superseded');
          else expect(now).to.deep.equal(first);
          const { runs } = await world.agent.runs({ ...ref, number, limit: 10 });
          expect(runs).to.have.length(refused ? 1 : 2);
          if (!refused) return;
          expect(codeOf(second)).to.equal(association === null ? 'actor_right_unknown' : 'actor_lacks_right');
          expect((second as Error).message)
            .to.contain(`in config/bridge.json is "${needs}"`)
            .and.to.contain(login);
        });
      }
    }
  }

  it('is the same one when the event comes again, also by an outsider', async () => {
    const number = await world.newIssue(body);
    const event_actor = { login: 'eve', needs: 'anyone' as const };
    const again = () =>
      world.agent.planIssue(
        { ...ref, number, by: everybody, event_actor, idempotency_key: 'event-1' },
        quiet,
      );
    expect((await again()).run_id).to.equal((await again()).run_id);
  });
});
