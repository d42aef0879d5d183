import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { expect } from 'chai';
import type { ForgeServer } from '../fixtures/forges/forge-server.ts';
import type { ServedRepository } from '../fixtures/forges/forge-state.ts';
import { startGiteaServer } from '../fixtures/forges/gitea-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { seen, TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

describeWith(['tmux'], 'Publishing from the terminal interface', () => {
  let forge: ForgeServer;
  let served: ServedRepository;
  let world: World;
  let daemon: TestDaemon | undefined;
  let terminal: TmuxTerminal | undefined;

  before(async () => {
    forge = await startGiteaServer();
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    const config = join(world.home, 'config');
    mkdirSync(join(config, 'secrets'), { recursive: true });
    writeFileSync(join(config, 'secrets/forge-token'), `${forge.state.token}\n`, { mode: 0o600 });
    const settings = {
      name: 'remote',
      kind: 'gitea',
      base_url: forge.url,
      clone_base_url: 'file:///',
      token_file: 'forge-token',
    };
    writeFileSync(join(config, 'forges.json'), JSON.stringify({ forges: [settings] }));
    const checkouts = { hello: world.checkout.dir };
    const core = { context: { url: null }, vcs: 'git', agentd: { checkouts } };
    writeFileSync(join(config, 'core.json'), JSON.stringify(core));
    const collaborators = ['mira', forge.state.account];
    served = forge.state.addRepository({ ...ref, bare: world.remote.dir, collaborators });
    daemon = await startDaemon(world);
  });
  after(async () => {
    terminal?.close();
    await daemon?.close();
    await world?.close();
    await forge?.close();
  });

  /** A desktop that hands the address it is to open to whoever waits for it. */
  function desktop(): { readonly path: string; readonly opened: () => Promise<string> } {
    const folder = temporaryFolder();
    const pipe = join(folder, 'opened');
    execFileSync('mkfifo', [pipe]);
    const script = `#!/bin/sh\nprintf '%s\\n' "$1" > '${pipe}'\n`;
    for (const name of ['xdg-open', 'open']) writeFileSync(join(folder, name), script, { mode: 0o755 });
    return {
      path: [folder, process.env.PATH].join(delimiter),
      opened: () => readFile(pipe, 'utf8'),
    };
  }

  it('goes gate by gate to a pull request, shows its address, and opens it', async () => {
    const body = `Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const { number } = forge.state.addIssue(served, { title: 'Publish it', body, author: 'mira' });
    const { run_id } = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const { path, opened } = desktop();
    const screen = new TmuxTerminal({
      args: ['tui', '--home', world.home, run_id],
      env: { CORE_AGENTD_URL: daemon!.url, PATH: path },
      rows: 60,
    });
    terminal = screen;
    await screen.shows('Publish it', 'live', seen);
    await approveGate(screen, 'build', ['2 apply_patch  risk', '3 run_validation  risk', '4 commit  risk']);
    screen.keys('x');
    await screen.shows('Execute, exactly as approved', /▌ hello/);
    screen.keys('Enter');
    await screen.shows('A approves the next gate', /4 commit +low +\d+ +. done/);
    await approveGate(screen, 'publish', [
      '5 push_branch  risk',
      '6 open_pull_request  risk',
      '7 comment_issue  risk',
    ]);
    expect(served.pulls).to.have.length(0);
    screen.keys('x');
    await screen.shows('Execute, exactly as approved', '6 open_pull_request');
    screen.keys('Enter');
    const url = 'https://gitea.test/demo/hello/pulls/';
    await screen.shows('Executed; the run is completed', url, 'o opens it');
    expect(served.pulls).to.have.length(1);
    const address = `${url}${served.pulls[0]!.number}`;
    screen.keys('o');
    await screen.shows(`Opening ${address}`);
    expect(await opened()).to.equal(`${address}\n`);
  });

  /** Opens the gate's list, reads what was not on the screen yet, and approves all of it. */
  async function approveGate(screen: TmuxTerminal, gate: string, pages: readonly string[]): Promise<void> {
    screen.keys('A');
    await screen.shows(`Approve the gate ${gate}`);
    for (const page of pages) {
      screen.keys('Enter');
      await screen.shows(page, seen);
    }
    screen.keys('Enter');
    const listed = await screen.shows('All of it was on your screen');
    screen.keys('Enter');
    if (/critical/.test(listed)) {
      await screen.shows("type 'approve' for the gate");
      screen.type('approve');
      screen.keys('Enter');
    }
    await screen.shows(/Approved \d actions/);
  }
});
