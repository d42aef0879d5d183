import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { textWidth } from '#kit/cli/text-width.ts';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import { leafCommands, programs } from '../../site/generate/commands/programs.ts';
import { movedIssue } from '../fixtures/bridge/moved-issue.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { type CommandHost, useCommandHost } from '../fixtures/world/command-host.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

const owner = 'acme-industries';
const repo = 'greeting-service-of-the-platform';
const ref = ['--owner', owner, '--repo', repo];
const longTitle = 'A second issue whose title says in a great many words what is wrong with it';

/** What shows something, with the arguments of the populated place. A file is replaced by where it is. */
const shown: Readonly<Record<string, readonly string[]>> = {
  './core runs': [],
  './core inbox': [],
  './core show': ['1'],
  './core actions': ['1', '1'],
  './core verify': ['1'],
  './core mirror': ['1'],
  './core signatures': ['1'],
  './core config show': [],
  './core forges': [],
  './core sync': [],
  './core doctor': [],
  './core token list': [],
  './core session list': [],
  './core undo': ['1', '--dry-run'],
  './core prune': ['--older-than', '0d', '--dry-run'],
  './core forget-prompts': ['1'],
  './core recover': ['1'],
  './core plan': [`${owner}/${repo}#2`],
  './core plan-issue': [...ref, '--number', '2'],
  './core approve': ['1'],
  './core reject': ['1'],
  './core agent list': [],
  './core notify test': [],
  './core agent check': ['reviewer-with-a-long-name'],
  './core forge issue list': ref,
  './core forge pr list': ref,
  './core forge pr show': [...ref, '--number', '3', '--no-patch'],
  './core context check': [],
  './core context repositories': [],
  './core context refresh': [],
  './core context search': ['greet', 'strangers'],
  './core context cypher': [
    'MATCH (r:ReasoningRun) RETURN r.run_id AS run, r.id AS id, r.summary AS summary',
  ],
  './core context lookup': ['greeting'],
  './core model list': [],
  './core model check': [],
  './core model usage': [],
  './core bridge events': [],
  './core bridge map': [],
  './core bridge schedules': [],
  './core bridge sync': [],
  './core bus functions': [],
  './core bus workers': [],
  './core worker functions': [],
};

/** What changes something, serves, or hands over a file or JSON as it is. */
const others = [
  ...['up', 'serve', 'context serve', 'model serve', 'bridge serve', 'bus serve', 'worker serve'],
  ...['quickstart', 'run', 'tui', 'status', 'install', 'completion', 'mcp', 'secrets init', 'diff', 'review'],
  ...['token create', 'token rotate', 'token revoke', 'session revoke', 'backup', 'backup verify', 'restore'],
  'storage migrate',
  ...['execute-approved', 'resume', 'cancel', 'attest'],
  ...['forge init', 'forge issue new', 'forge comment', 'forge pr merge'],
  ...['context remember', 'context outcome', 'context forget', 'context export', 'context import'],
  ...['model add', 'model remove', 'agent add'],
  ...['bridge show', 'bridge process-next', 'bridge retry', 'worker call'],
].map((name) => `./core ${name}`);

/** Without a selection they decide nothing, and explain on standard error what can be selected. */
const explained = ['approve', 'reject'];

/** A path or an address in a command stays whole on a line of its own, so that it can be copied. */
const aloneWord = /^ {4}\S+(?: \\)?$/;

const variants = [
  ['show', '1', '--recovery'],
  ['actions', '1'],
  ['runs', '--limit', '1'],
  ['runs', '--text', 'nothing has this text'],
  ['context', 'cypher', 'MATCH (n:CoreEntity) RETURN n, n.id AS id LIMIT 3'],
];

/** What goes to standard error, or is help. */
const asides = [
  ['help'],
  ['approve', '--help'],
  ['completion', '--help'],
  ['model', 'add', '--help'],
  ['show', 'run_00000000-0000'],
  ['plan', 'nobody-at-all-with-a-long-name/a-repository-that-no-forge-has#3'],
  ['frobnicate', '--with-an-option-that-is-long', '--and-another-one'],
  ['context', 'search', 'greet', '--limit', 'as many as there are in all of the repositories that it knows'],
  ['model', 'usage', '--since', 'some day in the past that nobody remembers any more, or nearly so'],
  ['token', 'revoke', 'a-token-with-a-long-name-that-nobody-ever-made-on-this-machine'],
];

describe('The commands whose output is looked at', () => {
  it('are all there are', async () => {
    const all = await Promise.all(programs.map(async ({ call, load }) => leafCommands(await load(), call)));
    const calls = all.flat().map(({ call }) => call);
    expect([...Object.keys(shown), ...others]).to.have.members(calls);
  });
});

describeWith(['time'], 'What the commands print', () => {
  let place: Place;
  let upstream: ModelUpstream;
  let stack: Stack;
  const inUtf8 = useCommandHost({ COLUMNS: '80', LC_ALL: 'C.UTF-8' });
  const inC = useCommandHost({ COLUMNS: '80', LC_ALL: 'C' });
  const inPipe = useCommandHost({ LC_ALL: 'C.UTF-8' });

  before(async () => {
    place = makePlace();
    upstream = await startModelUpstream();
    const config = join(place.home, 'config');
    const write = (name: string, value: object) =>
      writeFileSync(join(config, `${name}.json`), JSON.stringify(value));
    write('validation', { allow_unsandboxed: true });
    const agent = { command: ['/bin/cat'], dialect: 'google' };
    write('agents', { planner: { default: 'patch' }, agents: { 'reviewer-with-a-long-name': agent } });
    write('forges', { forges: [{ name: 'local', kind: 'local' }] });
    write('models', modelsOf(upstream));
    write('schedules', {
      schedules: [
        { name: 'morning-bugs', cron: '30 6 * * 1-5', zone: 'Europe/Berlin', owner, repo, label: 'bug' },
      ],
    });
    const checkout = join(place.folder, 'checkout');
    mkdirSync(checkout);
    await makeDemoRepository(checkout);
    await done('forge', 'init', ...ref, '--from', checkout, '--connect');
    for (const title of [issueTitle, longTitle])
      await done('forge', 'issue', 'new', ...ref, '--title', title, '--body', issueBody, '--author', 'mira');
    stack = startStack(place.home);
    await stack.ready();
    await done('context', 'refresh', checkout, '--name', `${owner}/${repo}`);
    await done('plan-issue', ...ref, '--number', '1');
    await done('approve', 'last', '--all');
    await done('execute-approved', 'last', '--repo-dir', checkout);
    await postEvent(stack, place);
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    await upstream?.close();
    place?.remove();
  });

  async function done(...args: readonly string[]): Promise<void> {
    const { exitCode, stdout, stderr } = await place.core(...args);
    expect(exitCode, `${args.join(' ')}\n${stdout}\n${stderr}`).to.equal(0);
  }

  const said = (host: CommandHost, args: readonly string[]) => host.run([...args, '--home', place.home]);

  const lineUp = Object.entries(shown).map(([call, args]) => [...call.split(' ').slice(1), ...args]);

  it('fits 80 columns, and no table breaks', async () => {
    for (const args of [...lineUp, ...variants]) {
      const { stdout, stderr } = await said(inUtf8, args);
      const text = explained.includes(args[0]!) ? stderr : stdout;
      const wide = text.split('\n').filter((line) => textWidth(line) > 80 && !aloneWord.test(line));
      expect(wide, args.join(' ')).to.deep.equal([]);
      expect(text.trim(), args.join(' ')).to.not.equal('');
      expect(text, args.join(' ')).to.not.contain('[internal]').and.to.not.contain('not foreseen');
    }
  });

  it('wraps help and errors too, on whichever stream they come', async () => {
    for (const args of asides) {
      const { stdout, stderr } = await said(inUtf8, args);
      const text = stdout + stderr;
      expect(text.trim(), args.join(' ')).to.not.equal('');
      const wide = text.split('\n').filter((line) => textWidth(line) > 80);
      expect(wide, args.join(' ')).to.deep.equal([]);
    }
  });

  it('is ASCII alone with --ascii and in the C locale', async () => {
    for (const [index, args] of [...lineUp, ...variants].entries()) {
      const { stdout, stderr } =
        index % 2 === 0 ? await said(inUtf8, [...args, '--ascii']) : await said(inC, args);
      expect(stdout + stderr, args.join(' ')).to.match(/^[\n\x20-\x7e]*$/);
    }
  });

  it('is whole in a pipe', async () => {
    const { stdout } = await said(inPipe, ['runs']);
    expect(stdout).to.contain(`${owner}/${repo}#1`).and.to.contain(issueTitle);
  });
});

function modelsOf({ url }: ModelUpstream): object {
  const price = { input: 3, output: 15, cached: 0.3 };
  const one = { kind: 'openai', base_url: url, model: 'a-model-with-quite-a-long-name', price };
  return { models: { 'coder-for-everything': { tier: 'large', upstreams: [one] } } };
}

async function postEvent(stack: Stack, { home }: Place): Promise<void> {
  const tokens = join(home, 'config/tokens');
  const own = readdirSync(tokens).find((name) => /^(?!bridge|worker|agentd).*\.token$/.test(name))!;
  const { status } = await fetch(`${stack.url('core-bridge')}/v1/ingress/dashboard-issue`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(join(tokens, own), 'utf8').trim()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(movedIssue({ name: 'local', owner, repo })),
  });
  expect(status).to.equal(202);
}
