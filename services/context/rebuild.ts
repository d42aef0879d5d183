import type { RefreshStatus } from '#kit/contracts/context/status.ts';
import { messageOf } from '#kit/errors.ts';
import type { Graph } from './graph/open-graph.ts';
import { gitDirOf } from './ingest/repository/git-repository.ts';
import { learnHistory } from './search/learn-history.ts';
import type { Rebuilt } from './search/text-index.ts';
import type { Readers, Writer } from './store/access.ts';

interface RebuildParts {
  readonly writer: Writer;
  readonly readers: Readers;
  readonly graph: Pick<Graph, 'engine' | 'rebuild'>;
  /** Of each repository, as `ingestion.history_commits`. */
  readonly historyCommits: number;
  readonly progress: (now: NonNullable<RefreshStatus['progress']>) => void;
  readonly signal: AbortSignal;
}

/** How long, in milliseconds, one step may hold up who writes. */
const stepMs = 20;

/** Makes everything again that is made from the record. @returns the names of what was made */
export async function rebuildAll(parts: RebuildParts): Promise<string[]> {
  const { writer, readers, graph, progress, signal } = parts;
  const { texts } = await readers.ask('countRecord', null);
  let done = 0;
  for (let after = 0; ; ) {
    signal.throwIfAborted();
    const next: Rebuilt = await writer.run('rebuildTexts', { after, milliseconds: stepMs }, 'normal');
    if (next === null) break;
    done += next.done;
    after = next.last;
    progress({ what: 'text index', done, total: texts, path: null });
  }
  await writer.run('rebuildMemoryIndex', null, 'normal');
  const history = await relearnHistories(parts);
  const graphName = `graph in ${graph.engine}`;
  progress({ what: graphName, done: 0, total: 1, path: null });
  await graph.rebuild();
  return ['text index', 'memory index', history, graphName];
}

/**
 * What commits say is in no row of ours but its index: it is read from the repositories again. A repository that cannot be read
 * keeps what was learned of it. @returns what was made, for people
 */
async function relearnHistories({
  writer,
  readers,
  historyCommits,
  progress,
  signal,
}: RebuildParts): Promise<string> {
  const kept: string[] = [];
  const repositories = await readers.ask('ingestedRepositories', null);
  for (const [done, { repository, path, commit_id }] of repositories.entries()) {
    signal.throwIfAborted();
    progress({ what: 'history of changes', done, total: repositories.length, path: null });
    if (commit_id === null) continue;
    try {
      const gitDir = await gitDirOf(path);
      await learnHistory(
        {
          // Nothing counts as known: all is read again.
          ask: async () => null,
          run: (command, input) => writer.run(command, input, 'normal'),
        },
        { repository, gitDir, commit: commit_id, max: historyCommits },
      );
    } catch (error) {
      kept.push(`${repository} is as it was: ${messageOf(error).split('\n')[0]}`);
    }
  }
  return ['history of changes', ...kept].join('; ');
}
