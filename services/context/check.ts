import type { CheckReply } from '#kit/contracts/context/status.ts';
import { messageOf } from '#kit/errors.ts';
import type { Graph } from './graph/open-graph.ts';
import { Readers } from './store/access.ts';

/**
 * Reads the whole record, and compares it with its projection or mirror. In a thread of its own, so that nobody waits for it.
 * @param path of the SQLite file
 */
export async function checkAll(path: string, graph: Graph): Promise<CheckReply> {
  const started = performance.now();
  const own = new Readers(path, 1);
  try {
    const { damage, orphans, counts } = await own.ask('checkRecord', null);
    const compared = await compareGraph(graph);
    return {
      ok: damage.length === 0 && orphans === 0 && compared.ok,
      record: { damage: [...damage], orphans, counts: { ...counts } },
      graph: compared,
      took_ms: Math.round(performance.now() - started),
    };
  } finally {
    await own.close();
  }
}

async function compareGraph(graph: Graph): Promise<CheckReply['graph']> {
  const { engine } = graph;
  try {
    const { same, nodes, edges, differences } = await graph.check();
    const held = `${nodes} nodes and ${edges} relationships`;
    return {
      engine,
      ok: same,
      detail: same
        ? `holds the same ${held}`
        : `differs from the record's ${held}; refresh --rebuild makes it again`,
      differences: differences.map(
        ({ what, record, projection }) =>
          `${what}: ${record?.count ?? 0} in the record, ${projection?.count ?? 0} there${record?.count === projection?.count ? ', not the same' : ''}`,
      ),
    };
  } catch (error) {
    return { engine, ok: false, detail: messageOf(error), differences: [] };
  }
}
