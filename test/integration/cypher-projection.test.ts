import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { GrafeoEngine } from '../../services/context/graph/grafeo/grafeo-engine.ts';
import { GrafeoProjection } from '../../services/context/graph/grafeo/grafeo-projection.ts';
import { IdleLoading } from '../../services/context/graph/grafeo/idle-loading.ts';
import type { Graph } from '../../services/context/graph/open-graph.ts';
import { at, makeScene, openSceneGraph, type Scene, silent } from '../contract/cypher-scene.ts';
import { until } from '../fixtures/until.ts';
import { smallDisk } from '../fixtures/world/own-mounts.ts';
import { itWith } from '../needs.ts';

const count = { query: 'MATCH (n:CoreEntity) RETURN count(n) AS c' };

describe("the embedded engine's projection", () => {
  let scene: Scene;
  let graph: Graph;
  const folder = () => join(scene.folder, 'graph');
  const files = () => readdirSync(folder()).filter((name) => name !== 'current');

  beforeEach(() => {
    scene = makeScene();
    graph = openSceneGraph(scene, null);
  });

  afterEach(async () => {
    await graph.close();
    await scene.close();
  });

  it('is not there before somebody asks', async () => {
    expect(readdirSync(scene.folder)).not.to.include('graph');
    expect((await graph.health()).detail).to.include('not started');
  });

  it('is kept over a restart and one file after any number of changes', async () => {
    for (let nth = 0; nth < 5; nth++) {
      add(scene, `file:${nth}`);
      expect((await graph.query(count)).rows).to.deep.equal([{ c: 7 + nth }]);
    }
    expect(files()).to.have.length(1);
    const [before] = files();
    await graph.close();
    graph = openSceneGraph(scene, null);
    expect((await graph.query(count)).rows).to.deep.equal([{ c: 11 }]);
    expect(files()).to.deep.equal([before]);
  });

  it('is rebuilt if its file is damaged, empty or gone', async () => {
    for (const damage of [
      (bytes: Buffer) => bytes.fill(7),
      () => Buffer.alloc(0),
      (bytes: Buffer) => bytes.subarray(0, 100),
    ]) {
      await graph.query(count);
      await graph.close();
      const path = join(folder(), files()[0]!);
      writeFileSync(path, damage(readFileSync(path)));
      graph = openSceneGraph(scene, null);
      expect((await graph.query(count)).rows).to.deep.equal([{ c: 6 }]);
    }
    await graph.close();
    writeFileSync(join(folder(), 'current'), 'nothing.grafeo');
    graph = openSceneGraph(scene, null);
    expect((await graph.query(count)).rows).to.deep.equal([{ c: 6 }]);
  });

  it('is right after its process was killed again and again while it was fed', async () => {
    for (let round = 0; round < 5; round++) {
      scene.write((record) => {
        for (let nth = 0; nth < 2_000; nth++) put(record, `round:${round}:${nth}`);
      });
      const asked = graph.query(count);
      const killer = setTimeout(() => signalChildren(folder(), 'KILL'), 100 + round * 150);
      expect((await asked).rows).to.deep.equal([{ c: 6 + 2_000 * (round + 1) }]);
      clearTimeout(killer);
    }
    expect(await graph.check()).to.deep.include({ same: true, differences: [] });
  });

  it('is replaced when it is rebuilt', async () => {
    await graph.query(count);
    const [before] = files();
    await graph.rebuild();
    expect(files()).to.have.length(1);
    expect(files()[0]).not.to.equal(before);
    expect(statSync(folder()).mode & 0o077).to.equal(0);
    expect((await graph.check()).same).to.equal(true);
  });

  it('warns once, and says in its health, that it has no sandbox', async () => {
    const warnings: string[] = [];
    const held = new GrafeoProjection({
      readers: scene.readers,
      folder: join(scene.folder, 'plain'),
      memoryMb: 400,
      logger: { ...silent, warn: (message: string) => void warnings.push(message) },
      sandbox: () => null,
    });
    await held.current();
    await held.reset();
    await held.current();
    const limits = { seconds: 5, memory_mb: 400 };
    const { detail } = await new GrafeoEngine({ projection: held, readers: scene.readers, limits }).health();
    held.close();
    expect(detail).to.include('without a sandbox: bwrap is not installed');
    expect(warnings).to.deep.equal(['Cypher runs without a sandbox of its own: bwrap is not installed']);
  });

  it('knows after a restart how far it is, before its process starts', async () => {
    await graph.query(count);
    expect((await graph.health()).lag).to.deep.equal({ changes: 0, seconds: 0 });
    await graph.close();
    add(scene, 'file:new');
    graph = openSceneGraph(scene, null);
    const { detail, lag } = await graph.health();
    expect([detail, lag.changes]).to.deep.equal([
      'grafeo, not started, 1 changes are read before the next query',
      1,
    ]);
  });

  it('holds nothing but what the record holds', async () => {
    const { nodes } = await graph.check();
    const all = await graph.query({ query: 'MATCH (n) RETURN count(n) AS c' });
    expect(all.rows).to.deep.equal([{ c: nodes }]);
  });

  it('is loaded without being asked once much has changed and nobody writes, and rests then', async () => {
    scene.write((record) => {
      for (let nth = 0; nth < 3_000; nth++) put(record, `file:${nth}`);
    });
    await until('it to be loaded', async () => (await graph.health()).lag.changes === 0);
    expect((await graph.health()).detail).to.match(
      /^grafeo, not started, up to date(?:, without a sandbox: .+)?$/,
    );
    expect((await graph.query(count)).rows).to.deep.equal([{ c: 3_006 }]);
  });

  it('says that it is being loaded to whoever cannot wait so long, and goes on loading', async () => {
    const slow: Scene['readers'] = Object.create(scene.readers);
    slow.ask = async (query, input) => {
      if (query === 'graphChanges') await sleep(1_500);
      return scene.readers.ask(query, input);
    };
    const { held, engine } = alone(scene, { readers: slow, loadingMs: 1_000 });
    const error = await engine.query(call).catch((thrown) => thrown);
    expect([error.code, error.status, error.retryAfter]).to.deep.equal(['projection_loading', 503, 5]);
    await until('the end of loading', () => held.position !== null && held.loading === null);
    held.close();
  });

  for (const leave of [0, 300_000]) {
    itWith(
      ['mounts'],
      `stays as it was on a disk with ${leave} bytes left, and catches up when there is room`,
      async () => {
        const home = join(scene.folder, 'home');
        mkdirSync(join(home, 'state'), { recursive: true });
        const disk = await smallDisk(home, 16);
        const { held, engine } = alone(scene, { folder: join(disk.state, 'cypher') });
        const loading = new IdleLoading(scene.readers, held);
        const answer = async () => (await engine.query(call)).rows[0]?.c;
        try {
          expect(await answer()).to.equal(6);
          disk.fill(leave);
          scene.write((record) => {
            for (let nth = 0; nth < 5_000; nth++) put(record, `file:${nth}`);
          });
          expect(await answer()).to.equal(6);
          const { status, detail, lag } = await engine.health();
          expect([status, lag.changes]).to.deep.equal(['degraded', 5_000]);
          expect(detail).to.match(/answers are old, for it cannot be written: .*\w/);
          const error = await held.rebuild().catch((thrown) => thrown);
          expect(error.code).to.equal('cypher_unavailable');
          expect(await answer()).to.equal(6);
          loading.start();
          disk.free();
          await until('it to catch up', async () => (await engine.health()).status === 'ok');
          expect(await answer()).to.equal(5_006);
          expect(readdirSync(join(disk.state, 'cypher'))).to.have.length(2);
        } finally {
          loading.close();
          held.close();
          disk.close();
        }
      },
    );
  }

  it('ends a hungry query, and answers those beside it that do no harm', async () => {
    const { held, engine } = alone(scene, { seconds: 60 });
    await held.current();
    const query = "RETURN size(reduce(s = 'xxxxxxxx', x IN range(1, 60) | s + s)) AS s";
    const slow = 'UNWIND range(1, 900) AS x UNWIND range(1, 300) AS y RETURN count(DISTINCT x + y) AS c';
    const began = performance.now();
    const [bad, good] = await Promise.allSettled([
      engine.query({ ...call, query, caller: 'bad' }),
      engine.query({ ...call, query: slow, caller: 'good' }),
    ]);
    expect(bad)
      .to.have.property('reason')
      .with.property('code')
      .that.matches(/^cypher_too_(large|slow)$/);
    expect(good)
      .to.have.property('value')
      .with.property('rows')
      .that.deep.equals([{ c: 1_199 }]);
    expect(performance.now() - began).to.be.below(150_000);
    held.close();
  });

  it('answers many at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, x) => graph.query({ query: 'RETURN $x AS x', params: { x } })),
    );
    expect(replies.map(({ rows }) => rows[0]?.x)).to.deep.equal(Array.from({ length: 40 }, (_, x) => x));
  });

  it('says that it is busy rather than keep ever more waiting', async () => {
    await graph.query(count);
    // Nothing is answered meanwhile: two have a place, and 64 wait.
    signalChildren(folder(), 'STOP');
    let busy = 0;
    const outcomes = Array.from({ length: 100 }, () =>
      graph.query(count).then(
        () => 'answered',
        (error) => {
          if (error.code === 'cypher_busy') busy++;
          return error.code;
        },
      ),
    );
    try {
      await until('the refusals', () => busy === 34);
    } finally {
      signalChildren(folder(), 'CONT');
    }
    const ended = await Promise.all(outcomes);
    expect(ended.filter((outcome) => outcome === 'answered')).to.have.length(66);
  });
});

const call = { ...count, params: {}, limit: 10, caller: 'mira' };

function alone(
  scene: Scene,
  {
    readers = scene.readers,
    folder = join(scene.folder, 'alone'),
    seconds = 60,
    loadingMs = 30_000,
  }: {
    readonly readers?: Scene['readers'];
    readonly folder?: string;
    readonly seconds?: number;
    readonly loadingMs?: number;
  },
): { readonly held: GrafeoProjection; readonly engine: GrafeoEngine } {
  const limits = { seconds, memory_mb: 400 };
  const held = new GrafeoProjection({ readers, folder, memoryMb: 400, logger: silent, sandbox: () => null });
  return { held, engine: new GrafeoEngine({ projection: held, readers, limits, loadingMs }) };
}

function add(scene: Scene, id: string): void {
  scene.write((record) => put(record, id));
}

function put(record: Scene['record'], id: string): void {
  record.putNode({ id, label: 'CoreEntity', kind: 'file', title: id, valid_from: at });
}

/** The engine's processes name their folder. */
function signalChildren(folder: string, signal: 'KILL' | 'STOP' | 'CONT'): void {
  for (const pid of readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  )) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder)) continue;
      process.kill(Number(pid), `SIG${signal}`);
    } catch {}
  }
}
