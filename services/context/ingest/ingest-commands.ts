import { posix } from 'node:path';
import type { GraphRecord, NodeInput } from '../record/graph-record.ts';
import { nodeId } from '../record/node-id.ts';
import { indexText, type NodeText } from '../search/text-index.ts';
import { simpleName } from './extraction/text.ts';
import { namesIn, pieceOf, piecesIn, readUses } from './linking/facts.ts';
import {
  type FileRows,
  type Link,
  type LinkedFile,
  linkKinds,
  type PartRow,
  type SkippedFile,
  type StoredFile,
} from './stored-rows.ts';

interface InRepository {
  readonly repository: string;
  /** ISO 8601. */
  readonly at: string;
}

/** Marks the repository as being read: until `finishIngestion` a refresh reads it again whatever its commit. */
function beginIngestion(record: GraphRecord, input: InRepository & { readonly path: string }): void {
  record
    .prepare(
      `INSERT INTO ingested_repositories (repository, path) VALUES (?, ?)
       ON CONFLICT (repository) DO UPDATE SET path = excluded.path, basis = NULL`,
    )
    .run(input.repository, input.path);
  new RepositoryNodes(record, input).repositoryNode();
}

/** Each file whole: what its row says is in the record is there. */
function storeFiles(
  record: GraphRecord,
  { files, ...place }: InRepository & { readonly files: readonly FileRows[] },
): void {
  const nodes = new RepositoryNodes(record, place);
  for (const file of files) {
    if ('skipped' in file) nodes.skipFile(file);
    else nodes.storeFile(file);
  }
  nodes.indexTexts();
}

function closeFiles(
  record: GraphRecord,
  { paths, ...place }: InRepository & { readonly paths: readonly string[] },
): void {
  const nodes = new RepositoryNodes(record, place);
  for (const path of paths) nodes.removeFile(path);
}

function closeDirectories(
  record: GraphRecord,
  { paths, ...place }: InRepository & { readonly paths: readonly string[] },
): void {
  const nodes = new RepositoryNodes(record, place);
  for (const path of paths) {
    const node = record.nodeOf(nodeId.directory(place.repository, path));
    if (node !== null) nodes.closeDirectory(node, path);
  }
}

function linkFiles(
  record: GraphRecord,
  { repository, at, files }: InRepository & { readonly files: readonly LinkedFile[] },
): void {
  const remember = record.prepare(
    'UPDATE ingested_files SET links = ?, edges = ? WHERE repository = ? AND path = ?',
  );
  for (const { path, digest, links } of files)
    remember.run(digest, replaceLinks(record, repository, path, links, at), repository, path);
}

function finishIngestion(
  record: GraphRecord,
  input: InRepository & { readonly basis: string; readonly commit: string | null; readonly totals: string },
): void {
  const { repository, at, basis, commit, totals } = input;
  record
    .prepare(
      'UPDATE ingested_repositories SET basis = ?, commit_id = ?, at = ?, totals = ?, relink = 0 WHERE repository = ?',
    )
    .run(basis, commit, at, totals, repository);
  new RepositoryNodes(record, input).putRepository({ commit });
}

export const ingestCommands = {
  beginIngestion,
  storeFiles,
  closeFiles,
  closeDirectories,
  linkFiles,
  finishIngestion,
} as const;

const ownKinds = "'file', 'document', 'symbol', 'section', 'service'";
/** Edges that ingestion makes; what runs and memories say about a file stays true when it is gone. */
const ownRelations = ['contains', 'defines', ...linkKinds].map((kind) => `'${kind}'`).join(', ');

interface OpenNode {
  readonly node: number;
  readonly id: string;
  readonly title: string;
  /** Of a symbol; null for all else. */
  readonly sort: string | null;
}

interface FileRow {
  readonly file: number;
  readonly language: string | null;
  readonly module: string | null;
  readonly uses: string | null;
}

/** Writes the nodes of one repository, valid from the time of its ingestion. */
class RepositoryNodes {
  readonly #record: GraphRecord;
  readonly #repository: string;
  readonly #at: string;
  readonly #texts = new Map<number, NodeText>();

  constructor(record: GraphRecord, { repository, at }: InRepository) {
    this.#record = record;
    this.#repository = repository;
    this.#at = at;
  }

  putRepository(properties: NonNullable<NodeInput['properties']>): number {
    const repository = this.#repository;
    return this.#put({
      id: nodeId.repository(repository),
      kind: 'repository',
      title: repository,
      properties,
    });
  }

  repositoryNode(): number {
    return this.#record.nodeOf(nodeId.repository(this.#repository)) ?? this.putRepository({});
  }

  storeFile(file: StoredFile): void {
    const { path, kind, properties, text, parts } = file;
    const before = this.#openNodes(path);
    this.#putFileRow(file);
    const title = posix.basename(path);
    const lines = typeof properties.lines === 'number' ? Math.max(1, properties.lines) : 1;
    const place = { path, start_line: 1, end_line: lines };
    const id = nodeId.file(this.#repository, path);
    const node = this.#put({ id, kind, title, properties, ...place });
    this.#hold(this.#directoryNode(posix.dirname(path)), node, 'contains');
    this.#texts.set(node, { title, path, body: text });
    for (const part of parts) this.#storePart(path, part);
    const present = new Set(parts.map((part) => part.id)).add(id);
    for (const open of before) if (!present.has(open.id)) this.close(open.node);
    this.#noteSymbols(before, parts);
  }

  /** Whoever uses a name that means something else now is linked again. */
  #noteSymbols(before: readonly OpenNode[], parts: readonly PartRow[]): void {
    const repository = this.#repository;
    const name = this.#record.prepare(
      'INSERT OR IGNORE INTO symbol_names (repository, name, node) VALUES (?, ?, ?)',
    );
    const known = new Map(
      before.flatMap(({ id, title, sort }) => (sort === null ? [] : [[id, { title, sort }]])),
    );
    const changed = new Set<string>();
    for (const { id, kind, title, properties } of parts) {
      if (kind !== 'symbol') continue;
      const simple = simpleName(title);
      if (known.get(id)?.sort !== properties.sort) changed.add(simple);
      known.delete(id);
      name.run(repository, simple, this.#record.nodeOf(id));
    }
    for (const { title } of known.values()) changed.add(simpleName(title));
    this.#linkAgain([...changed]);
  }

  /** The files that use any of the names, or of the pieces of paths, at the next linking. */
  #linkAgain(names: readonly string[]): void {
    if (this.#isRelinked()) return;
    const mark = this.#record.prepare(
      `UPDATE ingested_files SET links = NULL
       WHERE file IN (SELECT file FROM used_names WHERE repository = ? AND name = ?) AND links IS NOT NULL`,
    );
    for (const name of names) mark.run(this.#repository, name);
  }

  /** A file or folder came or went. */
  #linkPath(path: string): void {
    const piece = pieceOf(path);
    if (piece === null) this.#relink();
    else this.#linkAgain([piece]);
  }

  #isRelinked(): boolean {
    const row = this.#record.prepare('SELECT relink FROM ingested_repositories WHERE repository = ?');
    return row.get(this.#repository)?.relink === 1;
  }

  /** Any link may lead elsewhere. */
  #relink(): void {
    this.#record
      .prepare('UPDATE ingested_repositories SET relink = 1 WHERE repository = ? AND relink <> 1')
      .run(this.#repository);
  }

  /** Its folder may be empty now. */
  #leaveFolder(path: string): void {
    this.#linkPath(path);
    this.#record
      .prepare('UPDATE ingested_repositories SET relink = 2 WHERE repository = ? AND relink = 0')
      .run(this.#repository);
  }

  closeDirectory(node: number, path: string): void {
    this.close(node);
    this.#linkPath(path);
  }

  #storePart(path: string, { text, parent, relation, ...input }: PartRow): void {
    const node = this.#put({ ...input, path });
    const holder = this.#record.nodeOf(parent);
    // A section can move below another heading.
    const others = this.#record
      .prepare(
        `SELECT edge FROM edges WHERE to_node = ? AND type = 'CORE_RELATION' AND kind IN ('contains', 'defines')
           AND valid_to IS NULL AND from_node IS NOT ?`,
      )
      .all(node, holder) as { edge: number }[];
    for (const { edge } of others) this.#record.closeEdge(edge, this.#at);
    if (holder !== null) this.#hold(holder, node, relation);
    this.#texts.set(node, { title: input.title, path, body: text });
  }

  skipFile(file: SkippedFile): void {
    this.closeFile(file.path);
    this.#putFileRow(file);
  }

  /** Last of all: a statement with RETURNING makes SQLite write out what a full-text index has gathered, each time. */
  indexTexts(): void {
    for (const [node, text] of this.#texts) indexText(this.#record, node, text);
  }

  removeFile(path: string): void {
    this.closeFile(path);
    const row = this.#fileRow(path);
    if (row !== undefined) this.#replaceNames(row.file, row.uses, []);
    this.#record
      .prepare('DELETE FROM ingested_files WHERE repository = ? AND path = ?')
      .run(this.#repository, path);
    if (row?.module != null) this.#relink();
    if (row !== undefined) this.#leaveFolder(path);
  }

  closeFile(path: string): void {
    const open = this.#openNodes(path);
    for (const { node } of open) this.close(node);
    this.#linkAgain(open.flatMap(({ title, sort }) => (sort === null ? [] : [simpleName(title)])));
  }

  /** The links of the files that lead here are compared again at the next linking, so that they come back when the node does. */
  close(node: number): void {
    this.#record
      .prepare(
        `UPDATE ingested_files SET links = NULL WHERE file IN (
           SELECT i.file FROM edges e JOIN nodes f ON f.node = e.from_node
           JOIN ingested_files i ON i.repository = f.repository AND i.path = f.path
           WHERE e.to_node = ? AND e.type = 'CORE_RELATION' AND e.valid_to IS NULL)`,
      )
      .run(node);
    const own = `type = 'CORE_RELATION' AND kind IN (${ownRelations}) AND valid_to IS NULL`;
    const edges = this.#record
      .prepare(
        `SELECT edge FROM edges WHERE from_node = ?1 AND ${own} UNION SELECT edge FROM edges WHERE to_node = ?1 AND ${own}`,
      )
      .all(node) as { edge: number }[];
    for (const { edge } of edges) this.#record.closeEdge(edge, this.#at);
    this.#record.closeNode(node, this.#at);
  }

  /** The node of a folder, with those above it; the root is the repository itself. */
  #directoryNode(path: string): number {
    if (path === '.') return this.repositoryNode();
    const id = nodeId.directory(this.#repository, path);
    const open = this.#record.prepare('SELECT node FROM nodes WHERE id = ? AND valid_to IS NULL').get(id);
    if (open !== undefined) return open.node as number;
    const parent = this.#directoryNode(posix.dirname(path));
    const node = this.#put({ id, kind: 'directory', title: posix.basename(path), path });
    this.#linkPath(path);
    this.#hold(parent, node, 'contains');
    return node;
  }

  #openNodes(path: string): OpenNode[] {
    return this.#record
      .prepare(
        `SELECT node, id, title, iif(kind = 'symbol', properties ->> '$.sort', NULL) AS sort FROM nodes WHERE repository = ? AND path = ? AND label = 'CoreEntity' AND valid_to IS NULL
         AND kind IN (${ownKinds})`,
      )
      .all(this.#repository, path) as unknown as OpenNode[];
  }

  #putFileRow(file: FileRows): void {
    const repository = this.#repository;
    const before = this.#fileRow(file.path);
    const isStored = !('skipped' in file);
    const { language = null, module = null, uses = null } = isStored ? file.facts : {};
    const parts = isStored ? file.parts : [];
    const symbols = parts.filter(({ kind }) => kind === 'symbol').length;
    this.#record
      .prepare(
        `INSERT INTO ingested_files (repository, path, source, skipped, symbols, parts, language, module, uses)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (repository, path) DO UPDATE SET source = excluded.source, skipped = excluded.skipped, links = NULL,
           symbols = excluded.symbols, parts = excluded.parts, language = excluded.language, module = excluded.module,
           uses = excluded.uses`,
      )
      .run(
        ...[repository, file.path, file.source, isStored ? null : file.skipped],
        ...[symbols, parts.length, language, module, uses],
      );
    const row = this.#fileRow(file.path)!;
    this.#replaceNames(row.file, before?.uses ?? null, isStored ? file.names : []);
    if ((before?.module ?? null) !== row.module) this.#relink();
    if (row.language === null) this.#leaveFolder(file.path);
    else if ((before?.language ?? null) === null) this.#linkPath(file.path);
  }

  #fileRow(path: string): FileRow | undefined {
    return this.#record
      .prepare('SELECT file, language, module, uses FROM ingested_files WHERE repository = ? AND path = ?')
      .get(this.#repository, path) as FileRow | undefined;
  }

  /** @param uses what the file used before */
  #replaceNames(file: number, uses: string | null, names: readonly string[]): void {
    const read = uses === null ? null : readUses(uses);
    const gone = new Set(read === null ? [] : [...namesIn(read), ...piecesIn(read)]);
    const added = names.filter((name) => !gone.delete(name));
    const remove = this.#record.prepare(
      'DELETE FROM used_names WHERE repository = ? AND name = ? AND file = ?',
    );
    const add = this.#record.prepare(
      'INSERT OR IGNORE INTO used_names (repository, name, file) VALUES (?, ?, ?)',
    );
    for (const name of gone) remove.run(this.#repository, name, file);
    for (const name of added) add.run(this.#repository, name, file);
  }

  #put(input: Omit<NodeInput, 'label' | 'repository' | 'valid_from'>): number {
    const common = { label: 'CoreEntity', repository: this.#repository, valid_from: this.#at } as const;
    return this.#record.putNode({ ...input, ...common });
  }

  #hold(from: number, to: number, kind: 'contains' | 'defines'): void {
    this.#record.putEdge({ from, to, type: 'CORE_RELATION', kind, valid_from: this.#at });
  }
}

/** Makes the links of a file's nodes what they should be; those that are so already are left alone. @returns how many it has */
function replaceLinks(
  record: GraphRecord,
  repository: string,
  path: string,
  links: readonly Link[],
  at: string,
): number {
  const keyOf = ({ from, kind, to }: Omit<Link, 'weight'>) => `${from}\0${kind}\0${to}`;
  const wanted = new Map(links.map((link) => [keyOf(link), link]));
  const present = record
    .prepare(
      `SELECT e.edge, e.kind, e.weight, f.id AS "from", t.id AS "to"
       FROM nodes f JOIN edges e ON e.from_node = f.node JOIN nodes t ON t.node = e.to_node
       WHERE f.repository = ? AND f.path = ? AND e.type = 'CORE_RELATION' AND e.valid_to IS NULL
         AND e.kind IN (${linkKinds.map((kind) => `'${kind}'`).join(', ')})`,
    )
    .all(repository, path) as unknown as (Link & { readonly edge: number })[];
  let count = 0;
  for (const row of present) {
    const link = wanted.get(keyOf(row));
    if (link === undefined) record.closeEdge(row.edge, at);
    else if (link.weight === row.weight && wanted.delete(keyOf(row))) count++;
  }
  for (const { from, kind, to, weight } of wanted.values()) {
    const [source, target] = [record.nodeOf(from), record.nodeOf(to)];
    if (source === null || target === null) continue;
    record.putEdge({ from: source, to: target, type: 'CORE_RELATION', kind, weight, valid_from: at });
    count++;
  }
  return count;
}
