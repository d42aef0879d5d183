import { resolve } from 'node:path';
import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { confirm } from '#kit/cli/confirm.ts';
import { wrapLine } from '#kit/cli/fit-text.ts';
import { age } from '#kit/cli/moments.ts';
import type { Cell, Column } from '#kit/cli/table.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import { Interrupted, InvalidInput, messageOf } from '#kit/errors.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { shellWord } from '#kit/shell-word.ts';
import { readGivenFile } from '#kit/small-file.ts';
import { addRemote, type Checkout, findCheckout } from '../../git/checkout.ts';
import { associations, type PullRequest, type RepositoryRef } from '../../ports/forge.ts';
import { answer, type CommandContext, type Run, withRef } from '../command.ts';
import { facts, quoted, table } from '../layout.ts';
import { issueNumber, notEmpty } from '../option-values.ts';
import { page, withPager } from '../pager.ts';
import { paintPatch } from '../painted-patch.ts';
import { commandLine, issueWords, type NextStep, stepLines } from '../suggestions.ts';

/** Administers the local forge: repositories, issues and pull requests in a folder. */
export function forge(program: Command, run: Run): void {
  const command = program
    .command('forge')
    .description('the local forge: repositories, issues and pull requests in a folder');
  const issue = command.command('issue').description('issues of the local forge');
  const here = ofRepository(run);
  const pr = command.command('pr').description('pull requests of the local forge');

  withRef(command.command('init'))
    .description('make a repository, empty or with the branches of one that you have')
    .option('--from <dir>', 'a git repository to take the branches from', notEmpty('--from'))
    .option('--connect', 'deliver to the checkout of --from: add the remote core, without asking')
    .option('--no-connect', 'leave that checkout as it is, without asking')
    .action(run(init));
  withText(withRepository(issue.command('new')))
    .description('write an issue')
    .requiredOption('--title <text>', 'its title', notEmpty('--title'))
    .action(here(newIssue));
  withState(withRepository(issue.command('list')).description('list issues')).action(here(listIssues));
  withText(withRepository(command.command('comment')))
    .description('comment on an issue or pull request')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .action(here(comment));
  withState(withRepository(pr.command('list')).description('list pull requests')).action(here(listPulls));
  withPager(withRepository(pr.command('show')))
    .description('show a pull request with its change')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .option('--no-patch', 'without the change')
    .action(here(showPull));
  withRepository(pr.command('merge'))
    .description('merge a pull request')
    .requiredOption('--number <n>', 'its number', issueNumber)
    .action(here(mergePull));
}

interface RepositoryChoice {
  readonly owner?: string;
  readonly repo?: string;
}

function withRepository(command: Command): Command {
  return command
    .option('--owner <name>', 'owner of the repository (default: of the checkout here)', notEmpty('--owner'))
    .option('--repo <name>', 'name of the repository (default: of the checkout here)', notEmpty('--repo'));
}

/** Makes commander's action of the work on a repository: that of the options, else that of the checkout here. */
function ofRepository(run: Run) {
  return <O extends RepositoryRef>(work: (context: CommandContext, options: O) => Promise<number>) =>
    run(async (context, options: Omit<O, keyof RepositoryRef> & RepositoryChoice) => {
      const { owner, repo } = await repositoryHere(context, options);
      return work(context, { ...options, owner, repo } as unknown as O);
    });
}

async function repositoryHere(
  { services }: CommandContext,
  { owner, repo }: RepositoryChoice,
): Promise<RepositoryRef> {
  if (owner !== undefined && repo !== undefined) return { owner, repo };
  const hint = 'name it with --owner NAME --repo NAME, or go to a checkout of it and give neither';
  if (owner !== undefined || repo !== undefined) {
    const [given, missing] = owner === undefined ? ['--repo', '--owner'] : ['--owner', '--repo'];
    throw new InvalidInput('repository_unclear', `the repository is unclear: ${given} needs ${missing}`, {
      hint,
    });
  }
  try {
    return await services.agent.repositoryOf(process.cwd());
  } catch (cause) {
    if (!(cause instanceof InvalidInput)) throw cause;
    throw new InvalidInput(cause.code, cause.message, { cause, hint });
  }
}

const listStates = ['open', 'closed', 'all'] as const;

interface ListOptions extends RepositoryRef {
  readonly state: (typeof listStates)[number];
}

function withState(command: Command): Command {
  return command.addOption(choice('--state <state>', 'only of this state', listStates).default('open'));
}

interface TextOptions extends RepositoryRef {
  readonly body?: string;
  readonly bodyFile?: string;
  readonly author?: string;
  readonly association: string;
}

function withText(command: Command): Command {
  return command
    .option('--body <text>', 'its text, Markdown')
    .option('--body-file <file>', 'its text from a file; - is standard input')
    .option('--author <name>', 'who writes (default: you)', notEmpty('--author'))
    .addOption(
      choice('--association <word>', 'what they are to the repository', associations).default('owner'),
    );
}

interface InitOptions extends RepositoryRef {
  readonly from?: string;
  /** undefined: ask. */
  readonly connect?: boolean;
}

async function init(context: CommandContext, options: InitOptions): Promise<number> {
  const { owner, repo, connect } = options;
  const { terminal, suggestions, services } = context;
  const from = options.from === undefined ? null : resolve(options.from);
  const admin = await services.localForge();
  const made = await admin.init({ owner, repo, from });
  const checkout = from === null ? null : await workTree(from);
  const connected = checkout !== null && (await isConnected(context, checkout, made.clone_url, connect));
  const name = connected ? await services.addCheckout({ owner, repo }, checkout.top) : null;
  return answer(context, { owner, repo, ...made, connected, checkout: name }, () => {
    const text = ['--title', 'TEXT', '--body-file', 'FILE'];
    const newIssue = ['forge', 'issue', 'new', '--owner', owner, '--repo', repo, ...text];
    const steps = [
      ...(connected ? [] : [checkoutStep(checkout, made.clone_url)]),
      { label: 'issue', command: commandLine(suggestions, ...newIssue) },
    ];
    const about = [
      ['folder', made.folder],
      ['git URL', made.clone_url],
      ...(connected
        ? [
            ['remote', `'core', added to ${checkout.top}: Core delivers branches there`],
            ['core up', `delivers there too: core.json lists that checkout as ${name}`],
          ]
        : []),
    ];
    const lines = [
      `${visibleLine(`${owner}/${repo}`)} is ready, default branch ${visibleLine(made.default_branch)}`,
      // The labels of the steps have the same width.
      ...about.map(([label = '', text = '']) => `  ${label.padEnd(7)}  ${visibleLine(text)}`),
      ...stepLines(steps, terminal),
    ];
    return `${lines.join('\n')}\n`;
  });
}

/** The checkout of a folder; null for a bare repository, which nothing is delivered to. */
async function workTree(folder: string): Promise<Checkout | null> {
  const found = await findCheckout(folder);
  return typeof found === 'string' || found.gitDir === found.top ? null : found;
}

/** A checkout is delivered to only where one of its remotes is the repository. Its owner decides that. */
async function isConnected(
  { terminal, json }: CommandContext,
  checkout: Checkout,
  url: string,
  wanted: boolean | undefined,
): Promise<boolean> {
  const asks = wanted === undefined && !json && process.stdin.isTTY === true && terminal.errIsTerminal;
  if (asks) {
    const message = `Add it as remote 'core' to ${visibleLine(checkout.top)}, so that Core can deliver there?`;
    try {
      const { symbols } = terminal;
      if (!(await confirm({ message, default: true, symbols, output: process.stderr }))) return false;
    } catch (cause) {
      throw new Interrupted('interrupted', 'stopped by you; the repository is made, and not connected', {
        cause,
        hint: checkoutStep(checkout, url).command,
      });
    }
  } else if (wanted !== true) return false;
  await addRemote(checkout, 'core', url);
  return true;
}

/** How a checkout comes to know the repository. */
function checkoutStep(checkout: Checkout | null, url: string): NextStep {
  if (checkout === null) return { label: 'clone', command: `git clone ${shellWord(url)}` };
  return { label: 'connect', command: `git -C ${shellWord(checkout.top)} remote add core ${shellWord(url)}` };
}

async function newIssue(
  context: CommandContext,
  options: TextOptions & { readonly title: string },
): Promise<number> {
  const { terminal, suggestions, services } = context;
  const { owner, repo, title, association } = options;
  const admin = await services.localForge();
  const author = options.author ?? (await services.person()).name;
  const issue = await admin.newIssue({ owner, repo, title, body: bodyOf(options), author, association });
  return answer(context, issue, () => {
    const plan = commandLine(suggestions, 'plan', subjectOf({ owner, repo, number: issue.number }));
    const lines = [
      `${visibleLine(`${owner}/${repo}#${issue.number}`)}  ${visibleLine(issue.title)}`,
      ...stepLines([{ label: 'plan', command: plan }], terminal),
    ];
    return `${lines.join('\n')}\n`;
  });
}

async function listIssues(context: CommandContext, { state, ...ref }: ListOptions): Promise<number> {
  const admin = await context.services.localForge();
  const issues = await admin.listIssues(ref, state);
  return answer(context, { issues }, () =>
    listText(context, issues, ({ author }) => author.login, noneText(ref, state, 'issues')),
  );
}

async function comment(
  context: CommandContext,
  options: TextOptions & { readonly number: number },
): Promise<number> {
  const { services } = context;
  const { owner, repo, number, association } = options;
  const admin = await services.localForge();
  const author = options.author ?? (await services.person()).name;
  const made = await admin.comment({ owner, repo, number, body: bodyOf(options), author, association });
  return answer(
    context,
    made,
    () => `Comment ${visibleLine(made.id)} on ${visibleLine(`${owner}/${repo}#${number}`)}\n`,
  );
}

async function listPulls(context: CommandContext, { state, ...ref }: ListOptions): Promise<number> {
  const admin = await context.services.localForge();
  const pulls = await admin.listPullRequests(ref, state);
  const none = noneText(ref, state, 'pull requests');
  const { arrow } = context.terminal.symbols;
  return answer(context, { pull_requests: pulls }, () =>
    listText(context, pulls, ({ head, base }) => `${head} ${arrow} ${base}`, none),
  );
}

function noneText({ owner, repo }: RepositoryRef, state: ListOptions['state'], what: string): string {
  const name = visibleLine(`${owner}/${repo}`);
  return state === 'all'
    ? `${name} has no ${what}.\n`
    : `${name} has no ${state} ${what}; --state all lists the others too.\n`;
}

const listColumns: readonly Column[] = [
  { title: '', right: true },
  { title: '' },
  { title: '', gives: { turn: 2, to: 'gone' } },
  // The end of a branch tells it from others.
  { title: '', gives: { turn: 3, to: 24 }, excess: 'cutStart' },
  { title: '', gives: { turn: 1, to: 16 } },
];

/** A table of issues or pull requests, with what `column` gives of each. */
function listText<
  A extends Pick<PullRequest, 'number' | 'created_at' | 'title'> & { readonly state: string },
>({ terminal }: CommandContext, entries: readonly A[], column: (entry: A) => string, none: string): string {
  if (entries.length === 0) return none;
  const rows = entries.map((entry): Cell[] => [
    `#${entry.number}`,
    entry.state,
    age(entry.created_at, terminal.now()),
    column(entry),
    entry.title,
  ]);
  return `${table(listColumns, rows, terminal, 0).join('\n')}\n`;
}

async function showPull(
  context: CommandContext,
  {
    owner,
    repo,
    number,
    patch: withPatch,
    pager,
  }: RepositoryRef & { readonly number: number; readonly patch: boolean; readonly pager: boolean },
): Promise<number> {
  const { terminal, suggestions, services } = context;
  const { paint, symbols, width } = terminal;
  const admin = await services.localForge();
  const { pull, patch } = await admin.pullRequest({ owner, repo }, number);
  const text = new TextDecoder().decode(patch);
  const parts = [
    pull.state,
    visibleLine(`${pull.head} ${symbols.arrow} ${pull.base}`),
    ...(pull.head_commit === null ? [] : [pull.head_commit.slice(0, 7)]),
    `by ${visibleLine(pull.author.login)}`,
    age(pull.created_at, terminal.now()),
  ];
  const merge = commandLine(suggestions, 'forge', 'pr', 'merge', ...issueWords({ owner, repo, number }));
  return page(context, { ...pull, patch: text }, pager, () => {
    const lines = [
      ...wrapLine(
        `${visibleLine(`${owner}/${repo}#${number}`)}  ${paint.bold(visibleLine(pull.title))}`,
        width,
      ),
      ...facts(parts, terminal),
      '',
      ...quoted(pull.body, terminal),
      ...(withPatch ? ['', paintPatch(visibleLines(text), paint).trimEnd()] : []),
      ...(pull.state === 'open' ? ['', ...stepLines([{ label: 'merge', command: merge }], terminal)] : []),
    ];
    return `${lines.join('\n')}\n`;
  });
}

async function mergePull(
  context: CommandContext,
  { owner, repo, number }: RepositoryRef & { readonly number: number },
): Promise<number> {
  const admin = await context.services.localForge();
  const merged = await admin.mergePullRequest({ owner, repo }, number);
  const name = visibleLine(`${owner}/${repo}#${number}`);
  return answer(
    context,
    { owner, repo, number, ...merged },
    () => `Merged ${name} into ${visibleLine(merged.into)} @ ${merged.commit.slice(0, 7)}\n`,
  );
}

/** `--body TEXT`, or `--body-file FILE` where `-` is standard input. */
function bodyOf({ body, bodyFile }: TextOptions): string {
  if (body !== undefined && bodyFile !== undefined) {
    throw new InvalidInput('body_twice', 'the text is given by --body and by --body-file; choose one');
  }
  if (bodyFile === undefined) return body ?? '';
  try {
    return readGivenFile(bodyFile);
  } catch (cause) {
    throw new InvalidInput(
      'body_file_unreadable',
      `--body-file '${bodyFile}' cannot be read: ${messageOf(cause)}`,
      {
        cause,
        hint: 'Name a file with the text, or - to read it from standard input.',
      },
    );
  }
}
