/** What an engine has to say to an attempt: refused as not allowed, or as no Cypher at all. */
export const refused = ['cypher_read_only', 'cypher_not_supported', 'cypher_invalid'];

export interface Attack {
  readonly title: string;
  readonly query: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

const writes: readonly (readonly [string, string])[] = [
  ['CREATE a node', "CREATE (n:Evil {id: 'x'}) RETURN n"],
  ['CREATE after MATCH', 'MATCH (n:Task) CREATE (n)-[:EVIL]->(:Evil) RETURN n'],
  ['CREATE after a comment', '/* reading */ CREATE (:Evil)'],
  ['CREATE broken by a comment', 'CREA/**/TE (:Evil)'],
  ['CREATE after a line comment', 'MATCH (n) // RETURN n\nCREATE (:Evil)'],
  ['CREATE in lower case', 'create (:Evil)'],
  ['CREATE with a no-break space', 'CREATE\u00a0(:Evil)'],
  ['CREATE by a unicode escape', '\\u0043REATE (:Evil)'],
  ['CREATE by full-width letters', 'ＣＲＥＡＴＥ (:Evil)'],
  ['CREATE after an unclosed comment', '/* RETURN 1 */ CREATE (:Evil) /* unclosed'],
  ['CREATE behind backticks', 'MATCH (`n``) RETURN n //`) CREATE (:Evil)'],
  ['CREATE after WITH *', 'MATCH (n) WITH * CREATE (:Evil)'],
  ['CREATE in a UNION', 'RETURN 1 AS x UNION CREATE (n:Evil) RETURN 2 AS x'],
  ['INSERT', 'INSERT (:Evil)'],
  ['MERGE a node', "MERGE (n:Evil {id: 'x'}) RETURN n"],
  ['MERGE with ON CREATE SET', 'MERGE (n:Task) ON CREATE SET n.x = 1 ON MATCH SET n.x = 2 RETURN n'],
  ['MERGE a relationship', 'MATCH (a:Task), (b:Memory) MERGE (a)-[:EVIL]->(b)'],
  ['SET a property', 'MATCH (n:Task) SET n.title = "evil" RETURN n'],
  ['SET from a map', 'MATCH (n:Task) SET n += {title: "evil"}'],
  ['SET a label', 'MATCH (n:Task) SET n:Evil'],
  ['SET after UNWIND', 'UNWIND [1, 2] AS x MATCH (n:Task) SET n.x = x'],
  ['REMOVE a property', 'MATCH (n:Task) REMOVE n.title'],
  ['REMOVE a label', 'MATCH (n:Task) REMOVE n:Task'],
  ['DELETE', 'MATCH (n:Memory) DELETE n'],
  ['DETACH DELETE', 'MATCH (n) DETACH DELETE n'],
  ['NODETACH DELETE', 'MATCH (n:Memory) NODETACH DELETE n'],
  ['DELETE a relationship', 'MATCH ()-[r]->() DELETE r'],
  ['FOREACH', 'FOREACH (x IN [1] | CREATE (:Evil))'],
  ['FOREACH nested', 'MATCH (n:Task) FOREACH (x IN [1] | FOREACH (y IN [2] | SET n.x = y))'],
  ['a writing subquery', 'CALL { CREATE (n:Evil) RETURN n } RETURN n'],
  ['a writing subquery with scope', 'MATCH (t:Task) CALL (t) { SET t.x = 1 } RETURN t'],
  ['a writing unit subquery', 'MATCH (t:Task) CALL { WITH t DELETE t } RETURN 1 AS x'],
  ['a subquery in transactions', 'MATCH (n) CALL { WITH n DETACH DELETE n } IN TRANSACTIONS OF 1 ROWS'],
  [
    'a subquery in concurrent transactions',
    'MATCH (n) CALL { WITH n SET n.x = 1 } IN 2 CONCURRENT TRANSACTIONS',
  ],
  ['a write in EXISTS', 'MATCH (n) WHERE EXISTS { CREATE (:Evil) } RETURN n'],
  ['a write in COUNT', 'RETURN COUNT { CREATE (:Evil) } AS c'],
  ['a write in COLLECT', 'RETURN COLLECT { CREATE (n:Evil) RETURN n } AS c'],
];

const outside: readonly (readonly [string, string])[] = [
  ['LOAD CSV of a file', "LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line"],
  ['LOAD CSV of a path', "LOAD CSV FROM '/etc/passwd' AS line RETURN line"],
  ['LOAD CSV with headers', "LOAD CSV WITH HEADERS FROM 'file:///etc/passwd' AS line RETURN line"],
  ['LOAD CSV of an address', "LOAD CSV FROM 'http://127.0.0.1:9/x' AS line RETURN line"],
  ['LOAD CSV after MATCH', "MATCH (n) LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line"],
  ['LOAD CSV broken by a comment', "LOAD /* */ CSV FROM 'file:///etc/passwd' AS line RETURN line"],
  ['LOAD CSV in a subquery', "CALL { LOAD CSV FROM 'file:///etc/passwd' AS line RETURN line } RETURN line"],
  ['LOAD CSV from a parameter', 'LOAD CSV FROM $path AS line RETURN line'],
  ['apoc.load', "CALL apoc.load.json('file:///etc/passwd') YIELD value RETURN value"],
  ['apoc.cypher', "CALL apoc.cypher.doIt('CREATE (:Evil)', {}) YIELD value RETURN value"],
  ['a function that reads files', "RETURN apoc.load.csv('/etc/passwd') AS x"],
  ['a function in backticks', "RETURN `apoc`.`cypher`.`runFirstColumn`('CREATE (:Evil)', {}) AS x"],
];

const commands: readonly (readonly [string, string])[] = [
  ['dbms procedures', 'CALL dbms.listConfig() YIELD name, value RETURN name, value'],
  ['dbms procedures in backticks', 'CALL `dbms`.`listConfig`() YIELD name RETURN name'],
  ['a procedure whose name is one name', 'CALL `dbms.listConfig`()'],
  ['a procedure that makes labels', "CALL db.createLabel('Evil')"],
  ['a procedure that awaits indexes', 'CALL db.awaitIndexes(300)'],
  ['a procedure that sets settings', "CALL dbms.setConfigValue('server.bolt.enabled', 'false')"],
  ['procedures of the engine', 'CALL grafeo.pagerank()'],
  ['procedures that show the engine', 'CALL grafeo.procedures() YIELD name RETURN name'],
  ['CREATE INDEX', 'CREATE INDEX evil FOR (n:Task) ON (n.title)'],
  ['DROP INDEX', 'DROP INDEX core_text'],
  ['DROP CONSTRAINT', 'DROP CONSTRAINT core_task_id'],
  ['CREATE CONSTRAINT', 'CREATE CONSTRAINT evil FOR (n:Task) REQUIRE n.title IS UNIQUE'],
  ['CREATE USER', "CREATE USER evil SET PASSWORD 'password1'"],
  ['ALTER USER', "ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'b'"],
  ['SHOW USERS', 'SHOW USERS'],
  ['SHOW SETTINGS', 'SHOW SETTINGS YIELD name, value RETURN name, value'],
  ['SHOW TRANSACTIONS', 'SHOW TRANSACTIONS'],
  ['TERMINATE TRANSACTIONS', "TERMINATE TRANSACTIONS 'neo4j-transaction-1'"],
  ['USE another database', 'USE system MATCH (n) RETURN n'],
  ['USE in a subquery', 'CALL { USE system MATCH (n) RETURN n } RETURN n'],
  ['a second statement', 'RETURN 1 AS x; MATCH (n) DETACH DELETE n'],
  ['a second statement after a comment', 'RETURN 1 AS x; /* */ CREATE (:Evil)'],
  ['EXPLAIN', 'EXPLAIN CREATE (:Evil)'],
  ['PROFILE', 'PROFILE CREATE (:Evil)'],
  ['CYPHER options', 'CYPHER runtime=slotted CREATE (:Evil)'],
  ['BEGIN', 'BEGIN'],
  ['COMMIT', 'COMMIT'],
  ['session commands', 'SESSION SET SCHEMA evil'],
  ['another language', 'INSERT INTO nodes VALUES (1)'],
  ['nothing but a comment', '// nothing'],
];

export const attacks: readonly Attack[] = [...writes, ...outside, ...commands].map(([title, query]) => ({
  title,
  query,
  params: { path: 'file:///etc/passwd' },
}));

/** Text that looks like an attack and is data. */
export const harmless: readonly Attack[] = [
  { title: 'keywords in a string', query: "RETURN 'CREATE (n) DELETE n' AS x" },
  {
    title: 'keywords as parameters',
    query: 'RETURN $CREATE AS x, $`DELETE` AS y',
    params: { CREATE: 'DROP', DELETE: 1 },
  },
  {
    title: 'keywords in a parameter',
    query: 'MATCH (n) WHERE n.title = $x RETURN n',
    params: { x: "') DETACH DELETE n //" },
  },
  {
    title: 'keywords as properties',
    query: 'MATCH (n) WHERE n.`set` IS NULL AND n.`delete` IS NULL RETURN count(*) AS c',
  },
  { title: 'keywords as keys', query: 'RETURN {`set`: 1, `create`: 2} AS x' },
  { title: 'a string that looks closed', query: "RETURN 'a\\' AS x CREATE (:Evil) //' AS x" },
  { title: 'keywords in comments', query: 'RETURN 1 AS x // DETACH DELETE n' },
  { title: 'a label in backticks', query: 'MATCH (n:`CREATE (m)`) RETURN n' },
];

/** Queries that take all that a machine has, if they are let. */
export const hungry: readonly Attack[] = [
  {
    title: 'a cartesian product',
    query: 'MATCH (a), (b), (c), (d), (e), (f), (g), (h), (i), (j) RETURN count(*) AS c',
  },
  {
    title: 'paths without a bound',
    query: 'MATCH p = (a)-[*]-(b)-[*]-(c)-[*]-(d)-[*]-(e) RETURN count(p) AS c',
  },
  { title: 'a huge list', query: 'RETURN size(reduce(l = [], x IN range(1, 100000000) | l + [x])) AS s' },
  { title: 'a huge text', query: "RETURN size(reduce(s = 'xxxxxxxx', x IN range(1, 60) | s + s)) AS s" },
  {
    title: 'a long unwinding',
    query: 'UNWIND range(1, 1000000) AS x UNWIND range(1, 1000000) AS y RETURN count(DISTINCT x + y) AS c',
  },
];
