import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { DaemonLine } from '../fixtures/terminal/daemon-line.ts';
import { seen, TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['tmux'], 'The terminal interface and its daemon', () => {
  let world: World;
  let daemon: TestDaemon;
  let line: DaemonLine;
  let runId: string;
  const terminals: TmuxTerminal[] = [];

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    daemon = await startDaemon(world);
    line = await new DaemonLine(daemon.url).open();
    const number = await world.newIssue(`Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`, 'Greet strangers');
    runId = (await world.agent.planIssue({ ...ref, number, by: everybody }, quiet)).run_id;
  });
  afterEach(() => {
    for (const terminal of terminals.splice(0)) terminal.close();
  });
  after(async () => {
    await line?.cut();
    await daemon?.close();
    await world?.close();
  });

  function open(url: string, args: readonly string[] = [], home = world.home): TmuxTerminal {
    const terminal = new TmuxTerminal({
      args: ['tui', '--home', home, ...args],
      env: { CORE_AGENTD_URL: url },
    });
    terminals.push(terminal);
    return terminal;
  }

  it('says how to start one, connects when it comes, and again when it comes back', async () => {
    await line.cut();
    const screen = open(line.url);
    await screen.shows(`core-agentd does not answer at ${line.url}`, `up --home ${world.home}`, 'no daemon');
    await line.open();
    await screen.shows('Greet strangers', 'live');
    screen.keys('Enter');
    await screen.shows('1 create_branch', seen);
    await line.cut();
    await screen.shows('core-agentd does not answer', '1 create_branch');
    await world.approve(await world.agent.run(runId), ['comment_issue']);
    await daemon.close();
    await world.command(['token', 'revoke', 'tester']);
    daemon = await startDaemon(world);
    await line.open(daemon.url);
    // The approval lapsed with its token.
    await screen.shows('live', /7 comment_issue +low +\d+ +lapsed/);
    screen.keys('q', 'q');
    await screen.shows('ended with 0');
  });

  it('says whose token a daemon does not know', async () => {
    const home = join(temporaryFolder(), 'home');
    mkdirSync(home);
    const screen = open(line.url, [], home);
    await screen.shows('does not know the token of', 'token refused', '--home');
    screen.keys('q');
    await screen.shows('ended with 0');
  });

  it('shows the second of two people who was first', async () => {
    const [first, second] = [open(daemon.url, [runId]), open(line.url, [runId.slice(0, 17)])];
    for (const screen of [first, second]) await screen.shows('1 create_branch', seen, 'live');
    line.deafen();
    first.keys('a');
    await first.shows(/1 create_branch +low +\d+ +approved/, 'Approved 1 create_branch');
    second.keys('a');
    await second.shows('approving one action');
    line.hearAgain();
    await second.shows(
      'Somebody was first: 1 create_branch is approved',
      /1 create_branch +low +\d+ +approved/,
    );
    const { approval } = (await world.agent.run(runId)).actions[0]!;
    expect(approval).to.equal('approved');
  });

  it('puts the terminal back when it is ended by a signal, and obeys the wheel', async () => {
    const screen = open(daemon.url, [runId]);
    await screen.shows('1 create_branch', 'live');
    screen.resize(80, 14);
    screen.keys('g');
    for (let key = 0; key < 8; key++) screen.keys('Tab');
    await screen.shows(/[▌] *7 comment_issue/);
    screen.keys('Enter');
    await screen.shows('7 comment_issue  risk', /1 to \d+ of \d+/);
    screen.type('\x1b[<65;10;5M');
    await screen.shows(/4 to \d+ of \d+/);
    screen.type('\x1b[<64;10;5M');
    await screen.shows(/1 to \d+ of \d+/);
    screen.resize(20, 5);
    await screen.shows('7 comment_issue');
    screen.resize(250, 80);
    await screen.shows('7 comment_issue  risk', 'live');
    expect(screen.mode()).to.equal('1 1 0');
    screen.terminate();
    await screen.shows('ended with 143');
    expect(screen.mode()).to.equal('0 0 1');
  });
});
