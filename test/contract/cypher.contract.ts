import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import type { Graph } from '../../services/context/graph/open-graph.ts';
import { answers, rightOrRefused } from './cypher-answers.ts';
import { type Attack, attacks, harmless, hungry, refused } from './cypher-attacks.ts';
import { at, type GraphLimits, makeScene, type Scene } from './cypher-scene.ts';

/** What every CypherEngine keeps. @param open on the scene's record, with these limits */
export function cypherContract(open: (scene: Scene, limits?: GraphLimits) => Graph): void {
  let scene: Scene;
  let graph: Graph;

  before(async () => {
    scene = makeScene();
    graph = open(scene);
    await graph.refresh();
  });

  after(async () => {
    await graph.close();
    await scene.close();
  });

  describe('answers', () => {
    for (const [query, rows, params = {}] of answers) {
      it(query, async () => {
        const reply = await graph.query({ query, params });
        expect(reply.rows).to.deep.equal(rows);
        expect(reply).to.include({ truncated: false, engine: graph.engine });
        if (rows.length > 0) expect(reply.columns).to.have.members(Object.keys(rows[0]!));
      });
    }

    it('shows what was written just before, and not what was deleted', async () => {
      const query = "MATCH (n:Task {id: 'task:2'}) RETURN n.title AS title";
      scene.write((record) =>
        record.putNode({ id: 'task:2', label: 'Task', kind: 'issue', title: 'Second', valid_from: at }),
      );
      expect((await graph.query({ query })).rows).to.deep.equal([{ title: 'Second' }]);
      scene.write((record) =>
        record.putNode({ id: 'task:2', label: 'Task', kind: 'issue', title: 'Changed', valid_from: at }),
      );
      expect((await graph.query({ query })).rows).to.deep.equal([{ title: 'Changed' }]);
      scene.write((record) => record.deleteNode(record.nodeOf('task:2')!));
      expect((await graph.query({ query })).rows).to.deep.equal([]);
    });

    it('keeps what is made again under an id that was deleted, without its old edges', async () => {
      scene.write((record) => {
        const node = {
          id: 'again',
          label: 'CoreEntity',
          kind: 'file',
          title: 'again',
          valid_from: at,
        } as const;
        const link = (from: number) =>
          record.putEdge({
            from,
            to: record.nodeOf('repo:hello')!,
            type: 'CORE_RELATION',
            kind: 'touches',
            valid_from: at,
          });
        link(record.putNode(node));
        record.deleteNode(record.nodeOf('again')!);
        record.putNode(node);
      });
      const query = "MATCH (n:CoreEntity {id: 'again'}) RETURN COUNT { (n)-->() } AS edges";
      expect((await graph.query({ query })).rows).to.deep.equal([{ edges: 0 }]);
      scene.write((record) => record.deleteNode(record.nodeOf('again')!));
    });

    it('removes an edge that the record deletes', async () => {
      const count = async () =>
        (await graph.query({ query: "MATCH ()-[r {kind: 'mentions'}]->() RETURN count(r) AS c" })).rows;
      scene.write((record) =>
        record.putEdge({
          from: record.nodeOf('symbol:main')!,
          to: record.nodeOf('file:README.md')!,
          type: 'CORE_RELATION',
          kind: 'mentions',
          valid_from: at,
        }),
      );
      expect(await count()).to.deep.equal([{ c: 1 }]);
      scene.write((record) => {
        const { edge } = record.db.prepare("SELECT edge FROM edges WHERE kind = 'mentions'").get() as {
          edge: number;
        };
        record.deleteEdge(edge);
      });
      expect(await count()).to.deep.equal([{ c: 0 }]);
    });
  });

  describe('values whose kind comes late', () => {
    for (const [query, value] of rightOrRefused) {
      it(`are answered rightly or refused: ${query}`, async () => {
        const outcome = await graph.query({ query }).then(
          ({ rows }) => rows,
          (error: CoreError) => error.code,
        );
        if (outcome !== 'cypher_not_supported') expect(outcome).to.deep.equal([{ x: value }]);
      });
    }
  });

  describe('limits', () => {
    it('gives so many rows and says that there are more', async () => {
      const reply = await graph.query({ query: 'MATCH (n:CoreEntity) RETURN n.id AS id', limit: 2 });
      expect(reply.rows).to.have.length(2);
      expect(reply.truncated).to.equal(true);
    });

    it('gives all rows when there are exactly as many', async () => {
      const reply = await graph.query({
        query: 'MATCH (n:CoreEntity) RETURN n.id AS id ORDER BY id',
        limit: 6,
      });
      expect([reply.rows.length, reply.truncated]).to.deep.equal([6, false]);
    });

    it("keeps the query's own LIMIT, and limits a UNION", async () => {
      expect(
        (await graph.query({ query: 'UNWIND range(1, 50) AS x RETURN x LIMIT $n', params: { n: 3 } })).rows,
      ).to.have.length(3);
      const query = 'UNWIND [1, 2] AS x RETURN x UNION UNWIND [2, 3, 4] AS x RETURN x';
      const reply = await graph.query({ query, limit: 2 });
      expect([reply.rows.length, reply.truncated]).to.deep.equal([2, true]);
    });

    it('stops at the limit without making the other rows', async () => {
      const query = 'MATCH (a), (b), (c), (d), (e), (f), (g), (h) RETURN a.id AS a, h.id AS h';
      const reply = await graph.query({ query, limit: 100 });
      expect([reply.rows.length, reply.truncated]).to.deep.equal([100, true]);
    });

    for (const limit of [0, -1, 1.5, 10_001, Number.NaN]) {
      it(`refuses the limit ${limit}, naming the range`, async () => {
        const error = await failure(graph.query({ query: 'RETURN 1 AS x', limit }));
        expect(error.code).to.equal('invalid_limit');
        expect(error.message).to.include('from 1 to 10000');
      });
    }

    it('refuses a reply of more than 8 MiB', async () => {
      const query = "UNWIND range(1, 2000) AS x RETURN reduce(s = 'x', i IN range(1, 13) | s + s) AS s";
      expect((await failure(graph.query({ query, limit: 2_000 }))).code).to.equal('cypher_too_large');
    });
  });

  describe('what is wrong', () => {
    for (const [query, line, column] of [
      ['MATCH (n) RETRN n', 1, 11],
      ['MATCH (n)\nRETURN m', 2, 8],
      ['MATCH (n\nRETURN n', 2, 1],
      ['RETURN $missing AS x', 1, 8],
      ['// first\nMATCH (n) WHERE n. RETURN n', 2, null],
    ] as const) {
      it(`is reported with its place: ${query.replace('\n', ' ⏎ ')}`, async () => {
        const error = await failure(graph.query({ query }));
        expect([error.code, error.status]).to.deep.equal(['cypher_invalid', 400]);
        expect(error.message).to.match(new RegExp(`line ${line}, column ${column ?? '\\d+'}: `));
        expect(error.errors[0]?.pointer).to.equal('/query');
      });
    }

    for (const [query, column, name] of [
      ['RETURN $a + $b AS x', 13, '$b'],
      ['MATCH (n:Nothing {id: $id}) RETURN n.id AS x', 23, '$id'],
      ['MATCH (n:Task) RETURN n.id AS x LIMIT $rows', 39, '$rows'],
      ['RETURN $`two words` AS x', 8, '$`two words`'],
    ] as const) {
      it(`is a parameter that was not sent, by its name: ${query}`, async () => {
        const error = await failure(graph.query({ query, params: { a: 1, c: null } }));
        expect(error.code).to.equal('cypher_invalid');
        const why = `the parameter ${name} is missing: "params" has a, c`;
        expect(error.message).to.include(`line 1, column ${column}: ${why}`);
      });
    }

    it('is the shortest path from a node to itself', async () => {
      const query = 'MATCH (a:Task) MATCH p = shortestPath((a)-[*..5]-(a)) RETURN length(p) AS l';
      expect((await failure(graph.query({ query }))).code).to.be.oneOf([
        'cypher_invalid',
        'cypher_not_supported',
      ]);
    });

    it('is reported for an error while it runs', async () => {
      expect((await failure(graph.query({ query: 'UNWIND [1, 0] AS x RETURN 1 / x AS y' }))).code).to.equal(
        'cypher_invalid',
      );
    });

    it('is a NUL, half a surrogate pair, and a parameter nested too deep', async () => {
      const deep = JSON.parse(`${'['.repeat(99)}${']'.repeat(99)}`);
      expect((await failure(graph.query({ query: 'RETURN \0 AS x' }))).message).to.include(
        'line 1, column 8: a NUL',
      );
      expect((await failure(graph.query({ query: "RETURN '\ud800' AS x" }))).code).to.equal('cypher_invalid');
      expect(
        (await failure(graph.query({ query: 'RETURN $x AS x', params: { x: deep } }))).message,
      ).to.include('/params/x');
      expect(
        (await failure(graph.query({ query: 'RETURN $x AS x', params: { x: '\udfff' } }))).status,
      ).to.equal(400);
      expect(
        (await failure(graph.query({ query: 'RETURN $x AS x', params: { x: 2 ** 60 } }))).message,
      ).to.include('2^53');
    });
  });

  describe('attacks', () => {
    for (const { title, query, params = {} } of attacks) {
      it(`refuses ${title}`, async () => {
        const error = await failure(graph.query({ query, params }));
        expect(refused, error.message).to.include(error.code);
        expect(error.message).not.to.include('root:');
      });
    }

    for (const { title, query, params = {} } of harmless) {
      it(`takes for data: ${title}`, async () => {
        expect((await graph.query({ query, params })).engine).to.equal(graph.engine);
      });
    }

    it('left the projection as the record says, and the engine at work', async () => {
      const { same, differences } = await graph.check();
      expect(differences).to.deep.equal([]);
      expect(same).to.equal(true);
      const labels = (
        await graph.query({ query: 'CALL db.labels() YIELD label RETURN label ORDER BY label' })
      ).rows;
      expect(labels.map(({ label }) => label)).not.to.include('Evil');
    });

    it('answers a query of 1 MB at once, whatever is in it', async () => {
      const began = performance.now();
      const queries = [
        '('.repeat(1_000_000),
        `RETURN ${'1+'.repeat(500_000)}1 AS x`,
        `RETURN '${'x'.repeat(1_000_000)}`,
      ];
      for (const query of queries)
        expect((await failure(graph.query({ query }))).status).to.be.oneOf([400, 422]);
      expect(performance.now() - began).to.be.below(100_000);
      expect((await graph.query({ query: 'RETURN 1 AS x' })).rows).to.deep.equal([{ x: 1 }]);
    });
  });

  describe('hungry queries', () => {
    let limited: Graph;

    before(() => graph.close());
    before(async () => {
      limited = open(scene, { seconds: 5, memory_mb: 400 });
      await limited.refresh();
    });
    after(async () => {
      await limited.close();
      graph = open(scene);
    });

    for (const attack of hungry) {
      it(`ends ${attack.title} while others are answered`, () => endsAlone(limited, attack));
    }

    it('are all ended when they come together, and nobody else is', async () => {
      const outcomes = hungry.map(({ query }) => settled(limited.query({ query })));
      const others = Array.from({ length: 6 }, (_, x) =>
        limited.query({ query: 'RETURN $x AS x', params: { x } }, { caller: 'other' }),
      );
      const replies = await Promise.all(others);
      expect(replies.map(({ rows }) => rows[0]?.x)).to.deep.equal([0, 1, 2, 3, 4, 5]);
      for (const outcome of await Promise.all(outcomes))
        expect(outcome).to.match(/^(cypher_too_\w+|cypher_busy|cypher_invalid|answered)$/);
      expect((await limited.check()).same).to.equal(true);
    });

    it('of one caller do not hold up another, however many there are', async () => {
      const { query } = hungry.at(-1)!;
      const slow = Array.from({ length: 40 }, () => settled(limited.query({ query }, { caller: 'slow' })));
      const began = performance.now();
      for (let nth = 0; nth < 5; nth++) {
        const { rows } = await limited.query({ query: 'RETURN 1 AS x' }, { caller: 'quick' });
        expect(rows).to.deep.equal([{ x: 1 }]);
      }
      expect(performance.now() - began).to.be.below(60_000);
      const outcomes = new Set(await Promise.all(slow));
      expect(['cypher_busy', 'cypher_too_large', 'cypher_too_slow']).to.include.members([...outcomes]);
      expect(outcomes).to.include('cypher_busy');
      // Waiting, running and running again are one time together.
      expect(performance.now() - began).to.be.below(60_000);
    });

    it('are given up when nobody waits any more', async () => {
      const abort = new AbortController();
      const query = limited.query({ query: hungry.at(-1)!.query }, { signal: abort.signal });
      setTimeout(() => abort.abort(new Error('gone')), 100);
      expect(await settled(query)).to.equal('gone');
      expect((await limited.query({ query: 'RETURN 1 AS x' })).rows).to.deep.equal([{ x: 1 }]);
    });
  });
}

async function endsAlone(graph: Graph, { query }: Attack): Promise<void> {
  const began = performance.now();
  const slow = settled(graph.query({ query }));
  const beside = await graph.query({ query: 'MATCH (n:CoreEntity) RETURN count(n) AS c' });
  expect(beside.rows).to.deep.equal([{ c: 6 }]);
  expect(await slow).to.match(/^(cypher_too_(slow|large)|cypher_invalid|answered)$/);
  expect(performance.now() - began).to.be.below(100_000);
}

async function failure(work: Promise<unknown>): Promise<CoreError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof CoreError) return error;
    throw error;
  }
  throw new Error('it was answered');
}

function settled(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'answered',
    (error) => (error instanceof CoreError ? error.code : String(error.message)),
  );
}
