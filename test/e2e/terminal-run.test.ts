import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { childEnvironment } from '#kit/environment.ts';
import { makeRepository } from '../fixtures/repositories/repository.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { core } from '../fixtures/world/core-command.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import {
  everybody,
  greetPatch,
  helloFiles,
  makeWorld,
  quiet,
  ref,
  type World,
} from '../fixtures/world/world.ts';
import { itWith } from '../needs.ts';

const endless =
  'i=0; while :; do i=$((i+1)); printf "line %s \\033[31mred\\a\\n" $i; sleep 0.1; done; grep -q x src/greet.js';
const validation = JSON.stringify({ validation: { commands: [{ name: 'check', run: endless }] } });

describe('A run in the terminal interface', () => {
  let world: World;
  let daemon: TestDaemon | undefined;
  let terminal: TmuxTerminal | undefined;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    const source = makeRepository(
      { ...helloFiles, '.core.json': validation },
      join(temporaryFolder(), 'slow'),
    );
    const { clone_url } = await world.forgeAdmin.init({ owner: 'demo', repo: 'slow', from: source.dir });
    source.git('remote', 'add', 'core', clone_url);
    const settings = { context: { url: null }, vcs: 'git', agentd: { checkouts: { slow: source.dir } } };
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify(settings));
    daemon = await startDaemon(world, ['read', 'plan', 'approve', 'execute']);
  });
  afterEach(() => {
    terminal?.close();
    terminal = undefined;
  });
  after(async () => {
    await daemon?.close();
    await world?.close();
  });

  itWith(['tmux'], 'shows what a validation writes while it runs, as text, and is cancelled', async () => {
    const body = `Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const issue = { owner: 'demo', repo: 'slow', title: 'Never ends', body, author: 'mira' };
    const { number } = await world.forgeAdmin.newIssue({ ...issue, association: 'member' });
    const request = { owner: 'demo', repo: 'slow', number, by: everybody };
    const run = await world.agent.planIssue(request, quiet);
    await world.approve(run, ['create_branch', 'apply_patch', 'run_validation']);
    terminal = new TmuxTerminal({
      args: ['tui', '--home', world.home, run.run_id],
      env: { CORE_AGENTD_URL: daemon!.url },
    });
    await terminal.shows('Never ends', 'live');
    terminal.keys('x');
    await terminal.shows('Execute, exactly as approved', /▌ slow/);
    terminal.keys('Enter');
    await terminal.shows('What it says', 'line 3 \\x1b[31mred\\x07', /3 run_validation +low +\d+ +running/);
    terminal.keys('c');
    await terminal.shows('Cancel the run', 'y cancels the run');
    terminal.keys('y');
    await terminal.shows('demo/slow#1  cancelled', 'run was cancelled');
    terminal.keys('A');
    await terminal.shows('The run is cancelled; plan the issue again');
  });

  it('is approved, executed and undone line by line, for screen readers', async () => {
    const body = `Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const number = await world.newIssue(body, 'Line \u001b[31mby line');
    const { run_id } = await world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const answers = ['g build', 'approve', 'x', world.checkout.dir, 'u', 'y', 'q'];
    const plain = spawn(core, ['tui', '--plain', '--home', world.home, run_id], {
      env: childEnvironment({ CORE_AGENTD_URL: daemon!.url, LC_ALL: 'C.UTF-8' }),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    let said = '';
    plain.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    plain.stderr.resume();
    plain.stdin.end(`${answers.join('\n')}\n`);
    const [code] = await once(plain, 'close');
    expect(code, said).to.equal(0);
    expect(said)
      .to.contain('Line \\x1b[31mby line')
      .and.not.to.match(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
    expect(said).to.contain("+  return 'Hello ' + (name || 'stranger');");
    expect(said).to.contain('Approved the gate build').and.to.contain('4 commit succeeded');
    expect(said).to.contain('The run is undone.');
    expect((await world.agent.run(run_id)).status).to.equal('undone');
    expect(world.checkout.git('branch', '--list', 'core/*')).to.equal('');
  });
});
