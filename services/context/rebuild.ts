import type { RefreshStatus } from '#kit/contracts/context/status.ts';
import type { Graph } from './graph/open-graph.ts';
import type { Readers } from './record/readers.ts';
import type { Rebuilt } from './record/rebuild-text.ts';
import type { Writer } from './record/writer.ts';

interface RebuildParts {
  readonly writer: Writer;
  readonly readers: Readers;
  readonly graph: Graph;
  readonly progress: (now: NonNullable<RefreshStatus['progress']>) => void;
  readonly signal: AbortSignal;
}

/** How long, in milliseconds, one step may hold up who writes. */
const stepMs = 20;

/** Makes everything again that is made from the record. @returns the names of what was made */
export async function rebuildAll({
  writer,
  readers,
  graph,
  progress,
  signal,
}: RebuildParts): Promise<string[]> {
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
  const graphName = `graph in ${graph.engine}`;
  progress({ what: graphName, done: 0, total: 1, path: null });
  await graph.rebuild();
  return ['text index', 'memory index', graphName];
}
