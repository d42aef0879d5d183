import { expect } from 'chai';
import fc from 'fast-check';
import { readMessage, rpcErrors } from './message.ts';

const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'search', arguments: {} } };
const start = {
  ...{ jsonrpc: '2.0', id: 'a', method: 'initialize' },
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const methods = 'must be one of initialize, ping, tools/list, tools/call';

describe('A message of the Model Context Protocol', () => {
  const refused: readonly (readonly [string, unknown, keyof typeof rpcErrors, string])[] = [
    ['a batch', [call], 'notMessage', 'a request has one message: batches are not taken'],
    ['a number', 7, 'notMessage', 'the message is 7: must be an object'],
    ['no version', { id: 1, method: 'ping' }, 'notMessage', '/jsonrpc is missing: must be "2.0"'],
    [
      'an id that is true',
      { ...call, id: true },
      'notMessage',
      '/id is true: must be a text or a whole number',
    ],
    ['no method', { ...call, method: undefined }, 'notMessage', `/method is missing: ${methods}`],
    ['another method', { ...call, method: 'run' }, 'noMethod', `method "run" is not known here: ${methods}`],
    [
      'a method of every object',
      { ...call, method: 'toString' },
      'noMethod',
      'method "toString" is not known',
    ],
    ['no tool', { ...call, params: {} }, 'badParams', 'tools/call: /params/name is missing: must be a text'],
    [
      'no parameters',
      { ...call, params: undefined },
      'badParams',
      'tools/call: /params is missing: must be an object',
    ],
    [
      'listed arguments',
      { ...call, params: { name: 'a', arguments: [1] } },
      'badParams',
      '/params/arguments is [1]: must be an object',
    ],
    [
      'a page that is a number',
      { ...call, method: 'tools/list', params: { cursor: 5 } },
      'badParams',
      'tools/list: /params/cursor is 5: must be a text',
    ],
    [
      'a client without a name',
      { ...start, params: { ...start.params, clientInfo: {} } },
      'badParams',
      'initialize: /params/clientInfo/name is missing: must be a text',
    ],
    [
      'text parameters',
      { ...call, params: 'search' },
      'badParams',
      'tools/call: /params is "search": must be an object',
    ],
  ];
  for (const [title, value, kind, words] of refused) {
    it(`with ${title} is answered in our words`, () => {
      const read = readMessage(JSON.stringify(value));
      expect(read).to.have.property('refusal');
      if (!('refusal' in read)) return;
      expect(read.refusal.error.code).to.equal(rpcErrors[kind]);
      expect(read.refusal.error.message).to.include(words);
    });
  }

  it('that is not JSON is answered with what to send', () => {
    const read = readMessage('{"jsonrpc":');
    expect(read).to.have.nested.property('refusal.error.code', rpcErrors.notJson);
    expect(read)
      .to.have.nested.property('refusal.error.message')
      .that.includes('send one message of JSON-RPC 2.0');
  });

  it('may have null for what is left out, but not in arguments, which the tool reads', () => {
    const given = { ...call, params: { name: 'cypher', _meta: null, arguments: { params: { a: null } } } };
    expect(readMessage(JSON.stringify(given))).to.deep.equal({
      message: { ...call, params: { name: 'cypher', arguments: { params: { a: null } } } },
    });
    const { params, ...rest } = { ...call, method: 'tools/list' };
    expect(readMessage(JSON.stringify({ ...rest, params: null }))).to.deep.equal({ message: rest });
    expect(readMessage(JSON.stringify({ ...call, params: { name: 'a', arguments: null } }))).to.deep.equal({
      message: { ...call, params: { name: 'a' } },
    });
  });

  it('of any content is read or answered without a word of the library', () => {
    const params = fc.oneof(
      fc.jsonValue(),
      fc.record({ name: fc.jsonValue(), arguments: fc.jsonValue(), _meta: fc.jsonValue() }),
      fc.record({
        protocolVersion: fc.jsonValue(),
        capabilities: fc.jsonValue(),
        clientInfo: fc.jsonValue(),
      }),
    );
    const method = fc.constantFrom('initialize', 'ping', 'tools/list', 'tools/call');
    fc.assert(
      fc.property(method, params, fc.jsonValue(), (method, params, id) => {
        const read = readMessage(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
        if (!('refusal' in read)) return;
        expect(read.refusal.error.message).to.match(/: must be |is not known here|not taken|twice/);
        expect(read.refusal.error.message).to.not.match(/expected|Invalid|\n/);
      }),
    );
  });
});
