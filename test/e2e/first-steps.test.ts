import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { core } from '../fixtures/world/core-command.ts';
import { makePlace, type Place, run } from './core-process.ts';

describe('the first steps with core', () => {
  let place: Place;
  let checkout: string;

  before(async () => {
    place = makePlace();
    checkout = join(place.folder, 'it is mine');
    await makeDemoRepository(checkout);
    mkdirSync(join(place.folder, 'beside'));
  });
  after(() => place.remove());

  for (const [repo, from, folder] of [
    ['here', '.', 'it is mine'],
    ['below', 'it is mine', '.'],
    ['beside', '../it is mine', 'beside'],
  ] as const) {
    it(`takes --from ${from} from the folder in which it is typed, and says how to connect it`, async () => {
      const cwd = join(place.folder, folder);
      const ref = ['--owner', 'demo', '--repo', repo, '--home', place.home];
      const made = await run(core, ['forge', 'init', ...ref, '--from', from], cwd);
      expect(made.exitCode, made.stderr).to.equal(0);
      const bare = join(place.home, `state/forge/demo/${repo}/repository.git`);
      expect(await place.git('-C', bare, 'log', '--format=%s')).to.equal('Greet people by name');
      expect(made.stdout).to.contain(`git -C '${checkout}' remote add core ${bare}`);
    });
  }
});
