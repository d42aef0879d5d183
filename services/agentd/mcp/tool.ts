import type * as t from 'io-ts';
import { isObject } from '#kit/config/merge.ts';
import { knownMembers, unknownKeys } from '#kit/config/unknown-keys.ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { type JsonSchema, jsonSchema } from '#kit/json-schema.ts';

/** One call of a tool, as its client follows it. */
export interface ToolCall {
  /** Aborted when the client gives the call up. */
  readonly signal: AbortSignal;
  /** One line of what is being done, for clients that asked to be kept informed. */
  readonly progress: (message: string) => void;
}

/** A tool of a server of the Model Context Protocol. */
export interface McpTool {
  readonly title: string;
  readonly description: string;
  readonly input: JsonSchema;
  /** Of its arguments. */
  readonly codec: t.Mixed;
  /** Changes nothing, here and elsewhere. */
  readonly readOnly: boolean;
  /** @param given as the client sent it. @returns what is shown as JSON, or text as it is. @throws InvalidInput for other arguments */
  run(given: unknown, call: ToolCall): Promise<unknown>;
}

export type McpTools = Readonly<Record<string, McpTool>>;

interface ToolFacts<A> {
  readonly title: string;
  readonly description: string;
  readonly input: t.Type<A, unknown, unknown>;
  /** What members of the input mean, where their names do not say it. */
  readonly members?: Readonly<Partial<Record<keyof A & string, string>>>;
  readonly readOnly: boolean;
  readonly run: (input: A, call: ToolCall) => Promise<unknown>;
}

/** A tool whose arguments are decoded, unknown ones refused, before it runs. */
export function tool<A>({ input, members, run, ...facts }: ToolFacts<A>): McpTool {
  return {
    ...facts,
    input: described(jsonSchema(input), members ?? {}),
    codec: input,
    async run(sent, call) {
      const given = asMeant(input, sent);
      const value = decode(input, given, 'the arguments');
      const unknown = unknownKeys(input, given);
      const [first] = unknown;
      if (first === undefined) return run(value, call);
      throw new InvalidInput('invalid_input', `the arguments: ${first.pointer} ${first.detail}`, {
        errors: unknown,
      });
    },
  };
}

/** Models write numbers and true or false as text, and null for what they leave out. Taken where nothing else can be meant. */
function asMeant(codec: t.Mixed, given: unknown): unknown {
  const members = knownMembers(codec);
  if (members === null || !isObject(given)) return given;
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]): [string, unknown][] => {
      const member = members.get(name);
      if (member === undefined || (member.is(value) as boolean)) return [[name, value]];
      if (value === null && member.is(undefined)) return [];
      const said = typeof value === 'string' ? valueOfText(value.trim()) : undefined;
      return [[name, said !== undefined && member.is(said) ? said : value]];
    }),
  );
}

function valueOfText(text: string): number | boolean | undefined {
  if (/^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text)) return Number(text);
  return text === 'true' ? true : text === 'false' ? false : undefined;
}

function described(schema: JsonSchema, members: Readonly<Record<string, string | undefined>>): JsonSchema {
  const properties = Object.entries((schema.properties ?? {}) as Record<string, JsonSchema>).map(
    ([name, property]) =>
      [name, members[name] === undefined ? property : { ...property, description: members[name] }] as const,
  );
  return { ...schema, properties: Object.fromEntries(properties), additionalProperties: false };
}
