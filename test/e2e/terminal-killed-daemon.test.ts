import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { DaemonLine } from '../fixtures/terminal/daemon-line.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { started } from '../fixtures/world/core-command.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';
import { saidUntil } from './said-until.ts';

const agentd = fileURLToPath(new URL('../../bin/core-agentd', import.meta.url));

describeWith(['tmux'], 'The terminal interface and a daemon that is killed', () => {
  let world: World;
  let line: DaemonLine;
  let daemon: ReturnType<typeof started>;
  let terminal: TmuxTerminal | undefined;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    const settings = {
      context: { url: null },
      vcs: 'git',
      agentd: { checkouts: { hello: world.checkout.dir } },
    };
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify(settings));
  });
  after(async () => {
    terminal?.close();
    await line?.cut();
    daemon?.child.kill('SIGTERM');
    await daemon?.ended;
    await world?.close();
  });

  /** core-agentd as a process, behind one address for good. */
  async function serve(env: Readonly<Record<string, string>> = {}): Promise<string> {
    daemon = started(agentd, ['serve', '--port', '0', '--home', world.home], env);
    const [, url] = await saidUntil(daemon.child, /(http:\/\/127\.0\.0\.1:\d+)/);
    return url!;
  }

  it('says so in the midst of an execution, and resumes it when a daemon is back', async () => {
    line = await new DaemonLine(await serve({ CORE_CRASH_AT: 'execute.intent.run_validation' })).open();
    const number = await world.newIssue(`Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`, 'Cut off');
    const run = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    await world.approve(run, ['create_branch', 'apply_patch', 'run_validation', 'commit']);
    const screen = new TmuxTerminal({
      args: ['tui', '--home', world.home, run.run_id],
      env: { CORE_AGENTD_URL: line.url },
    });
    terminal = screen;
    await screen.shows('Cut off', 'live');
    screen.keys('x');
    await screen.shows('Execute, exactly as approved', /▌ hello/);
    screen.keys('Enter');
    expect((await daemon.ended).signal).to.equal('SIGKILL');
    await screen.shows('core-agentd does not answer', 'no daemon, trying again');

    await line.cut();
    await line.open(await serve());
    await screen.shows(
      'live',
      'interrupted',
      'The execution was cut off during 3 run_validation: who executed is gone. R resumes it',
      'R resume',
    );
    screen.keys('R');
    await screen.shows('Executed; the run is', /4 commit +low +\d+ +. done/);
    const branches = world.checkout.git('branch', '--list', 'core/*');
    expect(branches.split('\n')).to.have.length(1);
    expect((await world.agent.run(run.run_id)).actions.slice(0, 4).map(({ state }) => state)).to.deep.equal(
      Array(4).fill('succeeded'),
    );
  });
});
