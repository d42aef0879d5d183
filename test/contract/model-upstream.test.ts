import { expect } from 'chai';
import {
  anthropicSpeaker,
  type Conversation,
  type Model,
  openAiSpeaker,
  type Reply,
} from '../fixtures/model-upstream/anthropic-conversation.ts';
import { startAnthropicServer } from '../fixtures/model-upstream/anthropic-server.ts';
import { startGateway } from '../fixtures/model-upstream/gateway.ts';
import { startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { ask, cases, describeModelUpstream, type Place } from './model-upstream.contract.ts';

const secrets = { key: 'sk-planted-0123456789abcdef' };

function configFor(kind: string, base_url: string, model: string): object {
  const upstream = { kind, base_url, model, credential: 'key', price: { input: 3, output: 15, cached: 0.3 } };
  return { retries: 0, models: { large: { tier: 'large', upstreams: [upstream] } } };
}

async function withOpenAi(model: Model): Promise<Place> {
  const seen: Conversation[] = [];
  const upstream = await startModelUpstream();
  let aborted = 0;
  const speak = openAiSpeaker(model, seen);
  upstream.always((request, response) => {
    request.left.then(() => {
      aborted += 1;
    });
    return speak(request, response);
  });
  const gateway = await startGateway(configFor('openai', upstream.url, 'gpt-test'), secrets);
  const close = async () => {
    await gateway.stop();
    await upstream.close();
  };
  return { gateway, seen, aborted: () => aborted, close };
}

async function withAnthropic(model: Model): Promise<Place> {
  const seen: Conversation[] = [];
  const server = await startAnthropicServer(anthropicSpeaker(model, seen), secrets.key);
  const gateway = await startGateway(configFor('anthropic', server.url, 'claude-sonnet-4-5'), secrets);
  const close = async () => {
    await gateway.stop();
    await server.close();
  };
  return { gateway, seen, aborted: server.aborted, close };
}

describeModelUpstream('OpenAI-compatible', withOpenAi);
describeModelUpstream('Anthropic', withAnthropic);

describe('the same conversation with both kinds of upstream', () => {
  it('looks the same to the client and to the model', async () => {
    let reply: Reply = 'silent';
    const places = [await withOpenAi(() => reply), await withAnthropic(() => reply)];
    try {
      for (const { title, request, reply: said } of cases) {
        reply = said;
        for (const way of ['whole', 'streamed'] as const) {
          const [openAi, anthropic] = await Promise.all(
            places.map(async ({ gateway, seen }) => {
              const sight = await ask(gateway.client, request, way);
              // An answer of calls alone has no text; whether that is null or empty is for each to say.
              const { limit, choice, ...came } = seen.at(-1)!;
              return { sight: { ...sight, content: sight.content || null }, came };
            }),
          );
          expect(anthropic, `${way}: ${title}`).to.deep.equal(openAi);
        }
      }
    } finally {
      for (const place of places) await place.close();
    }
  });
});
