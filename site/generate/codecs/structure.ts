import type * as t from 'io-ts';

/** What io-ts keeps of how a codec was made; the codecs of the kit's `decode.ts` show nothing. */
interface Made {
  readonly _tag?: string;
  readonly props?: Readonly<Record<string, t.Mixed>>;
  readonly type?: t.Mixed;
  readonly types?: readonly t.Mixed[];
  readonly codomain?: t.Mixed;
  readonly value?: unknown;
}

export type Structure =
  | { readonly kind: 'members'; readonly parts: readonly Readonly<Record<string, t.Mixed>>[] }
  | { readonly kind: 'list' | 'record'; readonly of: t.Mixed }
  | { readonly kind: 'choice'; readonly of: readonly t.Mixed[] }
  | { readonly kind: 'leaf'; readonly codec: t.Mixed; readonly constant?: unknown };

export interface Shape {
  readonly structure: Structure;
  readonly nullable: boolean;
  readonly optional: boolean;
}

export function shapeOf(codec: t.Mixed): Shape {
  const { _tag: tag, type, types = [] } = codec as Made;
  if (tag === 'ExactType' || tag === 'RefinementType' || tag === 'ReadonlyType') return shapeOf(type!);
  if (tag !== 'UnionType') return { structure: plainStructure(codec), nullable: false, optional: false };
  const tags = types.map((member) => (member as Made)._tag);
  const rest = types.filter((_, index) => tags[index] !== 'NullType' && tags[index] !== 'UndefinedType');
  const inner = rest.length === 1 ? shapeOf(rest[0]!) : null;
  return {
    structure: inner?.structure ?? { kind: 'choice', of: rest },
    nullable: tags.includes('NullType') || inner?.nullable === true,
    optional: tags.includes('UndefinedType') || inner?.optional === true,
  };
}

function plainStructure(codec: t.Mixed): Structure {
  const { _tag: tag, props, type, types = [], codomain, value } = codec as Made;
  switch (tag) {
    case 'InterfaceType':
    case 'StrictType':
      return { kind: 'members', parts: [props!] };
    case 'PartialType':
      return { kind: 'members', parts: [optionalMembers(props!)] };
    case 'IntersectionType':
      return { kind: 'members', parts: types.flatMap((part) => partsOf(part)) };
    case 'ArrayType':
    case 'ReadonlyArrayType':
      return { kind: 'list', of: type! };
    case 'DictionaryType':
      return { kind: 'record', of: codomain! };
    case 'LiteralType':
      return { kind: 'leaf', codec, constant: value };
    default:
      return { kind: 'leaf', codec };
  }
}

function partsOf(codec: t.Mixed): readonly Readonly<Record<string, t.Mixed>>[] {
  const { structure } = shapeOf(codec);
  return structure.kind === 'members' ? structure.parts : [];
}

function optionalMembers(props: Readonly<Record<string, t.Mixed>>): Record<string, t.Mixed> {
  return Object.fromEntries(Object.entries(props).map(([name, codec]) => [name, asOptional(codec)]));
}

/** Only its shape is looked at. */
function asOptional(codec: t.Mixed): t.Mixed {
  return { _tag: 'UnionType', types: [codec, { _tag: 'UndefinedType' }] } as unknown as t.Mixed;
}
