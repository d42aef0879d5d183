import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import {
  issueBody,
  issueTitle,
  makeDemoRepository,
} from '../../services/supervisor/quickstart/demo-repository.ts';
import {
  anthropicSpeaker,
  type Conversation,
  type Model,
} from '../fixtures/model-upstream/anthropic-conversation.ts';
import { type AnthropicServer, startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { makePlace, type Place } from './core-process.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

const ref = ['--owner', 'demo', '--repo', 'hello'];
const planted = 'sk-ant-planted-7Qx2mVb9LtRz4KdN8wYc';

/** How a model solves quickstart's issue, by the number of answers that the conversation has so far. */
const steps: readonly [name: string, input: object][] = [
  ['search_text', { text: 'Hello, ' }],
  ['read_file', { path: 'src/greet.js' }],
  [
    'edit_file',
    {
      path: 'src/greet.js',
      old_text: 'tidy(name)',
      new_text: "tidy(name) || 'stranger'",
    },
  ],
  ['run_validation', {}],
  [
    'submit_plan',
    { title: 'Greet strangers when no name is given', explanation: 'An empty name is no name.' },
  ],
];

const solve: Model = ({ turns }) => {
  const turn = turns.filter(({ by }) => by === 'model').length;
  const [name, input] = steps[turn]!;
  return { text: `Step ${turn + 1}.`, calls: [{ id: `call_${turn}`, name, input }] };
};

describe('the model planner with recorded traffic', () => {
  const places: Place[] = [];
  let upstream: AnthropicServer;
  const seen: Conversation[] = [];
  let gateway: GatewayProcess | undefined;
  let recordings: string;

  before(async () => {
    upstream = await startAnthropicServer(anthropicSpeaker(solve, seen), planted);
  });
  afterEach(async () => {
    await gateway?.stop();
    gateway = undefined;
  });
  after(async () => {
    await upstream.close();
    for (const place of places) place.remove();
  });

  /** A home with quickstart's repository and issue, and a gateway in this mode. */
  async function begin(mode: 'record' | 'replay', folder: string | null, base_url: string): Promise<Place> {
    const place = makePlace();
    places.push(place);
    const entry = { kind: 'anthropic', base_url, model: 'claude-sonnet-4-5', credential: 'claude' };
    const models = { coder: { tier: 'large', upstreams: [entry] } };
    const config = { mode, recordings: folder, retries: 0, models };
    await configureGateway(place.home, config, mode === 'record' ? { claude: planted } : {});
    writeFileSync(join(place.home, 'config/validation.json'), '{"allow_unsandboxed": true}');
    writeFileSync(join(place.home, 'config/core.json'), '{"context": {"url": null}}');
    gateway = await startGatewayProcess(place.home);
    const checkout = join(place.folder, 'checkout');
    mkdirSync(checkout);
    await makeDemoRepository(checkout);
    await place.core('forge', 'init', ...ref, '--from', checkout);
    await place.git(
      '-C',
      checkout,
      'remote',
      'add',
      'origin',
      join(place.home, 'state/forge/demo/hello/repository.git'),
    );
    const issue = [
      '--title',
      issueTitle,
      '--body',
      issueBody,
      '--author',
      'mira',
      '--association',
      'contributor',
    ];
    await place.core('forge', 'issue', 'new', ...ref, ...issue);
    return place;
  }

  async function plan(place: Place) {
    const { exitCode, stderr } = await place.core(
      'plan-issue',
      ...ref,
      '--number',
      '1',
      '--planner',
      'model',
    );
    return { exitCode, stderr };
  }

  it('records how quickstart’s issue is planned, and nothing of the credential', async () => {
    const place = await begin('record', null, upstream.url);
    const planned = await plan(place);
    expect(planned.exitCode, planned.stderr).to.equal(0);
    expect(seen).to.have.length(steps.length);
    recordings = join(place.home, 'state/model-gateway/recordings');
    const files = readdirSync(recordings);
    expect(files).to.have.length(steps.length);
    const text = files.map((file) => readFileSync(join(recordings, file), 'utf8')).join('\n');
    for (const secret of [planted, gateway!.token, 'core_run-key_', 'x-api-key', 'authorization'])
      expect(text).to.not.contain(secret);
  });

  it('carries it from them to a pull request in another home, with nobody to ask', async () => {
    // Copied as a team would keep them, beside its tests.
    const kept = join(places[0]!.folder, 'kept');
    cpSync(recordings, kept, { recursive: true });
    writeFileSync(join(kept, `${'0'.repeat(16)}-0001.json`), '{"format": 1, "key": "torn');
    const asked = upstream.requests.length;
    const place = await begin('replay', kept, 'http://127.0.0.1:9/v1');
    const planned = await plan(place);
    expect(planned.exitCode, planned.stderr).to.equal(0);
    expect(gateway!.said()).to.contain(`${'0'.repeat(16)}-0001.json`);

    const { run_id } = JSON.parse((await place.core('runs', '--json')).stdout).runs[0];
    const diff = await place.core('diff', run_id);
    expect(diff.stdout).to.contain("tidy(name) || 'stranger'");
    for (const gate of ['build', 'publish']) {
      const approved = await place.core('approve', run_id, '--gate', gate);
      expect(approved.exitCode, approved.stderr).to.equal(0);
      const executed = await place.core(
        'execute-approved',
        run_id,
        '--repo-dir',
        join(place.folder, 'checkout'),
      );
      expect(executed.exitCode, executed.stderr + executed.stdout).to.equal(0);
    }
    const pulls = JSON.parse(
      (await place.core('forge', 'pr', 'list', ...ref, '--state', 'all', '--json')).stdout,
    );
    expect(pulls.pull_requests).to.have.length(1);
    expect(pulls.pull_requests[0].title).to.contain('Greet strangers when no name is given');
    expect(upstream.requests).to.have.length(asked);
    const usage = JSON.parse(await (await gateway!.ask('GET', '/v1/usage?by=run')).text());
    expect(usage.rows[0]).to.include({ name: run_id, calls: steps.length });
  });

  it('says which recording is the nearest when the issue is another one', async () => {
    const place = await begin('replay', join(places[0]!.folder, 'kept'), 'http://127.0.0.1:9/v1');
    const body = ['--title', 'Something else', '--body', 'Quite.', '--author', 'mira'];
    await place.core('forge', 'issue', 'new', ...ref, ...body);
    const other = await place.core('plan-issue', ...ref, '--number', '2', '--planner', 'model');
    expect(other.exitCode).to.not.equal(0);
    expect(other.stderr)
      .to.contain('no recording answers this request')
      .and.to.match(/messages\[1\] is another/);
  });
});
