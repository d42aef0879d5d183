import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import { CoreError } from '#kit/errors.ts';
import { TooMuchAtOnce } from '../../services/context/graph/mirror-loop.ts';
import { Neo4jConnection } from '../../services/context/graph/neo4j/connection.ts';
import { Neo4jMirror } from '../../services/context/graph/neo4j/neo4j-mirror.ts';
import type { Graph } from '../../services/context/graph/open-graph.ts';
import { type Neo4jServer, startNeo4j } from '../fixtures/containers/neo4j.ts';
import { until } from '../fixtures/until.ts';
import { describeWith } from '../needs.ts';
import { at, makeScene, openSceneGraph, type Scene } from './cypher-scene.ts';

describeWith(['neo4j'], 'the mirror on Neo4j', () => {
  let server: Neo4jServer;
  let scene: Scene;
  let graph: Graph;

  before(async () => {
    server = await startNeo4j();
  });

  after(() => server?.remove());

  beforeEach(async () => {
    scene = makeScene();
    graph = openSceneGraph(scene, server);
    await graph.refresh();
  });

  afterEach(async () => {
    await graph.close();
    await scene.close();
  });

  it('holds what the record holds after changes of every kind', async () => {
    addMany(scene, 500);
    scene.write((record) => {
      record.deleteNode(record.nodeOf('node:3')!);
      record.closeNode(record.nodeOf('node:4')!, at);
      record.closeEdge(
        (record.db.prepare('SELECT max(edge) AS edge FROM edges').get() as { edge: number }).edge,
        at,
      );
      record.putNode({ id: 'node:5', label: 'CoreEntity', kind: 'symbol', title: 'changed', valid_from: at });
    });
    expect(await graph.check()).to.deep.include({ same: true, differences: [] });
    expect((await graph.health()).lag).to.deep.equal({ changes: 0, seconds: 0 });
  });

  it('catches up by itself', async () => {
    addMany(scene, 10);
    await until('the mirror to catch up', async () => (await graph.health()).lag.changes === 0);
    expect((await graph.check()).same).to.equal(true);
  });

  it('makes constraints and indexes once, however often it is prepared', async () => {
    const mirror = new Neo4jMirror(new Neo4jConnection(server.account), join(scene.folder, 'other.json'));
    await Promise.all([mirror.prepare(), mirror.prepare()]);
    await mirror.prepare();
    await mirror.close();
    const names = await namesOf(server, 'SHOW CONSTRAINTS YIELD name RETURN name');
    expect(names.filter((name) => name.startsWith('core_'))).to.have.members([
      'core_action_id',
      'core_coreentity_id',
      'core_memory_id',
      'core_reasoningrun_id',
      'core_task_id',
    ]);
    const query = "CALL db.index.fulltext.queryNodes('core_text', 'greet*') YIELD node RETURN node.id AS id";
    const { rows } = await graph.query({ query });
    expect(rows.map(({ id }) => id)).to.include('symbol:greet');
  });

  it('is all that callers see: neither a node nor a label is there beside the record', async () => {
    const { nodes } = await graph.check();
    const all = await graph.query({ query: 'MATCH (n) RETURN count(n) AS c' });
    expect(all.rows).to.deep.equal([{ c: nodes }]);
    const labels = await graph.query({ query: 'CALL db.labels() YIELD label RETURN label' });
    expect(labels.rows.map(({ label }) => label)).not.to.include('CoreMirror');
  });

  it('goes on where it was after a restart, and says how far behind it is before it reaches the server', async () => {
    await graph.close();
    addMany(scene, 3);
    await namesOf(server, "MATCH (n:Task) SET n.title = 'other' RETURN n.id AS name");
    const away = { ...server, account: { ...server.account, url: 'bolt://127.0.0.1:1' } };
    graph = openSceneGraph(scene, away);
    expect((await graph.health()).lag.changes).to.equal(5);
    await graph.close();
    graph = openSceneGraph(scene, server);
    await graph.refresh();
    const { differences } = await graph.check();
    expect(differences.map(({ what }) => what)).to.deep.equal(['Task']);
    await graph.rebuild();
    expect((await graph.check()).same).to.equal(true);
  });

  it('is filled again if the server has lost what it was sent', async () => {
    const path = join(scene.folder, 'graph', 'neo4j.json');
    for (const change of [{ database: 'another' }, { bookmarks: ['of another server'] }]) {
      await graph.close();
      await namesOf(server, "MATCH (n:Task) DETACH DELETE n RETURN 'x' AS name");
      writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, 'utf8')), ...change }));
      graph = openSceneGraph(scene, server);
      await graph.refresh();
      expect((await graph.check()).same).to.equal(true);
    }
  });

  it('says what differs when somebody changed it, and is right again when rebuilt', async () => {
    await namesOf(server, "MATCH (n:Task) SET n.title = 'other' RETURN n.id AS name");
    await namesOf(server, "MATCH ()-[r:ABOUT]->() DELETE r RETURN 'x' AS name");
    const { same, differences } = await graph.check();
    expect(same).to.equal(false);
    expect(differences.map(({ what }) => what)).to.deep.equal(['Task', 'ABOUT']);
    await graph.rebuild();
    expect((await graph.check()).same).to.equal(true);
  });

  it('starts again for another record', async () => {
    await graph.close();
    await scene.close();
    scene = makeScene({ empty: true });
    addMany(scene, 5);
    graph = openSceneGraph(scene, server);
    await graph.refresh();
    expect(await graph.check()).to.deep.include({ same: true, nodes: 5 });
  });

  it('survives its own process killed at any moment', async () => {
    await graph.close();
    const account = JSON.stringify(server.account);
    for (let round = 0; round < 6; round++) {
      addMany(scene, 3_000, round);
      const child = fork(new URL('./graph-mirror.writer.ts', import.meta.url), [scene.path, account]);
      await once(child, 'message');
      await sleep(200 + round * 250);
      child.kill('SIGKILL');
      await once(child, 'exit');
      scene.write((record) => record.deleteNode(record.nodeOf(`round:${round}:7`)!));
    }
    graph = openSceneGraph(scene, server);
    await graph.refresh();
    expect(await graph.check()).to.deep.include({ same: true, differences: [] });
  });

  it('is behind and says so while the server is down, refuses no write, and catches up', async function () {
    if (server.control === null) this.skip();
    const { control } = server;
    await control.kill();
    addMany(scene, 200);
    await graph.refresh().then(
      () => expect.fail('it was refreshed'),
      (error) => expect([error.code, error.status]).to.deep.equal(['cypher_unavailable', 503]),
    );
    const { status, lag, detail } = await graph.health();
    expect([status, lag.changes]).to.deep.equal(['degraded', 399]);
    expect(detail).to.include('neo4j');
    const error = await graph.query({ query: 'RETURN 1 AS x' }).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(CoreError);
    expect(error.code).to.equal('cypher_unavailable');
    await control.start();
    await until('the mirror to be well', async () => (await graph.health()).status === 'ok');
    expect((await graph.check()).same).to.equal(true);
  });

  it('goes on after a server that stood still', async function () {
    if (server.control === null) this.skip();
    await server.control.pause();
    addMany(scene, 100);
    await sleep(1_500);
    expect((await graph.health()).lag.changes).to.be.above(0);
    await server.control.resume();
    await until('the mirror to catch up', async () => (await graph.health()).lag.changes === 0);
    expect((await graph.check()).same).to.equal(true);
  });

  it('goes in smaller parts where one transaction of the server cannot hold all of it', async () => {
    const large = 'x'.repeat(200_000);
    scene.write((record) => {
      for (let nth = 0; nth < 800; nth++)
        record.putNode({
          ...{ id: `large:${nth}`, label: 'CoreEntity', kind: 'file', title: 'large', valid_from: at },
          properties: { large },
        });
    });
    await graph.refresh();
    expect((await graph.check()).same).to.equal(true);
  });

  it('says that it was too much at once where the server ends a transaction for its time', async () => {
    const connection = new Neo4jConnection(server.account);
    const mirror = new Neo4jMirror(connection, join(scene.folder, 'slow.json'), 2_000);
    const holder = connection.session();
    const holding = await holder.beginTransaction();
    await holding.run("MERGE (n:CoreEntity {id: 'held'}) SET n.held = true");
    const node = { label: 'CoreEntity', properties: { id: 'held' } } as const;
    const position = { record: 'r', nodes: 1, edges: 0, deletions: 0 };
    const changes = { deletions: [], nodes: [node], edges: [], position, complete: true };
    const error = await mirror.apply(changes).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(TooMuchAtOnce);
    await holding.rollback();
    await holder.close();
    await mirror.close();
  });

  it('loses and doubles nothing when the server is killed while it is written', async function () {
    if (server.control === null) this.skip();
    for (let round = 0; round < 2; round++) {
      addMany(scene, 4_000, round);
      await sleep(300 + round * 400);
      await server.control.kill();
      await server.control.start();
    }
    await until('the mirror to catch up', async () => (await graph.health()).lag.changes === 0);
    expect(await graph.check()).to.deep.include({ same: true, differences: [] });
  });
});

/** Nodes in a chain. */
function addMany(scene: Scene, count: number, round?: number): void {
  scene.write((record) => {
    let before: number | null = null;
    for (let nth = 0; nth < count; nth++) {
      const id = round === undefined ? `node:${nth}` : `round:${round}:${nth}`;
      const node = record.putNode({
        id,
        label: 'CoreEntity',
        kind: 'file',
        title: id,
        properties: { nth },
        valid_from: at,
      });
      if (before !== null)
        record.putEdge({ from: before, to: node, type: 'CORE_RELATION', kind: 'references', valid_from: at });
      before = node;
    }
  });
}

async function namesOf({ account }: Neo4jServer, query: string): Promise<string[]> {
  const connection = new Neo4jConnection(account);
  const session = connection.session();
  try {
    return (await session.run(query)).records.map((record) => String(record.get('name')));
  } finally {
    await session.close();
    await connection.close();
  }
}
