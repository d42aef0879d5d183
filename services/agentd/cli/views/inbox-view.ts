import { age } from '#kit/cli/moments.ts';
import type { Cell, Column } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Inbox, InboxItem, InboxKind } from '#kit/contracts/inbox.ts';
import { counted } from '#kit/counted.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { table } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId, stepLines } from '../suggestions.ts';
import type { Paint, Terminal } from '../terminal.ts';

const columns: readonly Column[] = [
  { title: 'run' },
  { title: 'waits for' },
  { title: 'issue', gives: { turn: 2, to: 14 }, excess: 'cutStart' },
  { title: 'changed', gives: { turn: 3, to: 'gone' } },
  { title: 'what', gives: { turn: 1, to: 16 }, excess: 'wrap' },
];

const words: Readonly<Record<InboxKind, string>> = {
  approval: 'approval',
  lapsed: 'approval again',
  execution: 'execution',
  validation: 'validation',
  outcome: 'outcome',
  interrupted: 'resume',
  draft: 'draft',
  planning: 'planning',
};

/** What waits for a person, and what to type about the first of it. */
export function inboxView(
  { person, items, others }: Inbox,
  terminal: Terminal,
  suggestions: Suggestions,
): string {
  const who = person === null ? 'anybody' : visibleLine(person);
  const all = { label: 'all', command: commandLine(suggestions, 'inbox', '--all') };
  const [first] = items;
  const lines =
    first === undefined
      ? [`Nothing waits for ${who}.`]
      : [
          ...table(
            columns,
            items.map((item) => row(item, terminal)),
            terminal,
            0,
          ),
          '',
          ...stepLines([{ label: first.command[0]!, command: commandOf(first, suggestions) }], terminal),
        ];
  if (others > 0)
    lines.push(
      `${counted(others, 'more thing')} ${others === 1 ? 'waits' : 'wait'} for others.`,
      ...stepLines([all], terminal),
    );
  return `${lines.join('\n')}\n`;
}

function row(item: InboxItem, { now, paint }: Terminal): Cell[] {
  const people = item.people === null ? '' : `, ${whose(item.people)}`;
  return [
    shortRunId(item.run_id),
    { text: words[item.kind], paint: kindPaint(item.kind, paint) },
    subjectOf(item),
    age(item.since, now()),
    `${item.text}${people}`,
  ];
}

function whose(people: readonly string[]): string {
  return people.length === 0 ? 'of nobody in policy.json' : `of ${people.join(' or ')}`;
}

function kindPaint(kind: InboxKind, { yellow, red, cyan }: Paint): (text: string) => string {
  if (kind === 'validation' || kind === 'outcome' || kind === 'planning') return red;
  return kind === 'execution' || kind === 'draft' ? cyan : yellow;
}

/** Short enough to type. */
function commandOf({ run_id, command }: InboxItem, suggestions: Suggestions): string {
  return commandLine(suggestions, ...command.map((word) => (word === run_id ? shortRunId(run_id) : word)));
}
