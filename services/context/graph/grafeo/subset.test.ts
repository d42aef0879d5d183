import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { tokensOf } from '../text/tokens.ts';
import { prepared } from './prepared.ts';
import { planProblem } from './run-text.ts';
import { constructs, refuseUnsupported } from './subset.ts';

const params = { one: 1, numeral: '1', minus: -1, text: 'a' };

describe('what the embedded engine cannot do rightly', () => {
  for (const [query, words] of [
    ['MATCH (create:A) RETURN create.id AS x', 'a keyword as a name'],
    ['MATCH (a)-[set:A]->(b) RETURN a.id AS x', 'a keyword as a name'],
    ['MATCH match = (a)-->(b) RETURN 1 AS x', 'a keyword as a name'],
    ['MATCH (limit:A) WHERE limit.number = 1 RETURN 1 AS x', 'a keyword as a name'],
    ['MATCH (n:Optional) RETURN n.id AS x', 'a keyword as a name'],
    ['MATCH (a)-[:IN]->(b) RETURN a.id AS x', 'a keyword as a name'],
    ['MATCH (n {when: "now"}) RETURN n.id AS x', 'a keyword as a name'],
    ['MATCH (n) RETURN n.set AS x', 'a keyword as a name'],
    ['RETURN {a: 1, case: 2} AS x', 'a keyword as a name'],
    ['RETURN [end IN [1] | end] AS x', 'a keyword as a name'],
    ['RETURN 1 AS delete', 'a keyword as a name'],
    ["RETURN {a: CASE 1 WHEN '1' THEN 2 END} AS x", 'CASE x WHEN y'],
    ['MATCH (a), (b) RETURN length(shortestPath((a)-[*..5]-(b))) AS x', 'shortestPath() that is not MATCH'],
    ['MATCH shortestPath((a)-[*..5]-(b)) RETURN 1 AS x', 'shortestPath() that is not MATCH'],
    ['MATCH p = shortestPath((a)-[*..5]-(a)) RETURN 1 AS x', 'shortestPath() that is not MATCH'],
    ['MATCH p = shortestPath((a)-[*2..5]-(b)) RETURN 1 AS x', 'shortestPath() that is not MATCH'],
    [
      'MATCH p = allShortestPaths((a)-[*..5 {kind: "x"}]-(b)) RETURN 1 AS x',
      'shortestPath() that is not MATCH',
    ],
    ['MATCH p = shortestPath((a)-[*..5]-(b)) WHERE length(p) > 1 RETURN 1 AS x', 'WHERE about the path'],
    ['MATCH (n:A|B) RETURN n', 'a label expression'],
    ['MATCH (n:A&B) RETURN n', 'a label expression'],
    ['MATCH (n:!A) RETURN n', 'a label expression'],
    ['MATCH (n) WHERE (n:A|B) RETURN n', 'a label expression'],
    ['MATCH (n) RETURN COLLECT { MATCH (n)-->(m) RETURN m.id } AS x', 'COLLECT { … }'],
    ['MATCH (n) WHERE EXISTS { MATCH (n)-->(m) RETURN m } RETURN n', 'RETURN inside EXISTS { … }'],
    ['MATCH (a)<-->(b) RETURN a', '<-->'],
    ['MATCH p = (a) RETURN p', 'a named path of one node'],
    ['MATCH (n) RETURN n LIMIT 1 + 1', 'a computed LIMIT or SKIP'],
    ['MATCH (n) RETURN n SKIP toInteger(1)', 'a computed LIMIT or SKIP'],
    ['RETURN randomUUID() AS x', 'randomUUID()'],
    ['MATCH (n) RETURN id(n) AS x', 'id()'],
    ["RETURN datetime('2026-01-01') AS x", 'temporal values'],
    ["RETURN duration.between('a', 'b') AS x", 'temporal values'],
    ['RETURN [1, 2, 3][0..-1] AS x', 'a negative slice bound'],
    ['RETURN [1, 2, 3][-2..] AS x', 'a negative slice bound'],
    ['RETURN [1, 2, 3][..$minus] AS x', 'a negative slice bound'],
    ['MATCH (n:A) RETURN n, count(*) AS c', 'beside an aggregate'],
    ['MATCH (n)-[r]->() RETURN r, count(*) AS c', 'beside an aggregate'],
    ['MATCH (n:A) RETURN collect(n) AS c', 'or of collect() of them'],
    ['MATCH (n:A) RETURN {c: count(*)} AS c', 'an aggregate inside a map'],
    ['MATCH (n:A) RETURN [x IN collect(n.id) | x] AS c', 'an aggregate inside a map'],
    ["RETURN '1' = 1 AS x", 'comparing text with a number'],
    ['MATCH (n) WHERE n.number = $numeral RETURN n', 'comparing text with a number'],
    ["MATCH (n {number: '1'}) RETURN n", 'comparing text with a number'],
    ["MATCH (n) WHERE n.number IN ['1', '2'] RETURN n", 'IN with text among numbers'],
    ['MATCH (n) WHERE n.id = 1 RETURN n', 'comparing text with a number'],
    ['RETURN [1, null] = [1, null] AS x', 'comparing lists that may hold null'],
    ['RETURN [1] + 2 AS x', 'adding a single value to a list'],
    ["WITH '1' AS a, 1 AS b RETURN a = b AS x", 'comparing text with a number'],
    ["WITH '10' AS a, 9 AS b RETURN a < b AS x", 'comparing text with a number'],
    ["WITH ['1'] AS l RETURN 1 IN l AS x", 'IN with text among numbers'],
    ["UNWIND ['1'] AS a UNWIND [1] AS b WITH a, b WHERE a = b RETURN a", 'comparing text with a number'],
    ['MATCH (a), (b) WHERE a.path = b.number RETURN a', 'comparing text with a number'],
    ['WITH [1] AS l RETURN l+2 AS x', 'adding a single value to a list'],
    ["RETURN 1 + '1' AS x", 'adding text'],
    ['MATCH (n) RETURN n.path + n.start_line AS x', 'adding text'],
    ['WITH -1 AS i RETURN [1,2,3][0..i] AS x', 'a computed slice bound'],
    ['WITH 1.0 AS f RETURN toString(f) AS x', 'toString() of what may be a float'],
    ['UNWIND 5 AS a RETURN a', 'UNWIND of something that is not a list'],
    ["RETURN toInteger('1.9') AS x", 'toInteger() of text'],
    ['RETURN round(-2.5) AS x', 'floor(x + 0.5)'],
    ['RETURN range(1, 3, 0) AS x', 'a step that may be 0'],
    ["RETURN 'a' IN 'abc' AS x", 'not a list'],
    ['RETURN any(y IN [null] WHERE y > 1) AS x', 'may hold null'],
    ['WITH [null] AS l RETURN any(y IN l WHERE y > 1) AS x', 'may hold null'],
    ['RETURN [1,2] < [1,3] AS x', 'ordering lists'],
    ["RETURN CASE 1 WHEN '1' THEN 'y' ELSE 'n' END AS x", 'CASE x WHEN y'],
    ["WITH '1' AS a RETURN CASE WHEN true THEN a ELSE 2 END = 1 AS x", 'comparing text with a number'],
    ["WITH {id: 1} AS m RETURN m.id = '1' AS x", 'comparing text with a number'],
    ["RETURN {a: 1} = {a: '1'} AS x", 'comparing maps'],
    ["UNWIND ['10', 9] AS x RETURN max(x) AS m", 'min() and max()'],
    ['WITH [[1]] AS l RETURN l[0] + 2 AS x', 'adding a single value to a list'],
    ["MATCH (n) RETURN n[$text] = '1' AS x", 'comparing text with a number'],
    ['MATCH (n) RETURN any(y IN [n.path] WHERE y > 1) AS x', 'may hold null'],
    ['RETURN {`__proto__`: 1} AS x', 'the key __proto__ in a map'],
    ['RETURN [{a: {__proto__: [1]}}] AS x', 'the key __proto__ in a map'],
    ['MATCH ({number: "1"}) RETURN 1 AS x', 'comparing text with a number'],
    ['MATCH (a), ({number: "1"}) RETURN 1 AS x', 'comparing text with a number'],
    ['MATCH (a)-[{weight: "1"}]->() RETURN a', 'comparing text with a number'],
    ['MATCH (a) WHERE ({number: "1"})-->(a) RETURN a', 'comparing text with a number'],
    ['MATCH (a) WHERE (a)-->({number: "1"}) RETURN a', 'comparing text with a number'],
    ['MATCH (a)-->+(b) RETURN a', 'a quantified path'],
    ['MATCH (n:A WHERE n.x > 1) RETURN n', 'WHERE inside a pattern'],
    [`RETURN ${'['.repeat(52)}1${']'.repeat(52)} AS x`, 'brackets more than 50 deep'],
  ] as const) {
    it(`is named: ${query}`, () => {
      expect(() => check(query))
        .to.throw(words)
        .with.property('code', 'cypher_not_supported');
    });
  }

  for (const query of [
    'RETURN {a: [{b: 1}]} AS x',
    'RETURN [{b: 1}, {c: [{d: 1}, [{e: 1}]]}] AS x',
    'RETURN ({b: 1}) AS x, [({b: 1}), ({c: 1})] AS y, {a: ({b: [({c: 1})]})} AS z',
    'UNWIND [{b: 1}] AS m WITH m.b AS b RETURN {a: [x IN [1] | {b: x}], b: [{c: b}]} AS x',
    'MATCH (n) RETURN collect({a: 1}) AS x, head([{b: 1}]) AS y',
    'MATCH (`create`:A) WHERE (true) RETURN `create`.id AS `set`, count(null) AS count, 2 AS order',
    'RETURN [null] AS a, (false) AS b, {a: null, b: CASE WHEN true THEN 1 END} AS c',
    'MATCH (a), p = shortestPath((a)-[*..5]-(b)) WHERE a.id <> b.id WITH p WHERE length(p) > 1 RETURN length(p) AS l',
    'MATCH p = shortestPath((a:A)-[r:X*1..5]->(b {kind: "x"})) RETURN length(p) AS l',
    'MATCH (a)-[:A|B]->(b) RETURN a',
    'MATCH (n) WHERE n:A OR n:B RETURN n',
    'MATCH (n {id: $text})-[r:X {kind: "x"}]->() RETURN r',
    "MATCH (n {title: '404'}) RETURN n",
    "MATCH (n) WHERE n.id IN ['1', '2'] AND n.number IN [1, 2] AND n.number = $one RETURN n",
    'MATCH (n) WITH n, count(*) AS c RETURN n, c',
    'MATCH (n) WITH collect(n) AS ns RETURN ns[0] AS x, size(ns) + 1 AS s',
    'MATCH (n) RETURN n.kind AS kind, count(*) AS c, collect(n.id) AS ids LIMIT $one',
    'MATCH p = (a)-[*1..3]->(b) RETURN p, [x IN nodes(p) WHERE x.id <> "a" | x.id] AS ids',
    'MATCH (n) WHERE any(x IN [1] WHERE x > 0) RETURN {a: (1 + 2)} AS m',
    'WITH [1, null] AS l RETURN any(x IN [y IN l WHERE y IS NOT NULL] WHERE x > 0) AS m',
    'RETURN [1, 2, 3][0..2] AS x, [1] + [2] AS y, 3 - 1 AS z',
    'MATCH (n) CALL { WITH n MATCH (n)-->(m) RETURN count(m) AS d } RETURN n.id AS i, d',
    'MATCH (n)<-[r]-(m) WITH n, count(*) AS c WHERE c > 1 AND n.start_line < n.end_line RETURN n.id AS i, c + 1 AS d',
    'MATCH (a), (b) WHERE a.foo = b.bar RETURN a',
    'MATCH (a)-->(b) WHERE a <> b AND a.foo = b.foo AND a.valid_from <= b.valid_to RETURN a.id AS i',
    'MATCH (n) WITH collect(n.id) AS ids MATCH (m) WHERE m.id IN ids AND m.pinned = true RETURN m.path',
    "MATCH (n) RETURN n.path + ':' + toString(n.start_line) AS place, range(1, 9, 2) AS r",
    "MATCH p = (a)-[*1..3]->(b) WHERE all(x IN nodes(p) WHERE x.kind = 'file') AND length(p) > 1 RETURN length(p) AS l",
    'WITH [1, 2] AS l UNWIND l AS x WITH x WHERE x > 1 RETURN x + 1 AS y, toInteger(1.9) AS z',
    'MATCH (n) WITH n.kind AS k, count(*) AS c WHERE k = "file" AND c >= $one RETURN k',
    'RETURN size(reduce(l = [], x IN range(1, 9) | l + [x])) AS s',
    "RETURN size(reduce(s = 'x', x IN range(1, 9) | s + s)) AS s",
    'MATCH (n) WITH labels(n) AS ls WHERE "Task" IN ls RETURN size(ls) > 1 AS m',
  ]) {
    it(`is not: ${query}`, () => {
      expect(() => check(query)).not.to.throw();
    });
  }
});

describe("the site's page about Cypher", () => {
  it('names each construct that is refused, why, and what to write instead', () => {
    const page = readFileSync(new URL('../../../../site/graph-model.md', import.meta.url), 'utf8').replaceAll(
      '`',
      '',
    );
    const cell = (words: string) => words.replaceAll('|', '\\|');
    for (const { what, why, instead } of constructs)
      expect(page).to.include(`| ${cell(what)} | ${cell(why)} | ${cell(instead)} |`);
  });
});

describe('what the embedded engine runs in place of a query', () => {
  it('names columns as they are written', () => {
    expect(prepared('MATCH (n) RETURN n.a, n.a+1, count(*)', 3)).to.equal(
      'MATCH (n) RETURN n.a, n.a+1 AS `n.a+1`, count(*) AS `count(*)`\nLIMIT 3',
    );
  });

  it('makes a sum of nothing 0', () => {
    expect(prepared('RETURN sum(x) AS s', 3)).to.equal('RETURN coalesce(sum(x), 0) AS s\nLIMIT 3');
  });
});

describe("the gate before the embedded engine's plans", () => {
  it('lets reading plans through', () => {
    const plan =
      'Return (n)\n  Filter (n.id Eq "CreateNodeOp {")\n    Discriminant(51)\n      CallProcedure (db.labels)\n';
    expect(planProblem(plan)).to.equal(null);
  });

  for (const plan of [
    'Return ()\n  Create (n:X)',
    'LoadCsv (x)',
    'Discriminant(50)',
    'CallProcedure (grafeo.pagerank)',
    'Return (x)\n  Filter (ExistsSubquery(CreateNodeOp { variable: "n" }))',
    '¿? (x)',
  ]) {
    it(`holds ${plan.replaceAll('\n', ' ⏎ ')}`, () => {
      expect(planProblem(plan)).to.be.a('string');
    });
  }
});

function check(text: string): void {
  refuseUnsupported({ text, tokens: tokensOf(text), params });
}
