import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { ContextUse } from '../../runs/event.ts';
import type { Run } from '../../runs/run.ts';
import { type Cell, table } from '../layout.ts';
import type { Terminal } from '../terminal.ts';

const maxLines = 5;

/** Which context the plan was made with, and what each piece was found by. */
export function contextLines(run: Run, terminal: Terminal, verbose: boolean): string[] {
  const all = run.plan?.context ?? [];
  const used = all.filter(({ source }, index) => all.findIndex((one) => one.source === source) === index);
  if (used.length === 0) return [];
  const { paint, symbols } = terminal;
  const shown = verbose ? used : used.slice(0, maxLines);
  const rows = shown.map((use): Cell[] => [
    { text: use.layer === 'graph' ? 'graph' : `${use.layer} memory`, paint: paint.dim },
    { text: visibleLine(nameOf(use)) },
    { text: visibleLine(use.why), paint: paint.dim },
  ]);
  const more = used.length - shown.length;
  return [
    `context  ${used.length === 1 ? '1 passage' : `${used.length} passages`}`,
    ...table(rows, { indent: 2, gap: 2, width: terminal.width, ellipsis: symbols.ellipsis }),
    ...(more === 0 ? [] : [`  ${paint.dim(`and ${more} more, shown by --verbose`)}`]),
    '',
  ];
}

function nameOf({ layer, source, title }: ContextUse): string {
  const name = layer === 'graph' ? (title === source ? source : `${source}  ${title}`) : title;
  return name.length > 60 ? `${name.slice(0, 59)}…` : name;
}
