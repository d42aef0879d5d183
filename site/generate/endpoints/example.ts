import type * as t from 'io-ts';
import { leafSchemas } from '../../../services/kit/decode.ts';
import { shapeOf } from '../codecs/structure.ts';
import { wellKnown } from './well-known.ts';

/** A value that the codec accepts, with every member where `whole`, else with those that are needed. */
export function exampleOf(codec: t.Mixed, whole: boolean, name = ''): unknown {
  const known = wellKnown[name];
  if (known !== undefined && codec.is(known)) return known;
  const { structure, nullable } = shapeOf(codec);
  switch (structure.kind) {
    case 'members':
      return Object.fromEntries(
        structure.parts.flatMap((part) =>
          Object.entries(part)
            .filter(([, member]) => whole || !shapeOf(member).optional)
            .map(([key, member]) => [key, exampleOf(member, whole, key)]),
        ),
      );
    case 'list':
      return [exampleOf(structure.of, whole, name.replace(/s$/, ''))];
    case 'record':
      return { [recordKey(name)]: exampleOf(structure.of, whole) };
    case 'choice':
      return structure.of.length === 0 ? null : exampleOf(structure.of[0]!, whole, name);
    case 'leaf':
      if (structure.constant !== undefined) return structure.constant;
      return leafExample(structure.codec) ?? (nullable ? null : '…');
  }
}

function recordKey(name: string): string {
  return name === 'checks' ? 'runs' : 'name';
}

/** Tried in this order; the first that the codec accepts. */
const samples: readonly unknown[] = [
  '…',
  '2026-11-22T08:50:00.000Z',
  'a'.repeat(64),
  '9eefd302451c8d1e7c55b0a43f6b1f0c9d21aa07',
  'local/demo/hello',
  '/home/mira/hello',
  'key_0123456789abcdef',
  '2026-11-22',
  true,
  0,
  1,
  {},
  [],
];

function leafExample(codec: t.Mixed): unknown {
  const tag = (codec as { readonly _tag?: string })._tag;
  if (tag === 'StringType') return '…';
  if (tag === 'BooleanType') return true;
  if (tag === 'AnyDictionaryType' || tag === 'UnknownType' || tag === 'AnyType') return {};
  const { enum: words, minimum, items } = (leafSchemas.get(codec) ?? {}) as Leaf;
  if (words !== undefined) return words[0];
  if (minimum !== undefined) return minimum;
  if (items !== undefined) return [];
  return samples.find((sample) => codec.is(sample));
}

interface Leaf {
  readonly enum?: readonly string[];
  readonly minimum?: number;
  readonly items?: unknown;
}
