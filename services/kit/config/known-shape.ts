import type * as t from 'io-ts';

type Test = (value: unknown) => boolean;

interface Structure {
  readonly _tag?: string;
  readonly props?: Readonly<Record<string, t.Mixed>>;
  readonly type?: t.Mixed;
  readonly types?: readonly t.Mixed[];
}

const tests = new WeakMap<t.Mixed, Test>();

/**
 * Whether a value out of JSON is one that its codec accepts and all of whose members it knows, told without making anything.
 * False may also mean that this cannot tell: `decode` and `unknownKeys` can. For codecs that give back what they are given.
 */
export function hasKnownShape(codec: t.Mixed, value: unknown): boolean {
  let test = tests.get(codec);
  if (test === undefined) {
    test = testOf(codec);
    tests.set(codec, test);
  }
  return test(value);
}

function testOf(codec: t.Mixed): Test {
  const structure = codec as Structure;
  switch (structure._tag) {
    case 'StrictType':
    case 'InterfaceType':
      return objectTest(structure.props!);
    case 'ExactType':
    case 'ReadonlyType':
      return testOf(structure.type!);
    case 'UnionType':
      return anyOf(structure.types!.map(testOf));
    case 'ArrayType': {
      const item = testOf(structure.type!);
      return (value) => Array.isArray(value) && value.every((one) => item(one));
    }
    case undefined:
    case 'StringType':
    case 'NumberType':
    case 'BooleanType':
    case 'NullType':
    case 'UndefinedType':
    case 'LiteralType':
      return (value) => codec.is(value);
    default:
      return () => false;
  }
}

function anyOf(all: readonly Test[]): Test {
  return (value) => {
    for (const test of all) if (test(value)) return true;
    return false;
  };
}

function objectTest(props: Readonly<Record<string, t.Mixed>>): Test {
  const members = new Map(Object.entries(props).map(([name, codec]) => [name, testOf(codec)]));
  const required = [...members].filter(([, test]) => !test(undefined)).map(([name]) => name);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    for (const name of Object.keys(value)) {
      const test = members.get(name);
      if (test === undefined || !test((value as Record<string, unknown>)[name])) return false;
    }
    for (const name of required) if (!Object.hasOwn(value, name)) return false;
    return true;
  };
}
