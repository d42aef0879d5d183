import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { functionIds } from '#kit/contracts/bus/function.ts';
import { type EngineProcess, startEngine } from '../fixtures/bus/engine-process.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { until } from '../fixtures/until.ts';
import { type Ended, ended, started } from '../fixtures/world/core-command.ts';
import { freePort } from '../support/free-port.ts';

const program = fileURLToPath(new URL('../../bin/core-bus-worker', import.meta.url));

describe('core-bus-worker', () => {
  let home: string;
  let engine: EngineProcess;
  let worker: ReturnType<typeof started>;
  let nowhere: Readonly<Record<string, string>>;

  const command = (...args: string[]): Promise<Ended> => ended(program, [...args, '--home', home], nowhere);

  before(async () => {
    home = temporaryFolder();
    nowhere = { CORE_AGENTD_PORT: String(await freePort()) };
    engine = await startEngine(home);
    worker = started(program, ['serve', '--home', home], nowhere);
    await until('the worker', async () => (await command('functions')).code === 0);
  });

  after(async () => {
    await engine?.kill();
    worker?.child.kill('SIGKILL');
    await worker?.ended;
  });

  it('offers the six functions with their schemas to who asks with a token', async () => {
    const { code, stdout } = await command('functions', '--json');
    const { functions } = JSON.parse(stdout) as {
      functions: { function_id: string; registered: boolean; worker: string; request: object }[];
    };
    expect(code).to.equal(0);
    expect(functions.map(({ function_id }) => function_id)).to.deep.equal(Object.values(functionIds));
    for (const row of functions) {
      expect(row).to.include({ registered: true, worker: 'core-bus-worker' });
      expect(row.request).to.have.property('type', 'object');
    }
  });

  it('answers calls, and says as a value what it cannot do', async () => {
    const { code, stdout } = await command('call', functionIds.health);
    expect(code).to.equal(1);
    const { ok, error } = JSON.parse(stdout);
    expect(ok).to.equal(false);
    expect(error).to.include({ code: 'http_unavailable', status: 503, retryable: true });
  });

  it('names what is wrong with a command line', async () => {
    expect(await command('call', functionIds.health, '{')).to.include({ code: 2 });
    const timeout = await command('call', functionIds.health, '{}', '--timeout', 'long');
    expect(timeout.code).to.equal(2);
    expect(timeout.stderr).to.contain("--timeout is 'long': must be a number of seconds above 0");
    const unknown = await command('call', 'core.agent.nothing', '{}');
    expect(unknown.code).to.equal(5);
    expect(unknown.stderr).to.contain('function_not_found');
  });

  it('ends in order at SIGTERM, and its functions with it', async () => {
    worker.child.kill('SIGTERM');
    expect(await worker.ended).to.include({ code: 0 });
    const { code, stdout } = await command('functions');
    expect(code).to.equal(5);
    expect(stdout).to.match(/^missing {2}core\.agent\.health/);
  });

  it('says how to start the bus where there is none', async () => {
    await engine.kill();
    const { code, stderr } = await ended(program, ['functions', '--home', home], {
      CORE_BUS_PORT: String(await freePort()),
    });
    expect(code).to.equal(5);
    expect(stderr).to.contain('bus_unavailable').and.to.contain('./core up');
  });
});
