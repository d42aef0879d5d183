import * as t from 'io-ts';
import { decode, nullable, optional } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { isObject } from '#kit/is-object.ts';
import { NotTranslatable, shown } from '../not-translatable.ts';

const absent = <C extends t.Mixed>(codec: C) => optional(nullable(codec));
const Opaque = t.record(t.string, t.unknown);

/** What of the Responses' tools a function of chat completions stands for. */
export interface ToolOrigin {
  readonly kind: 'function' | 'custom' | 'local_shell';
  readonly name: string;
  readonly namespace: string | null;
}

interface ChatTool {
  readonly type: 'function';
  readonly function: Readonly<Record<string, unknown>> & { readonly name: string };
}

export interface ToolTable {
  readonly tools: readonly ChatTool[];
  /** By the name that the model calls. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
}

const FunctionTool = t.strict({
  name: t.string,
  description: absent(t.string),
  parameters: absent(Opaque),
  strict: absent(t.boolean),
});
const CustomTool = t.strict({ name: t.string, description: absent(t.string), format: absent(Opaque) });
const Namespace = t.strict({ name: t.string, tools: t.array(Opaque) });

/**
 * Functions stay what they are. A tool that takes free text becomes a function of one text; the shell of the client a function of
 * a command; those of a namespace get its name before theirs.
 * @param tools as the request has them
 * @throws NotTranslatable for a tool that the server would run
 */
export function toolTable(tools: unknown): ToolTable {
  const found: ChatTool[] = [];
  const origins = new Map<string, ToolOrigin>();
  const list = decode(absent(t.array(Opaque)), tools, 'tools') ?? [];
  for (const [index, tool] of list.entries()) add(tool, null, `tools[${index}]`);
  return { tools: found, origins };

  function add(tool: Readonly<Record<string, unknown>>, namespace: string | null, at: string): void {
    const { type } = tool;
    if (type === 'namespace' && namespace === null) {
      const { name, tools: inside } = decode(Namespace, tool, at);
      for (const [index, one] of inside.entries()) add(one, name, `${at}.tools[${index}]`);
    } else if (type === 'function') addAs('function', functionIn(tool, at));
    else if (type === 'custom') addAs('custom', customIn(tool, at));
    else if (type === 'local_shell') addAs('local_shell', localShell);
    else
      throw new NotTranslatable(
        `${at}.type`,
        shown(type),
        'leave the tool out, or choose a model whose upstream speaks Responses',
      );

    function addAs(kind: ToolOrigin['kind'], described: ChatTool['function']): void {
      const origin = { kind, name: described.name, namespace };
      const name = nameOf(origin);
      if (origins.has(name))
        throw new InvalidInput(
          'invalid_input',
          `${at}.name is ${JSON.stringify(name)}, which a tool before it has`,
        );
      origins.set(name, origin);
      found.push({ type: 'function', function: { ...described, name } });
    }
  }
}

/** The name of a tool for the model. */
export function nameOf({ name, namespace }: Pick<ToolOrigin, 'name' | 'namespace'>): string {
  return namespace === null ? name : `${namespace}__${name}`;
}

function functionIn(tool: unknown, at: string): ChatTool['function'] {
  const { name, description, parameters, strict } = decode(FunctionTool, tool, at);
  return {
    name,
    ...(description != null && { description }),
    parameters: parameters ?? { type: 'object', properties: {} },
    ...(strict === true && { strict }),
  };
}

function customIn(tool: unknown, at: string): ChatTool['function'] {
  const { name, description, format } = decode(CustomTool, tool, at);
  const rule =
    format?.type === 'grammar'
      ? `\n\nThe text must follow this grammar (${format.syntax}):\n${format.definition}`
      : '';
  return {
    name,
    description: `${description ?? ''}${rule}`.trim(),
    parameters: {
      type: 'object',
      properties: { input: { type: 'string', description: 'The whole text for the tool, as it is.' } },
      required: ['input'],
      additionalProperties: false,
    },
  };
}

export const localShellName = 'local_shell';

const localShell: ChatTool['function'] = {
  name: localShellName,
  description: 'Runs a command on the machine of the client and returns what it printed.',
  parameters: {
    type: 'object',
    properties: {
      command: { type: 'array', items: { type: 'string' }, description: 'The program and its arguments.' },
      working_directory: { type: 'string' },
      timeout_ms: { type: 'integer' },
      env: { type: 'object', additionalProperties: { type: 'string' } },
    },
    required: ['command'],
    additionalProperties: false,
  },
};

/** The text for a custom tool: a model may write it without the function around it. */
export function customInput(text: string): string {
  const value = parsed(text);
  return typeof value.input === 'string' ? value.input : text;
}

export function shellAction(text: string): Record<string, unknown> {
  const { command, ...others } = parsed(text);
  const words = Array.isArray(command) ? command.map(String) : ['sh', '-c', String(command ?? text)];
  return { type: 'exec', env: {}, ...others, command: words };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {}
  return {};
}
