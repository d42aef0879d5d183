import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { Run } from '../../runs/run.ts';
import { type Cell, table } from '../layout.ts';
import { commandLine, type Suggestions, shortRunId } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';

/** Which secrets were masked and where they stood; a fingerprint releases a false positive. */
export function maskedLines({ masked }: Run, terminal: Terminal): string[] {
  if (masked.length === 0) return [];
  const counts = [...Map.groupBy(masked, ({ kind }) => kind)].map(([kind, all]) => `${all.length} ${kind}`);
  const rows = masked.map(({ place, kind, fingerprint }): Cell[] => [
    { text: visibleLine(kind) },
    { text: fingerprint, paint: terminal.paint.dim },
    { text: visibleLine(place) },
  ]);
  return [
    `masked  ${visibleLine(counts.join(', '))}`,
    ...table(rows, { indent: 2, gap: 2, width: terminal.width, ellipsis: terminal.symbols.ellipsis }),
    '',
  ];
}

/** Where the prompt is, and how many of it and its turns somebody deleted; nothing for a plan without a model. */
export function promptLines(
  run: Run,
  deleted: number,
  suggestions: Suggestions,
  { paint }: Terminal,
): string[] {
  if (run.prompt === null) return [];
  const turns = run.turns.length === 1 ? '1 turn' : `${run.turns.length} turns`;
  const command = commandLine(suggestions, 'show', shortRunId(run.run_id), '--prompt');
  const gone = deleted === 0 ? '' : `, ${deleted} deleted`;
  return [`prompt  ${run.prompt.slice(0, 12)} and ${turns}${gone}  ${paint.dim(visibleLine(command))}`, ''];
}
