import { readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { OutcomeRequest, RecordRequest } from '#kit/contracts/context/memory.ts';
import { agentSource, tokenSource } from '#kit/contracts/context/memory-source.ts';
import { decode } from '#kit/decode.ts';
import { type MemoryPlace, openMemory } from './context-memory.place.ts';

interface Pair {
  readonly a: string;
  readonly b: string;
  /** How many memories there are after both. */
  readonly keep: number;
}

function readPairs(): Pair[] {
  const file = new URL('../fixtures/context/memory-pairs.json', import.meta.url);
  return JSON.parse(readFileSync(file, 'utf8')) as Pair[];
}

describe('The memory', () => {
  let place: MemoryPlace;

  beforeEach(() => {
    place = openMemory();
  });

  afterEach(() => place.close());

  async function rejected(
    promise: Promise<unknown>,
  ): Promise<Error & { code: string; status: number; errors: { pointer: string }[] }> {
    return promise.then(
      () => expect.fail('it was accepted'),
      (error) => error,
    );
  }

  function entities(...ids: string[]): void {
    const db = new DatabaseSync(place.record.path);
    for (const id of ids) {
      const [kind, repository = null, path = null] = id.split(':');
      db.prepare(
        `INSERT INTO nodes (id, label, kind, repository, title, path, valid_from, changed)
         VALUES (?, 'CoreEntity', ?, ?, ?, ?, '2020-01-01T00:00:00.000Z', 0)`,
      ).run(id, kind === 'repo' ? 'repository' : kind!, repository, id, path);
    }
    db.close();
  }

  function rows(sql: string): Record<string, unknown>[] {
    const db = new DatabaseSync(place.record.path, { readOnly: true });
    const found = db
      .prepare(sql)
      .all()
      .map((row) => ({ ...row }));
    db.close();
    return found;
  }

  describe('recording', () => {
    it('changes nothing when the same key and body come again, in any order and number', async () => {
      const request = {
        layer: 'semantic',
        content: 'Tags are signed.',
        key: 'k1',
        about: [],
        confidence: 0.5,
      };
      const replies = await Promise.all(Array.from({ length: 20 }, () => place.remember(request)));
      expect(new Set(replies.map(({ id }) => id)).size).to.equal(1);
      expect(replies.filter(({ created }) => created)).to.have.length(1);
      expect(await place.lines()).to.have.length(1);
    });

    it('refuses a key with another content and names both digests', async () => {
      await place.remember({ layer: 'semantic', content: 'Tags are signed.', key: 'k1' });
      const error = await rejected(
        place.remember({ layer: 'semantic', content: 'Tags are not signed.', key: 'k1' }),
      );
      expect(error).to.include({ code: 'memory_key_taken', status: 409 });
      expect(error.message).to.match(/recorded with digest [0-9a-f]{64}; this one has [0-9a-f]{64}$/);
    });

    it('gives a key to what somebody vouches for, though a token that may not approve had it first', async () => {
      const said = { layer: 'semantic', content: 'Tags are not signed.', key: 'run_1/plan' } as const;
      const vouched = { ...said, content: 'Tags are signed.', source: 'agentd' };
      for (const source of ['token:bot', 'mcp:bot']) {
        const key = `run_1/${source}`;
        const first = await place.remember({ ...said, key, source });
        const second = await place.remember({ ...vouched, key });
        expect(second).to.include({ created: source === 'token:bot' });
        expect(second.id).not.to.equal(first.id);
        expect(await place.remember({ ...vouched, key })).to.include({ id: second.id, created: false });
        for (const late of [
          { ...said, key, source },
          { ...vouched, key, source: 'mira' },
        ])
          expect(await rejected(place.remember(late))).to.include({ code: 'memory_key_taken' });
      }
      const texts = (await place.lines()).map((line) => {
        const { content, sightings } = JSON.parse(line) as {
          content: string;
          sightings: { key: string | null }[];
        };
        return [content, ...sightings.map(({ key }) => key)];
      });
      expect(texts).to.deep.equal([
        ['Tags are not signed.', null, null],
        ['Tags are signed.', 'run_1/token:bot', 'run_1/mcp:bot'],
      ]);
    });

    it('leaves a key with what had it when the one that would take it cannot be stored', async () => {
      const said = {
        layer: 'semantic',
        content: 'Tags are not signed.',
        key: 'k1',
        source: 'token:bot',
      } as const;
      const first = await place.remember(said);
      const broken = { ...said, source: 'mira', about: ['repo:demo/none'] };
      expect(await rejected(place.remember(broken))).to.include({ code: 'entity_unknown' });
      expect(await place.remember(said)).to.include({ id: first.id, created: false });
    });

    it('answers a key that came with a duplicate as it did before', async () => {
      const first = await place.remember({ layer: 'semantic', content: 'Tags are signed.' });
      const again = { layer: 'semantic', content: 'tags are signed', key: 'k2' };
      const second = await place.remember(again);
      expect(second).to.include({ id: first.id, created: false, duplicate_of: first.id });
      expect(await place.remember(again)).to.deep.equal(second);
    });

    it('stores the same text once and keeps who said it', async () => {
      const text = 'The integration tests need a running Gitea, which the fixtures start on a free port.';
      const first = await place.remember({ layer: 'semantic', content: text, source: 'mira' });
      const second = await place.remember({
        layer: 'semantic',
        content: text.replace('The integration', ' the  Integration').slice(0, -1),
        source: 'jo',
      });
      expect(second).to.include({ id: first.id, created: false, duplicate_of: first.id });
      const [line] = await place.lines();
      expect(JSON.parse(line!).sightings.map(({ source }: { source: string }) => source)).to.deep.equal([
        'mira',
        'jo',
      ]);
    });

    for (const { a, b, keep } of readPairs()) {
      it(`has ${keep} after ${JSON.stringify(a.slice(-30))} and ${JSON.stringify(b.slice(-30))}`, async () => {
        entities('repo:demo/a');
        const about = ['repo:demo/a'];
        const [first, second] = [
          await place.remember({ layer: 'semantic', content: a, about }),
          await place.remember({ layer: 'semantic', content: b, about }),
        ];
        expect(await place.lines()).to.have.lengthOf(keep);
        if (keep === 1) {
          expect(second).to.deep.include({ id: first.id, created: false, similar_to: [] });
          return;
        }
        expect(second).to.deep.include({ created: true, duplicate_of: null, similar_to: [first.id] });
        const { content, similar_to } = await place.memory.read(second.id);
        expect([content, similar_to]).to.deep.equal([b, [first.id]]);
        expect((await place.memory.read(first.id)).similar_to).to.deep.equal([second.id]);
        const { results } = await place.memory.lookup({ query: a.split(' ').slice(0, 9).join(' ') });
        expect(results.map(({ id }) => id)).to.deep.equal([second.id, first.id]);
        const edges = rows(
          "SELECT f.id AS newer, t.id AS older FROM edges JOIN nodes f ON f.node = from_node JOIN nodes t ON t.node = to_node WHERE type = 'SIMILAR_TO'",
        );
        expect(edges).to.deep.equal([{ newer: second.id, older: first.id }]);
        await place.memory.forget({ id: first.id }, 'mira');
        expect((await place.memory.read(second.id)).similar_to).to.deep.equal([]);
      });
    }

    it('links an imported memory to the similar ones that are there', async () => {
      const [{ a, b }] = readPairs() as [Pair];
      const first = await place.remember({ layer: 'semantic', content: a });
      const second = await place.remember({ layer: 'semantic', content: b });
      const lines = await place.lines();
      await place.close();
      place = openMemory();
      await place.memory.importAll(lines);
      expect((await place.memory.read(first.id)).similar_to).to.deep.equal([second.id]);
    });

    it('does not let a memory that nobody vouches for pass a similar one that is vouched for', async () => {
      const [{ a, b }] = readPairs() as [Pair];
      const longer = `${b} Surely.`;
      const vouched = await place.remember({ layer: 'semantic', content: a, source: 'mira' });
      const other = await place.remember({ layer: 'semantic', content: longer, source: 'token:bot' });
      const found = async () =>
        (await place.memory.lookup({ query: 'release train of billing' })).results.map(({ id }) => id);
      expect(await found()).to.deep.equal([vouched.id, other.id]);
      const newest = await place.remember({ layer: 'semantic', content: `${b} Rarely so.`, source: 'mira' });
      expect((await found())[0]).to.equal(newest.id);
    });

    it('finds an older similar memory first by a word that only it has', async () => {
      const [{ a, b }] = readPairs() as [Pair];
      const older = await place.remember({ layer: 'semantic', content: a });
      const newer = await place.remember({ layer: 'semantic', content: b });
      for (const [query, first] of [
        ['does the release train leave on Tuesday', older],
        ['does the release train leave on Thursday', newer],
      ] as const)
        expect((await place.memory.lookup({ query })).results[0]!.id).to.equal(first.id);
    });

    it('never joins memories of different sessions, subjects or steps', async () => {
      const summary = { layer: 'episodic', kind: 'summary', content: 'The tests passed.' };
      const playbook = {
        layer: 'procedural',
        content: 'Restart it',
        subject: 'worker',
        steps: ['stop', 'start'],
      };
      const requests = [
        { ...summary, session: 'one' },
        { ...summary, session: 'two' },
        playbook,
        { ...playbook, subject: 'Worker' },
        { ...playbook, steps: ['stop start'] },
        { ...playbook, steps: [], content: 'Restart it stop start' },
      ];
      for (const request of requests) expect(await place.remember(request)).to.include({ created: true });
    });

    it('keeps texts apart that differ in a number or a negation, in their layer or in what they are about', async () => {
      entities('repo:demo/a', 'repo:demo/b');
      const text =
        'A build of the whole project on the small machine takes 12 minutes and must be repeated after a crash.';
      const requests = [
        { layer: 'semantic', content: text },
        { layer: 'semantic', content: text.replace('12', '13') },
        { layer: 'semantic', content: text.replace('must be', 'must not be') },
        { layer: 'procedural', content: text },
        { layer: 'semantic', content: text, about: ['repo:demo/a'] },
        { layer: 'semantic', content: text, about: ['repo:demo/b', 'repo:demo/a'] },
      ];
      for (const request of requests) expect(await place.remember(request)).to.include({ created: true });
      const same = await place.remember({
        layer: 'semantic',
        content: text,
        about: ['repo:demo/a', 'repo:demo/b'],
      });
      expect(same.created).to.equal(false);
      expect(await place.lines()).to.have.length(requests.length);
    });

    it('finds an exact duplicate among many, whatever the text', async () => {
      await fc.assert(
        fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), async (text) => {
          const request = { layer: 'semantic', content: `memory ${text}` };
          if (!RecordRequest.is(request)) return;
          const first = await place.remember(request);
          const second = await place.remember({ ...request, content: `  ${request.content}\n` });
          expect(second).to.include({ id: first.id, created: false });
        }),
        { numRuns: 60 },
      );
    });

    it('puts the turns of a session in order and refuses two in one place', async () => {
      const turn = (content: string, more = {}) =>
        place.remember({ layer: 'episodic', session: 's', content, ...more });
      expect(await turn('Hello', { speaker: 'mira' })).to.include({ seq: 1, created: true });
      expect(await turn('ok', { speaker: 'core' })).to.include({ seq: 2 });
      expect(await turn('ok', { speaker: 'mira' })).to.include({ seq: 3, created: true });
      expect(await turn('ok', { speaker: 'mira' })).to.include({ seq: 3, created: false });
      expect(await turn('ok', { speaker: 'mira', seq: 9 })).to.include({ seq: 9, created: true });
      expect(await turn('OK.', { speaker: 'mira', seq: 9 })).to.include({ seq: 9, created: false });
      for (const more of [{ seq: 9 }, { seq: 9, kind: 'summary' }]) {
        const error = await rejected(turn('something else', more));
        expect(error).to.include({ code: 'memory_place_taken', status: 409 });
      }
    });

    it('names an unknown entity and those near to it', async () => {
      entities(
        'repo:local/demo/hello',
        'file:local/demo/hello:src/greet.js',
        'file:local/demo/hello:src/main.js',
      );
      const one = await rejected(
        place.remember({ layer: 'semantic', content: 'x', about: ['repo:local/demo/helo'] }),
      );
      expect(one).to.include({ code: 'entity_unknown', status: 422 });
      expect(one.message).to.contain('"repo:local/demo/helo"').and.to.contain('repo:local/demo/hello');
      const two = await rejected(
        place.remember({ layer: 'semantic', content: 'x', about: ['src/greet.js'] }),
      );
      expect(two.message).to.contain('file:local/demo/hello:src/greet.js').and.not.to.contain('main.js');
      expect(two.errors[0]).to.include({ pointer: '/about/0' });
      const { id } = await place.remember({ layer: 'semantic', content: 'x' });
      const three = await rejected(place.remember({ layer: 'semantic', content: 'y', about: [id] }));
      expect(three).to.include({ code: 'invalid_input', status: 400 });
    });

    it('makes a Memory node with ABOUT edges, which the change sequence shows', async () => {
      entities('repo:local/demo/hello');
      const { id } = await place.remember({
        layer: 'semantic',
        content: 'The default branch is main.\nSince 2020.',
        kind: 'note',
        about: ['repo:local/demo/hello', 'repo:local/demo/hello'],
        confidence: 0.75,
        source: 'mira',
      });
      const [node] = rows(`SELECT * FROM nodes WHERE id = '${id}'`);
      expect(node).to.include({
        label: 'Memory',
        kind: 'note',
        title: 'The default branch is main.',
        valid_to: null,
      });
      expect(JSON.parse(String(node!.properties))).to.include({
        layer: 'semantic',
        confidence: 0.75,
        source: 'mira',
      });
      expect(Number(node!.changed)).to.be.greaterThan(0);
      const edges = rows(
        'SELECT f.id AS a, e.type, t.id AS b FROM edges e JOIN nodes f ON f.node = from_node JOIN nodes t ON t.node = to_node',
      );
      expect(edges).to.deep.equal([{ a: id, type: 'ABOUT', b: 'repo:local/demo/hello' }]);
    });

    it('masks secrets and says so', async () => {
      const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
      const { masked, id } = await place.remember({
        layer: 'semantic',
        content: `The token is ${secret}, keep it.`,
      });
      expect(masked).to.equal(1);
      expect((await place.memory.read(id)).content).not.to.contain(secret);
    });

    it('masks secrets in names too, and forgets by the name that was given', async () => {
      const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
      const names = {
        kind: secret,
        source: secret,
        subject: `the ${secret}`,
        predicate: secret,
        speaker: secret,
      };
      const { masked } = await place.remember({ layer: 'semantic', content: 'Keep it.', ...names });
      expect(masked).to.equal(5);
      expect(JSON.stringify(await place.lines()))
        .to.contain('[redacted github_token]')
        .and.not.contain(secret);
      const { forgotten } = await place.memory.forget(
        { id: undefined, source: secret, reason: secret },
        'mira',
      );
      expect(forgotten).to.equal(1);
      expect(JSON.stringify(rows('SELECT * FROM forgotten_memories'))).not.to.contain(secret);
    });

    it('refuses a key or a session that holds a secret, without telling it', async () => {
      const secret = `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`;
      for (const member of ['key', 'session']) {
        const error = await rejected(
          place.remember({ layer: 'episodic', content: 'x', [member]: `of ${secret}` }),
        );
        expect(error).to.include({ code: 'invalid_input', status: 400 });
        expect(error.errors.map((one) => one.pointer)).to.deep.equal([`/${member}`]);
        expect(JSON.stringify([error.message, error.errors])).not.to.contain(secret);
      }
      expect(await place.lines()).to.deep.equal([]);
    });

    const refused: [string, Record<string, unknown>, string][] = [
      ['a wrong layer', { layer: 'short-term', content: 'x' }, '/layer'],
      ['a missing layer', { content: 'x' }, '/layer'],
      ['an empty content', { layer: 'semantic', content: ' \n' }, '/content'],
      ['too long a content', { layer: 'semantic', content: 'x'.repeat(100_001) }, '/content'],
      ['NUL', { layer: 'semantic', content: 'a\0b' }, '/content'],
      ['a lone surrogate', { layer: 'semantic', content: 'a\ud800b' }, '/content'],
      ['a lone surrogate in a name', { layer: 'semantic', content: 'x', source: '\udc00' }, '/source'],
      ['a confidence beyond 1', { layer: 'semantic', content: 'x', confidence: 1.1 }, '/confidence'],
      [
        'a confidence that is NaN',
        { layer: 'semantic', content: 'x', confidence: Number.NaN },
        '/confidence',
      ],
      ['a place between places', { layer: 'episodic', content: 'x', session: 's', seq: 1.5 }, '/seq'],
      ['a place without a session', { layer: 'episodic', content: 'x', seq: 1 }, '/seq'],
      ['steps of a fact', { layer: 'semantic', content: 'x', steps: ['y'] }, '/steps'],
      ['a predicate of nobody', { layer: 'semantic', content: 'x', predicate: 'is' }, '/predicate'],
      ['a time that is none', { layer: 'semantic', content: 'x', valid_from: 'yesterday' }, '/valid_from'],
      [
        'an end before the beginning',
        {
          layer: 'semantic',
          content: 'x',
          valid_from: '2026-02-01T00:00:00Z',
          valid_to: '2026-01-01T00:00:00Z',
        },
        '/valid_to',
      ],
      [
        'entities without end',
        { layer: 'semantic', content: 'x', about: Array.from({ length: 101 }, (_, n) => `e${n}`) },
        '/about',
      ],
    ];
    for (const [what, request, pointer] of refused) {
      it(`refuses ${what}, with its place`, async () => {
        const error = await rejected(place.remember(request));
        expect(error).to.include({ code: 'invalid_input', status: 400 });
        expect(error.errors.map((one) => one.pointer)).to.include(pointer);
        expect(await place.lines()).to.deep.equal([]);
      });
    }

    it('takes the longest content, and gives it back as it was', async () => {
      const content = 'ä€😀 \r\n'.repeat(20_000).slice(0, 99_999).toWellFormed();
      const { id } = await place.remember({ layer: 'semantic', content });
      expect((await place.memory.read(id)).content).to.equal(content);
    });
  });

  describe('of facts', () => {
    const day = (n: number) => new Date(Date.UTC(2026, 0, n)).toISOString();
    const fact = (content: string, from: number, more: Record<string, unknown> = {}) => ({
      layer: 'semantic',
      subject: 'Release',
      predicate: 'is run by',
      content,
      valid_from: day(from),
      ...more,
    });
    const holdsAt = async (n: number) => place.texts('release', { as_of: day(n) });

    it('closes the older with the newer', async () => {
      const first = await place.remember(fact('Mira runs the release', 1));
      const second = await place.remember({
        ...fact('Jo runs the release', 10),
        subject: ' Release ',
        predicate: 'Is  run by',
      });
      expect(second.closed).to.deep.equal([first.id]);
      expect(await holdsAt(5)).to.deep.equal(['Mira runs the release']);
      expect(await holdsAt(10)).to.deep.equal(['Jo runs the release']);
      expect(await place.texts('release')).to.deep.equal(['Jo runs the release']);
      expect(rows(`SELECT valid_to FROM nodes WHERE id = '${first.id}'`)).to.deep.equal([
        { valid_to: day(10) },
      ]);
    });

    it('tells subjects apart by their case', async () => {
      const said = { layer: 'semantic', predicate: 'is tested by', valid_from: day(1) };
      const pairs = [
        ['src/Auth.ts', 'src/auth.ts'],
        ['User', 'user'],
        ['ÄPFEL', 'äpfel'],
      ] as const;
      for (const [one, other] of pairs) {
        const first = await place.remember({ ...said, subject: one, content: 'unit tests' });
        const second = await place.remember({ ...said, subject: other, content: 'hand', valid_from: day(2) });
        expect(second, one).to.deep.include({ created: true, closed: [] });
        const third = await place.remember({
          ...said,
          subject: other,
          content: 'unit tests',
          valid_from: day(3),
        });
        expect(third, other).to.deep.include({ created: true, closed: [second.id] });
        expect((await place.memory.read(first.id)).valid_to).to.equal(null);
      }
    });

    it('remembers what holds again after it did not', async () => {
      await place.remember(fact('Mira runs the release', 1));
      await place.remember(fact('Jo runs the release', 5));
      expect(await place.remember(fact('Mira runs the release', 9))).to.include({ created: true });
      expect(await place.texts('release')).to.deep.equal(['Mira runs the release']);
      expect(await place.remember(fact('mira runs the release!', 12))).to.include({ created: false });
    });

    it('distinguishes numbers that differ in one digit', async () => {
      const text = 'The maximal number of connections that the database of the service accepts is 100';
      await place.remember(fact(text, 1));
      expect(await place.remember(fact(text.replace('100', '101'), 2))).to.include({ created: true });
    });

    it('has the same history in whatever order it is recorded', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.uniqueArray(
            fc.record({
              from: fc.integer({ min: 1, max: 60 }),
              to: fc.option(fc.integer({ min: 1, max: 20 })),
              source: fc.constantFrom('mira', 'token:bot'),
            }),
            {
              selector: ({ from }) => from,
              minLength: 2,
              maxLength: 6,
            },
          ),
          fc.integer(),
          fc.string({ minLength: 8, maxLength: 8 }),
          async (facts, seed, name) => {
            const rememberAll = async (subject: string, order: typeof facts) => {
              for (const { from, to, source } of order)
                await place.remember(
                  fact(`number ${from}`, from, {
                    ...{ subject, source },
                    ...(to === null ? {} : { valid_to: day(from + to) }),
                  }),
                );
              return rows(
                `SELECT content, valid_from, valid_to FROM memories WHERE subject = '${subject}' ORDER BY valid_from`,
              );
            };
            const id = `${Buffer.from(name).toString('hex')}${seed}`;
            const forwards = await rememberAll(
              `f${id}`,
              facts.toSorted((a, b) => a.from - b.from),
            );
            const anyhow = await rememberAll(`a${id}`, facts);
            expect(anyhow).to.deep.equal(forwards);
          },
        ),
        { numRuns: 40 },
      );
    });

    it('leaves facts about other entities alone', async () => {
      entities('repo:demo/a', 'repo:demo/b');
      await place.remember(fact('main', 1, { about: ['repo:demo/a'] }));
      expect(await place.remember(fact('trunk', 2, { about: ['repo:demo/b'] }))).to.include({
        valid_to: null,
      });
      const third = await place.remember(fact('develop', 3, { about: ['repo:demo/b', 'repo:demo/a'] }));
      expect(third.closed).to.have.length(2);
    });

    describe('of tokens that may not approve', () => {
      const approver = tokenSource({ name: 'mira', scopes: ['read', 'plan', 'approve'] }, null);
      const planner = tokenSource({ name: 'bot', scopes: ['read', 'plan'] }, null);
      const said = (name: string, from: number, source: string) =>
        fact(`${name} runs the release`, from, { source });
      const histories = () =>
        rows('SELECT content, source, valid_to FROM memories ORDER BY valid_from, recorded_at').map(
          ({ content, source, valid_to }) =>
            `${String(content).split(' ')[0]} ${source} ${String(valid_to).slice(0, 10)}`,
        );
      const miraHolds = ['Mira mira 9999-12-31', 'Eve token:bot 9999-12-31'];

      for (const low of [planner, `${planner}/handbook`, agentSource('mira')])
        it(`does not end what an approver said: ${low}`, async () => {
          await place.remember(said('Mira', 1, approver));
          const reply = await place.remember(said('Eve', 5, low));
          expect(reply).to.deep.include({ created: true, closed: [] });
          expect(await place.texts('release')).to.include('Mira runs the release');
          expect(await place.remember(said('Jo', 9, approver)))
            .to.have.property('closed')
            .with.length(2);
          expect(await holdsAt(9)).to.deep.equal(['Jo runs the release']);
        });

      it('does not end it either where it was recorded before, or begins at the same time', async () => {
        await place.remember(said('Eve', 5, planner));
        expect(await place.remember(said('Mira', 1, approver))).to.include({ valid_to: null });
        expect(histories()).to.deep.equal(miraHolds);
        await place.remember(said('Ada', 1, planner));
        expect(await holdsAt(2)).to.include('Mira runs the release');
      });

      it('ends what its like said, and is ended by an approver', async () => {
        const first = await place.remember(said('Eve', 1, planner));
        expect((await place.remember(said('Ada', 2, planner))).closed).to.deep.equal([first.id]);
        expect((await place.remember(said('Mira', 3, approver))).closed).to.have.length(1);
        expect(await place.texts('release')).to.deep.equal(['Mira runs the release']);
      });

      it('does not take the place of an approver by saying the same before', async () => {
        const first = await place.remember(said('Mira', 1, planner));
        const second = await place.remember(said('Mira', 2, approver));
        expect(second).to.deep.include({ created: true, duplicate_of: null, closed: [first.id] });
        await place.remember(said('Eve', 5, planner));
        expect(await place.texts('release')).to.include('Mira runs the release');
        const note = { layer: 'semantic', content: 'Releases are cut on Thursdays by hand' };
        await place.remember({ ...note, content: `${note.content}!`, source: planner });
        expect(await place.remember({ ...note, source: approver })).to.include({ created: true });
        expect(await place.remember({ ...note, source: planner })).to.include({ created: false });
      });

      it('does not end it by an import, nor where the memories of another are forgotten', async () => {
        await place.remember(said('Mira', 1, approver));
        await place.remember(said('Eve', 5, planner));
        const other = openMemory();
        try {
          const lines = await place.lines();
          await other.memory.importAll(lines.toReversed());
          expect(await other.texts('release')).to.have.members(await place.texts('release'));
          expect(await other.texts('release')).to.include('Mira runs the release');
        } finally {
          await other.close();
        }
        await place.memory.forget({ source: planner }, 'test');
        expect(await place.texts('release')).to.deep.equal(['Mira runs the release']);
      });

      it('ends nothing any more with the words that are left to it when an approver’s are forgotten', async () => {
        await place.remember(said('Mira', 1, approver));
        await place.remember(said('Jo', 5, 'jo'));
        await place.remember(said('Jo', 6, planner));
        expect(await place.texts('release')).to.deep.equal(['Jo runs the release']);
        await place.memory.forget({ source: 'jo' }, 'test');
        expect(histories()).to.deep.equal(['Mira mira 9999-12-31', 'Jo token:bot 9999-12-31']);
      });
    });

    it('opens the older again when the newer is forgotten', async () => {
      await place.remember(fact('Mira runs the release', 1));
      const { id } = await place.remember(fact('Jo runs the release', 5));
      await place.memory.forget({ id }, 'test');
      expect(await place.texts('release')).to.deep.equal(['Mira runs the release']);
    });
  });

  describe('of playbooks', () => {
    it('counts how often they worked, once for each run', async () => {
      const { id } = await place.remember({
        layer: 'procedural',
        content: 'Release',
        steps: ['Tag', 'Push'],
      });
      const say = (body: Record<string, unknown>) =>
        place.memory.outcome(decode(OutcomeRequest, { id, ...body }, 'the body'));
      await say({ worked: true, run: 'run_1' });
      await say({ worked: true, run: 'run_1' });
      await say({ worked: false, run: 'run_2' });
      await say({ worked: true });
      expect(await say({ worked: true, run: 'run_2' })).to.deep.equal({ id, worked: 3, failed: 0 });
      const [node] = rows(`SELECT properties FROM nodes WHERE id = '${id}'`);
      expect(JSON.parse(String(node!.properties))).to.include({ worked: 3, failed: 0 });
    });

    it('has the last word of a run, also after one of a host whose clock was ahead', async () => {
      const { id } = await place.remember({ layer: 'procedural', content: 'Release' });
      const say = (worked: boolean, at: string) =>
        place.writer.run('recordMemoryOutcome', { id, worked, run: 'run_1', at });
      await say(true, '2026-01-01T00:05:00.000Z');
      expect(await say(false, '2026-01-01T00:00:00.000Z')).to.deep.equal({ id, worked: 0, failed: 1 });
    });

    it('refuses an outcome of nothing, and of what cannot work', async () => {
      expect(await rejected(place.memory.outcome({ id: 'memory:none', worked: true }))).to.include({
        code: 'memory_not_found',
        status: 404,
      });
      const { id } = await place.remember({ layer: 'semantic', content: 'x' });
      expect(await rejected(place.memory.outcome({ id, worked: true }))).to.include({
        code: 'memory_not_procedural',
        status: 422,
      });
    });

    it('makes a procedure of their name, which stands for all of them and goes with the last', async () => {
      const playbook = { layer: 'procedural', subject: 'Release', steps: ['Tag'] };
      const [first, second] = [
        await place.remember({ ...playbook, content: 'Tag and push', valid_from: '2026-01-01T00:00:00Z' }),
        await place.remember({
          ...playbook,
          content: 'Let the pipeline publish',
          valid_from: '2026-02-01T00:00:00Z',
        }),
      ];
      await place.remember({ layer: 'procedural', content: 'Rotate the keys\nEvery month.' });
      const procedures = () =>
        rows("SELECT id, title, valid_to FROM nodes WHERE kind = 'procedure' ORDER BY id");
      const release = { id: 'procedure:Release', title: 'Release', valid_to: null };
      const keys = { id: 'procedure:Rotate the keys', title: 'Rotate the keys', valid_to: null };
      expect(procedures()).to.deep.equal([release, keys]);
      const about = rows(
        `SELECT f.id FROM edges e JOIN nodes f ON f.node = e.from_node JOIN nodes t ON t.node = e.to_node
         WHERE e.type = 'ABOUT' AND t.id = 'procedure:Release' ORDER BY f.node`,
      );
      expect(about).to.deep.equal([{ id: first!.id }, { id: second!.id }]);
      await place.memory.forget({ id: first!.id, reason: null }, 'mira');
      expect(procedures()).to.deep.equal([release, keys]);
      await place.memory.forget({ id: second!.id, reason: null }, 'mira');
      expect(procedures()).to.deep.equal([keys]);
    });

    it('puts the one that works before the one that fails', async () => {
      const playbooks = await Promise.all(
        ['alpha', 'beta'].map((name) =>
          place.remember({ layer: 'procedural', content: `Deploy by ${name}`, steps: ['go'] }),
        ),
      );
      for (const run of ['1', '2', '3']) {
        await place.memory.outcome({ id: playbooks[0]!.id, worked: false, run });
        await place.memory.outcome({ id: playbooks[1]!.id, worked: true, run });
      }
      const { results } = await place.memory.lookup({ query: 'deploy', layer: 'procedural' });
      expect(results.map(({ text, why }) => [text, why.success])).to.deep.equal([
        ['Deploy by beta', 0.8],
        ['Deploy by alpha', 0.2],
      ]);
    });
  });
});
