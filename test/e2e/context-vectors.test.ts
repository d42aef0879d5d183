import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { sendJson } from '../fixtures/model-upstream/openai-answers.ts';
import { type ModelUpstream, startModelUpstream } from '../fixtures/model-upstream/openai-server.ts';
import { until } from '../fixtures/until.ts';
import { type ContextProcess, startContext } from './context-process.ts';
import { makePlace, type Place } from './core-process.ts';
import { configureGateway, type GatewayProcess, startGatewayProcess } from './model-key-gateway.ts';

describe('core-context with an embeddings model of the gateway', () => {
  let place: Place;
  let upstream: ModelUpstream;
  let gateway: GatewayProcess;
  let context: ContextProcess;

  before(async () => {
    place = makePlace();
    upstream = await startModelUpstream();
    upstream.always(({ json }, response) => {
      const data = json.input.map((text: string, index: number) => ({
        object: 'embedding',
        index,
        embedding: /\b(car|automobile)\b/.test(text) ? [1, 0.1] : [0, 1],
      }));
      sendJson(response, 200, { object: 'list', data, usage: { prompt_tokens: 5, total_tokens: 5 } });
    });
    const entry = { kind: 'openai', base_url: upstream.url, model: 'embedder' };
    await configureGateway(place.home, { models: { vectors: { kind: 'embeddings', upstreams: [entry] } } });
    gateway = await startGatewayProcess(place.home);
    await place.core('token', 'create', 'vectors', '--scopes', 'model');
    copyFileSync(
      join(place.home, 'config/tokens/vectors.token'),
      join(place.home, 'config/secrets/embeddings'),
    );
    const embeddings = { url: gateway.url, model: 'vectors', credential: 'embeddings' };
    writeFileSync(join(place.home, 'config/context.json'), JSON.stringify({ embeddings }));
    context = await startContext(place.home);
  });
  after(async () => {
    await context?.stop();
    await gateway?.stop();
    await upstream.close();
    place.remove();
  });

  it('finds a memory by what it means', async () => {
    for (const content of ['Mira drives an automobile.', 'The bread cools.'])
      await context.post('/v1/memory/record', { layer: 'semantic', content });
    const results = await until('a memory that says it otherwise', async () => {
      const found: { text: string; why: { vector?: number } }[] = (
        await context.post('/v1/memory/lookup', { query: 'car' })
      ).json.results;
      return found.length > 0 && found;
    });
    expect(results.map(({ text }) => text)).to.deep.equal(['Mira drives an automobile.']);
    expect(results[0]!.why.vector).to.be.greaterThan(0.9);
    // What a service says of its health is good for a second.
    await until('its health', async () => {
      const { detail } = (await context.get('/healthz')).json.checks.embeddings;
      return /^vectors at http.*: answers$/.test(detail);
    });
    const { stdout } = await place.core('doctor');
    expect(stdout).to.match(/embeddings: vectors at http.*: answers/);
    expect(upstream.requests.every(({ json }) => json.model === 'embedder')).to.equal(true);
  });
});
