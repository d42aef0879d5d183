import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { RecordRequest } from '#kit/contracts/context/memory.ts';
import { decode } from '#kit/decode.ts';
import { Memory } from '../../services/context/memory/memory.ts';
import { Embedder } from '../../services/context/vectors/embedder.ts';
import { EmbeddingsClient } from '../../services/context/vectors/embeddings-client.ts';
import { until } from '../fixtures/until.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

/** What means the same lies in the same direction. */
const concepts = [/\b(car|automobile|vehicle)\b/i, /\b(dog|puppy|hound)\b/i, /\b(bread|loaf|bakery)\b/i];

function meaning(text: string): number[] {
  return [...concepts.map((concept) => (concept.test(text) ? 3 : 0)), 0.1];
}

/** An embeddings endpoint; `refuses` decides which text it takes no part of. */
async function startEmbeddings(
  refuses = (_: string) => false,
  port = 0,
): Promise<Server & { asked: string[][] }> {
  const asked: string[][] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { input } = JSON.parse(body) as { input: string[] };
    asked.push(input);
    const refused = input.some(refuses);
    response.writeHead(refused ? 400 : 200, { 'content-type': 'application/json' });
    const data = input.map((text, index) => ({ object: 'embedding', index, embedding: meaning(text) }));
    response.end(JSON.stringify(refused ? { error: { message: 'too long' } } : { data }));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return Object.assign(server, { asked });
}

const portOf = (server: Server) => (server.address() as AddressInfo).port;

describe('memories with vectors', () => {
  let place: MemoryPlace;
  let server: (Server & { asked: string[][] }) | undefined;
  let embedder: Embedder;
  let warnings: string[];

  beforeEach(() => {
    place = openMemory();
    warnings = [];
  });
  afterEach(async () => {
    await embedder.close();
    await place.close();
    server?.close();
    server?.closeAllConnections();
    server = undefined;
  });

  function withModel(port: number, model = 'meaning-1'): Memory {
    const url = `http://127.0.0.1:${port}`;
    const client = new EmbeddingsClient({ url, model, credential: null, secrets: '/nowhere' });
    const logger = { warn: (message: string) => void warnings.push(message), info: () => {} };
    embedder = new Embedder({ ...place, client, logger, firstWaitMs: 50 });
    embedder.begin();
    return new Memory({ ...place, path: place.record.path, embedder });
  }

  const remember = (memory: Memory, content: string) =>
    memory.record(decode(RecordRequest, { layer: 'semantic', content }, 'the body'));
  const missing = async (model = 'meaning-1') =>
    (await place.readers.ask('memoriesWithoutVector', { model, limit: 100 })).length;
  async function allMade(): Promise<void> {
    await until('all vectors', async () => (await missing()) === 0);
  }

  it('are found by what they mean, beside what they say', async () => {
    server = await startEmbeddings();
    const memory = withModel(portOf(server));
    await remember(memory, 'Mira drives an automobile from 1972.');
    await remember(memory, 'The hound sleeps in the kitchen.');
    await remember(memory, 'Every car needs a garage, said nobody.');
    await allMade();
    expect(embedder.state.answers).not.to.equal(false);
    const { results } = await memory.lookup({ query: 'vehicle of Mira' });
    expect(results.map(({ text }) => text)).to.have.members([
      'Mira drives an automobile from 1972.',
      'Every car needs a garage, said nobody.',
    ]);
    expect(results[0]!.text).to.contain('Mira');
    expect(results[1]!.why.terms).to.deep.equal([]);
    expect(results[1]!.why.vector).to.be.greaterThan(0.9);
    const alone = await memory.lookup({ query: 'puppy' });
    expect(alone.results.map(({ text }) => text)).to.deep.equal(['The hound sleeps in the kitchen.']);
  });

  it('are recorded and found by their words while no model answers, and get vectors when it does', async () => {
    const first = await startEmbeddings();
    const port = portOf(first);
    first.close();
    const memory = withModel(port);
    await remember(memory, 'The loaf cools on the sill.');
    await remember(memory, 'The hound sleeps.');
    const { results } = await memory.lookup({ query: 'loaf' });
    expect(results).to.have.length(1);
    expect(results[0]!.why.vector).to.equal(undefined);
    await until('a warning', () => warnings.length > 0);
    expect(warnings).to.have.length(1);
    expect(warnings[0]).to.contain('does not answer');
    expect(embedder.state).to.have.property('problem').that.contains('does not answer');

    server = await startEmbeddings(undefined, port);
    await allMade();
    const found = await until('a memory that says it otherwise', async () => {
      const { results } = await memory.lookup({ query: 'bakery' });
      return results.length > 0 && results;
    });
    expect(found.map(({ text }) => text)).to.deep.equal(['The loaf cools on the sill.']);
    expect(embedder.state).to.deep.equal({ answers: true });
  });

  it('keep no vector of what is forgotten, and are rebuilt for another model', async () => {
    server = await startEmbeddings();
    const memory = withModel(portOf(server));
    const { id } = await remember(memory, 'A car.');
    await remember(memory, 'A dog.');
    await allMade();
    await memory.forget({ id, source: undefined, reason: undefined }, 'tester');
    const db = new DatabaseSync(place.record.path, { readOnly: true });
    expect(db.prepare('SELECT count(*) AS n FROM memory_vectors').get()).to.deep.include({ n: 1 });
    db.close();
    expect(
      await place.writer.run(
        'storeVectors',
        { model: 'meaning-1', vectors: [{ memory: 999, vector: new Uint8Array(16) }] },
        'normal',
      ),
    ).to.equal(0);
    expect(await missing('meaning-2')).to.equal(1);
  });

  it('leave out a text that the model refuses, and go on with the others', async () => {
    server = await startEmbeddings((text) => text.includes('endless'));
    const memory = withModel(portOf(server));
    for (const text of ['An endless car.', 'A red car.', 'A dog.']) await remember(memory, text);
    await allMade();
    const { results } = await memory.lookup({ query: 'automobile' });
    expect(results.map(({ text }) => text)).to.deep.equal(['A red car.']);
    const asked = server.asked.length;
    embedder.wake();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(server.asked.length, 'it is not tried again').to.equal(asked);
  });
});
