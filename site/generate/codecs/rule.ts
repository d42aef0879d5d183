import type * as t from 'io-ts';
import { decode, leafSchemas } from '../../../services/kit/decode.ts';
import { InvalidInput } from '../../../services/kit/errors.ts';
import { shapeOf } from './structure.ts';

const simple: Readonly<Record<string, string>> = {
  StringType: 'text',
  NumberType: 'number',
  BooleanType: 'true or false',
  AnyDictionaryType: 'object',
  UnknownType: 'any JSON',
  AnyType: 'any JSON',
};

/** What a value has to be, in words for a table. */
export function ruleOf(codec: t.Mixed): string {
  const { structure, nullable } = shapeOf(codec);
  return `${wordsOf(structure)}${nullable ? ', or null' : ''}`;
}

function wordsOf(structure: ReturnType<typeof shapeOf>['structure']): string {
  switch (structure.kind) {
    case 'members':
      return 'object';
    case 'list':
      return listRule(ruleOf(structure.of));
    case 'record':
      return `object, by name: ${ruleOf(structure.of)}`;
    case 'choice':
      return [...new Set(structure.of.map(ruleOf))].join('; or ');
    case 'leaf':
      return structure.constant !== undefined
        ? JSON.stringify(structure.constant)
        : leafRule(structure.codec);
  }
}

function listRule(each: string): string {
  if (each === 'text' || each === 'object') return `list of ${each}s`;
  return /^an? /.test(each) ? `list; each ${each}` : `list of ${each}`;
}

function leafRule(codec: t.Mixed): string {
  const known = simple[(codec as { readonly _tag?: string })._tag ?? ''];
  if (known !== undefined) return known;
  const { enum: words, items } = (leafSchemas.get(codec) ?? {}) as { enum?: string[]; items?: unknown };
  if (words !== undefined) return words.join(', ');
  if (items !== undefined) return codec.name;
  return ownRule(codec);
}

/** A codec says its rule when it refuses a value; no codec takes a symbol. */
function ownRule(codec: t.Mixed): string {
  try {
    decode(codec, Symbol('refused by every codec'), 'value');
  } catch (error) {
    if (error instanceof InvalidInput) {
      const said = (error.errors[0]?.detail ?? '').replace(/^.*?must be /, '');
      return said === 'a string that is not empty' ? 'text' : said;
    }
    throw error;
  }
  throw new Error(`codec ${codec.name} refuses nothing, so that it has no rule to print`);
}
