import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Run } from '../../services/agentd/runs/run.ts';
import { codeOf } from '../../services/kit/errors.ts';
import { fingerprintOf } from '../../services/kit/redaction/redactor.ts';
import { type RunningBridge, startBridge } from '../fixtures/bridge/bridge-service.ts';
import { failure } from '../fixtures/bridge/toy-planning.ts';
import { type RunningContext, startContext } from '../fixtures/context/context-service.ts';
import { type ModelServer, type Script, startModelServer } from '../fixtures/models/model-server.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { asSqliteClient, tamper } from '../fixtures/runs/tamper.ts';
import { core, started } from '../fixtures/world/core-command.ts';
import { startDaemon } from '../fixtures/world/daemon.ts';
import { allowUnsandboxed } from '../fixtures/world/place.ts';
import { storedIn } from '../fixtures/world/stored-texts.ts';
import {
  everybody,
  greetPatch,
  helloFiles,
  makeWorld,
  quiet,
  ref,
  type World,
} from '../fixtures/world/world.ts';

/** Put together at run time, so that no file of the project holds anything that looks like a secret. */
const random = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6';
const secretOf = (first: string) => ['ghp', first + random.slice(first.length)].join('_');
const secrets = {
  title: secretOf('Title1'),
  body: secretOf('Body1'),
  comment: secretOf('Comment1'),
  file: secretOf('File1'),
  reason: secretOf('Reason1'),
  cancel: secretOf('Cancel1'),
  label: secretOf('Label1'),
  option: secretOf('Option1'),
  output: secretOf('Output1'),
};
const mark = '[redacted github_token]';

const files = {
  ...helloFiles,
  'src/settings.js': `// greet strangers with this token\nexport const token = '${secrets.file}';\nexport const strangers = true;\n`,
  '.core.json': JSON.stringify({
    validation: {
      commands: [{ name: 'check', run: 'cat say.txt; sh say.sh; grep -q stranger src/greet.js' }],
    },
  }),
  'say.sh': `printf '%s' '${secrets.output.slice(0, 15)}'; sleep 0.2; echo '${secrets.output.slice(15)}'\n`,
  'say.txt': 'hello\n',
};

function requireNoSecret(text: string, where: string): void {
  for (const [name, secret] of Object.entries(secrets)) {
    const piece = secret.slice(4, 20);
    const at = text.toLowerCase().indexOf(piece.toLowerCase());
    expect(at, `${name} in ${where}: ${text.slice(Math.max(0, at - 200), at)}`).to.equal(-1);
  }
}

describe('Secrets in texts that Core gets', () => {
  let world: World;
  let context: RunningContext;

  beforeEach(async () => {
    world = await makeWorld({ vcs: 'git', files });
    allowUnsandboxed(world);
    context = await startContext(world.home);
    writeFileSync(
      join(world.home, 'config/core.json'),
      JSON.stringify({ context: { url: context.url }, vcs: 'git' }),
    );
  });
  afterEach(async () => {
    await world.close();
    await context.close();
  });

  /** An issue with a secret in every text of it. */
  async function tellingIssue(): Promise<number> {
    const body = `Greet strangers, my token is ${secrets.body}.\n\n\`\`\`diff\n${greetPatch}\`\`\`\n`;
    const number = await world.newIssue(body, `Greet strangers ${secrets.title}`);
    const said = { ...ref, number, author: 'otto', association: 'contributor' as const };
    await world.forgeAdmin.comment({ ...said, body: `It works with ${secrets.comment}` });
    return number;
  }

  const planned = async (): Promise<Run> =>
    world.agent.planIssue({ ...ref, number: await tellingIssue(), by: everybody }, quiet);

  it('are in nothing that is made of the issue: not in searches, the plan, the record, its views or the context', async () => {
    const run = await planned();
    expect(run.plan!.context, 'the context was asked').to.have.length.above(0);
    expect(run.actions, 'the patch of the issue is used all the same').to.have.length(7);
    requireNoSecret(JSON.stringify(run), 'GET /v1/runs/{id}');
    requireNoSecret(JSON.stringify(await world.agent.events(run.run_id, 0)), 'the events');
    const shown = await world.command(['show', run.run_id, '--verbose']);
    requireNoSecret(shown.stdout + shown.stderr, './core show');
    expect(shown.stdout).to.contain('masked  ').and.contain(fingerprintOf(secrets.body));
    requireNoSecret(storedIn(world.home), 'the state folder');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  it('are in no list of issues: not over HTTP, not on a terminal, not in JSON', async () => {
    const { newIssue } = world.forgeAdmin;
    await newIssue.call(world.forgeAdmin, {
      ...{ ...ref, title: `Greet ${secrets.title}`, body: `With ${secrets.body}` },
      ...{ author: 'mira', association: 'contributor', labels: [`of ${secrets.label}`] },
    });
    const daemon = await startDaemon(world);
    try {
      const query = `owner=${ref.owner}&repo=${ref.repo}`;
      for (const path of [`issues?${query}`, `issues/changed?${query}&since=2020-01-01T00:00:00Z`]) {
        const answer = await fetch(`${daemon.url}/v1/${path}`, {
          headers: { authorization: `Bearer ${daemon.token}` },
        });
        const text = await answer.text();
        expect(answer.status, text).to.equal(200);
        expect(JSON.parse(text).issues[0], path).to.include({ title: `Greet ${mark}` });
        expect(JSON.parse(text).issues[0].labels, path).to.deep.equal([`of ${mark}`]);
        requireNoSecret(text, path);
      }
    } finally {
      await daemon.close();
    }
    for (const more of [[], ['--json']]) {
      const where = ['--owner', ref.owner, '--repo', ref.repo, ...more];
      const listed = await world.command(['forge', 'issue', 'list', ...where]);
      expect(listed.stdout).to.contain('[redacted github_token]');
      const made = await world.command(['forge', 'issue', 'new', '--title', secrets.title, ...where]);
      expect(made.code, made.stderr).to.equal(0);
      for (const { stdout, stderr } of [listed, made]) requireNoSecret(stdout + stderr, 'core forge issue');
    }
  });

  it('are in nothing that a command prints of its own options', async () => {
    const run = await planned();
    const option = ['--reason', `because of ${secrets.option}`];
    const commands = [
      ['reject', run.run_id, '1', ...option],
      ['reject', run.run_id, '2', ...option, '--json'],
      ['show', run.run_id, '--verbose'],
      ['actions', run.run_id],
      ['cancel', run.run_id, ...option],
      ['cancel', run.run_id, ...option, '--json'],
    ];
    for (const command of commands) {
      const { stdout, stderr } = await world.command(command);
      requireNoSecret(stdout + stderr, `core ${command[0]}`);
    }
    expect(JSON.stringify(await world.agent.run(run.run_id))).to.contain(`because of ${mark}`);
    requireNoSecret(storedIn(world.home), 'the state folder');
  });

  it('are counted in the run, by kind, place and fingerprint', async () => {
    const { masked, run_id } = await planned();
    const found = new Set(masked.map(({ kind, place, fingerprint }) => `${kind} ${place} ${fingerprint}`));
    expect(found).to.include(`github_token the issue’s text ${fingerprintOf(secrets.title)}`);
    expect(found).to.include(`github_token the issue’s text ${fingerprintOf(secrets.body)}`);
    expect(
      [...found].some((one) => one.includes('by otto') && one.endsWith(fingerprintOf(secrets.comment))),
    ).to.equal(true);
    const session = JSON.parse(
      readFileSync(join(world.home, 'state/runs', run_id, 'session.json'), 'utf8'),
    ) as { masked: unknown[] };
    expect(session.masked).to.deep.equal(masked);
  });

  it('are not in what people decide, nor in what a validation writes, nor in what comes of it', async () => {
    const run = await planned();
    const { action_id, digest } = run.actions.at(-1)!.definition;
    const decision = {
      run_id: run.run_id,
      actions: [{ action_id, digest }],
      claimed_approver: null,
      by: everybody,
    };
    await world.agent.decide({ ...decision, decision: 'reject', reason: `never post ${secrets.reason}` });
    const build = run.actions.filter(({ definition }) => definition.gate === 'build');
    await world.approve(
      run,
      build.map(({ definition }) => definition.kind),
    );
    const said: string[] = [];
    const watch = {
      progress: ({ message }: { message: string }) => said.push(message),
      signal: quiet.signal,
    };
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      watch,
    );
    expect(done.actions.find(({ definition }) => definition.kind === 'run_validation')!.state).to.equal(
      'succeeded',
    );
    requireNoSecret(said.join('\n'), 'the live messages');
    expect(said.join('\n')).to.contain(mark);
    expect(done.masked.map(({ place }) => place)).to.include('the validation’s output');
    await world.agent
      .cancel({ run_id: run.run_id, by: everybody, reason: `stop ${secrets.cancel}` })
      .catch(() => {});
    const again = await world.agent.planIssue({ ...ref, number: run.request.number!, by: everybody }, quiet);
    requireNoSecret(JSON.stringify(again), 'the next plan');
    requireNoSecret(storedIn(world.home), 'the state folder');
    for (const { run_id } of [run, again])
      expect((await world.agent.verify(run_id)).problems).to.deep.equal([]);
  });

  it('refuse a patch that holds one, naming it by its fingerprint, and release it by that', async () => {
    const patch = greetPatch.replace("'stranger'", `'${secrets.body}'`);
    const number = await world.newIssue(`\`\`\`diff\n${patch}\`\`\`\n`);
    const plan = () => world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
    const refusal = await plan().then(
      () => null,
      (error: Error) => error,
    );
    expect(codeOf(refusal)).to.equal('patch_adds_secret');
    expect(refusal!.message).to.contain(fingerprintOf(secrets.body)).and.not.contain(secrets.body);
    requireNoSecret(storedIn(world.home), 'the state folder');
    writeFileSync(
      join(world.home, 'config/policy.json'),
      JSON.stringify({ released_secrets: [fingerprintOf(secrets.body)] }),
    );
    const { code, stdout } = await world.command([
      'plan-issue',
      ...['--owner', ref.owner, '--repo', ref.repo, '--number', String(number), '--json'],
    ]);
    expect(code, stdout).to.equal(0);
    expect(JSON.parse(stdout).actions).to.have.length(7);
  });

  it('of a repository are in no search result and in no Cypher result, until a person releases one', async () => {
    await planned();
    const post = async (path: string, body: object) => {
      const answer = await fetch(`${context.url}${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return answer.text();
    };
    const search = () => post('/v1/graphrag/search', { query: 'strangers token settings', limit: 20 });
    const cypher = () => post('/v1/graphdb/cypher', { query: 'MATCH (n:CoreEntity) RETURN n', limit: 500 });
    expect(await search())
      .to.contain('src/settings.js')
      .and.contain(mark);
    requireNoSecret(await search(), 'search');
    requireNoSecret(await cypher(), 'Cypher');
    requireNoSecret(
      await post('/v1/memory/lookup', { query: `strangers ${secrets.file}`, limit: 20 }),
      'lookup',
    );

    writeFileSync(
      join(world.home, 'config/policy.json'),
      JSON.stringify({ released_secrets: [fingerprintOf(secrets.file)] }),
    );
    await planned();
    expect(await search()).to.contain(secrets.file);
  });

  it('are in no backup', async () => {
    await planned();
    const [file, restored] = [join(world.home, 'all.tar'), join(world.home, 'restored')];
    const { code, stderr } = await world.command(['backup', file]);
    expect(code, stderr).to.equal(0);
    const { code: done, stderr: why } = await started(core, ['restore', file, '--home', restored]).ended;
    expect(done, why).to.equal(0);
    requireNoSecret(storedIn(restored), 'the restored state folder');
  });
});

describe('What a model is sent', () => {
  let world: World;
  let server: ModelServer;

  const call = (name: string, args: unknown) => ({ calls: [{ name, arguments: args }] });
  const steps = [
    call('read_file', { path: 'src/settings.js' }),
    call('search_text', { text: 'export const token' }),
    call('search_text', { text: secrets.file.slice(0, 10) }),
    call('edit_file', {
      path: 'src/settings.js',
      old_text: `token = '${mark}';\nexport const strangers = true;`,
      new_text: `token = '${mark}';\nexport const strangers = false;`,
    }),
    call('submit_plan', { title: 'Greet no strangers', explanation: `With ${secrets.reason}, as agreed.` }),
  ];
  const solve: Script = ({ body }) => steps[body.messages.filter(({ role }) => role === 'assistant').length]!;

  beforeEach(async () => {
    server = await startModelServer(solve);
    world = await makeWorld({ vcs: 'git', files });
    const upstream = {
      kind: 'openai',
      base_url: server.url,
      model: 'scripted-1',
      price: { input: 1, output: 2, cached: 0.1 },
    };
    const models = {
      port: Number(new URL(server.url).port),
      models: { 'scripted-1': { kind: 'chat', upstreams: [upstream] } },
    };
    writeFileSync(join(world.home, 'config/models.json'), JSON.stringify(models));
  });
  afterEach(async () => {
    await world.close();
    await server.close();
  });

  const plan = async () => {
    const number = await world.newIssue(`Strangers, with ${secrets.body}.`, `Strangers ${secrets.title}`);
    return world.agent.planIssue({ ...ref, number, by: everybody }, quiet);
  };

  it('has no secret of issue or repository, and its edit beside one keeps the bytes of that', async () => {
    const run = await plan();
    const sent = JSON.stringify(server.requests.map(({ body }) => body));
    for (const secret of Object.values(secrets)) expect(sent).not.to.contain(secret);
    expect(sent).to.contain(mark);
    expect(sent, 'a search reveals nothing of a secret').to.contain('Nothing was found.');
    const patch = Buffer.from(await world.agent.diff(run.run_id)).toString('utf8');
    expect(patch)
      .to.contain('+export const strangers = false;')
      .and.contain(` export const token = '${secrets.file}'`);
    expect(patch).not.to.contain(mark);
    expect(run.masked.map(({ place }) => place)).to.include('file src/settings.js');
  });

  it('is a part of the record: system and user message and every turn as they were sent', async () => {
    const run = await plan();
    const read = async (digest: string) =>
      JSON.parse(Buffer.from(await world.agent.artifact(run.run_id, digest)).toString('utf8'));
    const parts = await Promise.all([run.prompt!, ...run.turns.map(({ content }) => content)].map(read));
    const recorded = parts.flatMap(({ messages }) => messages);
    const last = server.requests.at(-1)!.body.messages;
    expect(recorded.slice(0, last.length)).to.deep.equal(last);
    expect(recorded.slice(0, 2).map(({ role }) => role)).to.deep.equal(['system', 'user']);
    expect(parts[0].tools.map(({ name }: { name: string }) => name)).to.include('read_file');
    expect(JSON.stringify(parts)).not.to.contain(random.slice(12));
    const shown = await world.command(['show', run.run_id]);
    expect(shown.stdout).to.contain(`prompt  ${run.prompt!.slice(0, 12)} and 5 turns`);
    const printed = await world.command(['show', run.run_id, '--prompt']);
    expect(printed.stdout).to.contain('--- system\nYou prepare a proposal').and.contain('read_file {"path"');
    expect((await world.agent.verify(run.run_id)).problems).to.deep.equal([]);
  });

  /** @returns function that restores the content */
  function alter(digest: string): () => void {
    return asSqliteClient(join(world.home, 'state'), (client) => {
      const { content } = client.prepare('SELECT content FROM run_artifacts WHERE digest = ?').get(digest)!;
      const put = (bytes: Uint8Array) =>
        tamper(
          join(world.home, 'state'),
          'UPDATE run_artifacts SET content = ? WHERE digest = ?',
          bytes,
          digest,
        );
      put(Buffer.concat([content as Uint8Array, Buffer.from(' ')]));
      return () => void put(content as Uint8Array);
    });
  }

  it('is named where the prompt was changed, and can be deleted', async () => {
    const run = await plan();
    const state = join(world.home, 'state');
    const path = join(state, 'runs', run.run_id, 'artifacts', run.prompt!);
    writeFileSync(path, readFileSync(path, 'utf8').replace('proposal', 'surprise'));
    alter(run.prompt!);
    const { problems } = await world.agent.verify(run.run_id);
    expect(problems.map(({ where }) => where)).to.deep.equal([
      `run_artifacts/${run.prompt}`,
      `mirror on this host: artifacts/${run.prompt}`,
    ]);
    tamper(state, 'DELETE FROM run_artifacts WHERE digest = ?', run.prompt!);
    const printed = await world.command(['show', run.run_id, '--prompt']);
    expect(printed.stdout).to.contain(`artifact ${run.prompt} is gone`).and.contain('read_file {"path"');
  });

  it('may be deleted by a person, prompt and turns: the plan can be approved and executed, and all views report it', async () => {
    allowUnsandboxed(world);
    const run = await plan();
    const digests = [...new Set([run.prompt!, ...run.turns.map(({ content }) => content)])];
    for (const digest of digests) {
      const restore = alter(digest);
      const refused = await world.approve(run).catch((error) => error);
      expect(refused, 'edited').to.include({ code: 'artifact_differs' });
      restore();
    }
    const { code, stderr } = await world.command(['forget-prompts', run.run_id]);
    expect(code, stderr).to.equal(0);
    await world.approve(run);
    const done = await world.agent.execute(
      { run_id: run.run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody },
      quiet,
    );
    const states = done.actions.slice(0, 3).map(({ state }) => state);
    expect(states, 'the check of this repository is about another file').to.deep.equal([
      'succeeded',
      'succeeded',
      'failed',
    ]);
    const { problems } = await world.agent.verify(run.run_id);
    expect(problems.map(({ where }) => where)).to.have.members(
      digests.flatMap((one) => [`run_artifacts/${one}`, `mirror on this host: artifacts/${one}`]),
    );
    expect(problems.every(({ what }) => what.startsWith('removed'))).to.equal(true);
    const shown = await world.command(['show', run.run_id]);
    expect(shown.stdout).to.contain(`prompt  ${run.prompt!.slice(0, 12)} and 5 turns, 6 deleted`);
  });
});

describe('Secrets in events', () => {
  let bridge: RunningBridge;

  beforeEach(async () => {
    bridge = await startBridge();
  });
  afterEach(() => bridge.close());

  it('are in no answer and no file of the queue, whichever text of an event they stand in', async () => {
    const event = {
      event_id: 'e1',
      kind: 'issue.created',
      occurred_at: '2026-01-01T00:00:00Z',
      actor: `mira ${secrets.comment}`,
      issue: {
        ...{ id: `42 ${secrets.output}`, title: `Greet ${secrets.title}`, status: `todo ${secrets.reason}` },
        labels: [`bug ${secrets.body}`],
        forge: { owner: 'demo', repo: 'hello', number: 1, name: 'local' },
      },
    };
    const answers = [
      await bridge.post('/v1/ingress/dashboard-issue', event),
      await bridge.post('/v1/ingress/dashboard-issue', event),
      await bridge.get('/v1/events/pending'),
      await bridge.post('/v1/events/process-next', {}),
      await bridge.get('/v1/events'),
      await bridge.get('/v1/events/e1'),
    ];
    expect(answers.map(({ status }) => status)).to.deep.equal([202, 202, 200, 200, 200, 200]);
    expect(JSON.stringify(answers[2])).to.contain(`Greet ${mark}`).and.contain(`bug ${mark}`);
    for (const answer of answers) requireNoSecret(JSON.stringify(answer), 'an answer');
    requireNoSecret(storedIn(bridge.home), 'the queue');
  });

  it('are not in what is kept of a planning that failed', async () => {
    const forge = { owner: 'demo', repo: 'hello', number: 2, name: 'local' };
    const issue = { id: '2', title: 'Greet', status: 'todo', forge };
    const event = { event_id: 'e2', kind: 'issue.created', occurred_at: '2026-01-01T00:00:00Z', issue };
    await bridge.post('/v1/ingress/dashboard-issue', event);
    bridge.planning.answer = async () =>
      failure({ code: `forge_refused ${secrets.reason}`, status: 422, retryable: false });
    requireNoSecret(JSON.stringify(await bridge.post('/v1/events/process-next', {})), 'the answer');
    const kept = JSON.stringify(await bridge.get('/v1/events/e2'));
    expect(kept).to.contain('dead').and.contain(mark);
    requireNoSecret(kept, 'the event');
    requireNoSecret(storedIn(bridge.home), 'the queue');
  });
});

describe('Secrets on a command line', () => {
  it('are in no error that a program prints', async () => {
    const home = temporaryFolder();
    for (const args of [
      ['show', secrets.title],
      ['plan-issue', '--owner', 'demo', '--repo', 'hello', '--number', secrets.body],
      ['model', secrets.file],
      ['context', secrets.comment],
    ]) {
      for (const more of [[], ['--json'], ['--verbose']]) {
        const { code, stdout, stderr } = await started(core, [...args, '--home', home, ...more]).ended;
        expect(code, args.join(' ')).to.be.above(0);
        requireNoSecret(stdout + stderr, args.join(' '));
        expect(stderr, args.join(' ')).to.contain(mark);
      }
    }
  });
});
