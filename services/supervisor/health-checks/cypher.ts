import { createRequire } from 'node:module';
import * as t from 'io-ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { answerMs } from '#kit/config/settings.ts';
import { nullable } from '#kit/decode.ts';
import { environment } from '#kit/environment.ts';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { connects } from '../port-holder.ts';
import { type Finding, finding } from './installation.ts';

const Configured = t.strict({ neo4j: nullable(t.strict({ url: t.string })) });
const boltPort = 7687;

/** Where Cypher runs: the configured Neo4j, else the engine that comes with Core. */
export async function checkCypher(folders: Folders): Promise<Finding> {
  try {
    const { neo4j } = readConcernPart(Configured, 'context', folders);
    return neo4j === null ? checkGrafeo() : await checkNeo4j(neo4j.url, answerMs({ folders, environment }));
  } catch (error) {
    return finding('Cypher', 'broken', messageOf(error), 'Correct context.json.');
  }
}

/** Loads it: its binary is for some systems only. */
function checkGrafeo(): Finding {
  const require = createRequire(import.meta.url);
  try {
    const { version } = require('@grafeo-db/js/package.json') as { version: string };
    require('@grafeo-db/js');
    return finding('Grafeo', 'works', `${version}, for Cypher without a server`);
  } catch (error) {
    return finding(
      'Grafeo',
      'warning',
      `does not load: ${messageOf(error).split('\n')[0]}`,
      'npm ci; where there is no binary for this system, configure Neo4j in context.json. All else works without.',
    );
  }
}

async function checkNeo4j(url: string, withinMs: number): Promise<Finding> {
  const { hostname, port } = new URL(url);
  const reached = await connects(hostname, port === '' ? boltPort : Number(port), withinMs);
  if (reached === 'somebody') return finding('Neo4j', 'works', `${url} accepts connections`);
  const [problem, fix] =
    reached === 'late'
      ? ['took no connection in time', 'It may be busy, or still starting.']
      : ['does not accept connections', 'Start it, or correct neo4j in context.json.'];
  const detail = `${url} ${problem}; core-context keeps all that is written and catches up`;
  return finding('Neo4j', 'warning', detail, fix);
}
