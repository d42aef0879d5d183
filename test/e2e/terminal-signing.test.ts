import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ownToken } from '#kit/tokens/tokens.ts';
import { allowSigners, newSigner, type Signer } from '../fixtures/signing/signer.ts';
import { seen, TmuxTerminal } from '../fixtures/terminal/tmux.ts';
import { startDaemon, type TestDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { everybody, greetPatch, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';

const passphrase = 'a long phrase';

describeWith(['tmux', 'git', 'ssh'], 'Signing in the terminal interface', () => {
  let world: World;
  let daemon: TestDaemon | undefined;
  let terminal: TmuxTerminal | undefined;
  let signer: Signer;
  let runId: string;
  let own: string;

  before(async () => {
    world = await makeWorld({ vcs: 'git' });
    allowUnsandboxed(world);
    signer = newSigner(passphrase);
    own = ownToken(resolveFolders({ home: world.home }, environment)).name;
    allowSigners(join(world.home, 'config/allowed_signers'), [{ principal: own, signer }]);
    const settings = { context: { url: null }, vcs: 'git', signing: { key: signer.key } };
    writeFileSync(join(world.home, 'config/core.json'), JSON.stringify(settings));
    const policy = { approval: { require_signature: true } };
    writeFileSync(join(world.home, 'config/policy.json'), JSON.stringify(policy));
    daemon = await startDaemon(world);
    const body = `Greet.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const number = await world.newIssue(body, 'To be signed');
    runId = (await world.agent.planIssue({ ...ref, number, by: everybody }, quiet)).run_id;
  });
  afterEach(() => {
    terminal?.close();
    terminal = undefined;
  });
  after(async () => {
    await daemon?.close();
    await world?.close();
  });

  async function atQuestion(): Promise<TmuxTerminal> {
    terminal = new TmuxTerminal({
      args: ['tui', runId, '--home', world.home],
      env: { CORE_AGENTD_URL: daemon!.url },
      columns: 80,
      rows: 24,
    });
    await terminal.shows('1 create_branch', 'live');
    terminal.keys('Enter');
    await terminal.shows(seen);
    terminal.keys('a');
    await terminal.shows('Sign the approval of 1 create_branch?', 'y signs and approves');
    return terminal;
  }
  const first = async () => (await world.agent.run(runId)).actions[0]!;

  it('asks for the passphrase on the terminal; ctrl-c there ends the signing alone', async () => {
    const screen = await atQuestion();
    screen.keys('Enter');
    await screen.shows('Nothing is signed yet');
    screen.keys('y');
    await screen.shows('Enter passphrase');
    screen.keys('C-c');
    await screen.shows('did not sign', 'a approve');
    screen.keys('a');
    await screen.shows('y signs and approves');
    screen.keys('n');
    await screen.shows('a approve');
    expect((await first()).approval).to.equal('required');
  });

  it('approves what was on the screen, signed, once the passphrase was typed', async () => {
    const screen = await atQuestion();
    screen.keys('y');
    await screen.shows('Enter passphrase');
    screen.resize(60, 20);
    screen.type(passphrase);
    screen.keys('Enter');
    const shown = await screen.shows('Approved 1 create_branch', 'signed');
    expect(shown).not.to.contain(passphrase);
    expect((await first()).decision).to.deep.include({
      approver: own,
      digest: (await first()).definition.digest,
    });
    expect((await first()).decision!.signature).to.include({ principal: own });
  });
});
