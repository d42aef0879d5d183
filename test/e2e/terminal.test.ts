import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { seen, TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { until } from '../fixtures/until.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['tmux'], 'The terminal interface', () => {
  let world: World;
  let daemon: TestDaemon | undefined;
  let terminal: TmuxTerminal | undefined;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    daemon = await startDaemon(world);
  });
  afterEach(() => {
    terminal?.close();
    terminal = undefined;
  });
  after(async () => {
    await daemon?.close();
    await world?.close();
  });

  function open(
    options: {
      env?: Record<string, string>;
      args?: readonly string[];
      columns?: number;
      background?: string;
    } = {},
  ): TmuxTerminal {
    const env = { CORE_AGENTD_URL: daemon?.url ?? '', ...options.env };
    terminal = new TmuxTerminal({
      ...options,
      args: ['tui', '--home', world.home, ...(options.args ?? [])],
      env,
    });
    return terminal;
  }

  async function plan(title: string, extra = ''): Promise<string> {
    const number = await world.newIssue(
      `It should greet strangers.${extra}\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`,
      title,
    );
    return (await world.agent.planIssue({ ...ref, number, by: everybody }, quiet)).run_id;
  }

  it('asks for the background, and takes colours for a light one; --theme decides without asking', async () => {
    await plan('Light and dark');
    for (const [background, args, ground] of [
      ['#ffffff', [], '48;5;253'],
      ['#000000', [], '48;5;238'],
      ['#ffffff', ['--theme', 'dark'], '48;5;238'],
    ] as const) {
      const screen = open({ background, args });
      await screen.shows('Light and dark', 'live');
      await until(
        () => `${ground} on the screen:\n${screen.screen('-e')}`,
        () => Promise.resolve(screen.screen('-e').includes(ground)),
      );
      screen.close();
    }
    terminal = undefined;
  });

  it('fits 60 and 80 columns, in ASCII too', async () => {
    const runId = await plan('A title with quite some words in it, more than a narrow terminal shows');
    for (const columns of [60, 80]) {
      const screen = open({ columns, args: [runId, '--ascii'] });
      await screen.shows('create_branch', 'live');
      screen.keys('Tab');
      await screen.shows('apply_patch  ');
      screen.keys('Enter');
      await screen.shows('apply_patch');
      expect(screen.screen()).to.match(/^[\n\x20-\x7e]*$/);
      screen.close();
    }
    terminal = undefined;
  });

  it('opens what is shown in the editor at its line, and comes back', async () => {
    const runId = await plan('In an editor');
    const editor = join(world.home, 'editor');
    writeFileSync(editor, '#!/bin/sh\necho "at $1 of"; cat "$2"; read -r line\n', { mode: 0o755 });
    const screen = open({ args: [runId], env: { EDITOR: editor, VISUAL: '' } });
    await screen.shows('1 create_branch', 'live');
    screen.keys('Tab');
    await screen.shows('2 apply_patch  risk', '@@ ');
    screen.keys('e');
    await screen.shows(/^at \+\d+ of/m, /^diff --git a\//m);
    screen.keys('Enter');
    await screen.shows('2 apply_patch  risk', 'live');
    screen.keys('y');
    await screen.shows(/Copied (docs|src)\/\S+:1/);
  });

  it('leads from the list to an executed run and to an undo, by keys alone', async () => {
    const title = 'By keys alone';
    const runId = await plan(title);
    const screen = open();
    await screen.shows(title, 'awaiting approval', 'live');
    screen.keys('Enter');
    await screen.shows('1 create_branch', 'What would happen', seen);
    screen.keys('A');
    await screen.shows('Approve the gate build', '3 have not been on your screen yet');
    screen.keys('Enter');
    await screen.shows('2 apply_patch  risk critical', 'The gate build');
    await screen.readsOn();
    expect(screen.screen()).to.contain('(name || ');
    screen.keys('Enter');
    await screen.shows('grep -q stranger', '3 run_validation', seen);
    screen.keys('Enter');
    await screen.shows('message, as it will stand', seen);
    screen.keys('Enter');
    await screen.shows('All of it was on your screen');
    expect((await world.agent.run(runId)).actions.every(({ approval }) => approval === 'required')).to.equal(
      true,
    );
    screen.keys('Enter');
    await screen.shows("type 'approve' for the gate build");
    screen.type('approve');
    screen.keys('Enter');
    await screen.shows('Approved 4 actions');
    screen.keys('x');
    await screen.shows('another folder, by its path');
    screen.keys('Enter');
    await screen.shows('folder of your checkout:');
    screen.type(world.checkout.dir);
    screen.keys('Enter');
    const executed = await screen.shows('Executed; the run is', /4 commit +low +\d+ +. done/);
    expect(world.checkout.git('branch', '--list', 'core/*'), executed).not.to.equal('');
    screen.keys('u');
    await screen.shows('Take back what the run did?', 'y takes it back');
    screen.keys('y');
    await screen.shows('Everything was taken back');
    expect((await world.agent.run(runId)).status).to.equal('undone');
    expect(world.checkout.git('branch', '--list', 'core/*')).to.equal('');
    screen.keys('q', 'q');
    await screen.shows('ended with 0');
  });

  it('is live: shows new runs, and who decided first', async () => {
    const screen = open();
    await screen.shows('live');
    const runId = await plan('Somebody was first');
    await screen.shows('Somebody was first');
    screen.keys('g', 'Enter');
    await screen.shows('1 create_branch', 'What would happen');
    const colleague = { ...everybody, name: 'colleague' };
    await world.approve(await world.agent.run(runId), ['create_branch'], colleague);
    await screen.shows(/1 create_branch +low +\d+ +approved/);
    screen.keys('a');
    await screen.shows('1 create_branch is approved already, by colleague');
  });

  it('says how to start the daemon where none answers', async () => {
    const url = 'http://127.0.0.1:1';
    const screen = open({ env: { CORE_AGENTD_URL: url } });
    await screen.shows(`core-agentd does not answer at ${url}`, 'Start it in another terminal');
    screen.keys('q');
    await screen.shows('ended with 0');
  });

  it('shows what a terminal would obey, and works on a very small one', async () => {
    await plan('Evil \u001b[31mtitle\u0007', '\u001b]0;owned\u0007');
    const screen = open({ env: { NO_COLOR: '1', LC_ALL: 'C' } });
    await screen.shows('Evil \\x1b[31mtitle\\x07', 'live');
    expect(screen.screen('-e')).not.to.contain('\x1b[31m');
    screen.resize(20, 5);
    await screen.shows(/^[> ]\S*llo#\d+/m);
    screen.resize(80, 24);
    screen.keys('?');
    await screen.shows('The list of runs', 'plan an issue');
    for (const line of screen.screen().split('\n')) expect(line).to.match(/^[\x20-\x7e]*$/);
  });
});
