import * as t from 'io-ts';
import { decode, integerBetween, NonEmptyString, optional, parseJson } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { jsonSchema } from '#kit/json-schema.ts';
import type { ToolCall, ToolDefinition } from '../../planning/model.ts';
import type { PlanningInput } from '../../planning/planner.ts';

/** What a model may do while it plans. Every tool works in the scratch copy; there is none that reaches beyond it. */

export const maxLines = 400;
export const maxPaths = 500;
export const maxHits = 50;

const path = 'Path in the repository, for example src/greet.js';
const line = integerBetween(1, 10_000_000);

const kinds = {
  list_files: tool(
    `Lists the repository's files, at most ${maxPaths}.`,
    { path_prefix: optional(t.string) },
    { path_prefix: 'Only paths that begin with this, for example src/' },
  ),
  read_file: tool(
    `Shows a text file with line numbers, at most ${maxLines} lines at once.`,
    { path: NonEmptyString, from_line: optional(line), to_line: optional(line) },
    { path, from_line: 'First line; 1 without it', to_line: 'Last line, included' },
  ),
  search_text: tool(
    `Finds lines that hold a text, taken literally and with its case; at most ${maxHits} lines.`,
    { text: NonEmptyString, path_prefix: optional(t.string) },
    { text: 'One line of text, no pattern', path_prefix: 'Only paths that begin with this' },
  ),
  edit_file: tool(
    'Replaces text in a file. old_text must be exactly what the file holds, without line numbers, and occur once.',
    { path: NonEmptyString, old_text: t.string, new_text: t.string },
    { path },
  ),
  create_file: tool(
    'Creates a text file that does not exist yet.',
    { path: NonEmptyString, content: t.string },
    { path },
  ),
  delete_file: tool('Deletes a file.', { path: NonEmptyString }, { path }),
  run_validation: tool(
    "Runs the repository's validation (its tests, as configured) on the scratch copy in a sandbox and shows the output.",
    {},
  ),
  submit_plan: tool(
    'Ends the planning: proposes the change that the scratch copy holds.',
    { title: NonEmptyString, explanation: NonEmptyString },
    {
      title: 'One line in the imperative, without the issue number; becomes the commit subject',
      explanation: 'Markdown: why and how, what was left out, how it was checked',
    },
  ),
  ask: tool(
    'Ends the planning: proposes one comment on the issue (a question or an answer) and no change.',
    { body: NonEmptyString },
    { body: 'Markdown' },
  ),
};

type ToolName = keyof typeof kinds;
export type Arguments<N extends ToolName> = t.TypeOf<(typeof kinds)[N]['codec']>;
export type DecodedCall = {
  [N in ToolName]: { readonly name: N; readonly arguments: Arguments<N> };
}[ToolName];

export interface Tool extends ToolDefinition {
  readonly name: ToolName;
}

export const tools: readonly Tool[] = Object.entries(kinds).map(([name, { description, parameters }]) => ({
  name: name as ToolName,
  description,
  parameters,
}));

/** @param hints describe the arguments to the model */
function tool<P extends t.Props>(
  description: string,
  shape: P,
  hints: { readonly [N in keyof P]?: string } = {},
) {
  const codec = t.strict(shape);
  const { required = [], properties } = jsonSchema(codec) as { required?: string[]; properties: object };
  const described = Object.entries(properties).map(([name, schema]) => {
    const minLength = shape[name] === NonEmptyString ? { minLength: 1 } : {};
    return [name, { ...schema, ...minLength, ...(hints[name] && { description: hints[name] }) }];
  });
  const parameters = {
    type: 'object',
    properties: Object.fromEntries(described) as object,
    required,
    additionalProperties: false,
  };
  return { description, codec, parameters };
}

/** Calls of these make the scratch copy what it is; they are done again when a planning is resumed. */
export const changingTools: ReadonlySet<string> = new Set(['edit_file', 'create_file', 'delete_file']);

/** The tools of one planning: what the role may propose and what there is to validate with decide, nothing else. */
export function toolsFor({ role, validate }: Pick<PlanningInput, 'role' | 'validate'>): readonly Tool[] {
  const mayChange = role.may_propose.includes('apply_patch');
  const mayValidate = validate !== null && role.may_propose.includes('run_validation');
  const mayComment = role.may_propose.includes('comment_issue');
  return tools.filter(({ name }) => {
    if (name === 'submit_plan' || changingTools.has(name)) return mayChange;
    if (name === 'run_validation') return mayValidate;
    return name === 'ask' ? mayComment : true;
  });
}

/**
 * Decodes what a model wrote.
 * @throws InvalidInput (`tool_unknown`, `tool_arguments_invalid`, `invalid_json`) in words that help the model to do better
 */
export function decodeCall(call: ToolCall, allowed: readonly Tool[]): DecodedCall {
  const tool = allowed.find(({ name }) => name === call.function.name);
  if (tool === undefined) {
    const choices = allowed.map(({ name }) => name).join(', ');
    throw new InvalidInput(
      'tool_unknown',
      `there is no tool ${JSON.stringify(call.function.name.slice(0, 80))}; there are ${choices}`,
    );
  }
  const what = `the arguments of ${tool.name}`;
  const text = call.function.arguments.trim();
  const value = text === '' ? {} : parseJson(text, what);
  const known = Object.keys(tool.parameters.properties as object);
  for (const key of typeof value === 'object' && value !== null ? Object.keys(value) : []) {
    if (known.includes(key)) continue;
    const choices = known.join(', ') || 'none';
    throw new InvalidInput(
      'tool_arguments_invalid',
      `${what}: /${key.slice(0, 80)} is not known; there are ${choices}`,
    );
  }
  const decoded = decode<unknown>(kinds[tool.name].codec, value, what, 'tool_arguments_invalid');
  return { name: tool.name, arguments: decoded } as DecodedCall;
}
