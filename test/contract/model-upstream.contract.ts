import { expect } from 'chai';
import OpenAI from 'openai';
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsNonStreaming,
} from 'openai/resources';
import type { Conversation, Model, Reply } from '../fixtures/model-upstream/anthropic-conversation.ts';
import type { TestGateway } from '../fixtures/model-upstream/gateway.ts';
import { until } from '../fixtures/until.ts';

/** A gateway with one model, `large`, that answers by a script. */
export interface Place {
  readonly gateway: TestGateway;
  /** What came to the model. */
  readonly seen: Conversation[];
  /** Requests that the gateway ended before their answer was whole. */
  readonly aborted: () => number;
  close(): Promise<void>;
}

type Params = Omit<ChatCompletionCreateParamsNonStreaming, 'model' | 'stream'>;
/** The client's types, as `exactOptionalPropertyTypes` wants them. */
export type Request = { [K in keyof Params]: Exclude<Params[K], undefined> };

/** What a client sees of an answer, without what each answer has of its own. */
export interface Sight {
  readonly content: string | null;
  readonly calls: readonly { id: string; name: string; input: unknown }[];
  readonly finish: string | null;
  readonly usage: { input: number; output: number; cached: number } | null;
}

const hello = { role: 'user' as const, content: 'Grüße aus 東京 👋' };
const schema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};
const tool = (name: string) => ({
  type: 'function' as const,
  function: { name, description: `Tells the ${name}.`, parameters: schema },
});
const png = 'data:image/png;base64,iVBORw0KGgo=';

interface Case {
  readonly title: string;
  readonly request: Request;
  readonly reply: Reply;
  readonly sight: Partial<Sight>;
  readonly came: Partial<Conversation>;
}

const weather = { id: 'call_a', name: 'weather', input: { city: 'Bern' } };
const time = { id: 'call_b', name: 'time', input: { city: 'Ürümqi' } };

export const cases: readonly Case[] = [
  {
    title: 'text',
    request: { messages: [hello], max_tokens: 100 },
    reply: { text: 'Hello, wörld! 👋 こんにちは' },
    sight: { content: 'Hello, wörld! 👋 こんにちは', calls: [], finish: 'stop' },
    came: { turns: [{ by: 'user', text: hello.content, images: [] }], limit: 100 },
  },
  {
    title: 'system and developer messages, temperature and stop',
    request: {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        hello,
      ],
      temperature: 0.25,
      stop: ['END', '\n\n'],
      max_completion_tokens: 50,
    },
    reply: { text: 'Hi.' },
    sight: { content: 'Hi.', finish: 'stop' },
    came: { system: 'Be brief.\nBe kind.', temperature: 0.25, stop: ['END', '\n\n'], limit: 50 },
  },
  {
    title: 'an answer that is cut at max_tokens',
    request: { messages: [hello], max_tokens: 5 },
    reply: { text: 'Hello and', end: 'length' },
    sight: { content: 'Hello and', finish: 'length' },
    came: { limit: 5 },
  },
  {
    title: 'an answer that is withheld',
    request: { messages: [hello], max_tokens: 50 },
    reply: { text: 'I', end: 'content_filter' },
    sight: { finish: 'content_filter' },
    came: {},
  },
  {
    title: 'images, by data and by address',
    request: {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: png } },
            { type: 'image_url', image_url: { url: 'https://example.org/a.png' } },
          ],
        },
      ],
    },
    reply: { text: 'A dot.' },
    sight: { content: 'A dot.' },
    came: { turns: [{ by: 'user', text: 'What is this?', images: [png, 'https://example.org/a.png'] }] },
  },
  {
    title: 'parallel calls of tools, with text before them',
    request: { messages: [hello], tools: [tool('weather'), tool('time')] },
    reply: { text: 'I look.', calls: [weather, time] },
    sight: { content: 'I look.', calls: [weather, time], finish: 'tool_calls' },
    came: { tools: ['weather', 'time'].map((name) => ({ name, schema })), parallel: true },
  },
  {
    title: 'a call without arguments and without text',
    request: {
      messages: [hello],
      tools: [tool('weather')],
      tool_choice: 'required',
      parallel_tool_calls: false,
    },
    reply: { calls: [{ id: 'call_c', name: 'weather', input: {} }] },
    sight: { calls: [{ id: 'call_c', name: 'weather', input: {} }], finish: 'tool_calls' },
    came: { choice: 'required', parallel: false },
  },
  {
    title: 'a named tool',
    request: {
      messages: [hello],
      tools: [tool('weather'), tool('time')],
      tool_choice: { type: 'function', function: { name: 'time' } },
    },
    reply: { calls: [time] },
    sight: { calls: [time] },
    came: { choice: 'time' },
  },
  {
    title: 'no tool though there are some',
    request: { messages: [hello], tools: [tool('weather')], tool_choice: 'none' },
    reply: { text: 'No.' },
    sight: { content: 'No.', calls: [] },
    came: { choice: 'none' },
  },
  {
    title: 'a conversation with calls and results behind it',
    request: {
      messages: [
        hello,
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: [weather, time].map(({ id, name, input }) => ({
            id,
            type: 'function',
            function: { name, arguments: JSON.stringify(input) },
          })),
        },
        { role: 'tool', tool_call_id: 'call_a', content: 'sunny' },
        { role: 'tool', tool_call_id: 'call_b', content: [{ type: 'text', text: 'noon' }] },
        { role: 'assistant', content: 'Sunny, at noon.' },
        { role: 'user', content: 'Thanks.' },
      ],
      tools: [tool('weather'), tool('time')],
    },
    reply: { text: 'You are welcome.' },
    sight: { content: 'You are welcome.', finish: 'stop' },
    came: {
      turns: [
        { by: 'user', text: hello.content, images: [] },
        { by: 'model', text: 'I look.', calls: [weather, time] },
        { by: 'tool', id: 'call_a', text: 'sunny' },
        { by: 'tool', id: 'call_b', text: 'noon' },
        { by: 'model', text: 'Sunny, at noon.', calls: [] },
        { by: 'user', text: 'Thanks.', images: [] },
      ],
    },
  },
  {
    title: 'an answer by a JSON schema',
    request: {
      messages: [hello],
      response_format: { type: 'json_schema', json_schema: { name: 'place', schema, strict: true } },
    },
    reply: { text: '{"city":"Bern"}' },
    sight: { content: '{"city":"Bern"}', finish: 'stop', calls: [] },
    came: { format: schema },
  },
  {
    title: 'an answer that is any JSON object',
    request: { messages: [hello], response_format: { type: 'json_object' } },
    reply: { text: '{"any":["thing"]}' },
    sight: { content: '{"any":["thing"]}', finish: 'stop', calls: [] },
    came: { format: 'object' },
  },
];

/** What every kind of upstream gives a client of OpenAI's interface. */
export function describeModelUpstream(kind: string, open: (model: Model) => Promise<Place>): void {
  describe(`a conversation through the gateway with an ${kind} upstream`, () => {
    let place: Place;
    let reply: Reply;
    before(async () => {
      place = await open(() => reply);
    });
    after(() => place.close());

    for (const { title, request, reply: said, sight, came } of cases) {
      for (const way of ['whole', 'streamed'] as const) {
        it(`${way}: ${title}`, async () => {
          reply = said;
          const seen = await ask(place.gateway.client, request, way);
          expect(seen).to.deep.include({ ...sight, usage: { input: 1000, output: 50, cached: 600 } });
          expect(place.seen.at(-1)).to.deep.include(came);
        });
      }
    }

    it('begins a stream with the role, ends it with one reason, and reports usage only on request', async () => {
      reply = { text: 'Hello, world.', calls: [weather] };
      const asked = { model: 'large', messages: [hello], tools: [tool('weather')], stream: true as const };
      for (const include_usage of [false, true]) {
        const chunks: ChatCompletionChunk[] = [];
        const options = include_usage ? { stream_options: { include_usage } } : {};
        for await (const part of await place.gateway.client.chat.completions.create({ ...asked, ...options }))
          chunks.push(part);
        const choices = chunks.flatMap((part) => part.choices);
        expect(choices[0]!.delta.role).to.equal('assistant');
        expect(choices.slice(1).every(({ delta }) => delta.role === undefined)).to.equal(true);
        expect(choices.filter(({ finish_reason }) => finish_reason !== null)).to.have.length(1);
        expect(choices.at(-1)!.finish_reason).to.equal('tool_calls');
        expect(new Set(chunks.map(({ id }) => id))).to.have.property('size', 1);
        const calls = choices.flatMap(({ delta }) => delta.tool_calls ?? []);
        expect(calls.filter(({ id }) => id !== undefined)).to.have.length(1);
        expect(calls.every(({ index }) => index === 0)).to.equal(true);
        const counted = chunks.filter(({ usage }) => usage != null);
        expect(counted).to.have.length(include_usage ? 1 : 0);
        if (include_usage) expect(chunks.at(-1)!.choices).to.deep.equal([]);
      }
    });

    const errors: [number, abstract new (...given: never[]) => Error][] = [
      [400, OpenAI.BadRequestError],
      [401, OpenAI.AuthenticationError],
      [429, OpenAI.RateLimitError],
      [529, OpenAI.InternalServerError],
    ];
    for (const [status, kindOfError] of errors) {
      it(`reports ${status} as the client's error for it, with the upstream's message and Retry-After`, async () => {
        reply = { status, said: `the model says no ${status}`, retryAfter: 21 };
        for (const way of ['whole', 'streamed'] as const) {
          const error = await ask(place.gateway.client, { messages: [hello] }, way).then(
            () => expect.fail('it was expected to fail'),
            (cause) => cause,
          );
          expect(error).to.be.instanceOf(kindOfError);
          expect(error.status).to.equal(status);
          expect(error.message).to.contain(`the model says no ${status}`);
          if (status === 429 || status === 529) expect(error.headers.get('retry-after')).to.equal('21');
        }
      });
    }

    it('ends the request upstream when the client leaves before the answer', async () => {
      reply = 'silent';
      for (const stream of [false, true]) {
        const before = { aborted: place.aborted(), seen: place.seen.length };
        const leaving = new AbortController();
        const asked = place.gateway.client.chat.completions
          .create({ model: 'large', messages: [hello], stream }, { signal: leaving.signal })
          .then(
            () => 'answered',
            (error) => error,
          );
        await until('a request', () => place.seen.length > before.seen);
        leaving.abort();
        expect(await asked).to.be.instanceOf(OpenAI.APIUserAbortError);
        await until('its end upstream', () => place.aborted() > before.aborted);
      }
    });

    it('ends the request upstream when the client leaves in the middle of a stream', async () => {
      reply = 'endless';
      const before = place.aborted();
      const stream = await place.gateway.client.chat.completions.create({
        model: 'large',
        messages: [hello],
        stream: true,
      });
      let chunks = 0;
      for await (const _ of stream) if (++chunks === 5) break;
      await until('its end upstream', () => place.aborted() > before);
    });
  });
}

/** Asks once and reads the answer as a program does that uses the client. */
export async function ask(client: OpenAI, request: Request, way: 'whole' | 'streamed'): Promise<Sight> {
  const asked = { ...request, model: 'large' };
  if (way === 'whole') return sightOf(await client.chat.completions.create(asked));
  const withUsage = { ...asked, stream_options: { include_usage: true } };
  const stream = client.chat.completions.stream(withUsage);
  return sightOf(await stream.finalChatCompletion());
}

function sightOf({ choices, usage }: ChatCompletion): Sight {
  const [choice] = choices;
  return {
    content: choice!.message.content,
    calls: (choice!.message.tool_calls ?? []).map((call) => {
      if (call.type !== 'function') throw new Error(`a call of type ${call.type}`);
      return { id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) };
    }),
    finish: choice!.finish_reason,
    usage:
      usage == null
        ? null
        : {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
            cached: usage.prompt_tokens_details?.cached_tokens ?? 0,
          },
  };
}
