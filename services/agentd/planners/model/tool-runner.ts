import { sha256 } from '#kit/digest.ts';
import { CoreError, messageOf } from '#kit/errors.ts';
import { oneLine, plainText } from '../../actions/published-texts.ts';
import type { ToolCall } from '../../planning/model.ts';
import type { PlanningInput, Proposal } from '../../planning/planner.ts';
import { plainTextOf, type ScratchCopy, type ScratchEdit } from '../../planning/scratch-copy.ts';
import { MaskedScratch } from './masked-scratch.ts';
import {
  type Arguments,
  type DecodedCall,
  decodeCall,
  maxHits,
  maxLines,
  maxPaths,
  type Tool,
} from './tools.ts';

const maxLineLength = 2000;
const maxResultLength = 48 * 1024;
const maxCommentLength = 60_000;

/** What a planning comes to, before its author and influences are added. */
export type Outcome =
  | Omit<Extract<Proposal, { kind: 'change' }>, 'influences' | 'patch_by'>
  | Omit<Extract<Proposal, { kind: 'comment' }>, 'influences'>;

export interface ToolResult {
  /** The answer that the model gets. */
  readonly content: string;
  readonly outcome: Outcome | null;
}

/** Does the calls of a model in the scratch copy and remembers which files it saw. */
export class ToolRunner {
  readonly #tools: readonly Tool[];
  /** Paths whose content went to the model. */
  readonly seen = new Set<string>();
  readonly #input: PlanningInput;
  readonly #scratch: ScratchCopy;
  readonly #signal: AbortSignal;
  /** Characters that an answer to the model may have. */
  readonly #maxResult: number;

  constructor(input: PlanningInput, tools: readonly Tool[], maxResult: number, signal: AbortSignal) {
    this.#tools = tools;
    this.#maxResult = Math.min(maxResult, maxResultLength);
    this.#input = input;
    this.#scratch = new MaskedScratch(input.scratch, input.secrets);
    this.#signal = signal;
  }

  /** Mistakes of the model are answered to it; what fails here is thrown. */
  async run(call: ToolCall, doing: (call: string) => void = () => {}): Promise<ToolResult> {
    try {
      const decoded = decodeCall(call, this.#tools);
      const words = inWords(decoded);
      this.#input.progress(words);
      doing(words);
      const result = await this.#do(decoded);
      return typeof result === 'string' ? this.#answer(result, decoded.name) : result;
    } catch (error) {
      if (!(error instanceof CoreError) || error.status < 400 || error.status >= 500) throw error;
      if (this.#signal.aborted) throw error;
      return this.#answer(`error ${error.code}: ${messageOf(error)}`, call.function.name);
    }
  }

  #answer(text: string, tool: string): ToolResult {
    const masked = this.#input.secrets.mask(text, `an answer of ${tool}`);
    return { content: bounded(masked, this.#maxResult), outcome: null };
  }

  async #do(call: DecodedCall): Promise<string | ToolResult> {
    switch (call.name) {
      case 'list_files':
        return this.#list(call.arguments.path_prefix ?? '');
      case 'read_file':
        return this.#read(call.arguments);
      case 'search_text':
        return this.#search(call.arguments);
      case 'edit_file':
        return this.#edit({ kind: 'replace', ...(await this.#withLineEnds(call.arguments)) });
      case 'create_file':
        return this.#edit({ kind: 'create', ...call.arguments });
      case 'delete_file':
        return this.#edit({ kind: 'delete', ...call.arguments });
      case 'run_validation':
        return this.#validate();
      case 'submit_plan':
        return this.#submit(call.arguments);
      case 'ask': {
        const body = plainText(call.arguments.body).trim();
        if (body.length > maxCommentLength) {
          return `error: the comment has ${body.length} characters; at most ${maxCommentLength} are allowed`;
        }
        return { content: 'The comment is proposed.', outcome: { kind: 'comment', body } };
      }
    }
  }

  async #list(prefix: string): Promise<string> {
    const all = (await this.#scratch.list()).filter((path) => path.startsWith(prefix));
    if (all.length === 0) return prefix === '' ? 'There are no files.' : `No path begins with ${prefix}`;
    const more = all.length > maxPaths ? `\n… and ${all.length - maxPaths} more; narrow path_prefix` : '';
    return `${all.slice(0, maxPaths).join('\n')}${more}`;
  }

  async #read(asked: Arguments<'read_file'>): Promise<string> {
    const content = await this.#scratch.read(asked.path);
    if (content === null) return `error file_not_found: there is no regular file '${asked.path}'`;
    this.seen.add(asked.path);
    const text = plainTextOf(content);
    if (text === null) return `'${asked.path}' is no UTF-8 text; it has ${content.length} bytes`;
    const lines = text.split('\n');
    if (lines.at(-1) === '') lines.pop();
    const from = asked.from_line ?? 1;
    const to = Math.min(asked.to_line ?? lines.length, from + maxLines - 1, lines.length);
    if (from > lines.length) return `'${asked.path}' has ${lines.length} lines`;
    const numbered: string[] = [];
    let length = 0;
    for (let number = from; number <= to && length < this.#maxResult * 0.95; number += 1) {
      const line = lines[number - 1]!.replace(/\r$/, '');
      const cut = line.length > maxLineLength;
      numbered.push(
        `${number}\t${cut ? `${line.slice(0, maxLineLength)}… [${line.length} characters]` : line}`,
      );
      length += numbered.at(-1)!.length + 1;
    }
    const last = from + numbered.length - 1;
    const notes = [`lines ${from} to ${last} of ${lines.length}`];
    if (text.includes('\r\n')) notes.push('line ends are CRLF');
    if (text !== '' && !text.endsWith('\n')) notes.push('no newline at the end');
    return `${asked.path} (${notes.join(', ')})\n${numbered.join('\n')}`;
  }

  async #search({ text, path_prefix }: Arguments<'search_text'>): Promise<string> {
    const options = path_prefix === undefined ? {} : { path_prefix };
    const hits = await this.#scratch.search(text, { limit: maxHits, ...options });
    for (const { path } of hits) this.seen.add(path);
    if (hits.length === 0) return 'Nothing was found.';
    const more = hits.length === maxHits ? `\nThere may be more than these ${maxHits}.` : '';
    return `${hits.map(({ path, line, text: found }) => `${path}:${line}\t${found}`).join('\n')}${more}`;
  }

  /** Models write plain line feeds; in a file that ends every line with CRLF that is what they mean. */
  async #withLineEnds(edit: Arguments<'edit_file'>): Promise<Arguments<'edit_file'>> {
    if (edit.old_text.includes('\r')) return edit;
    const content = await this.#scratch.read(edit.path);
    const text = plainTextOf(content);
    if (text === null || !text.includes('\r\n') || /(?<!\r)\n/.test(text)) return edit;
    const crlf = (lines: string) => lines.replace(/\r?\n/g, '\r\n');
    return { ...edit, old_text: crlf(edit.old_text), new_text: crlf(edit.new_text) };
  }

  /** The answer names the resulting content, so that a resumed planning notices a difference. */
  async #edit(edit: Exclude<ScratchEdit, { kind: 'patch' }>): Promise<string> {
    await this.#scratch.edit(edit);
    if (edit.kind === 'delete') return `deleted ${edit.path}`;
    const content = (await this.#scratch.read(edit.path))!;
    return `${edit.kind === 'create' ? 'created' : 'edited'} ${edit.path}; its sha256 now begins with ${sha256(content).slice(0, 16)}`;
  }

  async #validate(): Promise<string> {
    const { passed, output } = await this.#input.validate!(this.#signal);
    const text = plainText(output);
    const most = Math.floor(this.#maxResult * 0.95);
    const cut = text.length > most ? `… the beginning is left out …\n${text.slice(-most)}` : text;
    return `The validation ${passed ? 'passed' : 'failed'}. Its output:\n${cut}`;
  }

  async #submit({ title, explanation }: Arguments<'submit_plan'>): Promise<string | ToolResult> {
    const { patch } = await this.#scratch.diff();
    if (patch.length === 0) {
      return 'error nothing_to_submit: the scratch copy holds no change; edit files first, or use ask if nothing should be changed';
    }
    const line = oneLine(title);
    if (line === '') return 'error tool_arguments_invalid: /title has no visible character';
    const outcome: Outcome = { kind: 'change', title: line, explanation: plainText(explanation).trim() };
    return { content: 'The change is proposed.', outcome };
  }
}

/** Whether an answer to the model says that its call failed. */
export function isFailure(answer: string): boolean {
  return /^error(?: [a-z_]+)?: |^The validation failed\./.test(answer);
}

function bounded(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}\n… cut, ${text.length} characters` : text;
}

function inWords(call: DecodedCall): string {
  const { name, arguments: given } = call;
  if ('path' in given) return `${name} ${oneLine(given.path, 120)}`;
  if ('text' in given) return `${name} ${oneLine(given.text, 80)}`;
  return name;
}
