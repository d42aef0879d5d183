import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeDemoRepository } from '../../services/supervisor/quickstart/demo-repository.ts';
import { movedIssue } from '../fixtures/bridge/moved-issue.ts';
import { storedIn } from '../fixtures/world/stored-texts.ts';
import { describeWith } from '../needs.ts';
import { makePlace, type Place } from './core-process.ts';
import { type Stack, startStack } from './stack-process.ts';

const demo = ['--owner', 'demo', '--repo', 'hello'];
/** One of each maker, put together at run time, so that no file of the project holds anything that looks like a secret. */
const random = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6';
const secrets = {
  title: ['ghp', random].join('_'),
  body: ['xoxb', '123456789012', '123456789012', random.slice(4, 28)].join('-'),
  comment: ['npm', `x${random.slice(1)}`].join('_'),
  event: ['hf', `Q${random.slice(1, 34)}`].join('_'),
  key: ['ghp', `Key${random.slice(3)}`].join('_'),
};

describeWith(['linux'], 'Secrets in the texts of an issue and of an event', () => {
  let place: Place;
  let stack: Stack;
  let token: string;
  const answers: string[] = [];

  before(async () => {
    place = makePlace();
    const checkout = join(place.folder, 'hello');
    await makeDemoRepository(checkout);
    await done('forge', 'init', ...demo, '--from', checkout);
    const body = join(place.folder, 'body.md');
    writeFileSync(body, `Greet all, with ${secrets.body}.\n`);
    const issueOptions = ['--title', `Greet ${secrets.title}`, '--body-file', body, '--author', 'mira'];
    await done('forge', 'issue', 'new', ...demo, ...issueOptions);
    const comment = ['--body', `And ${secrets.comment}`, '--author', 'otto'];
    await done('forge', 'comment', ...demo, '--number', '1', ...comment);
    writeFileSync(join(place.home, 'config/core.json'), '{"log": {"level": "debug"}}');
    stack = startStack(place.home);
    await stack.ready();
    const tokens = join(place.home, 'config/tokens');
    const own = readdirSync(tokens).find((name) => /^(?!bridge|worker|agentd).*\.token$/.test(name));
    token = readFileSync(join(tokens, own!), 'utf8').trim();
  });
  after(async () => {
    if (stack?.child.exitCode === null) await stack.end();
    place?.remove();
  });

  async function done(...args: readonly string[]): Promise<string> {
    const { exitCode, stdout, stderr } = await place.core(...args);
    expect(exitCode, `core ${args.join(' ')}: ${stdout}${stderr}`).to.equal(0);
    return stdout + stderr;
  }

  async function ask(service: string, path: string, body?: unknown): Promise<string> {
    const { status, text } = await reply(service, path, body);
    expect(status, `${path}: ${text}`).to.be.below(300);
    return text;
  }

  async function reply(service: string, path: string, body?: unknown, more: object = {}) {
    const answer = await fetch(`${stack.url(service)}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...more },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    answers.push(`${path}\n${text}`);
    return { status: answer.status, text };
  }

  function requireNone(text: string, where: string): void {
    for (const [name, secret] of Object.entries(secrets)) {
      const at = text.toLowerCase().indexOf(secret.slice(4, 24).toLowerCase());
      expect(at, `${name} in ${where}: ${text.slice(Math.max(0, at - 300), at)}`).to.equal(-1);
    }
  }

  it('are in no answer, log, trace or file, however the issue came to be planned', async () => {
    const event = movedIssue({ name: 'local', owner: 'demo', repo: 'hello' });
    const issue = { ...event.issue, title: `Greet ${secrets.event}` };
    await ask('core-bridge', '/v1/ingress/dashboard-issue', { ...event, issue });
    await ask('core-bridge', '/v1/events/pending');
    const processed = JSON.parse(await ask('core-bridge', '/v1/events/process-next', {}));
    const runId = processed.event.run_id;
    expect(runId, JSON.stringify(processed)).to.be.a('string');
    const keyed = { owner: 'demo', repo: 'hello', number: 1, anyway: true };
    const refused = await reply('core-agentd', '/v1/runs', keyed, { 'idempotency-key': secrets.key });
    expect(JSON.parse(refused.text).code).to.equal('idempotency_key_holds_secret');
    await ask('core-agentd', '/v1/runs', keyed);
    for (const path of ['/v1/runs', `/v1/runs/${runId}`, `/v1/runs/${runId}/actions`, '/v1/status'])
      await ask('core-agentd', path);
    await ask('core-bridge', '/v1/events');
    await ask('core-context', '/v1/graphrag/search', { query: 'Greet', limit: 50 });
    await ask('core-context', '/v1/memory/lookup', { query: 'Greet', layer: 'episodic', limit: 50 });
    const shown = await done('show', runId, '--verbose');
    expect(shown, 'the texts were read').to.contain('[redacted');
    const { code } = await stack.end();
    expect(code).to.equal(130);
    for (const answer of answers) requireNone(answer, 'an answer');
    requireNone(shown, 'show');
    requireNone(stack.said(), 'the logs');
    requireNone(storedIn(place.home), 'the state folder');
  });
});
