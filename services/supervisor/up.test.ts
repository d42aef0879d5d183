import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StackNote } from '#kit/contracts/stack-note.ts';
import { until } from '../../test/fixtures/until.ts';
import { itWith } from '../../test/needs.ts';
import { freePort } from '../../test/support/free-port.ts';

describe('core up', () => {
  let home: string;
  let started: Up[];
  let contextPort: number;
  let modelsPort: number;

  interface Up {
    readonly child: ChildProcess;
    readonly out: () => string;
    readonly exit: Promise<unknown[]>;
  }

  beforeEach(async () => {
    contextPort = await freePort();
    modelsPort = await freePort();
    home = mkdtempSync(join(tmpdir(), 'core-up-'));
    started = [];
  });
  afterEach(async () => {
    for (const { child, exit } of started) {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
      await exit;
    }
    await comes(() => daemons().length === 0);
    rmSync(home, { recursive: true, force: true });
  });

  function start(port: number, place = home): Up {
    const script = `import { up } from ${JSON.stringify(new URL('./up.ts', import.meta.url).href)};
      try { process.exitCode = await up({ home: ${JSON.stringify(place)}, port: ${port}, contextPort: ${contextPort}, modelsPort: ${modelsPort}, only: 'context,model-gateway,agentd' }); process.exit(); }
      catch (error) { console.error(error.message, error.hint); process.exit(1); }`;
    return launch(script);
  }

  function launch(script: string): Up {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script],
      { stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let out = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream!.on('data', (chunk) => {
        out += chunk;
      });
    }
    const up = { child, out: () => out, exit: once(child, 'close') };
    started.push(up);
    return up;
  }

  /** Processes of services with this home, by the environment that they were started with. */
  function daemons(name = ''): number[] {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((pid) => {
        try {
          const environment = readFileSync(`/proc/${pid}/environ`, 'utf8');
          const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
          return environment.includes(`CORE_STATE_DIR=${home}/`) && command.includes(`services/${name}`);
        } catch {
          return false;
        }
      })
      .map(Number);
  }

  /** Waits until it holds; says what was said when it never does. */
  async function comes(condition: () => boolean | Promise<boolean>): Promise<void> {
    await until(() => `${condition} in\n${started.map(({ out }) => out()).join('\n')}`, condition);
  }

  const addressOf = (folder: string) => join(home, 'state', folder, 'listening.json');

  const answers = (port: number) =>
    fetch(`http://127.0.0.1:${port}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );

  itWith(
    ['time'],
    'shows services on lines of the terminal, with whole words and Core as people call it',
    async () => {
      const { out } = launch(`process.env.COLUMNS = '50';
      const { up } = await import(${JSON.stringify(new URL('./up.ts', import.meta.url).href)});
      await up({ home: ${JSON.stringify(home)}, modelsPort: ${modelsPort}, only: 'model-gateway', stderr: new (await import('node:stream')).PassThrough().resume(), program: 'core', named: (text) => text.replaceAll('./core ', 'core ') });
      process.exit();`);
      await comes(() => out().includes('Ctrl-C'));
      expect(out().slice(0, out().indexOf('core-bus-engine'))).to.equal(
        `core-model-gateway  http://127.0.0.1:${modelsPort}
                    degraded: no model is
                    configured; core model add
                    configures one
`,
      );
    },
  );

  itWith(
    ['linux'],
    'shows where the services answer, starts one again when it dies, and leaves none behind',
    async () => {
      const port = await freePort();
      const up = start(port);
      await comes(() => up.out().includes(`core-agentd         http://127.0.0.1:${port}  ok`));
      expect(up.out()).to.contain(`core-context        http://127.0.0.1:${contextPort}  ok`);
      expect(up.out()).to.contain(
        `core-model-gateway  http://127.0.0.1:${modelsPort}  degraded: no model is configured; ./core model add configures one`,
      );

      for (const [folder, its] of [
        ['agentd', port],
        ['context', contextPort],
      ] as const)
        expect(JSON.parse(readFileSync(addressOf(folder), 'utf8'))).to.include({
          port: its,
          host: '127.0.0.1',
        });

      const note: StackNote = JSON.parse(readFileSync(join(home, 'state/supervisor/stack.json'), 'utf8'));
      expect(Object.keys(note.services)).to.have.members([
        'core-context',
        'core-model-gateway',
        'core-agentd',
      ]);
      expect(note.services['core-agentd']).to.include({ state: 'running', restarts: 0, last_end: null });
      expect(note.left).to.have.all.keys('core-bus-engine', 'core-bus-worker', 'core-bridge');

      const second = start(port);
      await second.exit;
      expect(second.child.exitCode).to.equal(1);
      expect(second.out()).to.match(
        new RegExp(`the stack in \\S+ is held by process ${up.child.pid} on \\S+ since 20`),
      );
      const elsewhere = start(port, join(home, 'elsewhere'));
      await elsewhere.exit;
      expect(elsewhere.child.exitCode).to.equal(1);
      expect(elsewhere.out()).to.match(/is used by core-context \d+\.\d+\.\d+ \(ok\)/);

      const [first] = daemons('agentd');
      process.kill(first!, 'SIGKILL');
      await comes(() => up.out().includes('core-agentd ended: SIGKILL; again in 0.5 s'));
      await comes(() => answers(port));
      expect(daemons('agentd')).not.to.include(first);
      expect(await answers(contextPort)).to.equal(true);
      const after: StackNote = JSON.parse(readFileSync(join(home, 'state/supervisor/stack.json'), 'utf8'));
      expect(after.services['core-agentd']).to.include({ restarts: 1, last_end: 'SIGKILL' });

      up.child.kill('SIGTERM');
      expect(await up.exit).to.deep.equal([0, null]);
      expect(daemons()).to.deep.equal([]);
      for (const folder of ['agentd', 'context'])
        expect(existsSync(addressOf(folder)), folder).to.equal(false);
      expect(existsSync(join(home, 'state/supervisor/stack.json'))).to.equal(false);
    },
  );

  itWith(['linux'], 'takes the daemon with it even when it is killed', async () => {
    const port = await freePort();
    const up = start(port);
    await comes(() => /core-agentd +http\S+ {2}ok/.test(up.out()));
    up.child.kill('SIGKILL');
    await up.exit;
    await comes(() => daemons().length === 0);
    expect(await answers(port)).to.equal(false);
    expect(await answers(contextPort)).to.equal(false);
    expect(await answers(modelsPort)).to.equal(false);
  });

  it('does not start core-context if planning uses another, and says so', async () => {
    mkdirSync(join(home, 'config'));
    writeFileSync(join(home, 'config/core.json'), '{"context":{"url":null}}');
    const port = await freePort();
    const script = `import { up } from ${JSON.stringify(new URL('./up.ts', import.meta.url).href)};
      process.exitCode = await up({ home: ${JSON.stringify(home)}, port: ${port}, modelsPort: ${modelsPort}, without: 'bus-engine,bus-worker,bridge' }); process.exit();`;
    const up = launch(script);
    await comes(() => up.out().includes('core-context is not started: context.url is null'));
    expect(daemons('context')).to.deep.equal([]);
    expect(await answers(port)).to.equal(true);
  });

  it('names the program that has its port', async () => {
    const server = createServer((socket) => socket.on('error', () => {}).end('not http')).listen(
      0,
      '127.0.0.1',
    );
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    try {
      const up = start(port);
      await up.exit;
      expect(up.child.exitCode).to.equal(1);
      const who = process.platform === 'linux' ? `(pid ${process.pid})` : 'a program that is not Core';
      expect(up.out()).to.contain(`port ${port} on 127.0.0.1`).and.to.contain(who).and.to.contain('--port');
    } finally {
      server.close();
    }
  });

  it('does not start again what its settings forbid', async () => {
    mkdirSync(join(home, 'config'));
    writeFileSync(join(home, 'config/core.json'), '{"agentd":{"host":"0.0.0.0"}}');
    const up = start(await freePort());
    const [code] = await up.exit;
    expect(up.out()).to.contain('tokens would travel in the clear').and.to.contain('not started again');
    expect(code).to.equal(3);
  });
});
