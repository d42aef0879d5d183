import * as t from 'io-ts';
import { request } from 'undici';
import { decode, optional } from '#kit/decode.ts';
import { codeOf, messageOf, Unavailable } from '#kit/errors.ts';
import type { Context } from '../../planning/context.ts';
import type { ContextPassage } from '../../planning/planner.ts';

const Result = t.strict({
  id: t.string,
  title: optional(t.string),
  path: optional(t.string),
  snippet: optional(t.string),
  text: optional(t.string),
});
const Results = t.strict({ results: t.array(Result) });

/** core-context over HTTP, as spec.md names its endpoints. Reading alone; time limit 5 s. */
export function httpContext(baseUrl: string): Context {
  async function ask(
    path: string,
    body: unknown,
    layer: ContextPassage['layer'],
    signal: AbortSignal,
  ): Promise<ContextPassage[]> {
    const url = new URL(path, baseUrl);
    try {
      const reply = await request(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]),
      });
      if (reply.statusCode !== 200) {
        await reply.body.dump();
        throw new Unavailable('context_unavailable', `${url} answered ${reply.statusCode}`);
      }
      const { results } = decode(Results, await reply.body.json(), String(url));
      return results.map(({ id, title, path: file, snippet, text }) => ({
        source: file ?? id,
        title: title ?? id,
        text: snippet ?? text ?? '',
        layer,
      }));
    } catch (cause) {
      if (cause instanceof Unavailable) throw cause;
      const reason = codeOf(cause) === 'ECONNREFUSED' ? 'nothing answers there' : messageOf(cause);
      throw new Unavailable('context_unavailable', `${url.origin}: ${reason}`, { cause });
    }
  }
  return {
    search: (query, repository, limit, signal) =>
      ask('/v1/graphrag/search', { query, repository, limit }, 'graph', signal),
    lookup: (query, layer, limit, signal) => ask('/v1/memory/lookup', { query, layer, limit }, layer, signal),
  };
}
