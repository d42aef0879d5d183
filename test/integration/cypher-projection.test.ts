import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { GrafeoEngine } from '../../services/context/adapters/grafeo/grafeo-engine.ts';
import { GrafeoProjection } from '../../services/context/adapters/grafeo/grafeo-projection.ts';
import type { Graph } from '../../services/context/graph/open-graph.ts';
import { at, makeScene, openSceneGraph, type Scene, silent } from '../contract/cypher-scene.ts';

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

  it('is made anew when its file is damaged, empty or gone', async () => {
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

  it('is right after its process was killed again and again while it was fed', async function () {
    this.timeout(120_000);
    for (let round = 0; round < 5; round++) {
      scene.write((record) => {
        for (let nth = 0; nth < 2_000; nth++) put(record, `round:${round}:${nth}`);
      });
      const asked = graph.query(count);
      const killer = setTimeout(() => killChildren(folder()), 100 + round * 150);
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

  it('answers many at once', async () => {
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, x) => graph.query({ query: 'RETURN $x AS x', params: { x } })),
    );
    expect(replies.map(({ rows }) => rows[0]?.x)).to.deep.equal(Array.from({ length: 40 }, (_, x) => x));
  });

  it('says that it is busy rather than keep ever more waiting', async function () {
    this.timeout(60_000);
    await graph.query(count);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, () =>
        graph.query(count).then(
          () => 'answered',
          (error) => error.code,
        ),
      ),
    );
    expect(new Set(outcomes)).to.deep.equal(new Set(['answered', 'cypher_busy']));
    expect(outcomes.filter((outcome) => outcome === 'answered').length).to.be.at.least(64);
  });
});

function add(scene: Scene, id: string): void {
  scene.write((record) => put(record, id));
}

function put(record: Scene['record'], id: string): void {
  record.putNode({ id, label: 'CoreEntity', kind: 'file', title: id, valid_from: at });
}

/** The engine's processes name their folder. */
function killChildren(folder: string): void {
  for (const pid of readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && Number(name) !== process.pid,
  )) {
    try {
      if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(folder)) continue;
      execFileSync('kill', ['-KILL', pid], { stdio: 'ignore' });
    } catch {}
  }
}
