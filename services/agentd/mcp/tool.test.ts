import { expect } from 'chai';
import * as t from 'io-ts';
import { isObject } from '#kit/config/merge.ts';
import { integerBetween, NonEmptyString, nullable, oneOf, optional } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { type RepositoryContext, repositoryTools } from './context-tools.ts';
import { type CoreToolParts, coreTools } from './core-tools.ts';
import { tool } from './tool.ts';

const input = t.strict({
  text: NonEmptyString,
  count: optional(integerBetween(1, 100)),
  share: optional(t.number),
  dry: optional(t.boolean),
  layer: optional(oneOf(['a', 'b'])),
  either: optional(t.union([t.string, t.number])),
  nothing: optional(nullable(t.string)),
  free: optional(t.UnknownRecord),
});
const call = { signal: new AbortController().signal, progress() {} };
const echo = tool({ title: 'Echo', description: '', input, readOnly: true, run: async (value) => value });

describe('Arguments of a tool', () => {
  const taken: readonly (readonly [string, object, object])[] = [
    ['a number as text', { count: '12', share: ' -0.5 ' }, { count: 12, share: -0.5 }],
    ['true or false as text', { dry: 'true' }, { dry: true }],
    ['null for what is left out', { count: null, layer: null, dry: null }, {}],
    ['null where it means something', { nothing: null }, { nothing: null }],
    ['a text of digits where a text may be', { text: '12', either: '12' }, { text: '12', either: '12' }],
    ['what a free record holds', { free: { a: '1', b: null } }, { free: { a: '1', b: null } }],
  ];
  for (const [title, given, read] of taken) {
    it(`may have ${title}`, async () => {
      expect(JSON.parse(JSON.stringify(await echo.run({ text: 'x', ...given }, call)))).to.deep.equal({
        text: 'x',
        ...read,
      });
    });
  }

  const refused: readonly (readonly [string, unknown, string])[] = [
    [
      'a number out of bounds, as text',
      { text: 'x', count: '101' },
      '/count is "101": must be an integer from 1 to 100',
    ],
    ['a number in words', { text: 'x', count: 'two' }, '/count is "two": must be an integer from 1 to 100'],
    ['a number in hex', { text: 'x', count: '0x10' }, '/count is "0x10": must be an integer'],
    ['nothing as a number', { text: 'x', count: '' }, '/count is "": must be an integer'],
    ['null for what is needed', { text: null }, '/text is null: must be a string that is not empty'],
    ['a list for true or false', { text: 'x', dry: [] }, '/dry is []: must be true or false'],
    ['another word', { text: 'x', layer: 'c' }, '/layer is "c": must be one of a, b'],
    ['a number for a text', { text: 5 }, '/text is 5: must be a string that is not empty'],
    ['a text for an object', { text: 'x', free: 'y' }, '/free is "y": must be an object'],
    [
      'a member that is not known, although null',
      { text: 'x', other: null },
      '/other is not known here: must be one of',
    ],
    ['a list for all', [], 'must be an object'],
  ];
  for (const [title, given, words] of refused) {
    it(`are refused with ${title}, by value, rule and choices`, async () => {
      const refusal = await echo.run(given, call).catch((error: Error) => error);
      expect(refusal).to.be.instanceOf(InvalidInput).with.property('message').that.includes(words);
    });
  }
});

describe('The schemas of all tools', () => {
  it('have a type beside every list of words and every constant, which some clients need', () => {
    const tools = {
      ...coreTools({ by: { scopes: [] } } as unknown as CoreToolParts),
      context: repositoryTools({ repository: 'local/demo/hello' } as RepositoryContext).search!,
      memory: repositoryTools({ repository: 'local/demo/hello' } as RepositoryContext).memory_lookup!,
    };
    let checked = 0;
    const check = (schema: unknown, path: string): void => {
      if (Array.isArray(schema)) for (const [index, one] of schema.entries()) check(one, `${path}/${index}`);
      if (!isObject(schema)) return;
      if ('enum' in schema || 'const' in schema || 'minimum' in schema) {
        checked++;
        expect(schema, path).to.have.property('type').that.is.a('string');
      }
      if (schema.type === 'array') expect(schema.items, path).to.be.an('object');
      for (const [name, member] of Object.entries(schema)) check(member, `${path}/${name}`);
    };
    for (const [name, { input }] of Object.entries(tools)) check(input, name);
    expect(checked).to.be.greaterThan(5);
  });
});
