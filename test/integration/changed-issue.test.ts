import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedIssue, ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { startGitHubServer } from '../fixtures/forges/github-server.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';

/** What happens to an issue between the approval of its plan and publishing, and what is noted of it. */
const changes: readonly (readonly [
  what: string,
  change: (issue: ServedIssue) => void,
  noted: RegExp | null,
])[] = [
  [
    'is closed',
    (issue) => Object.assign(issue, { state: 'closed' }),
    /^demo\/hello#1 was closed after planning$/,
  ],
  [
    'is locked',
    (issue) => Object.assign(issue, { locked: true }),
    /^demo\/hello#1 was locked after planning$/,
  ],
  [
    'is closed and locked',
    (issue) => Object.assign(issue, { state: 'closed', locked: true }),
    /^demo\/hello#1 was closed and locked after planning$/,
  ],
  ['stays as it is', () => {}, null],
  ['gets other words', (issue) => Object.assign(issue, { title: 'Greeting is rude' }), null],
];

for (const [kind, start] of [
  ['github', startGitHubServer],
  ['gitea', startGiteaServer],
] as const) {
  describe(`an issue on ${kind} that, between approval and publishing,`, () => {
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

    async function executed({ run_id }: Run): Promise<{ run: Run; beforePush: string[] }> {
      const beforePush: string[] = [];
      let pushed = false;
      const run = await world.agent.execute(
        { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
        {
          ...quiet,
          progress: ({ step, message }) => {
            pushed ||= step === 'push_branch';
            if (step === 'issue' && !pushed) beforePush.push(message);
          },
        },
      );
      return { run, beforePush };
    }

    const seen = async ({ run_id }: Run) =>
      (await world.agent.events(run_id, 0)).filter(({ type }) => type === 'issue_seen');

    for (const [what, change, noted] of changes) {
      it(`${what} is ${noted === null ? 'not noted' : 'noted before anything is published, and in the pull request'}`, async () => {
        const plan = await approved();
        change(served.issues[0]!);
        const { run, beforePush } = await executed(plan);
        expect(served.pulls).to.have.length(1);
        const { body } = served.pulls[0]!;
        if (noted === null) {
          expect(beforePush).to.deep.equal([]);
          expect(run.issue_changed).to.equal(null);
          expect(await seen(run)).to.deep.equal([]);
          expect(body)
            .to.match(/it was planned: none\n\nRun `run_/)
            .and.to.not.contain('What became');
          return;
        }
        expect(run.issue_changed).to.match(noted);
        expect(beforePush).to.deep.equal([run.issue_changed]);
        expect(await seen(run)).to.have.length(1);
        expect(body).to.contain(`\n\nChanges of the issue: \`${run.issue_changed}\`\n\nRun \``);
        const shown = await world.command(['show', run.run_id]);
        expect(shown.stdout.replaceAll(/\s+/g, ' ')).to.contain(run.issue_changed);
        expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
      });
    }

    it('cannot be read is said to be unknown, and what was approved goes on', async () => {
      const plan = await approved();
      server.faults.push({
        method: 'GET',
        path: /\/issues\/1$/,
        times: 3,
        answer: { status: 500, body: {} },
      });
      const { run, beforePush } = await executed(plan);
      expect(beforePush.join()).to.contain('whether the issue was closed is not known');
      expect(run.status).to.equal('completed');
    });

    if (kind === 'github') {
      it('is moved to another repository is noted as gone', async () => {
        const plan = await approved();
        const other = server.state.addRepository({ owner: 'demo', repo: 'other', bare: world.remote.dir });
        const moved = server.state.addIssue(other, { title: 'Moved', body: '', author: 'mira' });
        served.issues[0]!.moved_to = { owner: 'demo', repo: 'other', number: moved.number };
        const { run, beforePush } = await executed(plan);
        expect(beforePush.join()).to.match(/demo\/hello#1 is gone: .*was moved to .*demo\/other/);
        expect(run.issue_changed).to.equal(beforePush[0]);
      });
    }
  });
}
