import { execFile } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type AnthropicServer, startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { eventOf } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { core } from '../fixtures/world/core-command.ts';

/** Put together at run time, so that no file of the project holds anything that looks like a secret. None is of this gateway. */
const random = 'aB3dE6gH9jK2mN5pQ8sT1vW4xY7zC0fG3hJ6';
const foreign: Readonly<Record<string, string>> = {
  github_token: ['ghp', random].join('_'),
  slack_token: ['xoxb', '123456789012', '123456789012', random.slice(0, 24)].join('-'),
  huggingface_token: ['hf', random.slice(0, 34)].join('_'),
  npm_token: ['npm', random].join('_'),
  core_token: ['core', 'mira', '0123456789abcdef'.repeat(3)].join('_'),
};
const hello = { messages: [{ role: 'user' as const, content: 'Hello' }] };

function requireNone(text: string, what: string): void {
  for (const secret of Object.values(foreign)) {
    for (const piece of [secret, secret.slice(0, 14)])
      expect(text.includes(piece), `${piece} of ${what} in ${text}`).to.equal(false);
  }
}

describe('What an upstream says of an error', () => {
  let openai: ModelUpstream;
  let anthropic: AnthropicServer;
  let gateway: TestGateway;
  let said: string;

  before(async () => {
    openai = await startModelUpstream();
    anthropic = await startAnthropicServer(
      () => ({ status: 400, error: ['invalid_request_error', said] }),
      'k',
    );
    gateway = await startGateway({ retries: 0, models: models() }, { key: 'k' });
  });
  after(async () => {
    await gateway.stop();
    await openai.close();
    await anthropic.close();
  });

  function models(): object {
    const price = { input: 3, output: 15, cached: 0.3, cache_writes: 3.75 };
    const claude = { kind: 'anthropic', base_url: anthropic.url, model: 'one', credential: 'key', price };
    return {
      small: { upstreams: [{ kind: 'openai', base_url: openai.url, model: 'tiny-1' }] },
      large: { upstreams: [claude] },
    };
  }

  async function errorText(model: string, more: object = {}): Promise<string> {
    const answer = await gateway.ask('/v1/chat/completions', { body: { ...hello, model, ...more } });
    return `${JSON.stringify([...answer.headers])} ${await answer.text()}`;
  }

  function answers(status: number, type: string, text: string): void {
    openai.next((_request, response) => void response.writeHead(status, { 'content-type': type }).end(text));
  }

  for (const [kind, secret] of Object.entries(foreign)) {
    it(`has no ${kind} of others in it, wherever it stands`, async () => {
      for (const member of ['message', 'type', 'param', 'code']) {
        const error = { message: 'no', type: 't', [member]: `bad ${secret}` };
        answers(400, 'application/json', JSON.stringify({ error }));
        const text = await errorText('small');
        requireNone(text, member);
        expect(text).to.contain(`[redacted ${kind}]`);
      }
      for (const body of [{ detail: [{ msg: secret }] }, { error: `bad ${secret}` }, { message: secret }]) {
        answers(422, 'application/json', JSON.stringify(body));
        requireNone(await errorText('small'), JSON.stringify(body));
      }
      answers(500, 'text/plain', `bad ${secret}`);
      requireNone(await errorText('small'), 'a text');
      answers(500, 'text/html', `<html><title>${secret}</title></html>`);
      requireNone(await errorText('small'), 'a page');
      answers(200, 'text/event-stream', eventOf({ error: { message: `bad ${secret}`, code: 400 } }));
      requireNone(await errorText('small', { stream: true }), 'an event');
      answers(200, 'application/json', JSON.stringify({ error: { message: `bad ${secret}` }, choices: [] }));
      requireNone(await errorText('small'), 'an error with status 200');
      answers(200, `text/${secret}`, 'bad');
      requireNone(await errorText('small'), 'a media type');
      said = `bad ${secret}`;
      const text = await errorText('large');
      requireNone(text, 'Anthropic');
      expect(text).to.contain(`[redacted ${kind}]`);
    });

    it(`has no ${kind} of others in it in the middle of a stream`, async () => {
      const begun = eventOf({ choices: [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }] });
      const wrong = [
        eventOf({
          error: { message: `bad ${secret}`, type: secret, code: 500, more: { [secret]: [secret] } },
        }),
        eventOf({ choices: [{ delta: { content: secret }, finish_reason: 'error' }], error: secret }),
        `data: bad ${'bad '.repeat(10)}${secret}\n\n`,
        `bad ${'bad '.repeat(10)}${secret}\n\n`,
      ];
      for (const event of wrong) {
        const { promise: seen, resolve: see } = Promise.withResolvers<void>();
        openai.next(async (_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).write(begun);
          await seen;
          response.end(event);
        });
        const body = { ...hello, model: 'small', stream: true };
        const answer = await gateway.ask('/v1/chat/completions', { body });
        let text = '';
        try {
          for await (const piece of answer.body!) {
            text += Buffer.from(piece).toString();
            see();
          }
        } catch {
          // A stream that breaks never ends well.
        }
        expect(text).to.contain('Hello').and.contain('upstream_stream_broken');
        requireNone(text, event);
      }
    });

    it(`has no half of a ${kind} either, where it is cut`, async () => {
      for (const length of [200, 300, 2000]) {
        const filled = `${'bad '.repeat(600).slice(0, length - 20)} ${secret} ${'more '.repeat(500)}`;
        for (const [type, body] of [
          ['application/json', JSON.stringify({ error: { message: filled, type: filled, code: filled } })],
          ['text/plain', filled],
        ] as const) {
          answers(400, type, body);
          requireNone(await errorText('small'), `${type} of ${length}`);
        }
        said = filled;
        requireNone(await errorText('large'), `Anthropic of ${length}`);
      }
    });
  }

  it('is in no log, and in model check without them', async () => {
    const all = Object.values(foreign).join(' ');
    said = all;
    answers(400, 'application/json', JSON.stringify({ error: { message: all } }));
    await errorText('small');
    requireNone(gateway.logged(), 'the log');
    openai.always(
      (_request, response) =>
        void response
          .writeHead(400, { 'content-type': 'application/json' })
          .end(JSON.stringify({ error: { message: all } })),
    );
    writeFileSync(join(gateway.home, 'config/models.json'), JSON.stringify({ models: models() }));
    for (const more of [[], ['--json']]) {
      const { stdout, stderr } = await promisify(execFile)(core, [
        'model',
        'check',
        '--home',
        gateway.home,
        ...more,
      ]).catch((error) => error);
      requireNone(stdout + stderr, 'model check');
      expect(stdout).to.contain('[redacted slack_token]');
    }
    rmSync(join(gateway.home, 'config/models.json'));
  });
});
