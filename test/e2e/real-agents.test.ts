import { execFileSync } from 'node:child_process';
import { lstatSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { type CoderCall, coder } from '../fixtures/model-upstream/coder.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import type { FileContent } from '../fixtures/repositories/repository.ts';
import { everybody, makeWorld, quiet, ref, type World } from '../fixtures/world/world.ts';
import { describeWith } from '../needs.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

const packages = environment.CORE_TEST_AGENTS ?? '';
/** One edit, as each agent's tools say it. */
interface Edit {
  readonly file: string;
  readonly before: string;
  readonly after: string;
  /** The same for sed. */
  readonly sed: string;
}

const greeting: Edit = {
  file: 'src/greet.js',
  before: "'Hello ' + name",
  after: "'Hello ' + (name || 'stranger')",
  sed: "s/+ name/+ (name || 'stranger')/",
};
/** In this very repository. */
const comment: Edit = {
  file: 'services/kit/shell-word.ts',
  before: 'a POSIX shell; quoted only',
  after: 'a POSIX shell, quoted only',
  sed: 's/shell; quoted/shell, quoted/',
};
const message = 'Greet strangers when no name is given\n\nAn empty name is no name.';

interface RealAgent {
  readonly preset: 'claude' | 'codex' | 'opencode' | 'gemini';
  readonly command: readonly string[];
  /** The upstream that it gets, of its own dialect or of chat completions alone. */
  readonly upstream: { readonly kind: string; readonly responses?: boolean };
  readonly path: RegExp;
  readonly calls: (edit: Edit) => readonly CoderCall[];
  /** A new file. */
  readonly makes?: string;
}

const claude = {
  preset: 'claude',
  command: [join(packages, '.bin/claude-agent-acp')],
  calls: ({ file, before, after }: Edit) => [
    { name: 'Read', input: { file_path: `/workspace/${file}` } },
    { name: 'Edit', input: { file_path: `/workspace/${file}`, old_string: before, new_string: after } },
  ],
} as const;
const codex = {
  preset: 'codex',
  command: [join(packages, '.bin/codex-acp')],
  calls: ({ file, sed }: Edit) => [
    { name: 'exec_command', input: { cmd: `sed -i "${sed}" ${file} && cat ${file}` } },
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
    calls: ({ file, before, after }) => [
      { name: 'read', input: { filePath: `/workspace/${file}` } },
      { name: 'edit', input: { filePath: `/workspace/${file}`, oldString: before, newString: after } },
    ],
  },
  'Claude Code': { ...claude, upstream: { kind: 'anthropic' }, path: /\/messages/ },
  Codex: { ...codex, upstream: { kind: 'openai', responses: true }, path: /\/responses/ },
  'Gemini CLI': {
    preset: 'gemini',
    command: [join(packages, '.bin/gemini'), '--experimental-acp'],
    upstream: { kind: 'google' },
    path: /:streamGenerateContent/,
    calls: ({ file, before, after }) => [
      {
        name: 'replace',
        input: {
          file_path: `/workspace/${file}`,
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

  async function configure(
    { preset, command, upstream: kind }: RealAgent,
    calls: readonly CoderCall[],
  ): Promise<void> {
    upstream.always(coder({ calls, message }));
    const base_url = kind.kind === 'google' ? `${upstream.url}beta` : upstream.url;
    const price = { input: 1, output: 2, cached: 0.1 };
    const entry = { ...kind, base_url, model: 'scripted-1', credential: 'key', price };
    await configureGateway(world.home, { models: { coder: { upstreams: [entry] } } }, { key: 'sk-upstream' });
    gateway = await startGatewayProcess(world.home);
    const settings = { agents: { [preset]: { preset, command } } };
    writeFileSync(join(world.home, 'config/agents.json'), JSON.stringify(settings));
  }

  async function goes(agent: RealAgent, edit: Edit): Promise<void> {
    const calls = agent.calls(edit);
    await configure(agent, calls);
    const number = await world.newIssue('Strangers are greeted wrongly.');
    const request = { ...ref, number, planner: agent.preset, by: everybody };
    const run = await world.agent.planIssue(request, quiet);
    expect(run.plan).to.include({ title: 'Greet strangers when no name is given' });
    const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
    expect(patch).to.contain(edit.after);
    const makes = agent.makes === undefined ? [] : [agent.makes];
    const changed = [...patch.matchAll(/^\+\+\+ b\/(.*)$/gm)].map(([, path]) => path);
    expect(changed).to.have.members([edit.file, ...makes]);
    const asked = upstream.requests.map(({ path }) => path);
    expect(asked.filter((path) => !agent.path.test(path))).to.deep.equal([]);
    expect(run.agent!.turns).to.be.at.least(calls.length + 1);

    await world.approve(run);
    const execution = { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false };
    const done = await world.agent.execute({ ...execution, by: everybody }, quiet);
    expect(done.status).to.equal('completed');
    const pull = done.actions.find(({ definition }) => definition.kind === 'open_pull_request');
    expect(pull).to.include({ state: 'succeeded' });
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  }

  for (const [title, agent] of Object.entries(agents)) {
    it(`${title} goes from an issue to a pull request`, () => goes(agent, greeting));
  }

  for (const title of ['OpenCode', 'Claude Code', 'Codex', 'Gemini CLI']) {
    it(`${title} does so in a real source tree, the one of Core`, async () => {
      await world.close();
      world = await makeWorld({ vcs: 'git', files: ownFiles() });
      await goes(agents[title]!, comment);
    });
  }

  it('Codex comes to an end with a sandbox of its own inside of ours, and touches nothing', async () => {
    const agent = agents.Codex!;
    const calls = agent.calls(greeting);
    await configure(agent, calls);
    const { preset, command } = agent;
    const settings = { agents: { [preset]: { preset, command, mode: 'agent' } } };
    writeFileSync(join(world.home, 'config/agents.json'), JSON.stringify(settings));
    const number = await world.newIssue('Strangers are greeted wrongly.');
    const request = { ...ref, number, planner: preset, by: everybody };
    const run = await world.agent.planIssue(request, quiet);
    expect(run.actions.map(({ definition }) => definition.kind)).to.deep.equal(['comment_issue']);
    const told = upstream.requests.map(({ json }) => JSON.stringify(json)).join('');
    expect(told).to.contain('bwrap: No permissions to create new namespace');
    expect(world.checkout.git('status', '--porcelain')).to.equal('');
  });

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
      await configure(agent, [lookup, ...agent.calls(greeting)]);
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

/** This repository as it is here, with a small check for a validation. */
function ownFiles(): Readonly<Record<string, FileContent>> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  const listed = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' });
  const paths = listed.split('\0').filter((path) => path !== '' && lstatSync(join(root, path)).isFile());
  expect(paths.length).to.be.above(1_000);
  const run = `grep -q '${comment.after}' ${comment.file}`;
  return {
    ...Object.fromEntries(paths.map((path) => [path, readFileSync(join(root, path))])),
    '.core.json': JSON.stringify({ validation: { commands: [{ name: 'check', run }] } }),
  };
}
