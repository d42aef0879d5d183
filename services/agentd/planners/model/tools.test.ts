import { Ajv } from 'ajv';
import { expect } from 'chai';
import type { ActionKind } from '../../action.ts';
import type { ToolCall } from '../../planning/model.ts';
import { decodeCall, tools, toolsFor } from './tools.ts';

const ajv = new Ajv({ strict: true });
const call = (name: string, args: unknown): ToolCall => ({
  id: 'call',
  type: 'function',
  function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args) },
});
const role = (may_propose: ActionKind[]) => ({
  role: { name: 'R', key: 'r', purpose: 'p', prompt: 'p', tier: 't', may_propose },
  validate: async () => ({ passed: true, output: '' }),
});
const namesFor = (may_propose: ActionKind[]) => toolsFor(role(may_propose)).map(({ name }) => name);

describe('the tools of the model planner', () => {
  const samples: [string, unknown][] = [
    ['list_files', {}],
    ['list_files', { path_prefix: 'src/' }],
    ['list_files', { path_prefix: 5 }],
    ['read_file', { path: 'a', from_line: 2, to_line: 4 }],
    ['read_file', { path: 'a', from_line: 0 }],
    ['read_file', { path: 'a', from_line: 1.5 }],
    ['read_file', { from_line: 1 }],
    ['read_file', { path: 'a', start: 1 }],
    ['search_text', { text: 'x', path_prefix: '' }],
    ['search_text', {}],
    ['edit_file', { path: 'a', old_text: 'x', new_text: '' }],
    ['edit_file', { path: 'a', old_text: 'x' }],
    ['create_file', { path: 'a', content: '' }],
    ['create_file', { path: 'a', content: null }],
    ['delete_file', { path: 'a' }],
    ['delete_file', { path: ['a'] }],
    ['run_validation', {}],
    ['run_validation', { command: 'rm -rf /' }],
    ['submit_plan', { title: 't', explanation: 'e' }],
    ['submit_plan', { title: 't' }],
    ['ask', { body: 'b' }],
    ['ask', { body: '' }],
    ['ask', []],
    ['ask', 'null'],
  ];
  for (const [name, args] of samples) {
    it(`judge ${name} ${JSON.stringify(args)} as their published schema does`, () => {
      const { parameters } = tools.find((tool) => tool.name === name)!;
      const bySchema = ajv.validate(parameters, typeof args === 'string' ? JSON.parse(args) : args);
      let byCodec = true;
      try {
        decodeCall(call(name, args), tools);
      } catch (error) {
        byCodec = false;
        expect(error).to.include({ code: 'tool_arguments_invalid' });
      }
      expect(byCodec).to.equal(bySchema);
    });
  }

  it('answer malformed JSON, unknown names and unknown members in words that help', () => {
    expect(() => decodeCall(call('ask', '{"body": "x'), tools)).to.throw(/arguments of ask is not JSON/);
    expect(() => decodeCall(call('run_shell', {}), tools)).to.throw(
      /"run_shell"; there are list_files, .*ask/,
    );
    expect(() => decodeCall(call('__proto__', {}), tools)).to.throw(/no tool/);
    expect(() => decodeCall(call('read_file', { path: 'a', start_line: 1 }), tools)).to.throw(
      /\/start_line is not known; there are path, from_line, to_line/,
    );
  });

  it('depend on what the role may propose', () => {
    const look = ['list_files', 'read_file', 'search_text'];
    expect(namesFor(['comment_issue'])).to.deep.equal([...look, 'ask']);
    expect(namesFor(['run_validation', 'comment_issue'])).to.deep.equal([...look, 'run_validation', 'ask']);
    expect(namesFor(['apply_patch'])).to.deep.equal([
      ...look,
      'edit_file',
      'create_file',
      'delete_file',
      'submit_plan',
    ]);
    const unvalidated = toolsFor({
      ...role(['run_validation', 'apply_patch', 'comment_issue']),
      validate: null,
    });
    expect(unvalidated.map(({ name }) => name)).to.have.length(tools.length - 1);
  });
});
