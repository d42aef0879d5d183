import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { actionOfKind, type Run } from '../../services/agentd/runs/run.ts';
import { gitIn } from '../fixtures/forges/bare-repository.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { startGitHubServer } from '../fixtures/forges/github-server.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

for (const [kind, start] of [
  ['github', startGitHubServer],
  ['gitea', startGiteaServer],
] as const) {
  describe(`a repository on ${kind} that got another name`, () => {
    let server: ForgeServer;
    let world: World;
    let served: ServedRepository;

    beforeEach(async () => {
      server = await start();
      world = await makeWorld({ vcs: 'git' });
      allowUnsandboxed(world);
      const secrets = join(world.home, 'config/secrets');
      mkdirSync(secrets, { recursive: true });
      writeFileSync(join(secrets, 'forge-token'), `${server.state.token}\n`, { mode: 0o600 });
      const settings = {
        name: 'remote',
        kind,
        base_url: server.url,
        clone_base_url: 'file:///',
        token_file: 'forge-token',
        timeout_s: 5,
      };
      const forges = [kind === 'github' ? { ...settings, throttle: false } : settings];
      writeFileSync(join(world.home, 'config/forges.json'), JSON.stringify({ forges }));
      const { state } = server;
      served = state.addRepository({
        ...ref,
        bare: world.remote.dir,
        collaborators: ['mira', state.account],
      });
    });

    afterEach(async () => {
      await world.close();
      await server.close();
      expect(server.state.violations).to.deep.equal([]);
    });

    async function approved(): Promise<Run> {
      const body = `Please:\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
      const { number } = server.state.addIssue(served, { title: 'Greeting is wrong', body, author: 'mira' });
      return world.approve(await world.agent.planIssue({ ...ref, number, by: everybody }, quiet));
    }

    const execute = ({ run_id }: Run) =>
      world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        quiet,
      );

    /** The repository moves to another name and address; where it was is a copy of it, with the same branches. */
    function rename(): ServedRepository {
      const { dir } = world.remote;
      const moved = `${dir.replace(/\.git$/, '')}-greetings.git`;
      renameSync(dir, moved);
      cpSync(moved, dir, { recursive: true });
      Object.assign(served, { repo: 'greetings', clone_url: moved, bare: moved });
      served.former_names.push('demo/hello');
      const { state } = server;
      return state.addRepository({ ...ref, bare: dir, collaborators: ['mira', state.account] });
    }

    const branches = (dir: string) => gitIn(dir, ['for-each-ref', '--format=%(refname) %(objectname)']);
    const writes = () => server.state.requests.filter((request) => !request.startsWith('GET '));
    const flat = (text: string) => text.replaceAll(/\s+/g, ' ');

    it('is shown, synced and cleaned up under that name, and the one that took its name is left alone', async () => {
      const run = await execute(await approved());
      expect(run.status).to.equal('completed');
      const taker = rename();
      const before = branches(taker.bare);
      expect(before).to.contain('refs/heads/core/');
      // A pull request as ours, of the same number and branch.
      taker.pulls.push({ ...served.pulls[0]! });

      const shown = await world.command(['show', run.run_id]);
      expect(flat(shown.stdout)).to.contain('demo/hello is called demo/greetings now');
      const [report] = (await world.agent.sync({ repository: null, by: everybody }, quiet)).pull_requests;
      expect(report).to.include({ owner: 'demo', repo: 'greetings', state: 'open', problem: null });

      const undone = await world.agent.undo({ run_id: run.run_id, by: everybody }, quiet);
      expect(undone.status).to.equal('undone');
      expect(undone.undo?.complete).to.equal(true);
      expect(undone.renamed).to.deep.equal({ owner: 'demo', repo: 'greetings' });
      expect(served.pulls[0]!.state).to.equal('closed');
      expect(branches(served.bare)).not.to.contain('refs/heads/core/');
      expect(branches(taker.bare)).to.equal(before);
      expect(taker.pulls[0]!.state).to.equal('open');
      expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    });

    it('needs a new plan, and nothing is written to it or to the one that took its name', async () => {
      const plan = await approved();
      const taker = rename();
      const before = [branches(taker.bare), branches(served.bare)];
      const run = await execute(plan);
      expect(run.status).not.to.equal('completed');
      const push = actionOfKind(run, 'push_branch')!;
      expect(push.outcome?.code).to.equal('repository_moved');
      expect(push.outcome?.message).to.contain('demo/hello is called demo/greetings now');
      expect([branches(taker.bare), branches(served.bare)]).to.deep.equal(before);
      expect(writes()).to.deep.equal([]);
      expect(taker.pulls).to.deep.equal([]);
    });

    it('and was deleted then is refused by name, and the one that took its name is left alone', async () => {
      const [first, second] = [await execute(await approved()), await approved()];
      const taker = rename();
      server.state.repositories.splice(server.state.repositories.indexOf(served), 1);
      const sent = writes().length;
      const before = branches(taker.bare);

      const [report] = (await world.agent.sync({ repository: null, by: everybody }, quiet)).pull_requests;
      expect(report?.problem).to.include({ code: 'repository_not_found', gone: true });
      expect(report?.problem?.message).to.contain('which was demo/hello');
      const refused = await world.agent.undo({ run_id: first.run_id, by: everybody }, quiet).catch(String);
      expect(JSON.stringify(refused)).to.contain('which was demo/hello');
      const run = await execute(second);
      expect(actionOfKind(run, 'push_branch')?.outcome?.code).to.equal('repository_not_found');
      expect(branches(taker.bare)).to.equal(before);
      expect(writes()).to.have.length(sent);
    });
  });
}
