import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { execa } from 'execa';
import { closeClients, type Frame, rawPeer } from '../contract/bus-scene.ts';
import { type EngineProcess, engineProgram, startEngine } from '../fixtures/bus/engine-process.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

describe('core-bus-engine, killed and started again', () => {
  const running: EngineProcess[] = [];

  async function start(home: string, env: Readonly<Record<string, string>> = {}): Promise<EngineProcess> {
    const engine = await startEngine(home, 0, env);
    running.push(engine);
    return engine;
  }

  afterEach(async () => {
    await closeClients();
    for (const { child, ended } of running.splice(0)) {
      child.kill('SIGKILL');
      await ended;
    }
  });

  async function worker(engine: EngineProcess) {
    const peer = await rawPeer(engine);
    peer.send({ type: 'registerfunction', id: 'crash.tick' });
    await peer.settled();
    return peer;
  }

  it('keeps cron bindings, and makes the tick again that it may not have made', async () => {
    const home = temporaryFolder();
    const first = await start(home, { CORE_CRASH_AT: 'cron-fired' });
    const registrar = await worker(first);
    const { result } = await registrar.call('engine::register_trigger', {
      trigger_type: 'cron',
      function_id: 'crash.tick',
      config: { expression: '* * * * * *' },
      metadata: { from: 'test' },
    });
    expect(await first.ended).to.equal('SIGKILL');
    const db = new DatabaseSync(join(home, 'state/bus/triggers.sqlite'), { readOnly: true });
    const { id, due } = db.prepare('SELECT id, due FROM binding').get() as { id: string; due: number };
    db.close();
    expect(id).to.equal(result.id);

    const second = await start(home);
    const ticked = await worker(second);
    const tick = await ticked.next({ type: 'invokefunction' });
    expect(tick.metadata).to.deep.equal({ from: 'test' });
    expect(tick.data).to.deep.include({
      trigger: 'cron',
      job_id: id,
      scheduled_time: new Date(due).toISOString(),
    });
    const next = await ticked.next({ type: 'invokefunction' });
    expect(next.data.scheduled_time > tick.data.actual_time.slice(0, 19)).to.equal(true);
    const { registered_triggers } = (await ticked.call('engine::registered-triggers::list', {})).result;
    expect(registered_triggers.map((trigger: Frame) => trigger.id)).to.deep.equal([id]);
    expect((await ticked.call('engine::unregister_trigger', { id })).result).to.deep.equal({ removed: true });

    second.child.kill('SIGKILL');
    await second.ended;
    const third = await start(home);
    const after = await (await worker(third)).call('engine::registered-triggers::list', {});
    expect(after.result.registered_triggers).to.deep.equal([]);
  });

  it('keeps its state folder for itself, says goodbye at SIGTERM, and leaves the folder to the next', async () => {
    const home = temporaryFolder();
    const first = await start(home);
    const refused = await refusedIn(home);
    expect(refused.exitCode).to.equal(3);
    expect(refused.stderr).to.include(`is held by process ${first.child.pid}`).and.include('[bus_held]');

    const peer = await worker(first);
    expect((await first.health()).checks.functions!.detail).to.equal('1 registered');
    first.child.kill('SIGTERM');
    expect(await peer.closed).to.equal(1001);
    expect(await first.ended).to.equal(0);
    const second = await start(home);
    expect((await second.health()).status).to.equal('ok');
  });

  async function refusedIn(home: string): Promise<{ readonly stderr: string; readonly exitCode?: number }> {
    const args = ['serve', '--home', home, '--port', '0', '--http-port', '0'];
    const { stderr, exitCode } = await execa(engineProgram, args, { reject: false });
    return { stderr, ...(exitCode === undefined ? {} : { exitCode }) };
  }
});
