import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { createToken, ensureTokens } from '#kit/tokens/tokens.ts';
import { reviewRoutes } from '../../services/agentd/review/routes.ts';
import { agentdSchema } from '../../services/agentd/schema.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { makeReviewWorld, type ReviewWorld } from '../fixtures/review/review-world.ts';
import { SignedIn } from '../fixtures/review/signed-in.ts';
import { core, ended } from '../fixtures/world/core-command.ts';

describe('What somebody else tries on the review page', () => {
  let review: ReviewWorld;
  let mira: SignedIn;
  let jo: SignedIn;
  before(async () => {
    review = await makeReviewWorld();
    mira = await SignedIn.by(await review.link('mira'));
    jo = await SignedIn.by(await review.link('jo'));
  });
  after(() => review?.close());

  /** Every form of a person who is signed in, with what is obligatory in it. */
  const forms: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    '/batch/look': {},
    '/batch': { decision: 'approve', gate: 'publish', seen: 'x' },
    '/plan': { repository: 'demo/hello', task: 'Do harm.' },
    '/sign-out': {},
    '/runs/{run_id}/plan': {},
    '/runs/{run_id}/decisions': { decision: 'approve', seen: 'x' },
    '/runs/{run_id}/execute': { checkout: 'hello' },
    '/runs/{run_id}/resume': {},
    '/runs/{run_id}/undo': {},
    '/runs/{run_id}/cancel': {},
  };

  it('changes nothing by any form without the text of the session, or from another site', async () => {
    const posted = reviewRoutes({} as never).filter(({ method }) => method === 'POST');
    const paths = posted.map(({ path }) => path).filter((path) => path !== '/sign-in');
    expect([...new Set(paths)].toSorted()).to.deep.equal(Object.keys(forms).toSorted());
    const run = await review.planned();
    const own = await mira.csrf();
    const theirs = await jo.csrf();
    for (const [path, fields] of Object.entries(forms)) {
      const address = path.replace('{run_id}', run.run_id);
      for (const csrf of [theirs, '', own.toUpperCase(), `${own}0`, own.slice(1)])
        expect((await mira.post(address, { ...fields, csrf })).status, `${path} ${csrf}`).to.equal(403);
      for (const origin of ['https://evil.test', 'null', `${review.url}.evil.test`])
        expect((await mira.post(address, { ...fields, csrf: own }, { origin })).status, path).to.equal(403);
    }
    const after = await review.world.agent.run(run.run_id);
    expect(after.head).to.deep.equal(run.head);
    expect((await mira.get('/')).status).to.equal(200);
  });

  it('signs a second person in from this machine by the folder of their token alone', async () => {
    const folder = temporaryFolder();
    const registry = join(review.world.home, 'config/tokens');
    ensureTokens({ tokens: registry });
    const { text } = createToken({ tokens: registry }, { name: 'kim', scopes: ['read', 'approve'] });
    writeFileSync(join(folder, 'kim.token'), text, { mode: 0o600 });
    const { code, stdout, stderr } = await ended(core, ['review', '--json'], {
      CORE_AGENTD_URL: review.url,
      CORE_HOME: review.world.home,
      CORE_TOKENS_DIR: folder,
      CORE_REGISTRY_DIR: registry,
    });
    expect(code, stderr).to.equal(0);
    const kim = await SignedIn.by(JSON.parse(stdout).url);
    expect(await (await kim.get('/')).text()).to.contain('kim');
    const state = join(review.world.home, 'state');
    const files = readdirSync(state).filter((file) => file.startsWith(agentdSchema.file));
    const stored = files.map((file) => readFileSync(join(state, file), 'latin1')).join('');
    expect(stored).to.contain('"kim"').and.to.not.contain(text);
  });
});
