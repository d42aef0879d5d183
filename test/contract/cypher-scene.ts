import { join } from 'node:path';
import type { Logger } from '#kit/log.ts';
import { onServer } from '../../services/context/graph/on-server.ts';
import { type Graph, openGraph } from '../../services/context/graph/open-graph.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { GraphRecord } from '../../services/context/record/graph-record.ts';
import { Readers } from '../../services/context/store/access.ts';
import { migrate } from '../../services/context/store/schema.ts';
import type { Neo4jServer } from '../fixtures/containers/neo4j.ts';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

export const at = '2026-01-01T00:00:00.000Z';

/** A record with a small world in it, written as the writer's thread writes. */
export interface Scene {
  readonly folder: string;
  readonly path: string;
  readonly record: GraphRecord;
  readonly readers: Readers;
  /** Everything in one transaction. */
  write(work: (record: GraphRecord) => void): void;
  close(): Promise<void>;
}

export function makeScene({ empty = false } = {}): Scene {
  const folder = temporaryFolder();
  const path = join(folder, 'record.sqlite');
  const db = openForWriting(path);
  migrate(db);
  const record = new GraphRecord(db);
  const write = (work: (record: GraphRecord) => void) => {
    db.exec('BEGIN IMMEDIATE');
    work(record);
    db.exec('COMMIT');
  };
  if (!empty) write(populate);
  const readers = new Readers(path);
  const close = async () => {
    await readers.close();
    db.close();
  };
  return { folder, path, record, readers, write, close };
}

export interface GraphLimits {
  readonly seconds?: number;
  readonly rows?: number;
  readonly memory_mb?: number;
}

/** The embedded engine without a server, else Neo4j. */
export function openSceneGraph(scene: Scene, server: Neo4jServer | null, limits: GraphLimits = {}): Graph {
  const { password = null, ...account } = server?.account ?? {};
  return openGraph({
    onServer,
    readers: scene.readers,
    config: {
      cypher: { seconds: 60, rows: 10_000, memory_mb: 500, ...limits },
      neo4j:
        server === null
          ? null
          : { ...(account as Omit<Neo4jServer['account'], 'password'>), password_file: 'neo4j' },
    },
    password,
    folder: join(scene.folder, 'graph'),
    logger: silent,
  });
}

export const silent: Logger = { error() {}, warn() {}, info() {}, debug() {}, child: () => silent };

function populate(record: GraphRecord): void {
  const place = { repository: 'local/demo/hello', valid_from: at } as const;
  const repository = record.putNode({
    id: 'repo:hello',
    label: 'CoreEntity',
    kind: 'repository',
    title: 'hello',
    ...place,
  });
  const files = ['src/greet.js', 'src/main.js', 'README.md'].map((path, nth) => {
    const end_line = 10 * (nth + 1);
    return record.putNode({
      id: `file:${path}`,
      label: 'CoreEntity',
      kind: 'file',
      title: path,
      path,
      start_line: 1,
      end_line,
      ...place,
    });
  });
  const symbols = ['greet', 'main'].map((name, nth) =>
    record.putNode({
      id: `symbol:${name}`,
      label: 'CoreEntity',
      kind: 'symbol',
      title: name,
      start_line: nth + 3,
      ...place,
    }),
  );
  const relate = (from: number, kind: string, to: number, weight = 1) =>
    record.putEdge({ from, to, type: 'CORE_RELATION', kind, weight, valid_from: at });
  for (const file of files) relate(repository, 'contains', file);
  relate(files[0]!, 'defines', symbols[0]!);
  relate(files[1]!, 'defines', symbols[1]!);
  relate(symbols[1]!, 'references', symbols[0]!, 0.5);
  relate(files[0]!, 'changed_with', files[1]!, 0.25);
  const memory = record.putNode({
    id: 'memory:1',
    label: 'Memory',
    kind: 'fact',
    title: 'Greetings are polite',
    properties: { layer: 'semantic', confidence: 0.75, pinned: true },
    valid_from: at,
  });
  record.putEdge({ from: memory, to: files[0]!, type: 'ABOUT', valid_from: at });
  const task = record.putNode({
    id: 'task:1',
    label: 'Task',
    kind: 'issue',
    title: 'Wrong greeting',
    properties: { number: 1 },
    valid_from: at,
  });
  const run = record.putNode({
    id: 'reasoning:r1',
    label: 'ReasoningRun',
    kind: 'run',
    title: 'r1',
    properties: { run_id: 'r1', agent: 'Depute', status: 'awaiting_approval' },
    valid_from: at,
  });
  record.putEdge({ from: run, to: task, type: 'PLANS_FOR', valid_from: at });
  const actions = ['create_branch', 'apply_patch', 'commit'].map((kind, nth) => {
    const properties = {
      action_id: `act_${nth + 1}`,
      ordinal: nth + 1,
      risk_score: 5 * (nth + 1),
      dry_run: false,
    };
    return record.putNode({
      id: `action:r1/act_${nth + 1}`,
      label: 'Action',
      kind,
      title: kind,
      properties,
      valid_from: at,
    });
  });
  for (const [nth, action] of actions.entries()) {
    record.putEdge({ from: run, to: action, type: 'PROPOSES', ordinal: nth + 1, valid_from: at });
    if (nth > 0) record.putEdge({ from: actions[nth - 1]!, to: action, type: 'NEXT_ACTION', valid_from: at });
  }
}
