import { type Neo4jServer, startNeo4j } from '../fixtures/containers/neo4j.ts';
import { describeWith } from '../needs.ts';
import { cypherContract } from './cypher.contract.ts';
import { openSceneGraph } from './cypher-scene.ts';

describe('Cypher on the embedded engine', () => {
  cypherContract((scene, limits) => openSceneGraph(scene, null, limits));
});

describeWith(['neo4j'], 'Cypher on Neo4j', () => {
  let server: Neo4jServer;

  before(async () => {
    server = await startNeo4j();
  });

  after(() => server?.remove());

  cypherContract((scene, limits) => openSceneGraph(scene, server, limits));
});
