import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { firstNotAllowed, type Shape } from '../../services/model-gateway/dialects/allowed.ts';
import { allowedChat, allowedEmbeddings } from '../../services/model-gateway/dialects/chat/allowed.ts';
import { allowedGenerate, camelCase } from '../../services/model-gateway/dialects/google/allowed.ts';
import { allowedMessages } from '../../services/model-gateway/dialects/messages/allowed.ts';
import { dialectFor, endpointFacts } from '../../services/model-gateway/dialects/registry.ts';
import { allowedResponses } from '../../services/model-gateway/dialects/responses/allowed.ts';
import type { Endpoint } from '../../services/model-gateway/providers/endpoints.ts';
import { type ClientType, unknownToShapes } from '../fixtures/model-upstream/client-types.ts';

const google = '@google/genai/dist/genai.d.ts';
const { members } = allowedGenerate as Extract<Shape, { is: 'object' }>;
const { members: generation } = members.generationConfig as Extract<Shape, { is: 'object' }>;

/** Requests as the official clients type them, and what of them a run may send. */
const requests: Readonly<Record<string, readonly [ClientType, Shape]>> = {
  chat: [
    { file: 'openai/resources/chat/completions/completions.d.ts', name: 'ChatCompletionCreateParams' },
    allowedChat,
  ],
  embeddings: [
    { file: 'openai/resources/embeddings.d.ts', name: 'EmbeddingCreateParams' },
    allowedEmbeddings,
  ],
  responses: [
    { file: 'openai/resources/responses/responses.d.ts', name: 'ResponseCreateParams' },
    allowedResponses,
  ],
  messages: [
    { file: '@anthropic-ai/sdk/resources/messages/messages.d.ts', name: 'MessageCreateParams' },
    allowedMessages,
  ],
  'messages (beta)': [
    { file: '@anthropic-ai/sdk/resources/beta/messages/messages.d.ts', name: 'MessageCreateParams' },
    allowedMessages,
  ],
  // The client spreads its `config` over the request; a system instruction is a content there.
  google: [
    { file: google, name: 'GenerateContentConfig' },
    { is: 'object', members: { ...members, ...generation, systemInstruction: { is: 'data' } } },
  ],
  'google contents': [{ file: google, name: 'Content' }, members.systemInstruction!],
  'google generationConfig': [{ file: google, name: 'GenerationConfig' }, members.generationConfig!],
};

/**
 * What the clients know and a run may not send, by path: a member, a kind in angle brackets, a value behind an equals sign. A path
 * that is neither here nor in the shapes of `dialects/` has to be put into one of them.
 */
const refused = fixture('refused-for-runs') as Readonly<Record<string, readonly string[]>>;
/** As OpenCode 1.18, Claude Code 2.1, Codex 0.166 and Gemini CLI 0.61 sent them, with shorter texts. */
const agents = fixture('agent-requests') as readonly {
  readonly agent: string;
  readonly endpoint: Endpoint;
  readonly request: object;
}[];

describe('A request with the key of a run', () => {
  it('has an answer for every member, kind and value that the official clients know', () => {
    expect(unknownToShapes(requests)).to.deep.equal(refused);
  });

  for (const [dialect, paths] of Object.entries(refused)) {
    it(`is refused by the name of what it may not hold, in ${dialect}`, () => {
      const [, shape] = requests[dialect]!;
      for (const path of paths) {
        const found = firstNotAllowed(requestWith(path, shape), shape, (name) => name);
        expect(found?.path, path).to.equal(plainPath(path));
      }
    });
  }

  for (const [dialect, [, shape]] of Object.entries(requests)) {
    it(`is refused for an unknown member, wherever it is in ${dialect}`, () => {
      const places = [...objectsOf(shape, '')];
      expect(places).to.not.have.length(0);
      for (const place of places) {
        const path = place === '' ? 'brand_new' : `${place}.brand_new`;
        const found = firstNotAllowed(requestWith(path, shape), shape);
        expect(found, path).to.deep.include({ path: plainPath(path) });
        expect(found!.why, path).to.match(/^it must be left out; allowed are \w+/);
      }
    });

    it(`is refused for an unknown kind, wherever it is in ${dialect}`, () => {
      for (const [place, by] of kindsOf(shape, '')) {
        const request = requestWith(`${place}<brand_new>`, shape);
        expect(firstNotAllowed(request, shape)?.why, place).to.match(new RegExp(`its ${by} is "brand_new"`));
      }
    });

    it(`may hold data and no address, wherever data is in ${dialect}`, () => {
      for (const place of dataOf(shape, ''))
        for (const address of [
          'https://example.org/x',
          'HTTP://example.org',
          '//example.org',
          'gs://b/x.png',
          'file:///etc/passwd',
          'data:text/plain,https://example.org',
          ' https://example.org',
          'data:image/png;base64,AA== https://example.org',
          'data:image/svg+xml;base64,PHN2Zz4=',
          'data:;url=https://example.org;base64,AA==',
          'data:text/html;base64,AAAA',
          '/etc/passwd',
          '/etc/ssh/key',
          '//localhost/x',
          '//server/abc',
          'data:image/png;base64,AAA',
        ]) {
          const request = requestWith(`${place}=${JSON.stringify(address)}`, shape);
          expect(firstNotAllowed(request, shape)?.path, `${place} ${address}`).to.equal(plainPath(place));
        }
    });
  }

  it('may hold all that the agents send', () => {
    for (const { agent, endpoint, request } of agents) {
      const { memberName } = dialectFor(endpoint);
      expect(firstNotAllowed(request, endpointFacts(endpoint).allowed, memberName), agent).to.equal(null);
    }
  });

  it('knows both spellings of Google’s members, and no third', () => {
    const config = { generationConfig: { maxOutputTokens: 1 }, generation_config: { max_output_tokens: 1 } };
    expect(firstNotAllowed(config, allowedGenerate, camelCase)).to.equal(null);
    for (const tool of ['google_search', 'googleSearch', 'GoogleSearch', 'code_execution', 'url_context'])
      expect(firstNotAllowed({ tools: [{ [tool]: {} }] }, allowedGenerate, camelCase)?.path).to.equal(
        `tools[0].${tool}`,
      );
  });

  const hosted = [{ type: 'web_search' }];
  const outward: Readonly<Record<string, readonly (readonly [request: object, path: string])[]>> = {
    chat: [
      [{ chat_template_kwargs: { chat_template: '{{ x }}' } }, 'chat_template_kwargs.chat_template'],
      [{ chat_template_kwargs: { enable_search: true } }, 'chat_template_kwargs.enable_search'],
      [{ chat_template_kwargs: { enable_thinking: 'x' } }, 'chat_template_kwargs.enable_thinking'],
      [{ metadata: { tags: ['paid'] } }, 'metadata.tags'],
      [{ metadata: { api_base: 'https://example.org' } }, 'metadata.api_base'],
      [{ logit_bias: { api_base: 'https://example.org' } }, 'logit_bias.api_base'],
      [{ logit_bias: { 1: { api_base: 'x' } } }, 'logit_bias.1'],
      [{ tool_choice: 'web_search' }, 'tool_choice'],
      [{ function_call: 'web_search' }, 'function_call'],
      [
        { tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: hosted } } },
        'tool_choice.allowed_tools.tools[0]',
      ],
    ],
    responses: [
      [{ metadata: { model_group: 'x' } }, 'metadata.model_group'],
      [{ client_metadata: { model_group: 'x' } }, 'client_metadata.model_group'],
      [{ client_metadata: { thread_id: { api_base: 'x' } } }, 'client_metadata.thread_id'],
      [{ tool_choice: 'web_search' }, 'tool_choice'],
      [{ tool_choice: { type: 'allowed_tools', mode: 'auto', tools: hosted } }, 'tool_choice.tools[0]'],
    ],
    google: [[{ labels: { team: 'x' } }, 'labels']],
    messages: [
      [{ metadata: { tags: 'x' } }, 'metadata.tags'],
      [{ tool_choice: { type: 'web_search' } }, 'tool_choice'],
    ],
  };
  for (const [dialect, cases] of Object.entries(outward))
    it(`may not choose a route, a template or a tool of the upstream in ${dialect}`, () => {
      const [, shape] = requests[dialect]!;
      for (const [request, path] of cases) expect(firstNotAllowed(request, shape)?.path).to.equal(path);
    });

  it('may hold the values beside them that agents send, and sounds that begin with a slash', () => {
    const request = {
      ...{ logit_bias: { 50256: -100 }, user: 'a', safety_identifier: 'a' },
      ...{ metadata: { user_id: 'a' }, chat_template_kwargs: { enable_thinking: false } },
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'a' } }] },
      },
      messages: ['//uQ', '/9j/', 'SUQz'].map((beginning) => ({
        role: 'user',
        content: [{ type: 'input_audio', input_audio: { data: beginning + 'A'.repeat(4_096) } }],
      })),
    };
    expect(firstNotAllowed(request, allowedChat)).to.equal(null);
  });

  it('may hold a schema whose references stay inside', () => {
    const tool = (parameters: object) => ({
      tools: [{ type: 'function', function: { name: 'a', parameters } }],
    });
    const inside = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      properties: { $ref: { $ref: '#/$defs/a' } },
    };
    expect(firstNotAllowed(tool(inside), allowedChat)).to.equal(null);
    for (const name of ['$ref', '$dynamicRef', '$recursiveRef', '$id', '$schema', 'id'])
      for (const address of ['https://example.org/a', '//example.org/a'])
        expect(firstNotAllowed(tool({ [name]: address }), allowedChat)?.path).to.equal(
          `tools[0].function.parameters.${name}`,
        );
    const outside = { properties: { a: { anyOf: [{ $ref: 'https://example.org/a.json' }] } } };
    expect(firstNotAllowed(tool(outside), allowedChat)?.path).to.equal(
      'tools[0].function.parameters.properties.a.anyOf[0].$ref',
    );
  });
});

/** The path as a message names it. */
function plainPath(path: string): string {
  return path
    .replace(/="?[^"<]*"?$/, '')
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll('[]', '[0]');
}

/** The smallest request that has something at a path. */
function requestWith(path: string, shape: Shape): unknown {
  const steps = path.match(/\[\]|<[^>]*>|=.*$|\.?[^.[<=]+/g) ?? [];
  return build(steps, shape);
}

function build([step, ...rest]: readonly string[], shape: Shape | null): unknown {
  if (step === undefined) return { anything: 1 };
  if (step.startsWith('=')) return JSON.parse(step.slice(1) === '"true"' ? 'true' : step.slice(1));
  const form = step === '[]' ? 'list' : 'object';
  const chosen =
    shape?.is === 'either'
      ? shape.shapes.find(({ is }) => (form === 'list' ? is === 'list' : is === 'object' || is === 'kinds'))!
      : shape;
  if (step === '[]') return [build(rest, chosen?.is === 'list' ? chosen.of : null)];
  if (step.startsWith('<')) {
    const name = step.slice(1, -1);
    const [by, inner] =
      chosen?.is === 'kinds'
        ? [chosen.by, Object.hasOwn(chosen.kinds, name) ? chosen.kinds[name]! : null]
        : ['type', null];
    const more = rest.length === 0 ? {} : (build(rest, inner) as object);
    return { [by]: name.replace('_*', '_20250124'), ...more };
  }
  const name = step.replace(/^\./, '');
  const inner = chosen?.is === 'object' && Object.hasOwn(chosen.members, name) ? chosen.members[name]! : null;
  return { [name]: build(rest, inner) };
}

/** Paths of all objects whose members are known. */
function* objectsOf(shape: Shape, path: string): Generator<string> {
  if (shape.is === 'object') yield path;
  for (const [inner, at] of innerOf(shape, path)) yield* objectsOf(inner, at);
}

function* kindsOf(shape: Shape, path: string): Generator<readonly [path: string, by: string]> {
  if (shape.is === 'kinds') yield [path, shape.by];
  for (const [inner, at] of innerOf(shape, path)) yield* kindsOf(inner, at);
}

function* dataOf(shape: Shape, path: string): Generator<string> {
  if (shape.is === 'text') yield path;
  for (const [inner, at] of innerOf(shape, path)) yield* dataOf(inner, at);
}

function innerOf(shape: Shape, path: string): readonly (readonly [Shape, string])[] {
  switch (shape.is) {
    case 'list':
      return [[shape.of, `${path}[]`]];
    case 'object':
      return Object.entries(shape.members).map(([name, one]) => [
        one,
        path === '' ? name : `${path}.${name}`,
      ]);
    case 'kinds':
      return Object.entries(shape.kinds).map(([name, one]) => [one, `${path}<${name}>`]);
    case 'either':
      return shape.shapes.map((one) => [one, path]);
    default:
      return [];
  }
}

function fixture(name: string): unknown {
  const path = new URL(`../fixtures/model-upstream/${name}.json`, import.meta.url);
  return JSON.parse(readFileSync(path, 'utf8'));
}
