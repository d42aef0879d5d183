import type * as t from 'io-ts';
import { leafSchemas } from './decode.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** The parts of io-ts codecs that describe their structure. */
export interface Structure {
  readonly _tag?: string;
  readonly props?: Readonly<Record<string, t.Mixed>>;
  readonly type?: t.Mixed;
  readonly types?: readonly t.Mixed[];
  readonly codomain?: t.Mixed;
  readonly value?: unknown;
}

/** The JSON schema (2020-12, as OpenAPI 3.1 has it) of what a codec accepts. */
export function jsonSchema(codec: t.Mixed): JsonSchema {
  const leaf = leafSchemas.get(codec);
  if (leaf !== undefined) return leaf;
  const structure = codec as Structure;
  switch (structure._tag) {
    case 'StringType':
      return { type: 'string' };
    case 'NumberType':
      return { type: 'number' };
    case 'BooleanType':
      return { type: 'boolean' };
    case 'NullType':
      return { type: 'null' };
    case 'LiteralType':
      return { type: typeof structure.value, const: structure.value };
    case 'ArrayType':
      return { type: 'array', items: jsonSchema(structure.type!) };
    case 'AnyDictionaryType':
      return { type: 'object' };
    case 'DictionaryType':
      return { type: 'object', additionalProperties: jsonSchema(structure.codomain!) };
    case 'ExactType':
      return jsonSchema(structure.type!);
    case 'InterfaceType':
      return objectSchema(structure.props!);
    case 'UnionType':
      return unionSchema(structure.types!);
    case 'IntersectionType':
      return { allOf: structure.types!.map(jsonSchema) };
    default:
      throw new TypeError(`codec ${codec.name} has no JSON schema`);
  }
}

function objectSchema(props: Readonly<Record<string, t.Mixed>>): JsonSchema {
  const required = Object.keys(props).filter((key) => !acceptsUndefined(props[key]!));
  const properties = Object.fromEntries(
    Object.entries(props).map(([key, codec]) => [key, jsonSchema(codec)]),
  );
  return { type: 'object', ...(required.length > 0 ? { required } : {}), properties };
}

function unionSchema(types: readonly t.Mixed[]): JsonSchema {
  const defined = types.filter((type) => (type as Structure)._tag !== 'UndefinedType').map(jsonSchema);
  return defined.length === 1 ? defined[0]! : { anyOf: defined };
}

function acceptsUndefined(codec: t.Mixed): boolean {
  return (codec as Structure)._tag === 'UnionType' && codec.is(undefined);
}
