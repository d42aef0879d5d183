/** Queries and what they answer, the same on every engine. */
export const answers: readonly (readonly [
  query: string,
  rows: readonly Readonly<Record<string, unknown>>[],
  params?: Readonly<Record<string, unknown>>,
])[] = [
  ['MATCH (n:CoreEntity) RETURN count(*) AS c', [{ c: 6 }]],
  ['RETURN 1 AS `__proto__`, 2 AS b', [JSON.parse('{"__proto__":1,"b":2}')]],
  [
    'UNWIND [1, 2] AS n RETURN {a: n} AS `__proto__`, n AS constructor ORDER BY constructor',
    [1, 2].map((n) => JSON.parse(`{"__proto__":{"a":${n}},"constructor":${n}}`)),
  ],
  ['RETURN {a: [{b: 1}]} AS x', [{ x: { a: [{ b: 1 }] } }]],
  [
    'RETURN [{b: 1}, {c: [{d: "x"}, [{e: 1.5}]]}] AS x',
    [{ x: [{ b: 1 }, { c: [{ d: 'x' }, [{ e: 1.5 }]] }] }],
  ],
  [
    'MATCH (n:CoreEntity) RETURN n.kind AS kind, count(*) AS c ORDER BY c DESC, kind',
    [
      { kind: 'file', c: 3 },
      { kind: 'symbol', c: 2 },
      { kind: 'repository', c: 1 },
    ],
  ],
  [
    'MATCH (m:Memory) RETURN m.layer AS layer, m.confidence AS confidence, m.pinned AS pinned',
    [{ layer: 'semantic', confidence: 0.75, pinned: true }],
  ],
  ['MATCH (m:Memory)-[:ABOUT]->(e) RETURN e.path AS path', [{ path: 'src/greet.js' }]],
  [
    'MATCH (:ReasoningRun {run_id: $run})-[p:PROPOSES]->(a:ProposedAction) RETURN p.ordinal AS n, a.kind AS kind ORDER BY n',
    [
      { n: 1, kind: 'create_branch' },
      { n: 2, kind: 'apply_patch' },
      { n: 3, kind: 'commit' },
    ],
    { run: 'r1' },
  ],
  [
    'MATCH (r:AgentRun)-[:PLANS_FOR]->(t:ForgeIssue) RETURN r.agent AS agent, t.number AS number',
    [{ agent: 'Depute', number: 1 }],
  ],
  [
    "MATCH p = (a:Action {action_id: 'act_1'})-[:NEXT_ACTION*1..5]->(b) RETURN length(p) AS steps, [x IN nodes(p) | x.kind] AS kinds ORDER BY steps",
    [
      { steps: 1, kinds: ['create_branch', 'apply_patch'] },
      { steps: 2, kinds: ['create_branch', 'apply_patch', 'commit'] },
    ],
  ],
  [
    "MATCH (n:CoreEntity {id: 'file:README.md'}) RETURN n",
    [
      {
        n: {
          labels: ['CoreEntity'],
          properties: {
            end_line: 30,
            id: 'file:README.md',
            kind: 'file',
            path: 'README.md',
            repository: 'local/demo/hello',
            start_line: 1,
            title: 'README.md',
            valid_from: '2026-01-01T00:00:00.000Z',
          },
        },
      },
    ],
  ],
  [
    "MATCH (:CoreEntity {id: 'symbol:main'})-[r]->() RETURN r",
    [
      {
        r: {
          type: 'CORE_RELATION',
          properties: { kind: 'references', valid_from: '2026-01-01T00:00:00.000Z', weight: 0.5 },
        },
      },
    ],
  ],
  [
    "MATCH (:ReasoningRun)-[r:PROPOSES]->({action_id: 'act_2'}) RETURN r",
    [{ r: { type: 'PROPOSES', properties: { ordinal: 2 } } }],
  ],
  [
    'MATCH (n:Task) RETURN n {.id, .number} AS m, properties(n).title AS title',
    [{ m: { id: 'task:1', number: 1 }, title: 'Wrong greeting' }],
  ],
  [
    "MATCH p = shortestPath((a:CoreEntity {id: 'repo:hello'})-[*..5]->(b:CoreEntity {id: 'symbol:greet'})) RETURN [x IN nodes(p) | x.id] AS ids, [r IN relationships(p) | r.kind] AS kinds",
    [{ ids: ['repo:hello', 'file:src/greet.js', 'symbol:greet'], kinds: ['contains', 'defines'] }],
  ],
  [
    "MATCH (f:CoreEntity {kind: 'file'}) OPTIONAL MATCH (f)-[:CORE_RELATION {kind: 'defines'}]->(s) RETURN f.path AS path, collect(s.title) AS symbols ORDER BY path",
    [
      { path: 'README.md', symbols: [] },
      { path: 'src/greet.js', symbols: ['greet'] },
      { path: 'src/main.js', symbols: ['main'] },
    ],
  ],
  [
    "MATCH (f:CoreEntity) WHERE f.kind = 'file' AND NOT EXISTS { MATCH (f)-[:CORE_RELATION {kind: 'defines'}]->() } RETURN f.path AS path",
    [{ path: 'README.md' }],
  ],
  [
    "MATCH (f:CoreEntity {kind: 'file'}) RETURN f.path AS path, COUNT { (f)-->() } AS out ORDER BY path",
    [
      { path: 'README.md', out: 0 },
      { path: 'src/greet.js', out: 2 },
      { path: 'src/main.js', out: 1 },
    ],
  ],
  [
    'MATCH (n:CoreEntity) WITH n ORDER BY n.id LIMIT 2 WITH collect(n) AS ns RETURN size(ns) AS s, [x IN ns | x.id] AS ids',
    [{ s: 2, ids: ['file:README.md', 'file:src/greet.js'] }],
  ],
  [
    'MATCH (n) WHERE n:Memory OR n:Task RETURN n.id AS id ORDER BY id',
    [{ id: 'memory:1' }, { id: 'task:1' }],
  ],
  [
    'UNWIND $list AS x RETURN x, x * 2 AS twice',
    [
      { x: 1, twice: 2 },
      { x: 2.5, twice: 5 },
    ],
    { list: [1, 2.5] },
  ],
  [
    'RETURN $m.a AS a, $m AS m, $n AS n',
    [{ a: [1, 'x', null], m: { a: [1, 'x', null], b: { c: true } }, n: null }],
    { m: { a: [1, 'x', null], b: { c: true } }, n: null },
  ],
  ['RETURN 7 / 2 AS a, 7 % 3 AS b, 7.0 / 2 AS c, -7 / 2 AS d', [{ a: 3, b: 1, c: 3.5, d: -3 }]],
  ['RETURN 9007199254740993 AS big', [{ big: '9007199254740993' }]],
  [
    'UNWIND [] AS x RETURN count(x) AS c, sum(x) AS s, avg(x) AS a, collect(x) AS l',
    [{ c: 0, s: 0, a: null, l: [] }],
  ],
  [
    'MATCH (a:Action) RETURN sum(a.risk_score)+1, max(a.ordinal)',
    [{ 'sum(a.risk_score)+1': 31, 'max(a.ordinal)': 3 }],
  ],
  ['UNWIND [3, 1, null, 2] AS x RETURN x ORDER BY x DESC', [{ x: null }, { x: 3 }, { x: 2 }, { x: 1 }]],
  [
    "RETURN toUpper('a') + toLower('B') AS a, split('a,b', ',') AS b, substring('hello', 1, 2) AS c, size('héllo') AS d, coalesce(null, 1) AS e",
    [{ a: 'Ab', b: ['a', 'b'], c: 'el', d: 5, e: 1 }],
  ],
  [
    "RETURN CASE WHEN 1 < 2 THEN 'y' ELSE 'n' END AS a, [x IN range(1, 5) WHERE x % 2 = 1 | x * x] AS b, reduce(s = 0, x IN [1, 2, 3] | s + x) AS c",
    [{ a: 'y', b: [1, 9, 25], c: 6 }],
  ],
  ['UNWIND [1, 2] AS x RETURN x UNION UNWIND [2, 3] AS x RETURN x', [{ x: 1 }, { x: 2 }, { x: 3 }]],
  [
    "MATCH (a:CoreEntity)-[r:CORE_RELATION]-(b) WHERE a.id = 'symbol:greet' RETURN type(r) AS t, r.kind AS k, startNode(r).id AS s ORDER BY s",
    [
      { t: 'CORE_RELATION', k: 'defines', s: 'file:src/greet.js' },
      { t: 'CORE_RELATION', k: 'references', s: 'symbol:main' },
    ],
  ],
  [
    "MATCH (n:CoreEntity {kind: 'file'}) CALL { WITH n MATCH (n)-->(m) RETURN count(m) AS d } RETURN n.path AS path, d ORDER BY path",
    [
      { path: 'README.md', d: 0 },
      { path: 'src/greet.js', d: 2 },
      { path: 'src/main.js', d: 1 },
    ],
  ],
  [
    "MATCH (n:CoreEntity) WHERE n.valid_from >= '2026' AND n.missing IS NULL RETURN count(n) AS c",
    [{ c: 6 }],
  ],
  [
    'MATCH (`create`:Task)<-[`set`:PLANS_FOR]-(r) WITH `create`, type(`set`) AS `match`, r.run_id AS `in` RETURN `create`.number AS n, `match`, `in`, {`set`: 1} AS m',
    [{ n: 1, match: 'PLANS_FOR', in: 'r1', m: { set: 1 } }],
  ],
  [
    "MATCH p = shortestPath((a:CoreEntity {id: 'symbol:main'})-[*..5]-(b:CoreEntity {id: 'file:README.md'})) WITH p WHERE length(p) > 1 RETURN length(p) AS l",
    [{ l: 3 }],
  ],
  ["MATCH p = shortestPath((a:Task {id: 'task:1'})-[*..5]-(b:Memory)) RETURN length(p) AS l", []],
  [
    "MATCH p = allShortestPaths((a:CoreEntity {id: 'symbol:greet'})-[*..5]-(b:CoreEntity {id: 'file:src/main.js'})) RETURN [x IN nodes(p) | x.id][1] AS via ORDER BY via",
    [{ via: 'file:src/greet.js' }, { via: 'symbol:main' }],
  ],
  ['UNWIND null AS x RETURN x', []],
  ['MATCH (n:Nothing) RETURN n.id AS id', []],
  ['OPTIONAL MATCH (n:Nothing) RETURN n, n.id AS id', [{ n: null, id: null }]],
];

/** What an engine answers rightly or refuses as `cypher_not_supported`, and never answers in another way. */
export const rightOrRefused: readonly (readonly [query: string, value: unknown])[] = [
  ["WITH '1' AS a, 1 AS b RETURN a = b AS x", false],
  ['MATCH (create:Task) RETURN create.id AS x', 'task:1'],
  ['MATCH (limit:Task) WHERE limit.number = 1 RETURN limit.number AS x', 1],
  ['UNWIND {a: 1}.a AS x RETURN x', 1],
  ['MATCH (n:Task) UNWIND n.number AS x RETURN x', 1],
  ["RETURN {a: CASE 1 WHEN '1' THEN 'y' ELSE 'n' END}.a AS x", 'n'],
  [
    "MATCH p = shortestPath((a:CoreEntity {id: 'file:src/greet.js'})-[*..5]-(b:CoreEntity {id: 'file:src/main.js'})) WHERE length(p) > 1 RETURN length(p) AS x",
    2,
  ],
  [
    "MATCH (a:CoreEntity {id: 'symbol:main'}), (b:CoreEntity {id: 'file:README.md'}) RETURN length(shortestPath((a)-[*..5]-(b))) AS x",
    3,
  ],
  [
    "MATCH shortestPath((a:CoreEntity {id: 'symbol:main'})-[*..5]-(b:CoreEntity {id: 'file:README.md'})) RETURN b.end_line AS x",
    30,
  ],
  ["WITH ['1'] AS l RETURN 1 IN l AS x", false],
  ["WITH '10' AS a, 9 AS b RETURN a < b AS x", null],
  ['WITH [1] AS l RETURN l+2 AS x', [1, 2]],
  ['WITH -1 AS i RETURN [1,2,3][0..i] AS x', [1, 2]],
  ['WITH 1.0 AS f RETURN toString(f) AS x', '1.0'],
  ['UNWIND 5 AS a RETURN a AS x', 5],
  ["RETURN 1 + '1' AS x", '11'],
  ["RETURN toInteger('1.9') AS x", 1],
  ['RETURN round(-2.5) AS x', -2],
  ['RETURN any(y IN [null] WHERE y > 1) AS x', null],
  ['RETURN [1,2] < [1,3] AS x', true],
  ["RETURN CASE 1 WHEN '1' THEN 'y' ELSE 'n' END AS x", 'n'],
  ["WITH '1' AS a RETURN CASE WHEN true THEN a ELSE 2 END = 1 AS x", false],
  ["WITH {id: 1} AS m RETURN m.id = '1' AS x", false],
  ["RETURN {a: 1} = {a: '1'} AS x", false],
  ['WITH [[1]] AS l RETURN l[0] + 2 AS x', [1, 2]],
  ['WITH [1, null] AS l RETURN any(y IN [z IN l WHERE z IS NOT NULL] WHERE y > 0) AS x', true],
  ['MATCH (n:Task) WITH n.id AS i RETURN i = 1 AS x', false],
];
