import { needs } from '../needs.ts';
import { type Neo4jServer, startNeo4j } from '../support/neo4j.ts';
import { cypherContract } from './cypher.contract.ts';
import { openSceneGraph } from './cypher-scene.ts';

describe('Cypher on the embedded engine', () => {
  cypherContract((scene, limits) => openSceneGraph(scene, null, limits));
});

describe('Cypher on Neo4j', () => {
  let server: Neo4jServer;

  before(async function () {
    needs(this, 'neo4j');
    server = await startNeo4j();
  });

  after(() => server?.stop());

  cypherContract((scene, limits) => openSceneGraph(scene, server, limits));
});
