import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import OpenAI from 'openai';
import { openAiCompatibleModel } from '../../services/agentd/models/openai-compatible.ts';
import { type ChatStream, chatStreams } from '../fixtures/model-upstream/chat-streams.ts';
import { all, startGateway, type TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';

type Got = { readonly finish: ChatStream['finish']; readonly calls: unknown; readonly text: string };

const user = [{ role: 'user' as const, content: 'Hello' }];
const tool = { type: 'object' as const, properties: {} };
const names = ['read', 'write'];
const inputOf = (text: string): unknown => JSON.parse(text === '' ? '{}' : text);

describe('A stream of chat completions', () => {
  let upstream: ModelUpstream;
  let gateway: TestGateway;

  before(async () => {
    upstream = await startModelUpstream();
    const entry = { kind: 'openai', base_url: upstream.url, model: 'tiny-1' };
    gateway = await startGateway({ retries: 0, models: { small: { upstreams: [entry] } } });
  });
  after(async () => {
    await gateway.stop();
    await upstream.close();
  });

  const clients: Readonly<Record<string, () => Promise<Got>>> = {
    'the planner': async () => {
      const model = openAiCompatibleModel({
        ...{ base_url: upstream.url, credential: null, model: 'small', tier: 'large', price: null },
      });
      const asked = { messages: user, tools: [], max_tokens: 100 };
      const events = await all(model.complete(asked, new AbortController().signal));
      const calls = events.flatMap((event) => (event.type === 'tool_call' ? [event.call] : []));
      expect(new Set(calls.map(({ id }) => id)).size).to.equal(calls.length);
      return {
        finish: calls.length > 0 ? 'tool_calls' : 'stop',
        calls: calls.map(({ function: { name, arguments: text } }) => [name, inputOf(text)]),
        text: events.map((event) => (event.type === 'text' ? event.text : '')).join(''),
      };
    },
    Messages: async () => {
      const client = new Anthropic({ apiKey: gateway.token, baseURL: gateway.url, maxRetries: 0 });
      const tools = names.map((name) => ({ name, input_schema: tool }));
      const stream = client.messages.stream({ model: 'small', max_tokens: 100, messages: user, tools });
      const { content, stop_reason } = await stream.finalMessage();
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []));
      expect(new Set(calls.map(({ id }) => id)).size).to.equal(calls.length);
      return {
        finish: stop_reason === 'tool_use' ? 'tool_calls' : 'stop',
        calls: calls.map(({ name, input }) => [name, input]),
        text: content.map((block) => (block.type === 'text' ? block.text : '')).join(''),
      };
    },
    Responses: async () => {
      const tools = names.map((name) => ({
        type: 'function' as const,
        name,
        parameters: tool,
        strict: false,
      }));
      const stream = gateway.client.responses.stream({ model: 'small', input: 'Hello', tools });
      const { output, output_text, status } = await stream.finalResponse();
      expect(status).to.equal('completed');
      const calls = output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      expect(new Set(calls.map(({ call_id }) => call_id)).size).to.equal(calls.length);
      return {
        finish: calls.length > 0 ? 'tool_calls' : 'stop',
        calls: calls.map(({ name, arguments: text }) => [name, inputOf(text)]),
        text: output_text,
      };
    },
  };

  for (const [client, got] of Object.entries(clients))
    for (const { title, body, finish, calls, text } of chatStreams)
      it(`gives ${client} the right calls or an error: ${title}`, async () => {
        upstream.next((_request, response) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          response.end(body);
        });
        const answer = await got().catch((error: unknown) => error);
        if (finish === 'broken') expect(answer).to.be.instanceOf(Error);
        else {
          expect(answer).to.deep.include({ finish, calls });
          if (text !== undefined) expect(answer).to.include({ text });
        }
      });

  const unfinished = chatStreams.filter(({ title }) => /finish|cut/.test(title));
  for (const { title, body } of unfinished)
    it(`ends with an error for a client of chat completions: ${title}`, async () => {
      upstream.next((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(body);
      });
      const asked = gateway.client.chat.completions.create({ model: 'small', messages: user, stream: true });
      const failed = await asked.then(all).catch((error: unknown) => error);
      expect(failed).to.be.instanceOf(OpenAI.APIError);
      expect(String(failed)).to.contain('finish_reason');
    });

  for (const [title, finishes, done, isWhole] of [
    ['both', ['stop', 'stop'], true, true],
    ['the first alone', ['stop', ''], true, false],
    ['the second alone', [null, 'stop'], true, false],
    ['the only one that began', ['stop'], false, false],
    ['the only one, at a server that knows one answer', ['stop'], true, true],
  ] as const)
    it(`with two choices is whole when each has finished: ${title}`, async () => {
      const chunks = finishes.flatMap((finish_reason, index) =>
        [{ content: 'Hi' }, {}].map((delta, at) => ({
          choices: [{ index, delta, finish_reason: at === 0 ? null : finish_reason }],
        })),
      );
      upstream.next((_request, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        const text = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
        response.end(done ? `${text}data: [DONE]\n\n` : text);
      });
      const asked = gateway.client.chat.completions.create({
        model: 'small',
        messages: user,
        n: 2,
        stream: true,
      });
      const answer = await asked.then(all).catch((error: unknown) => error);
      if (isWhole) expect(answer).to.be.an('array').with.length(chunks.length);
      else expect(answer).to.be.instanceOf(OpenAI.APIError);
    });
});
