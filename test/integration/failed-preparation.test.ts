import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { everybody, makeWorld, quiet, type World } from '../fixtures/world/world.ts';

describe('A validation whose preparing fails', () => {
  let world: World;
  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
  });
  afterEach(() => world.close());

  it('shows the end of its log and the page that helps', async () => {
    const run = 'echo begin; echo npm error code SELF_SIGNED_CERT_IN_CHAIN; exit 1';
    writeFileSync(
      join(world.home, 'config/validation.json'),
      JSON.stringify({
        sandbox: 'none',
        allow_unsandboxed: true,
        default: { prepare: [{ name: 'install', run }], commands: [{ name: 'test', run: 'true' }] },
      }),
    );
    const planned = await world.plannedAndApproved();
    const { run_id } = planned;
    const done = await world.agent.execute(
      { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    const outcome = done.actions.find(({ definition }) => definition.kind === 'run_validation')!.outcome!;
    expect(outcome.message).to.match(/^preparing failed: echo begin; .* ended with exit status 1/);
    for (const command of [
      ['show', run_id],
      ['actions', run_id, '3'],
    ]) {
      const { stdout } = await world.command(command);
      expect(stdout).to.contain('| npm error code SELF_SIGNED_CERT_IN_CHAIN');
      const [, page, place] = /what to do {2}site\/([\w-]+\.md)#([\w-]+)/.exec(stdout)!;
      const text = readFileSync(new URL(`../../site/${page}`, import.meta.url), 'utf8');
      const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) =>
        title!.toLowerCase().replaceAll(' ', '-'),
      );
      expect(headings).to.include(place);
      expect(text).to.contain('SELF_SIGNED_CERT_IN_CHAIN');
    }
  });
});
