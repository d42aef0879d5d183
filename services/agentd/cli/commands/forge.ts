import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { age } from '#kit/cli/moments.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { exitCodes, InvalidInput } from '#kit/errors.ts';
import { shellWord } from '#kit/shell-word.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import { type Cell, table } from '../layout.ts';
import type { ForgePullRequest, Ref } from '../services.ts';
import { commandLine } from '../suggestion.ts';
import { paintPatch } from '../views/diff-view.ts';
import { type NextStep, stepLines } from '../views/next-steps.ts';
import { quoted } from '../views/plan-view.ts';

/** The desk of the local forge: repositories, issues and pull requests in a folder. */

export type ListState = 'open' | 'closed' | 'all';

/** @param given `--from`, as seen from the folder in which it was typed */
export async function forgeInit(context: CommandContext, ref: Ref, given: string | null): Promise<number> {
  const { terminal, suggestions } = context;
  const from = given === null ? null : resolve(given);
  const desk = await context.services.localForge();
  const made = await desk.init({ ...ref, from });
  if (context.json) writeJson(terminal, { ...ref, ...made });
  else {
    const name = visibleLine(`${ref.owner}/${ref.repo}`);
    const words = ['--owner', ref.owner, '--repo', ref.repo];
    const lines = [
      `${name} is ready, default branch ${visibleLine(made.default_branch)}`,
      `  folder  ${visibleLine(made.folder)}`,
      `  remote  ${visibleLine(made.clone_url)}`,
      ...stepLines(
        [
          checkoutStep(from, made.clone_url),
          {
            label: 'issue',
            command: commandLine(
              suggestions,
              'forge',
              'issue',
              'new',
              ...words,
              '--title',
              'TEXT',
              '--body-file',
              'FILE',
            ),
          },
        ],
        terminal,
      ),
    ];
    terminal.out(`${lines.join('\n')}\n`);
  }
  return exitCodes.done;
}

/** How a checkout comes to know the repository: it is delivered only to one that does. */
function checkoutStep(from: string | null, url: string): NextStep {
  if (from === null || !existsSync(join(from, '.git')))
    return { label: 'clone', command: `git clone ${shellWord(url)}` };
  return { label: 'connect', command: `git -C ${shellWord(from)} remote add core ${shellWord(url)}` };
}

export interface IssueNewOptions {
  readonly title: string;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly author?: string;
  readonly association: string;
}

export async function issueNew(context: CommandContext, ref: Ref, options: IssueNewOptions): Promise<number> {
  const { terminal, suggestions, services } = context;
  const desk = await services.localForge();
  const author = options.author ?? (await services.person()).name;
  const { title, association } = options;
  const issue = await desk.newIssue({ ...ref, title, body: bodyOf(options), author, association });
  if (context.json) writeJson(terminal, issue);
  else {
    const words = ['--owner', ref.owner, '--repo', ref.repo, '--number', String(issue.number)];
    const lines = [
      `${visibleLine(`${ref.owner}/${ref.repo}`)}#${issue.number}  ${visibleLine(issue.title)}`,
      ...stepLines([{ label: 'plan', command: commandLine(suggestions, 'plan-issue', ...words) }], terminal),
    ];
    terminal.out(`${lines.join('\n')}\n`);
  }
  return exitCodes.done;
}

export async function issueList(context: CommandContext, ref: Ref, state: ListState): Promise<number> {
  const { terminal } = context;
  const desk = await context.services.localForge();
  const issues = await desk.listIssues(ref, state);
  if (context.json) writeJson(terminal, { issues });
  else if (issues.length === 0) terminal.out(`No ${state === 'all' ? '' : `${state} `}issues.\n`);
  else {
    const rows = issues.map((issue): Cell[] => [
      { text: `#${issue.number}`, align: 'right' },
      { text: issue.state },
      { text: age(issue.created_at, terminal.now()) },
      { text: visibleLine(issue.author.login) },
      { text: visibleLine(issue.title) },
    ]);
    terminal.out(tableText(context, rows));
  }
  return exitCodes.done;
}

export interface CommentOptions {
  readonly number: number;
  readonly body?: string;
  readonly bodyFile?: string;
  readonly author?: string;
  readonly association: string;
}

export async function comment(context: CommandContext, ref: Ref, options: CommentOptions): Promise<number> {
  const { terminal, services } = context;
  const desk = await services.localForge();
  const author = options.author ?? (await services.person()).name;
  const { number, association } = options;
  const made = await desk.comment({ ...ref, number, body: bodyOf(options), author, association });
  if (context.json) writeJson(terminal, made);
  else
    terminal.out(`Comment ${visibleLine(made.id)} on ${visibleLine(`${ref.owner}/${ref.repo}`)}#${number}\n`);
  return exitCodes.done;
}

export async function pullList(context: CommandContext, ref: Ref, state: ListState): Promise<number> {
  const { terminal } = context;
  const desk = await context.services.localForge();
  const pulls = await desk.listPullRequests(ref, state);
  if (context.json) writeJson(terminal, { pull_requests: pulls });
  else if (pulls.length === 0) terminal.out(`No ${state === 'all' ? '' : `${state} `}pull requests.\n`);
  else {
    const rows = pulls.map((pull): Cell[] => [
      { text: `#${pull.number}`, align: 'right' },
      { text: pull.state },
      { text: age(pull.created_at, terminal.now()) },
      { text: visibleLine(`${pull.head} ${terminal.symbols.arrow} ${pull.base}`) },
      { text: visibleLine(pull.title) },
    ]);
    terminal.out(tableText(context, rows));
  }
  return exitCodes.done;
}

export async function pullShow(
  context: CommandContext,
  ref: Ref,
  number: number,
  withPatch: boolean,
): Promise<number> {
  const { terminal, suggestions } = context;
  const desk = await context.services.localForge();
  const { pull, patch } = await desk.pullRequest(ref, number);
  if (context.json) {
    writeJson(terminal, { ...pull, patch: new TextDecoder().decode(patch) });
    return exitCodes.done;
  }
  const lines = [...pullHead(context, ref, pull), '', ...quoted(pull.body, terminal)];
  if (withPatch)
    lines.push('', paintPatch(visibleLines(new TextDecoder().decode(patch)), terminal.paint).trimEnd());
  if (pull.state === 'open') {
    const words = ['--owner', ref.owner, '--repo', ref.repo, '--number', String(number)];
    lines.push(
      '',
      ...stepLines(
        [{ label: 'merge', command: commandLine(suggestions, 'forge', 'pr', 'merge', ...words) }],
        terminal,
      ),
    );
  }
  terminal.out(`${lines.join('\n')}\n`);
  return exitCodes.done;
}

export async function pullMerge(context: CommandContext, ref: Ref, number: number): Promise<number> {
  const { terminal } = context;
  const desk = await context.services.localForge();
  const merged = await desk.mergePullRequest(ref, number);
  if (context.json) writeJson(terminal, { ...ref, number, ...merged });
  else
    terminal.out(
      `Merged ${visibleLine(`${ref.owner}/${ref.repo}`)}#${number} into ${visibleLine(merged.into)} @ ${merged.commit.slice(0, 7)}\n`,
    );
  return exitCodes.done;
}

function pullHead({ terminal }: CommandContext, ref: Ref, pull: ForgePullRequest): string[] {
  const { paint, symbols } = terminal;
  return [
    `${visibleLine(`${ref.owner}/${ref.repo}`)}#${pull.number}  ${paint.bold(visibleLine(pull.title))}`,
    [
      visibleLine(pull.state),
      visibleLine(`${pull.head} ${symbols.arrow} ${pull.base}`),
      ...(pull.head_commit === null ? [] : [pull.head_commit.slice(0, 7)]),
      `by ${visibleLine(pull.author.login)}`,
      age(pull.created_at, terminal.now()),
    ].join(` ${symbols.dot} `),
  ];
}

function tableText({ terminal }: CommandContext, rows: readonly Cell[][]): string {
  const { width, symbols } = terminal;
  return `${table(rows, { indent: 0, gap: 2, width, ellipsis: symbols.ellipsis }).join('\n')}\n`;
}

/** `--body TEXT`, or `--body-file FILE` where `-` is standard input. */
function bodyOf({ body, bodyFile }: { readonly body?: string; readonly bodyFile?: string }): string {
  if (body !== undefined && bodyFile !== undefined) {
    throw new InvalidInput('body_twice', 'the text is given by --body and by --body-file; choose one');
  }
  if (bodyFile === undefined) return body ?? '';
  try {
    return readFileSync(bodyFile === '-' ? 0 : bodyFile, 'utf8');
  } catch (cause) {
    throw new InvalidInput('body_file_unreadable', `--body-file '${bodyFile}' cannot be read`, { cause });
  }
}
