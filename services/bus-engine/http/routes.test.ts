import { expect } from 'chai';
import { TriggerRefused } from '../triggers/trigger.ts';
import type { Connection } from '../wire/connection.ts';
import { type HttpMethod, RouteTable } from './routes.ts';

describe('routes of HTTP triggers', () => {
  let table: RouteTable;

  beforeEach(() => {
    table = new RouteTable();
  });

  /** The table only asks whether there is one. */
  const someone = {} as Connection;

  function add(id: string, pattern: string, method: HttpMethod = 'GET', owner: Connection | null = someone) {
    const trigger = {
      id,
      type: 'http',
      functionId: `f.${id}`,
      config: {},
      metadata: null,
      owner,
      token: null,
    };
    return table.add({ trigger, method, pattern, condition: null, isPublic: false });
  }

  function found(path: string, method = 'GET'): string | null {
    const match = table.find(method, path);
    return match === null ? null : `${match.route.trigger.id} ${JSON.stringify(match.params)}`;
  }

  it('take a path segment by segment', () => {
    add('root', '/');
    add('one', '/a/:x');
    add('two', '/a/:x/b/:y');
    expect(found('/')).to.equal('root {}');
    expect(found('/a/1')).to.equal('one {"x":"1"}');
    expect(found('/a/1/')).to.equal('one {"x":"1"}');
    expect(found('/a/%C3%A9%20/b/%')).to.equal('two {"x":"%C3%A9%20","y":"%"}');
    expect(found('/a')).to.equal(null);
    expect(found('/a/1', 'POST')).to.equal(null);
    expect(table.methodsOf('/a/1')).to.deep.equal(['GET']);
  });

  it('prefer what is fixed, earlier segments first', () => {
    add('both', '/:x/:y');
    add('second', '/:x/b');
    add('first', '/a/:y');
    expect(found('/a/b')).to.equal('first {"y":"b"}');
    expect(found('/c/b')).to.equal('second {"x":"c"}');
    expect(found('/c/d')).to.equal('both {"x":"c","y":"d"}');
  });

  it('of one shape answer in the order in which they came', () => {
    add('a', '/x/:id');
    expect(add('b', '/x/:name')).to.contain('is defined already, as /x/:id for f.a');
    add('c', '/x/:id', 'POST');
    expect(found('/x/1')).to.equal('a {"id":"1"}');
    table.remove('a');
    expect(found('/x/1')).to.equal('b {"name":"1"}');
    table.remove('b');
    expect(found('/x/1')).to.equal(null);
    expect(found('/x/1', 'POST')).to.equal('c {"id":"1"}');
  });

  it('do not wait where nobody could end them', () => {
    add('a', '/x');
    expect(() => add('b', '/x', 'GET', null)).to.throw(TriggerRefused, 'is defined already');
    table.remove('a');
    expect(found('/x')).to.equal(null);
  });

  it('can be defined again under the same id', () => {
    add('a', '/x');
    add('a', '/x');
    expect(found('/x')).to.equal('a {}');
  });
});
