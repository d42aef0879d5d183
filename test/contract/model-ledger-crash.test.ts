import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { Ledger } from '../../services/model-gateway/ledger/ledger.ts';
import { ledgerInFile } from '../fixtures/gateway/ledger-stores.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type OwnMounts, smallDisk } from '../fixtures/world/own-mounts.ts';
import { describeWith } from '../needs.ts';
import { readLedgerFile } from './model-ledger.benches.ts';
import { reservedForTestCall, testPrices } from './model-ledger.scene.ts';

const spender = fileURLToPath(new URL('./model-ledger.spender.ts', import.meta.url));
const rounds = 10;

describe('The ledger of model calls, when its process is killed', () => {
  it(`has every call that went to an upstream, and never less than was spent, ${rounds} times`, async () => {
    const state = temporaryFolder();
    const seen = { begun: 0, ended: 0, cost: 0 };
    for (let round = 1; round <= rounds; round++) {
      await spendUntilKilled(state, 40 + ((round * 97) % 400), seen);
      const ledger = await openLedger(state);
      const [row] = await ledger.usage({ by: 'model', from: null, to: null, run: null });
      await ledger.close();
      const { calls, total } = await readLedgerFile(state);
      expect(row!.calls, `calls of round ${round}`).to.be.at.least(seen.begun);
      expect(Math.round(row!.cost * 1_000_000), `cost of round ${round}`).to.be.at.least(seen.cost);
      expect(calls.filter((call) => call.state === 'under_way')).to.deep.equal([]);
      expect(total.calls).to.equal(calls.length);
      expect(total.cost).to.equal(calls.reduce((sum, call) => sum + call.cost, 0));
      const cutOff = calls.filter((call) => call.state === 'unsettled');
      expect(total.unsettled).to.equal(cutOff.length);
      expect(cutOff.every((call) => call.cost === reservedForTestCall)).to.equal(true);
    }
    expect((await readLedgerFile(state)).total.unsettled).to.be.greaterThan(rounds - 1);
    expect(seen.ended).to.be.greaterThan(rounds * 20);
  });

  it('counts a call at what was reserved when the end comes before the upstream is called', async () => {
    const state = temporaryFolder();
    const child = start(state, 'once', { CORE_CRASH_AT: 'ledger.reserved' });
    const [, signal] = await once(child, 'exit');
    expect(signal).to.equal('SIGKILL');
    const ledger = await openLedger(state);
    expect((await ledger.health()).detail).to.contain('1 cut off');
    const [row] = await ledger.usage({ by: 'run', from: null, to: null, run: null });
    expect(row).to.include({
      name: 'token:tester',
      calls: 1,
      unsettled: 1,
      estimated: 1,
      input_tokens: 1_000,
    });
    expect(row!.cost).to.equal(reservedForTestCall / 1_000_000);
    await ledger.close();
    expect(await openedAgain(state)).to.equal('0 calls under way');
  });

  it('belongs to one process, and is free when that one is killed', async () => {
    const state = temporaryFolder();
    const child = start(state, 'hold');
    await once(child.stdout!, 'data');
    let refusal: unknown;
    try {
      await openLedger(state);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).to.be.instanceOf(CoreError).with.property('code', 'ledger_held');
    expect((refusal as CoreError).message).to.contain(`process ${child.pid} on `);
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    expect(await openedAgain(state)).to.equal('0 calls under way');
  });
});

describeWith(['mounts'], 'The ledger of model calls on a full disk', () => {
  let disk: OwnMounts;
  let home: string;
  before(async () => {
    home = temporaryFolder();
    mkdirSync(join(home, 'state'));
    disk = await smallDisk(home, 8);
  });
  after(() => disk?.close());

  it('refuses calls, because none is made that is not on record, and goes on when there is room', async () => {
    const [program, ...args] = disk.enter as [string, ...string[]];
    const child = spawn(program, [...args, process.execPath, spender, join(home, 'state'), 'until-full'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines: string[] = [];
    let full = false;
    for await (const line of createInterface({ input: child.stdout })) {
      lines.push(line);
      if (lines.length === 40 && !full) {
        full = true;
        // What it writes meanwhile would take the room that is measured.
        child.kill('SIGSTOP');
        disk.fill(256 * 1024);
        child.kill('SIGCONT');
      }
      if (line.startsWith('refused')) disk.free();
    }
    expect(lines).to.include('refused disk_full failing');
    expect(lines.slice(-2)).to.deep.equal(['again', 'closed']);
    const copied = join(home, 'copied');
    cpSync(disk.state, copied, { recursive: true });
    const { calls, total } = await readLedgerFile(copied);
    const cost = (all: readonly string[]) =>
      all.flatMap((line) => (line.startsWith('ended ') ? [Number(line.slice(6))] : []));
    expect(total.calls).to.equal(cost(lines).length);
    expect(total.cost).to.equal(cost(lines).reduce((sum, one) => sum + one, 0));
    expect(calls).to.have.length(total.calls);
  });
});

function start(state: string, mode: string, env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, ['--disable-warning=ExperimentalWarning', spender, state, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
}

async function spendUntilKilled(
  state: string,
  enough: number,
  seen: { begun: number; ended: number; cost: number },
): Promise<void> {
  const child = start(state, 'spend');
  const ended = once(child, 'exit');
  let lines = 0;
  for await (const line of createInterface({ input: child.stdout! })) {
    if (line === 'begun') seen.begun++;
    if (line.startsWith('ended ')) {
      seen.ended++;
      seen.cost += Number(line.slice(6));
    }
    if (++lines === enough) child.kill('SIGKILL');
  }
  const [, signal] = await ended;
  expect(signal, 'the spender ended by itself').to.equal('SIGKILL');
}

async function openedAgain(state: string): Promise<string> {
  const ledger = await openLedger(state);
  const { detail } = await ledger.health();
  await ledger.close();
  return detail;
}

async function openLedger(state: string): Promise<Ledger> {
  return new Ledger(await ledgerInFile(state), { prices: testPrices, dayBudget: null });
}
