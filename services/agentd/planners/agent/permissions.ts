import { posix } from 'node:path';
import type { RequestPermissionResponse } from '@agentclientprotocol/sdk';
import type { PermissionQuestion, ToolCall } from './acp-messages.ts';

/** An answer to a question of an agent, by rule and never by a person. */
export interface PermissionAnswer {
  readonly allowed: boolean;
  readonly why: string;
  readonly paths: readonly string[];
}

/** What is known of the tool call that a question is about. */
type AskedTool = Omit<ToolCall, 'toolCallId' | 'status'>;

/** Inside the tree yes, anything else no. A command runs in the tree and sees nothing else, so that it is inside. */
export function permissionFor(tool: AskedTool, folder: string): PermissionAnswer {
  const paths = pathsOf(tool);
  const outside = paths.find((path) => !isInside(path, folder));
  if (outside !== undefined) return { allowed: false, why: `${outside} is outside of the tree`, paths };
  if (tool.kind === 'fetch') return { allowed: false, why: 'nothing is fetched from the network', paths };
  if (paths.length > 0) return { allowed: true, why: 'inside the tree', paths };
  if (tool.kind === 'execute' || commandOf(tool) !== null)
    return { allowed: true, why: 'a command in the tree', paths };
  if (tool.kind === 'read' || tool.kind === 'search' || tool.kind === 'think')
    return { allowed: true, why: 'it only reads', paths };
  // With underscores around it in the names of some agents.
  if (/(?<![a-z0-9])core[-_]context(?![a-z0-9])/.test(`${tool.name ?? ''} ${tool.title ?? ''}`))
    return { allowed: true, why: 'context of the repository', paths };
  return { allowed: false, why: 'it names nothing inside the tree', paths };
}

export function responseFor(
  { allowed }: PermissionAnswer,
  options: PermissionQuestion['options'],
): RequestPermissionResponse {
  const wanted = allowed
    ? (['allow_once', 'allow_always'] as const)
    : (['reject_once', 'reject_always'] as const);
  const chosen = wanted.map((kind) => options.find((option) => option.kind === kind)).find(Boolean);
  if (chosen === undefined) return { outcome: { outcome: 'cancelled' } };
  return { outcome: { outcome: 'selected', optionId: chosen.optionId } };
}

/** True for the folder itself and what is below it, by the path alone. */
export function isInside(path: string, folder: string): boolean {
  if (path.includes('\0')) return false;
  const full = posix.resolve(folder, path);
  return full === folder || full.startsWith(`${folder}/`);
}

/** Members of a tool's input by which agents name files. */
const pathMembers = [
  'file_path',
  'filePath',
  'path',
  'abs_path',
  'notebook_path',
  'cwd',
  'workdir',
  'directory',
];

function pathsOf({ locations, content, rawInput }: AskedTool): string[] {
  const found = [
    ...(locations ?? []).map(({ path }) => path),
    ...(content ?? []).flatMap((part) => ('path' in part ? [part.path] : [])),
  ];
  if (typeof rawInput === 'object' && rawInput !== null) {
    const input = rawInput as Readonly<Record<string, unknown>>;
    for (const member of pathMembers) {
      const value = input[member];
      if (typeof value === 'string') found.push(value);
    }
  }
  return [...new Set(found)];
}

function commandOf({ rawInput }: AskedTool): string | null {
  if (typeof rawInput !== 'object' || rawInput === null || !('command' in rawInput)) return null;
  const { command } = rawInput;
  return typeof command === 'string' || Array.isArray(command) ? String(command) : null;
}
