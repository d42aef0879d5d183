import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { type CoderCall, coder } from '../fixtures/model-upstream/coder.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

const packages = environment.CORE_TEST_AGENTS ?? '';
const file = '/workspace/src/greet.js';
const [before, after] = ["'Hello ' + name", "'Hello ' + (name || 'stranger')"];
const message = 'Greet strangers when no name is given\n\nAn empty name is no name.';

interface RealAgent {
  readonly preset: 'claude' | 'codex' | 'opencode' | 'gemini';
  readonly command: readonly string[];
  /** The upstream that it gets, of its own dialect or of chat completions alone. */
  readonly upstream: { readonly kind: string; readonly responses?: boolean };
  readonly path: RegExp;
  readonly calls: readonly CoderCall[];
  /** A new file. */
  readonly makes?: string;
}

const claude = {
  preset: 'claude',
  command: [join(packages, '.bin/claude-agent-acp')],
  calls: [
    { name: 'Read', input: { file_path: file } },
    { name: 'Edit', input: { file_path: file, old_string: before, new_string: after } },
  ],
} as const;
const codex = {
  preset: 'codex',
  command: [join(packages, '.bin/codex-acp')],
  calls: [
    {
      name: 'exec_command',
      input: { cmd: `sed -i "s/+ name/+ (name || 'stranger')/" src/greet.js && cat src/greet.js` },
    },
  ],
} as const;
const chat = { kind: 'openai' };

const agents: Readonly<Record<string, RealAgent>> = {
  OpenCode: {
    preset: 'opencode',
    // The program of opencode-ai is put in place by an install script, which .ci/run does not run.
    command: [
      join(packages, `opencode-linux-${process.arch === 'x64' ? 'x64-baseline' : process.arch}/bin/opencode`),
      'acp',
      '--pure',
    ],
    upstream: chat,
    path: /chat\/completions/,
    calls: [
      { name: 'read', input: { filePath: file } },
      { name: 'edit', input: { filePath: file, oldString: before, newString: after } },
    ],
  },
  'Claude Code': { ...claude, upstream: { kind: 'anthropic' }, path: /\/messages/ },
  Codex: { ...codex, upstream: { kind: 'openai', responses: true }, path: /\/responses/ },
  'Gemini CLI': {
    preset: 'gemini',
    command: [join(packages, '.bin/gemini'), '--experimental-acp'],
    upstream: { kind: 'google' },
    path: /:streamGenerateContent/,
    calls: [
      {
        name: 'replace',
        input: {
          file_path: file,
          instruction: 'Greet who gives no name as a stranger.',
          old_string: before,
          new_string: after,
        },
      },
      { name: 'write_file', input: { file_path: '/workspace/docs/strangers.md', content: 'Strangers.\n' } },
    ],
    makes: 'docs/strangers.md',
  },
  'Claude Code over chat completions': { ...claude, upstream: chat, path: /chat\/completions/ },
  'Codex over chat completions': { ...codex, upstream: chat, path: /chat\/completions/ },
};

describeWith(['agents', 'bubblewrap'], 'real coding agents', function () {
  this.timeout(300_000);
  let world: World;
  let upstream: ModelUpstream;
  let gateway: GatewayProcess | undefined;
  let context: RunningContext | undefined;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git' });
    upstream = await startModelUpstream();
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
    await context?.close();
    context = undefined;
    await upstream.close();
    await world.close();
  });

  async function configure({ preset, command, upstream: kind, calls }: RealAgent): Promise<void> {
    upstream.always(coder({ calls, message }));
    const base_url = kind.kind === 'google' ? `${upstream.url}beta` : upstream.url;
    const price = { input: 1, output: 2, cached: 0.1 };
    const entry = { ...kind, base_url, model: 'scripted-1', credential: 'key', price };
    await configureGateway(world.home, { models: { coder: { upstreams: [entry] } } }, { key: 'sk-upstream' });
    gateway = await startGatewayProcess(world.home);
    const settings = { agents: { [preset]: { preset, command } } };
    writeFileSync(join(world.home, 'config/agents.json'), JSON.stringify(settings));
  }

  for (const [title, agent] of Object.entries(agents)) {
    it(`${title} goes from an issue to a pull request`, async () => {
      await configure(agent);
      const number = await world.newIssue('Strangers are greeted wrongly.');
      const request = { ...ref, number, planner: agent.preset, by: everybody };
      const run = await world.agent.planIssue(request, quiet);
      expect(run.plan).to.include({ title: 'Greet strangers when no name is given' });
      const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
      expect(patch).to.contain(after);
      if (agent.makes !== undefined) expect(patch).to.contain(`+++ b/${agent.makes}`);
      const asked = upstream.requests.map(({ path }) => path);
      expect(asked.filter((path) => !agent.path.test(path))).to.deep.equal([]);
      expect(run.agent!.turns).to.be.at.least(agent.calls.length + 1);

      await world.approve(run);
      const execution = { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false };
      const done = await world.agent.execute({ ...execution, by: everybody }, quiet);
      expect(done.status).to.equal('completed');
      const pull = done.actions.find(({ definition }) => definition.kind === 'open_pull_request');
      expect(pull).to.include({ state: 'succeeded' });
      expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
    });
  }

  for (const [title, tool] of [
    ['Claude Code', 'mcp__core-context__memory_lookup'],
    ['OpenCode', 'core-context_memory_lookup'],
  ] as const) {
    it(`${title} asks its context, and what it read is an influence of the plan`, async () => {
      context = await startContext(world.home);
      const { url } = context;
      writeFileSync(join(world.home, 'config/core.json'), JSON.stringify({ context: { url }, vcs: 'git' }));
      const memory = {
        layer: 'semantic',
        content: 'The lighthouse blinks at night',
        source: 'mcp:helper',
      } as const;
      await (await world.agent.context()).remember(memory, new AbortController().signal);
      const agent = agents[title]!;
      const lookup = { name: tool, input: { query: 'lighthouse' } };
      await configure({ ...agent, calls: [lookup, ...agent.calls] });
      const number = await world.newIssue('Strangers are greeted wrongly.');
      const run = await world.agent.planIssue(
        { ...ref, number, planner: agent.preset, by: everybody },
        quiet,
      );
      const answers = upstream.requests.filter(({ json }) =>
        JSON.stringify(json).includes('blinks at night'),
      );
      expect(answers, 'requests with what the tool answered').not.to.deep.equal([]);
      const read = run.actions[0]!.definition.influences.filter(({ source }) =>
        source.includes('lighthouse'),
      );
      expect(read.map(({ kind, trusted }) => [kind, trusted])).to.deep.equal([['memory', false]]);
      expect((await world.command(['actions', run.run_id, '1'])).stdout).to.contain(
        'The lighthouse blinks at night',
      );
    });
  }
});
