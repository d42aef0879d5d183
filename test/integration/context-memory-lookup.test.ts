import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { LookupRequest } from '#kit/contracts/context/memory.ts';
import { tokenSource } from '#kit/contracts/context/memory-source.ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

describe('Looking up memories', () => {
  let place: MemoryPlace;

  before(async () => {
    place = openMemory();
    const db = new DatabaseSync(place.record.path);
    for (const name of ['a', 'b'])
      db.prepare(
        `INSERT INTO nodes (id, label, kind, repository, title, valid_from, changed)
         VALUES (?, 'CoreEntity', 'repository', ?, ?, '2020-01-01T00:00:00.000Z', 0)`,
      ).run(`repo:demo/${name}`, `demo/${name}`, name);
    db.close();
    const turns = [
      ['mira', 'Where does the greeting come from?'],
      ['core', 'Look into the file greet.js, there is a default parameter.'],
      ['mira', 'It prints undefined when nobody is named.'],
      ['core', 'Then the fallback has to be a stranger.'],
      ['mira', 'Agreed.'],
      ['core', 'I will write a test as well.'],
      ['mira', 'Fine by me'],
      ['core', 'Done, the branch is ready'],
    ];
    for (const [n, [speaker, content]] of turns.entries())
      await place.remember({
        layer: 'episodic',
        session: 'run_1',
        speaker,
        content,
        seq: n * 10,
        at: `2026-05-0${n + 1}T10:00:00Z`,
      });
    const other = ['We talk about the weather', 'It rains', 'A greeting card arrived for the team', 'Nice'];
    for (const content of other)
      await place.remember({ layer: 'episodic', session: 'run_2', speaker: 'jo', content });
    await place.remember({
      layer: 'semantic',
      content: 'Deployments are frozen on Fridays',
      about: ['repo:demo/a'],
    });
    await place.remember({
      layer: 'semantic',
      content: 'Deployments need two reviews',
      about: ['repo:demo/b'],
    });
    await place.remember({
      layer: 'procedural',
      content: 'How deployments are done',
      steps: ['Build the image', 'Ask for reviews'],
    });
  });

  after(() => place.close());

  it('finds words in any form, whatever words surround them', async () => {
    expect((await place.texts('what is a deployment that was reviewed?'))[0]).to.equal(
      'Deployments need two reviews',
    );
    expect((await place.texts('FROZEN'))[0]).to.equal('Deployments are frozen on Fridays');
    expect((await place.texts('building images'))[0]).to.equal('How deployments are done');
  });

  it('answers with nothing where nothing matches', async () => {
    for (const query of ['xylophone', 'what is it', '???', '🦊', '"', '*', 'the of and'])
      expect(await place.texts(query), query).to.deep.equal([]);
  });

  it('takes syntax of FTS5, SQL and Cypher for words', async () => {
    for (const query of [
      'content:frozen',
      '"frozen',
      'frozen*',
      'frozen AND NOT',
      'NEAR(frozen fridays)',
      'frozen OR (',
      "'; DROP TABLE memories; --frozen",
      'MATCH (n) DETACH DELETE n // frozen',
      '^frozen',
      '{frozen}',
    ])
      expect(await place.texts(query), query).to.include('Deployments are frozen on Fridays');
  });

  it('never fails on any text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }), async (query) => {
        const { results } = await place.memory.lookup({ query });
        for (const { score } of results) expect(score).to.be.within(0, 1);
      }),
      { numRuns: 150 },
    );
  });

  it('brings the turns beside one that matches, and says which', async () => {
    const { results } = await place.memory.lookup({
      query: 'default parameter',
      layer: 'episodic',
      limit: 5,
    });
    expect(results.map(({ seq }) => seq)).to.deep.equal([10, 20, 30, 0]);
    const [hit, after] = results;
    expect(hit!.why).to.deep.include({ terms: ['parameter', 'default'].sort(), text: 1, neighbours: [] });
    expect(after!.why).to.deep.include({
      text: 0,
      session: 0.5,
      neighbours: [{ relation: 'previous', id: hit!.id, score: 0.4 }],
    });
  });

  it('prefers what the named speaker said', async () => {
    const { results } = await place.memory.lookup({ query: "What was core's test?", layer: 'episodic' });
    expect(results[0]).to.include({ text: 'I will write a test as well.' });
    expect(results[0]!.why.subject).to.equal('core');
  });

  it('finds by date', async () => {
    expect((await place.texts('what happened on 7 May 2026', { layer: 'episodic' }))[0]).to.equal(
      'Fine by me',
    );
  });

  it('lifts turns of the session that matches as a whole', async () => {
    const { results } = await place.memory.lookup({
      query: 'greeting undefined fallback',
      layer: 'episodic',
    });
    const greetings = results.filter(({ text }) => text.includes('greeting'));
    expect(greetings.map(({ session }) => session)).to.deep.equal(['run_1', 'run_2']);
    expect(greetings[0]!.why.session).to.be.greaterThan(greetings[1]!.why.session);
  });

  it('keeps to layer, session, entities and limit', async () => {
    const all = await place.memory.lookup({ query: 'deployments reviews' });
    expect(new Set(all.results.map(({ layer }) => layer))).to.deep.equal(new Set(['semantic', 'procedural']));
    expect(await place.memory.lookup({ query: 'deployments reviews', layer: '' })).to.deep.include({
      results: all.results,
    });
    expect(await place.texts('deployments', { layer: 'procedural' })).to.deep.equal([
      'How deployments are done',
    ]);
    expect(await place.texts('greeting', { session: 'run_2', limit: 1 })).to.deep.equal([
      'A greeting card arrived for the team',
    ]);
    expect(await place.texts('deployments', { about: ['repo:demo/a'] })).to.deep.equal([
      'Deployments are frozen on Fridays',
    ]);
    expect(await place.memory.lookup({ query: 'deployments', about: ['repo:demo/z'] })).to.deep.include({
      results: [],
      unknown_about: ['repo:demo/z'],
    });
    expect(await place.texts('deployments', { limit: 1 })).to.have.length(1);
  });

  it('takes a source as it was given when recording, whatever token recorded, or as it is stored', async () => {
    const tokens = { mira: ['plan', 'approve'], bot: ['plan'] } as const;
    const named = [
      ['mira', 'handbook'],
      ['bot', 'handbook'],
      ['bot', 'wiki/pages'],
      ['mira', 'hand'],
      ['mira', null],
      ['bot', 'bot'],
    ] as const;
    const content = (token: string, source: string | null) =>
      `Zeppelins land at ${source ?? 'noon'} says ${token}`;
    for (const [token, given] of named) {
      const source = tokenSource({ name: token, scopes: tokens[token] }, given);
      await place.remember({ layer: 'semantic', content: content(token, given), source });
    }
    const found = async (source: string) =>
      (await place.texts('zeppelins', { source }))
        .map((text) => text.slice('Zeppelins land at '.length))
        .sort();
    for (const [source, texts] of [
      ['handbook', ['handbook says bot', 'handbook says mira']],
      ['mira/handbook', ['handbook says mira']],
      ['token:bot/handbook', ['handbook says bot']],
      ['wiki/pages', ['wiki/pages says bot']],
      ['mira', ['noon says mira']],
      ['bot', ['bot says bot']],
      ['pages', []],
      ['book', []],
    ] as const)
      expect(await found(source), source).to.deep.equal(texts);
    const { results, unknown_source } = await place.memory.lookup({ query: 'zeppelins', source: 'book' });
    expect(results).to.deep.equal([]);
    expect(unknown_source!.source).to.equal('book');
    expect(unknown_source!.known.slice(0, 2)).to.deep.equal(['mira/handbook', 'token:bot/handbook']);
    expect(
      (await place.memory.lookup({ query: 'nothing of that', source: 'handbook' })).unknown_source,
    ).to.equal(null);
  });

  it('keeps to any of several sessions', async () => {
    const sessionsOf = async (session: string | string[]) => {
      const { results } = await place.memory.lookup({ query: 'greeting', session });
      return [...new Set(results.map((one) => one.session))].sort();
    };
    expect(await sessionsOf(['run_1', 'run_2'])).to.deep.equal(['run_1', 'run_2']);
    expect(await sessionsOf(['run_2', 'run_9'])).to.deep.equal(['run_2']);
    expect(await sessionsOf('run_1')).to.deep.equal(['run_1']);
  });

  it('keeps to what a source said, first or again, and gives the key that it was recorded under', async () => {
    const own = openMemory();
    const content = 'The harbour freezes in February';
    await own.remember({ layer: 'semantic', content, source: 'mira', key: 'harbour-1' });
    await own.remember({ layer: 'semantic', content, source: 'jo', key: 'harbour-2' });
    await own.remember({ layer: 'semantic', content: 'The harbour has two cranes', source: 'jo' });
    const keysOf = async (source?: string) => {
      const { results } = await own.memory.lookup({ query: 'harbour', source });
      return results.map(({ text, key }) => [text, key]);
    };
    const [first, cranes] = [
      [content, 'harbour-1'],
      ['The harbour has two cranes', null],
    ];
    expect(await keysOf('mira')).to.deep.equal([first]);
    expect(await keysOf('jo')).to.have.deep.members([first, cranes]);
    expect(await keysOf()).to.have.deep.members([first, cranes]);
    expect(await keysOf('nobody')).to.deep.equal([]);
    const { results } = await own.memory.lookup({ query: 'freezes' });
    expect(await own.memory.read(results[0]!.id)).to.include({ key: 'harbour-1' });
    await own.close();
  });

  it('shows what was valid then', async () => {
    expect(await place.texts('fallback', { as_of: '2026-05-03T23:00:00Z', layer: 'episodic' })).to.deep.equal(
      [],
    );
    expect(
      await place.texts('fallback', { as_of: '2026-05-04T23:00:00+02:00', layer: 'episodic' }),
    ).to.include('Then the fallback has to be a stranger.');
  });

  it("takes the summary's score for its session", async () => {
    const own = openMemory();
    for (const session of ['x', 'y'])
      for (const content of ['The parser is slow', 'Yes it is'])
        await own.remember({ layer: 'episodic', session, content });
    await own.remember({
      layer: 'episodic',
      kind: 'summary',
      session: 'y',
      content: 'About the slow parser',
    });
    await own.remember({ layer: 'episodic', kind: 'summary', session: 'x', content: 'Small talk' });
    const { results } = await own.memory.lookup({ query: 'slow parser' });
    const turns = results.filter(({ seq, text }) => seq === 1 && text.includes('parser'));
    expect(turns.map(({ session }) => session)).to.deep.equal(['y', 'x']);
    expect(turns[1]!.why.session).to.equal(0);
    await own.close();
  });

  it('refuses a wrong layer, limit or query with its place', () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{ query: 'x', layer: 'short' }, '/layer'],
      ...[0, 101, 1.5, '10', -1, Number.NaN].map((limit): [Record<string, unknown>, string] => [
        { query: 'x', limit },
        '/limit',
      ]),
      [{ query: '' }, '/query'],
      [{ query: ' \n' }, '/query'],
      [{ query: 'x'.repeat(20_001) }, '/query'],
      [{ layer: 'semantic' }, '/query'],
      [{ query: 'x', as_of: 'now' }, '/as_of'],
      [{ query: 'x', session: 5 }, '/session'],
      [{ query: 'x', session: ['a', ''] }, '/session/1'],
      [{ query: 'x', source: '' }, '/source'],
    ];
    for (const [request, pointer] of wrong) {
      try {
        decode(LookupRequest, request, 'the body');
        expect.fail(`${JSON.stringify(request)} was accepted`);
      } catch (error) {
        expect(error).to.be.instanceOf(InvalidInput);
        expect((error as InvalidInput).errors.map((one) => one.pointer)).to.include(pointer);
      }
    }
  });
});
