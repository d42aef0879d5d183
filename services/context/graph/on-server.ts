import { join } from 'node:path';
import { Refused } from '#kit/errors.ts';
import type { ContextConfig } from '../configuration.ts';
import { MirrorLoop } from './mirror-loop.ts';
import { connectionError, Neo4jConnection } from './neo4j/connection.ts';
import { Neo4jEngine } from './neo4j/neo4j-engine.ts';
import { Neo4jMirror } from './neo4j/neo4j-mirror.ts';
import type { GraphOptions, OpenedEngine } from './open-graph.ts';

/** The graph on the configured Neo4j. @throws Refused (`neo4j_password_missing`) */
export function onServer(
  { readers, config, password, folder, logger }: GraphOptions,
  { url, user, database, password_file }: NonNullable<ContextConfig['neo4j']>,
): OpenedEngine {
  if (password === null) {
    const hint = `write the password of ${user} into the secret file ${password_file}`;
    throw new Refused('neo4j_password_missing', `no password for ${url} in ${password_file}`, { hint });
  }
  const account = { url, user, password, database };
  // The mirror has a pool of its own, whatever callers' queries do to theirs.
  const connection = new Neo4jConnection(account);
  const mirror = new Neo4jMirror(new Neo4jConnection(account), join(folder, 'neo4j.json'));
  const loop = new MirrorLoop({ mirror, readers, logger });
  loop.start();
  const explained = <T>(work: PromiseLike<T>) =>
    Promise.resolve(work).catch((error) => {
      throw connectionError(error);
    });
  const projection: OpenedEngine['projection'] = {
    refresh: () => explained(loop.catchUp()),
    rebuild: () => explained(loop.rebuild()),
    dropDeleted: () => explained(loop.catchUp()),
    digests: () => explained(mirror.digests()),
    close: async () => {
      await loop.close();
      await connection.close();
    },
  };
  async function reach(): Promise<string> {
    const session = connection.session({ defaultAccessMode: 'READ' });
    try {
      await explained(session.run('RETURN 1'));
      return `${url} answers, and takes the account ${user}`;
    } finally {
      await session.close();
    }
  }
  return { name: 'neo4j', engine: new Neo4jEngine(connection, loop, config.cypher), projection, reach };
}
