import * as t from 'io-ts';
import { decode, integerBetween, NonEmptyString, optional, parseJson } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { ToolCall, ToolDefinition } from '../../planning/model.ts';
import type { PlanningInput } from '../../planning/planner.ts';

/** What a model may do while it plans. Every tool works in the scratch copy; there is none that reaches beyond it. */

export const maxLines = 400;
export const maxPaths = 500;
export const maxHits = 50;

const path = { type: 'string', description: 'Path in the repository, for example src/greet.js' };

const codecs = {
  list_files: t.strict({ path_prefix: optional(t.string) }),
  read_file: t.strict({
    path: NonEmptyString,
    from_line: optional(integerBetween(1, 10_000_000)),
    to_line: optional(integerBetween(1, 10_000_000)),
  }),
  search_text: t.strict({ text: NonEmptyString, path_prefix: optional(t.string) }),
  edit_file: t.strict({ path: NonEmptyString, old_text: t.string, new_text: t.string }),
  create_file: t.strict({ path: NonEmptyString, content: t.string }),
  delete_file: t.strict({ path: NonEmptyString }),
  run_validation: t.strict({}),
  submit_plan: t.strict({ title: NonEmptyString, explanation: NonEmptyString }),
  ask: t.strict({ body: NonEmptyString }),
};

type ToolName = keyof typeof codecs;
export type DecodedCall = {
  [N in ToolName]: { readonly name: N; readonly arguments: t.TypeOf<(typeof codecs)[N]> };
}[ToolName];

interface Tool extends ToolDefinition {
  readonly name: ToolName;
}

export const tools: readonly Tool[] = [
  tool('list_files', `Lists the repository's files, at most ${maxPaths}.`, {
    path_prefix: { type: 'string', description: 'Only paths that begin with this, for example src/' },
  }),
  tool(
    'read_file',
    `Shows a text file with line numbers, at most ${maxLines} lines at once.`,
    {
      path,
      from_line: { type: 'integer', minimum: 1, description: 'First line; 1 without it' },
      to_line: { type: 'integer', minimum: 1, description: 'Last line, included' },
    },
    ['path'],
  ),
  tool(
    'search_text',
    `Finds lines that hold a text, taken literally and with its case; at most ${maxHits} lines.`,
    {
      text: { type: 'string', minLength: 1, description: 'One line of text, no pattern' },
      path_prefix: { type: 'string', description: 'Only paths that begin with this' },
    },
    ['text'],
  ),
  tool(
    'edit_file',
    'Replaces text in a file. old_text must be exactly what the file holds, without line numbers, and occur once.',
    { path, old_text: { type: 'string', minLength: 1 }, new_text: { type: 'string' } },
    ['path', 'old_text', 'new_text'],
  ),
  tool('create_file', 'Creates a text file that does not exist yet.', { path, content: { type: 'string' } }, [
    'path',
    'content',
  ]),
  tool('delete_file', 'Deletes a file.', { path }, ['path']),
  tool(
    'run_validation',
    "Runs the repository's validation (its tests, as configured) on the scratch copy in a sandbox and shows the output.",
    {},
  ),
  tool(
    'submit_plan',
    'Ends the planning: proposes the change that the scratch copy holds.',
    {
      title: {
        type: 'string',
        minLength: 1,
        description: 'One line in the imperative, without the issue number; becomes the commit subject',
      },
      explanation: {
        type: 'string',
        minLength: 1,
        description: 'Markdown: why and how, what was left out, how it was checked',
      },
    },
    ['title', 'explanation'],
  ),
  tool(
    'ask',
    'Ends the planning: proposes one comment on the issue (a question or an answer) and no change.',
    { body: { type: 'string', minLength: 1, description: 'Markdown' } },
    ['body'],
  ),
];

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
  const decoded = decode<unknown>(codecs[tool.name], value, what, 'tool_arguments_invalid');
  return { name: tool.name, arguments: decoded } as DecodedCall;
}

function tool(
  name: ToolName,
  description: string,
  properties: Readonly<Record<string, unknown>>,
  required: readonly string[] = [],
): Tool {
  return {
    name,
    description,
    parameters: { type: 'object', properties, required, additionalProperties: false },
  };
}
