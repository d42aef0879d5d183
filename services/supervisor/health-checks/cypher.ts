import { createRequire } from 'node:module';
import * as t from 'io-ts';
import { answerMs } from '#kit/config/answer-ms.ts';
import { readConcernDocument } from '#kit/config/concern.ts';
import { mergeJson } from '#kit/config/merge.ts';
import { decode, nullable } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { connects } from '../port-holder.ts';
import type { Finding } from './finding.ts';

const Configured = t.strict({ neo4j: nullable(t.strict({ url: t.string })) });
const boltPort = 7687;

/** Where Cypher runs: the configured Neo4j, else the engine that comes with Core. */
export async function checkCypher(folders: Folders): Promise<Finding> {
  try {
    const { shipped, user } = readConcernDocument('context', folders);
    const merged =
      user.document === undefined ? shipped.document : mergeJson(shipped.document, user.document);
    const { neo4j } = decode(Configured, merged, 'context.json');
    return neo4j === null ? checkGrafeo() : await checkNeo4j(neo4j.url, answerMs({ folders, environment }));
  } catch (error) {
    return { name: 'Cypher', state: 'broken', detail: messageOf(error), fix: 'Correct context.json.' };
  }
}

/** Loads it: its binary is for some systems only. */
function checkGrafeo(): Finding {
  const name = 'Grafeo';
  const require = createRequire(import.meta.url);
  try {
    const { version } = require('@grafeo-db/js/package.json') as { version: string };
    require('@grafeo-db/js');
    return { name, state: 'works', detail: `${version}, for Cypher without a server`, fix: null };
  } catch (error) {
    return {
      name,
      state: 'warning',
      detail: `does not load: ${messageOf(error).split('\n')[0]}`,
      fix: 'npm ci; where there is no binary for this system, configure Neo4j in context.json. All else works without.',
    };
  }
}

async function checkNeo4j(url: string, withinMs: number): Promise<Finding> {
  const name = 'Neo4j';
  const { hostname, port } = new URL(url);
  const reached = await connects(hostname, port === '' ? boltPort : Number(port), withinMs);
  if (reached === 'somebody')
    return { name, state: 'works', detail: `${url} accepts connections`, fix: null };
  return {
    name,
    state: 'warning',
    detail: `${url} ${reached === 'late' ? 'took no connection in time' : 'does not accept connections'}; core-context keeps all that is written and catches up`,
    fix:
      reached === 'late'
        ? 'It may be busy, or still starting.'
        : 'Start it, or correct neo4j in context.json.',
  };
}
