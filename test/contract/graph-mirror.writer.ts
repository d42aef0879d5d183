/**
 * A process that mirrors the record at `argv[2]` to the server of `argv[3]` until it is killed: the account as JSON. It says `ready`
 * on its channel once it follows.
 */
import { dirname, join } from 'node:path';
import { MirrorLoop } from '../../services/context/graph/mirror-loop.ts';
import { Neo4jConnection } from '../../services/context/graph/neo4j/connection.ts';
import { Neo4jMirror } from '../../services/context/graph/neo4j/neo4j-mirror.ts';
import { Readers } from '../../services/context/store/access.ts';
import { silent } from './cypher-scene.ts';

const account = JSON.parse(process.argv[3]!);
const readers = new Readers(process.argv[2]!);
const mirror = new Neo4jMirror(
  new Neo4jConnection(account),
  join(dirname(process.argv[2]!), 'graph', 'neo4j.json'),
);
const loop = new MirrorLoop({ mirror, readers, logger: silent });
loop.start();
process.send!('ready');
setInterval(() => {}, 1_000);
