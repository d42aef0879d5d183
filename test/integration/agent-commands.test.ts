import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { AgentSettings } from '../../services/agentd/planning/agent-settings.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from '../e2e/model-key-gateway.ts';
import type { Step } from '../fixtures/agents/scripted-agent.ts';
import { scriptedAgent } from '../fixtures/agents/scripted-settings.ts';
import { coder } from '../fixtures/model-upstream/coder.ts';
import { startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { type ModelServer, startModelServer } from '../fixtures/models/model-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { type CommandHost, type CommandReply, useCommandHost } from '../fixtures/world/command-host.ts';
import { core, ended } from '../fixtures/world/core-command.ts';
import { describeWith } from '../needs.ts';

interface Place {
  readonly home: string;
  /** Where the commands are typed. */
  readonly folder: string;
  /** Of agents.json. */
  readonly file: string;
  run(...args: readonly string[]): Promise<CommandReply>;
  /** Is killed at a crash point. */
  killedAt(point: string, ...args: readonly string[]): ReturnType<typeof ended>;
}

/** PATH has no agents, and the person's home no logins. */
const person = temporaryFolder();
const variables = { PATH: '/usr/bin:/bin', HOME: person, COLUMNS: '80' };

/** A home and a project folder. */
function makePlace(host: CommandHost): Place {
  const root = temporaryFolder();
  const [home, folder] = [join(root, 'home'), join(root, 'project')];
  for (const path of [join(home, 'config'), folder]) mkdirSync(path, { recursive: true });
  writeFileSync(join(home, 'config/core.json'), JSON.stringify({ context: { url: null } }));
  return {
    home,
    folder,
    file: join(home, 'config/agents.json'),
    run: (...args) => host.run([...args, '--home', home], folder),
    killedAt: (point, ...args) =>
      ended(core, [...args, '--home', home], { ...variables, CORE_CRASH_AT: point }, folder),
  };
}

/** A package of npm in a folder, with its link in `.bin`. */
function install(folder: string, name: string, program: string, version: string): string {
  const packages = join(folder, 'node_modules');
  mkdirSync(join(packages, '.bin'), { recursive: true });
  mkdirSync(join(packages, name, 'dist'), { recursive: true });
  writeFileSync(join(packages, name, 'package.json'), JSON.stringify({ name, version }));
  const file = join(packages, name, 'dist/index.js');
  // It must not run: a folder may hold anybody's packages.
  writeFileSync(
    file,
    `#!/usr/bin/env node\nrequire('fs').writeFileSync(${JSON.stringify(join(folder, 'ran'))}, '');\n`,
  );
  chmodSync(file, 0o755);
  symlinkSync(`../${name}/dist/index.js`, join(packages, '.bin', program));
  return join(packages, '.bin', program);
}

const claude = '@agentclientprotocol/claude-agent-acp';

describe('the commands about coding agents', function () {
  this.timeout(120_000);
  const host = useCommandHost(variables);
  let place: Place;
  beforeEach(() => {
    place = makePlace(host);
  });

  const written = () => JSON.parse(readFileSync(place.file, 'utf8'));

  it('find agents in the packages of the folder and of those above, and start none of them', async () => {
    const program = install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    const below = join(place.folder, 'src/deep');
    mkdirSync(below, { recursive: true });
    const { stdout } = await host.run(['agent', 'list', '--json', '--home', place.home], below);
    const { presets } = JSON.parse(stdout);
    const [found] = presets;
    expect(found.installed).to.deep.equal({ preset: 'claude', program, version: '9.8.7', where: 'folder' });
    expect(existsSync(join(place.folder, 'ran'))).to.equal(false);
    const { stdout: shown } = await place.run('agent', 'list');
    expect(shown).to.match(
      /no agent is configured[\s\S]*installed, not configured[\s\S]*claude +9\.8\.7 +messages +none/,
    );
    expect(shown).to.match(/not installed[\s\S]*codex[\s\S]*npm install -g/);
  });

  it('take the binary for this platform where npm left a program that refuses to start', async () => {
    install(place.folder, 'opencode-ai', 'opencode', '1.2.3');
    const binary = join(
      place.folder,
      `node_modules/opencode-${process.platform}-${process.arch}/bin/opencode`,
    );
    mkdirSync(join(binary, '..'), { recursive: true });
    writeFileSync(binary, '#!/bin/sh\n');
    chmodSync(binary, 0o755);
    await place.run('agent', 'add', 'opencode', '--yes');
    const { stdout } = await place.run('agent', 'list', '--json');
    expect(JSON.parse(stdout).agents[0]).to.include({ name: 'opencode', program: binary });
  });

  it('show the entry, write it, and leave everything else in the file as it is', async () => {
    const program = install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    const before = {
      planner: { default: 'patch' },
      agents: { mine: { command: ['/bin/cat'], dialect: null } },
    };
    writeFileSync(place.file, JSON.stringify(before));
    const { code, stdout } = await place.run('agent', 'add', 'claude', '--model', 'coder', '--yes');
    expect(code).to.equal(0);
    expect(stdout).to.match(
      /to be written below "agents"[\s\S]*"preset": "claude"[\s\S]*claude is in .*agents\.json/,
    );
    const entry = { preset: 'claude', command: [program], model: 'coder' };
    expect(written()).to.deep.equal({ ...before, agents: { ...before.agents, claude: entry } });
    expect(readdirSync(join(place.home, 'config')).filter((name) => name.endsWith('.tmp'))).to.deep.equal([]);
  });

  it('write nothing where nobody can be asked, or the agent is there already', async () => {
    install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    const asked = await place.run('agent', 'add', 'claude');
    expect([asked.code, asked.stderr]).to.satisfy(
      ([code, said]: [number, string]) => code === 2 && said.includes('[no_terminal]'),
    );
    expect(existsSync(place.file)).to.equal(false);
    await place.run('agent', 'add', 'claude', '--yes');
    const bytes = readFileSync(place.file);
    const again = await place.run('agent', 'add', 'claude', '--model', 'other', '--yes');
    expect(again.stderr).to.contain('[agent_exists]').and.to.contain('--replace');
    expect(readFileSync(place.file).equals(bytes)).to.equal(true);
    await place.run('agent', 'add', 'claude', '--model', 'other', '--replace', '--yes');
    expect(written().agents.claude.model).to.equal('other');
  });

  it('say what a login of its own risks, and take hosts and files of the preset', async () => {
    install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    const { stdout } = await place.run('agent', 'add', 'claude', '--hosts', '--credentials', '--yes');
    expect(stdout.replaceAll(/\s+/g, ' '))
      .to.contain('can send the files of the repository there')
      .and.to.contain('gets a copy of ~/.claude/.credentials.json');
    expect(written().agents.claude).to.deep.include({
      dialect: null,
      network: { hosts: ['api.anthropic.com'] },
      credentials: ['~/.claude/.credentials.json'],
    });
    const { stdout: listed } = await place.run('agent', 'list', '--json');
    expect(JSON.parse(listed).agents[0]).to.deep.include({ works: false, model: null });
    expect(JSON.parse(listed).agents[0].obstacle.code).to.equal('agent_login_missing');
  });

  it('leave a broken file as it is, and name it', async () => {
    install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    for (const [content, code] of [
      ['{"agents": {', 'invalid_json'],
      ['{"agents": {"other": {"command": []}}}', 'config_invalid'],
      ['{"agents": 3}', 'config_invalid'],
    ] as const) {
      writeFileSync(place.file, content);
      const { stderr } = await place.run('agent', 'add', 'claude', '--yes');
      expect(stderr).to.contain(`[${code}]`).and.to.contain('agents.json');
      expect(readFileSync(place.file, 'utf8')).to.equal(content);
    }
  });

  it('leave the file as it was or as it shall be, wherever they are killed', async () => {
    install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    for (const point of ['config.checked', 'config.written'] as const) {
      const { code, signal } = await place.killedAt(point, 'agent', 'add', 'claude', '--yes');
      expect([code, signal], point).to.deep.equal([null, 'SIGKILL']);
      expect(existsSync(join(place.home, 'config/agents.json')), point).to.equal(point === 'config.written');
    }
    expect(written().agents).to.have.all.keys('claude');
  });

  it('go on where a killed command left its lock and half a file', async () => {
    install(place.folder, claude, 'claude-agent-acp', '9.8.7');
    const lock = fileURLToPath(new URL('../../services/kit/storage/lock.ts', import.meta.url));
    const file = join(place.home, 'config/.agents.lock');
    const half = join(place.home, 'config/.agents.json.half.tmp');
    const killed = `import { withFileLock } from ${JSON.stringify(lock)};
      import { writeFileSync } from 'node:fs';
      withFileLock(${JSON.stringify(file)}, () => {
        writeFileSync(${JSON.stringify(half)}, '{"agents": {');
        process.kill(process.pid, 'SIGKILL');
      });`;
    const kill = () =>
      execFileSync(process.execPath, ['--input-type=module', '-e', killed], { stdio: 'pipe' });
    expect(kill).to.throw().with.property('signal', 'SIGKILL');
    expect((await place.run('agent', 'add', 'claude', '--yes')).code).to.equal(0);
    expect(written().agents).to.have.all.keys('claude');
  });

  for (const [title, args, said] of [
    ['an unknown preset', ['x', '--preset', 'cursor'], /\[invalid_option\][\s\S]*/],
    ['neither preset nor command', ['x'], /\[option_missing\]/],
    ['a name of a planner', ['patch', '--command', 'cat'], /\[config_invalid\]/],
    ['a program that is not there', ['x', '--command', 'no-such-agent --yes'], /\[agent_not_installed\]/],
    ['an agent that is not installed', ['codex'], /\[agent_not_installed\][\s\S]*npm install -g/],
    ['a variable without a value', ['x', '--command', 'cat', '--env', 'NAME'], /\[invalid_option\]/],
    ['a host with a path', ['x', '--command', 'cat', '--hosts', 'a.example/x'], /\[invalid_option\]/],
    [
      'a file outside the home',
      ['x', '--command', 'cat', '--credentials', '/etc/passwd'],
      /\[invalid_option\]/,
    ],
    ['a login that Core does not know', ['x', '--command', 'cat', '--credentials'], /\[option_missing\]/],
  ] as const) {
    it(`refuse to add ${title}`, async () => {
      const { code, stderr } = await place.run('agent', 'add', ...args, '--yes');
      expect(stderr).to.match(said);
      expect(code).to.be.oneOf([2, 3]);
      expect(existsSync(place.file)).to.equal(false);
    });
  }

  it('add any command with its variables', async () => {
    const line = ['--command', 'cat {prompt_file} a\\ b', '--dialect', 'chat'];
    const env = ['--env', 'OPENAI_API_BASE={address}/v1', 'OPENAI_API_KEY={key}'];
    await place.run('agent', 'add', 'aider', ...line, ...env, '--yes');
    expect(written().agents.aider).to.deep.equal({
      command: ['/usr/bin/cat', '{prompt_file}', 'a b'],
      dialect: 'chat',
      environment: { OPENAI_API_BASE: '{address}/v1', OPENAI_API_KEY: '{key}' },
    });
  });

  it('agree with what the daemon says of its planners', async () => {
    const agents = { gone: { command: ['/no/such/program'] } };
    writeFileSync(place.file, JSON.stringify({ agents }));
    const services = await openServices({ home: place.home });
    const { planners, agents: said } = (await services.agent.capabilities()) as Record<string, object[]>;
    await services.close();
    const reason = 'agent gone: /no/such/program is not installed';
    expect(planners).to.deep.include({ name: 'agent', works: false, reason });
    expect(said).to.deep.equal([{ name: 'gone', model: null, works: false, reason }]);
  });

  it('refuse to check what is not configured', async () => {
    const none = await place.run('agent', 'check');
    expect([none.code, none.stderr.includes('[agent_not_configured]')]).to.deep.equal([3, true]);
    expect((await place.run('agent', 'check', 'claude')).stderr).to.contain('[agent_unknown]');
  });
});

describeWith(['bubblewrap'], 'the check of a coding agent', function () {
  this.timeout(180_000);
  const host = useCommandHost(variables);
  let place: Place;
  let upstream: ModelServer | undefined;
  let gateway: GatewayProcess | undefined;
  beforeEach(() => {
    place = makePlace(host);
  });
  afterEach(async () => {
    await gateway?.stop();
    await upstream?.close();
    gateway = undefined;
    upstream = undefined;
  });

  const answer: Step[] = [{ ask_model: 'Are you there?' }];

  function configure(steps: readonly Step[], change: Partial<AgentSettings> = {}): void {
    const agents = { scripted: scriptedAgent({ steps }, change) };
    writeFileSync(place.file, JSON.stringify({ agents }));
  }

  async function withModel({ running = true, kind = 'openai' } = {}): Promise<void> {
    upstream = await startModelServer(() => ({ text: 'ready' }));
    const price = { input: 1, output: 2, cached: 0.1 };
    const entry = { kind, base_url: upstream.url, model: 'scripted-1', credential: 'key', price };
    await configureGateway(place.home, { models: { coder: { upstreams: [entry] } } }, { key: 'sk-upstream' });
    if (running) gateway = await startGatewayProcess(place.home);
  }

  const checked = async () => checkIn(await place.run('agent', 'check', '--json'));

  function checkIn({
    code,
    stdout,
    stderr,
  }: Pick<CommandReply, 'stdout' | 'stderr'> & { code: number | null }) {
    const [check] = JSON.parse(stdout).checks;
    const steps: { step: string; ok: boolean; detail: string; seconds: number }[] = check.steps;
    return {
      code,
      stderr,
      check,
      passed: steps.filter(({ ok }) => ok).map(({ step }) => step),
      failed: steps.filter(({ ok }) => !ok),
    };
  }

  function leftovers(): string[] {
    return ['scratch', 'doors'].flatMap((name) => {
      const folder = join(place.home, 'state', name);
      return existsSync(folder) ? readdirSync(folder) : [];
    });
  }

  it('passes each step, through sandbox, door and gateway, and leaves nothing behind', async () => {
    await withModel();
    configure(answer);
    const { code, check, passed } = await checked();
    expect(check.obstacle).to.equal(null);
    expect(passed).to.deep.equal([
      ...[
        'installed',
        'sandbox',
        'model',
        'gateway',
        'room',
        'start',
        'session',
        'prompt',
        'answer',
        'usage',
      ],
    ]);
    expect(code).to.equal(0);
    const details = Object.fromEntries(
      check.steps.map(({ step, detail }: { step: string; detail: string }) => [step, detail]),
    );
    expect(details).to.include({ sandbox: 'bubblewrap', session: 'Scripted agent 1.2.3', answer: 'ready' });
    expect(details.usage).to.match(/^1 model call, 100 tokens in, 20 out, \$0\.0\d+$/);
    expect(upstream!.requests.map(({ headers }) => headers.authorization)).to.deep.equal([
      'Bearer sk-upstream',
    ]);
    expect(leftovers()).to.deep.equal([]);
    const { stdout } = await place.run('agent', 'check', 'scripted');
    expect(stdout).to.match(/^ {2}ok +installed[\s\S]*\n {2}ok +usage[\s\S]*\nscripted works\n$/);
  });

  it('checks a command, which has neither a session nor a protocol', async () => {
    writeFileSync(
      place.file,
      JSON.stringify({
        agents: { shell: { command: ['/bin/sh', '-c', 'cat >/dev/null; echo ready'], dialect: null } },
      }),
    );
    const { code, passed } = await checked();
    expect(passed).to.deep.equal(['installed', 'sandbox', 'model', 'room', 'prompt', 'answer']);
    expect(code).to.equal(0);
  });

  const failures: readonly [
    title: string,
    step: string,
    code: string,
    steps: readonly Step[],
    change: Partial<AgentSettings>,
    model?: Parameters<typeof withModel>[0],
  ][] = [
    [
      'a program that is not there',
      'installed',
      'agent_not_installed',
      [],
      { command: ['/no/such/program'] },
    ],
    ['no model at all', 'model', 'agent_model_missing', [], {}],
    ['no model of its dialect', 'model', 'agent_model_missing', [], { dialect: 'google' }, {}],
    [
      "a model that no agent but Google's can ask",
      'model',
      'agent_model_missing',
      [],
      {},
      { kind: 'google' },
    ],
    ['a model that it does not have', 'model', 'agent_model_missing', [], { model: 'other' }, {}],
    ['a gateway that does not run', 'gateway', 'model_unavailable', [], {}, { running: false }],
    ['a login that is not there', 'login', 'agent_login_missing', [], { credentials: ['~/.none/login'] }, {}],
    [
      'an agent that ends at its start',
      'start',
      'agent_failed',
      [],
      { command: ['/bin/sh', '-c', 'echo no key >&2; exit 7'] },
      {},
    ],
    ['a mode that it does not have', 'session', 'agent_mode_unknown', [], { mode: 'no-such-mode' }, {}],
    ['an agent that fails at the prompt', 'answer', 'agent_failed', [{ fail: 'out of order' }], {}, {}],
    [
      'an agent that answers without its model',
      'answer',
      'agent_failed',
      [{ say: 'API Error: 500' }],
      {},
      {},
    ],
    [
      'an agent that never answers',
      'answer',
      'agent_failed',
      [{ hang: 'until cancelled' }],
      { bounds: { money: undefined, seconds: 5, turns: undefined } },
      {},
    ],
  ];
  for (const [title, step, code, steps, change, model] of failures) {
    it(`names the step at ${title}`, async () => {
      if (model !== undefined) await withModel(model);
      configure(steps, change);
      const { failed, check, code: exitCode } = await checked();
      expect(failed.map((one) => one.step)).to.deep.equal([step]);
      expect(check.obstacle.code).to.equal(code);
      expect(check.obstacle.hint).not.to.contain('agent check');
      expect(exitCode).not.to.equal(0);
      expect(leftovers()).to.deep.equal([]);
      const { stdout } = await place.run('agent', 'check');
      expect(stdout).to.match(new RegExp(`failed +${step}`));
    });
  }

  it('names the sandbox where there is none', async () => {
    await withModel();
    configure(answer);
    const tools = temporaryFolder();
    const bwrap = join(tools, 'bwrap');
    writeFileSync(bwrap, '#!/bin/sh\necho "namespaces are forbidden here" >&2\nexit 1\n');
    chmodSync(bwrap, 0o755);
    const run = (...args: readonly string[]) =>
      ended(core, [...args, '--home', place.home], { ...variables, PATH: `${tools}:${variables.PATH}` });
    const { failed, check } = checkIn(await run('agent', 'check', '--json'));
    expect(failed.map(({ step }) => step)).to.deep.equal(['sandbox']);
    expect(check.obstacle.code).to.equal('sandbox_unavailable');
    const { stdout } = await run('agent', 'list', '--json');
    expect(JSON.parse(stdout).agents[0]).to.deep.include({ works: false, model: 'coder' });
  });
});

const realAgents = {
  claude: { kind: 'openai' },
  codex: { kind: 'openai' },
  opencode: { kind: 'openai' },
  gemini: { kind: 'google' },
} as const;

describeWith(['agents', 'bubblewrap'], 'the check of a real coding agent', function () {
  this.timeout(300_000);
  const host = useCommandHost(variables);
  for (const [name, upstreamOf] of Object.entries(realAgents)) {
    it(`passes with ${name}, as it was found and added`, async () => {
      const place = makePlace(host);
      const upstream = await startModelUpstream();
      upstream.always(coder({ calls: [], message: 'ready' }));
      const base_url = upstreamOf.kind === 'google' ? `${upstream.url}beta` : upstream.url;
      // Dear enough that what an answer could cost at most is a good part of the bound.
      const price = { input: 3, output: 15, cached: 0.3 };
      const entry = { ...upstreamOf, base_url, model: 'scripted-1', credential: 'key', price };
      await configureGateway(
        place.home,
        { models: { coder: { upstreams: [entry] } } },
        { key: 'sk-upstream' },
      );
      const gateway = await startGatewayProcess(place.home);
      try {
        symlinkSync(environment.CORE_TEST_AGENTS!, join(place.folder, 'node_modules'));
        expect((await place.run('agent', 'add', name, '--yes')).code).to.equal(0);
        const { stdout } = await place.run('agent', 'check', name, '--json');
        const [{ ok, obstacle, steps }] = JSON.parse(stdout).checks;
        expect(obstacle).to.equal(null);
        expect(ok).to.equal(true);
        expect(steps.map(({ step }: { step: string }) => step)).to.include.members([
          'session',
          'answer',
          'usage',
        ]);
      } finally {
        await gateway.stop();
        await upstream.close();
      }
    });
  }
});
