import type * as t from 'io-ts';
import type { FieldError } from '../errors.ts';
import type { Structure } from '../json-schema.ts';
import { isObject } from './merge.ts';

/**
 * Members of a value that its codec does not know, with the known ones named. A codec of free records knows every key.
 * The value must already be one that the codec accepts.
 */
export function unknownKeys(codec: t.Mixed, value: unknown, pointer = ''): FieldError[] {
  const structure = codec as Structure;
  if (structure._tag === 'RefinementType') return unknownKeys(structure.type!, value, pointer);
  if (structure._tag === 'ArrayType' && Array.isArray(value)) {
    return value.flatMap((item, index) => unknownKeys(structure.type!, item, `${pointer}/${index}`));
  }
  if (structure._tag === 'UnionType') {
    // The member that accepts the value and knows most of it.
    const found = structure
      .types!.filter((type) => type.is(value))
      .map((type) => unknownKeys(type, value, pointer));
    return found.sort((a, b) => a.length - b.length)[0] ?? [];
  }
  if (!isObject(value)) return [];
  if (structure._tag === 'DictionaryType') {
    return Object.entries(value).flatMap(([key, item]) =>
      unknownKeys(structure.codomain!, item, `${pointer}/${pointerPart(key)}`),
    );
  }
  const known = knownMembers(codec);
  if (known === null) return [];
  return Object.entries(value).flatMap(([key, item]) => {
    const member = known.get(key);
    const here = `${pointer}/${pointerPart(key)}`;
    if (member !== undefined) return unknownKeys(member, item, here);
    const names = [...known.keys()].sort().join(', ');
    return [{ pointer: here, detail: `is not known here: must be one of ${names}` }];
  });
}

/** Members of an object codec; null for codecs that are not about an object's members. */
export function knownMembers(codec: t.Mixed): ReadonlyMap<string, t.Mixed> | null {
  const { _tag, props, type, types } = codec as Structure;
  if (_tag === 'InterfaceType' || _tag === 'PartialType') return new Map(Object.entries(props!));
  if (_tag === 'ExactType' || _tag === 'RefinementType') return knownMembers(type!);
  if (_tag !== 'IntersectionType') return null;
  const parts = types!.map(knownMembers);
  return parts.includes(null) ? null : new Map(parts.flatMap((part) => [...part!]));
}

function pointerPart(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1');
}
