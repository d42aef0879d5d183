import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { extname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { Language, Parser } from 'web-tree-sitter';
import { Ingestion } from '../../services/context/ingest/ingestion.ts';
import { openForWriting } from '../../services/context/record/connection.ts';
import { Readers, Writer } from '../../services/context/store/access.ts';
import { migrate } from '../../services/context/store/schema.ts';
import { processorTime } from '../fixtures/processor-time.ts';
import { makeRepository, repositoryAt } from '../fixtures/repositories/repository.ts';
import { type Benchmark, type Comparison, compare, type Turn, takeTurns } from './comparison.ts';
import { sourceTree } from './source-tree.ts';

const howMany = 5_000;
const filesOfTransaction = 500;

/**
 * Both start with nothing each round and end with every file in an index on the disk. The yardstick is a loop in one thread that
 * reads a file, parses it and inserts its text; the subject also takes the files out of git, and makes nodes, parts and edges.
 */
export const ingest: Benchmark = {
  summary: `ingestion of ${howMany} source files`,
  async run(folder) {
    const files = sourceTree(howMany);
    const { dir } = makeRepository(files, join(folder, 'repository'));
    const paths = Object.keys(files).map((path) => join(dir, path));
    const languages = await loadLanguages();
    const samples = await takeTurns(2, {
      bare: () => bareRate(paths, languages, join(folder, 'bare')),
      core: () => coreRate(dir, join(folder, 'core')),
    });
    const what = { subject: 'ingestion of a repository', yardstick: 'read, parse and FTS5 insert' };
    return [
      compare({ ...what, measure: 'rate', bar: 0.25 }, samples.core, samples.bare),
      await oneChangedFile(dir, join(folder, 'changes')),
    ];
  },
};

const howFew = 20;

/** The same file changes in both, a method of its class too; counted is the processor time of a refresh, without git's. */
async function oneChangedFile(large: string, folder: string): Promise<Comparison> {
  mkdirSync(folder);
  const small = makeRepository(sourceTree(howFew), join(folder, 'repository')).dir;
  const trees = await Promise.all(
    [large, small].map((dir, nth) => changingTree(dir, join(folder, `${nth}`))),
  );
  try {
    const [inLarge, inSmall] = trees.map(({ change }) => change) as [Turn, Turn];
    const samples = await takeTurns(5, { inLarge, inSmall });
    const what = { subject: `one changed file among ${howMany}`, yardstick: `one among ${howFew}` };
    return compare({ ...what, measure: 'time', bar: 2 }, samples.inLarge, samples.inSmall);
  } finally {
    for (const { close } of trees) await close();
  }
}

async function changingTree(
  dir: string,
  folder: string,
): Promise<{ change: Turn; close: () => Promise<void> }> {
  const { dir: copy, commit } = repositoryAt(dir, join(dir, '.git'));
  const { refresh, close } = openPlace(copy, folder);
  await refresh();
  const [path, text] = Object.entries(sourceTree(1))[0]!;
  const change = async (round: number) => {
    commit({ [path]: text.replace('(input:', `Round${round}(input:`) });
    const spent = processorTime();
    if ((await refresh()).read !== 1) throw new Error('not one file was read');
    return spent();
  };
  return { change, close };
}

async function coreRate(repository: string, folder: string): Promise<number> {
  const { refresh, close } = openPlace(repository, folder);
  try {
    const started = performance.now();
    const { read } = await refresh();
    const took = performance.now() - started;
    if (read !== howMany) throw new Error(`${read} files were read, not ${howMany}`);
    return (howMany * 1000) / took;
  } finally {
    await close();
    rmSync(folder, { recursive: true });
  }
}

/** A record of its own, for one repository. */
function openPlace(repository: string, folder: string) {
  mkdirSync(folder);
  const path = join(folder, 'record.sqlite');
  const made = openForWriting(path);
  migrate(made);
  made.close();
  const writer = new Writer(path);
  const readers = new Readers(path);
  const config = { repositories: {}, ingestion: { max_file_bytes: 1_048_576, history_commits: 2_000 } };
  const ingestion = new Ingestion({ writer, readers, config, configFile: 'context.json' });
  return {
    async refresh() {
      const [result] = await ingestion.refresh({ repositories: [{ name: 'bench/tree', path: repository }] });
      if (result === undefined || 'error' in result) throw new Error(JSON.stringify(result));
      return result;
    },
    async close() {
      await readers.close();
      await writer.close();
    },
  };
}

function bareRate(
  paths: readonly string[],
  languages: ReadonlyMap<string, Language>,
  folder: string,
): number {
  mkdirSync(folder);
  const db = new DatabaseSync(join(folder, 'bare.sqlite'));
  db.exec(
    'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE VIRTUAL TABLE texts USING fts5(path, body)',
  );
  const insert = db.prepare('INSERT INTO texts (path, body) VALUES (?, ?)');
  const parser = new Parser();
  const started = performance.now();
  for (const [at, path] of paths.entries()) {
    if (at % filesOfTransaction === 0) db.exec('BEGIN');
    const text = readFileSync(path, 'utf8');
    const language = languages.get(extname(path));
    if (language !== undefined) parser.setLanguage(language).parse(text)!.delete();
    insert.run(path, text);
    if ((at + 1) % filesOfTransaction === 0) db.exec('COMMIT');
  }
  if (db.isTransaction) db.exec('COMMIT');
  const took = performance.now() - started;
  parser.delete();
  db.close();
  rmSync(folder, { recursive: true });
  return (paths.length * 1000) / took;
}

async function loadLanguages(): Promise<Map<string, Language>> {
  await Parser.init();
  const names = {
    '.ts': 'typescript',
    '.py': 'python',
    '.go': 'go',
    '.java': 'java',
    '.rs': 'rust',
    '.cpp': 'cpp',
  };
  const languages = new Map<string, Language>();
  for (const [end, name] of Object.entries(names)) {
    const wasm = import.meta.resolve(`@vscode/tree-sitter-wasm/wasm/tree-sitter-${name}.wasm`);
    languages.set(end, await Language.load(fileURLToPath(wasm)));
  }
  return languages;
}
