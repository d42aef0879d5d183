import { posix } from 'node:path';
import type { GraphRecord } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { indexText, type NodeText } from '../search/index-text.ts';
import { closeDirectory, closeFile, closeParts } from './close-nodes.ts';
import { type Link, type LinkedFile, linkKinds, type PartRow, type StoreStep } from './stored-rows.ts';

interface InRepository {
  readonly repository: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Marks the repository as being read: until `finishIngestion` a refresh reads it again whatever its commit. */
function beginIngestion(
  record: GraphRecord,
  { repository, path, at }: InRepository & { path: string },
): void {
  record
    .prepare(
      `INSERT INTO ingested_repositories (repository, path) VALUES (?, ?)
       ON CONFLICT (repository) DO UPDATE SET path = excluded.path, basis = NULL`,
    )
    .run(repository, path);
  repositoryNode(record, repository, at);
}

function storeSteps(
  record: GraphRecord,
  { repository, at, steps }: InRepository & { readonly steps: readonly StoreStep[] },
): void {
  const texts = new Map<number, NodeText>();
  for (const step of steps) {
    if (step.step === 'file') storeFile(record, repository, at, step, texts);
    else if (step.step === 'parts')
      for (const part of step.parts) storePart(record, repository, at, step.path, part, texts);
    else if (step.step === 'done') finishFile(record, repository, at, step);
    else {
      closeFile(record, repository, step.path, at);
      putFileRow(record, repository, step.path);
      record
        .prepare('UPDATE ingested_files SET source = ?, skipped = ? WHERE repository = ? AND path = ?')
        .run(step.source, step.reason, repository, step.path);
    }
  }
  // Last of all: a statement with RETURNING makes SQLite write out what a full-text index has gathered, each time.
  for (const [node, text] of texts) indexText(record, node, text);
}

function closeFiles(
  record: GraphRecord,
  { repository, at, paths }: InRepository & { readonly paths: readonly string[] },
): void {
  const forget = record.prepare('DELETE FROM ingested_files WHERE repository = ? AND path = ?');
  for (const path of paths) {
    closeFile(record, repository, path, at);
    forget.run(repository, path);
  }
}

function closeDirectories(
  record: GraphRecord,
  { repository, at, paths }: InRepository & { readonly paths: readonly string[] },
): void {
  for (const path of paths) closeDirectory(record, repository, path, at);
}

function linkFiles(
  record: GraphRecord,
  { repository, at, files }: InRepository & { readonly files: readonly LinkedFile[] },
): void {
  const remember = record.prepare('UPDATE ingested_files SET links = ? WHERE repository = ? AND path = ?');
  for (const { path, digest, links } of files) {
    replaceLinks(record, repository, path, links, at);
    remember.run(digest, repository, path);
  }
}

function finishIngestion(
  record: GraphRecord,
  input: InRepository & { readonly basis: string; readonly commit: string | null; readonly totals: string },
): void {
  const { repository, at, basis, commit, totals } = input;
  record
    .prepare(
      'UPDATE ingested_repositories SET basis = ?, commit_id = ?, at = ?, totals = ? WHERE repository = ?',
    )
    .run(basis, commit, at, totals, repository);
  const properties = { commit };
  record.putNode({ ...repositoryInput(repository, at), properties });
}

export const ingestCommands = {
  beginIngestion,
  storeSteps,
  closeFiles,
  closeDirectories,
  linkFiles,
  finishIngestion,
} as const;

function repositoryInput(repository: string, at: string) {
  const id = nodeId.repository(repository);
  return {
    id,
    label: 'CoreEntity',
    kind: 'repository',
    title: repository,
    repository,
    valid_from: at,
  } as const;
}

function repositoryNode(record: GraphRecord, repository: string, at: string): number {
  return record.nodeOf(nodeId.repository(repository)) ?? record.putNode(repositoryInput(repository, at));
}

/** The node of a folder, with those above it; the root is the repository itself. */
function directoryNode(record: GraphRecord, repository: string, path: string, at: string): number {
  if (path === '.') return repositoryNode(record, repository, at);
  const id = nodeId.directory(repository, path);
  const open = record.prepare('SELECT node FROM nodes WHERE id = ? AND valid_to IS NULL').get(id);
  if (open !== undefined) return open.node as number;
  const parent = directoryNode(record, repository, posix.dirname(path), at);
  const title = posix.basename(path);
  const node = record.putNode({
    ...{ id, label: 'CoreEntity', kind: 'directory', title, repository, path, valid_from: at },
  });
  record.putEdge({ from: parent, to: node, type: 'CORE_RELATION', kind: 'contains', valid_from: at });
  return node;
}

function putFileRow(record: GraphRecord, repository: string, path: string): void {
  record
    .prepare(
      `INSERT INTO ingested_files (repository, path) VALUES (?, ?) ON CONFLICT (repository, path)
       DO UPDATE SET source = NULL, skipped = NULL, links = NULL, definitions = NULL, uses = NULL`,
    )
    .run(repository, path);
}

function storeFile(
  record: GraphRecord,
  repository: string,
  at: string,
  { path, kind, properties, text }: Extract<StoreStep, { step: 'file' }>,
  texts: Map<number, NodeText>,
): void {
  putFileRow(record, repository, path);
  const title = posix.basename(path);
  const id = nodeId.file(repository, path);
  const node = record.putNode({
    ...{ id, label: 'CoreEntity', kind, title, repository, path, properties, valid_from: at },
    start_line: 1,
    end_line: typeof properties.lines === 'number' ? Math.max(1, properties.lines) : 1,
  });
  const folder = directoryNode(record, repository, posix.dirname(path), at);
  record.putEdge({ from: folder, to: node, type: 'CORE_RELATION', kind: 'contains', valid_from: at });
  texts.set(node, { title, path, body: text });
}

function storePart(
  record: GraphRecord,
  repository: string,
  at: string,
  path: string,
  part: PartRow,
  texts: Map<number, NodeText>,
): void {
  const { id, kind, title, start_line, end_line, properties, text, parent, relation } = part;
  const node = record.putNode({
    ...{
      id,
      label: 'CoreEntity',
      kind,
      title,
      repository,
      path,
      start_line,
      end_line,
      properties,
      valid_from: at,
    },
  });
  const from = record.nodeOf(parent);
  for (const edge of otherHolders(record, node, from)) record.closeEdge(edge, at);
  if (from !== null)
    record.putEdge({ from, to: node, type: 'CORE_RELATION', kind: relation, valid_from: at });
  texts.set(node, { title, path, body: text });
}

/** A section can move below another heading. */
function otherHolders(record: GraphRecord, node: number, holder: number | null): number[] {
  const rows = record
    .prepare(
      `SELECT edge FROM edges WHERE to_node = ? AND type = 'CORE_RELATION' AND kind IN ('contains', 'defines')
         AND valid_to IS NULL AND from_node IS NOT ?`,
    )
    .all(node, holder) as { edge: number }[];
  return rows.map(({ edge }) => edge);
}

function finishFile(
  record: GraphRecord,
  repository: string,
  at: string,
  { path, source, definitions, uses, ids }: Extract<StoreStep, { step: 'done' }>,
): void {
  closeParts(record, repository, path, new Set(ids), at);
  record
    .prepare(
      'UPDATE ingested_files SET source = ?, definitions = ?, uses = ? WHERE repository = ? AND path = ?',
    )
    .run(source, definitions, uses, repository, path);
}

/** Makes the links of a file's nodes what they should be; those that are so already are left alone. */
function replaceLinks(
  record: GraphRecord,
  repository: string,
  path: string,
  links: readonly Link[],
  at: string,
): void {
  const wanted = new Map(links.map((link) => [`${link.from}\0${link.kind}\0${link.to}`, link]));
  for (const { edge, key, weight } of linksOf(record, repository, path)) {
    const link = wanted.get(key);
    if (link === undefined) record.closeEdge(edge, at);
    else if (link.weight === weight) wanted.delete(key);
  }
  for (const { from, kind, to, weight } of wanted.values()) {
    const [source, target] = [record.nodeOf(from), record.nodeOf(to)];
    if (source === null || target === null) continue;
    record.putEdge({ from: source, to: target, type: 'CORE_RELATION', kind, weight, valid_from: at });
  }
}

function linksOf(record: GraphRecord, repository: string, path: string) {
  const rows = record
    .prepare(
      `SELECT e.edge, e.kind, e.weight, f.id AS source, t.id AS target
       FROM nodes f JOIN edges e ON e.from_node = f.node JOIN nodes t ON t.node = e.to_node
       WHERE f.repository = ? AND f.path = ? AND e.type = 'CORE_RELATION' AND e.valid_to IS NULL
         AND e.kind IN (${linkKinds.map((kind) => `'${kind}'`).join(', ')})`,
    )
    .all(repository, path) as {
    edge: number;
    kind: string;
    weight: number;
    source: string;
    target: string;
  }[];
  return rows.map(({ edge, kind, weight, source, target }) => {
    return { edge, weight, key: `${source}\0${kind}\0${target}` };
  });
}
