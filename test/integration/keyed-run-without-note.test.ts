import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { failure } from '../fixtures/failure.ts';
import { everybody, greetPatch, makeWorld, quiet, ref } from '../fixtures/world/world.ts';

it('A run whose key could not be noted is held by nobody, and planned when it is asked for again', async () => {
  const world = await makeWorld({ vcs: 'git' });
  const number = await world.newIssue(`It should greet strangers.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`);
  const request = { ...ref, number, by: everybody, idempotency_key: 'once' };
  const notes = join(world.home, 'state/idempotency');
  writeFileSync(notes, 'as a full disk, this is in the way');
  await failure(world.agent.createRun(request, quiet.signal));
  rmSync(notes);
  const [made] = (await world.agent.runs({ limit: 5 })).runs;
  expect(made?.status).to.equal('interrupted');
  const run = await world.agent.planIssue(request, quiet);
  expect([run.run_id, run.status]).to.deep.equal([made?.run_id, 'awaiting_approval']);
  await world.close();
});
