import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { SettingRow } from '#kit/config/settings.ts';
import type { RecordState } from '#kit/contracts/run.ts';
import type { PruneResult, UndoStep, Verification } from '../../agent.ts';
import type { Run } from '../../runs/run.ts';
import { type Cell, cut, table } from '../layout.ts';
import { commandLine, type Suggestions } from '../suggestion.ts';
import type { Terminal } from '../terminal.ts';
import { runName } from './plan-view.ts';

/** What `undo` would take back, in its order, and what it cannot. */
export function undoPlanView(run: Run, steps: readonly UndoStep[], terminal: Terminal): string {
  const { paint } = terminal;
  const words = {
    undo: { text: 'undo', paint: paint.yellow },
    keep: { text: 'stays', paint: paint.red },
    nothing: { text: 'nothing', paint: paint.dim },
  };
  const rows = steps.map((step): Cell[] => [
    words[step.effect],
    { text: step.kind },
    { text: visibleLine(step.message) },
  ]);
  const lines = [runName(run), ...table(rows, layoutFor(terminal))];
  if (steps.length === 0) lines.push('  There is nothing to take back.');
  return `${lines.join('\n')}\n`;
}

/** What became of each step of an undo, and what is left to a person. */
export function undoResultView(run: Run, terminal: Terminal): string {
  const { paint } = terminal;
  const results = run.undo?.results ?? [];
  const words = {
    undone: { text: 'undone', paint: paint.green },
    kept: { text: 'stays', paint: paint.yellow },
    failed: { text: 'failed', paint: paint.red },
  };
  const rows = results.map((result): Cell[] => {
    const action = run.actions.find(({ definition }) => definition.action_id === result.action_id);
    return [
      words[result.state],
      { text: action?.definition.kind ?? result.action_id },
      { text: visibleLine(result.message) },
    ];
  });
  return `${[runName(run), ...table(rows, layoutFor(terminal)), `The run is ${run.status}.`].join('\n')}\n`;
}

export function verificationView(found: Verification, terminal: Terminal): string {
  const { paint, symbols } = terminal;
  const facts = `${found.events} events, ${found.artifacts} artifacts, head ${found.head.slice(0, 12)}`;
  if (found.problems.length === 0) {
    return `${paint.green(symbols.tick)}  ${found.run_id} holds: ${facts}\n   chain, sealed definitions, approvals and artifacts agree\n`;
  }
  const rows = found.problems.map(({ where, what }): Cell[] => [
    { text: visibleLine(where), paint: paint.yellow },
    { text: visibleLine(what) },
  ]);
  const count = `${found.problems.length} ${found.problems.length === 1 ? 'problem' : 'problems'}`;
  const head = `${paint.red(symbols.cross)}  ${found.run_id} does not hold: ${count} in ${facts}`;
  return `${[head, ...table(rows, { ...layoutFor(terminal), width: Number.POSITIVE_INFINITY })].join('\n')}\n`;
}

/** What is there of a record beside what was acknowledged, and how to go on. */
export function recordView(record: RecordState, terminal: Terminal, suggestions: Suggestions): string {
  const { paint, symbols } = terminal;
  const { run_id, acknowledged, kept, problem, recovered } = record;
  if (problem === null && recovered === null)
    return `${paint.green(symbols.tick)}  the record of ${run_id} is whole\n`;
  if (problem === null) {
    const { seq, at, by } = recovered!;
    return [
      `${paint.yellow(symbols.cross)}  the record of ${run_id} lost events`,
      `   ${visibleLine(by)} accepted that at ${at} (event ${seq}), and the run has gone on since. ./core verify always names the loss.`,
      '',
    ].join('\n');
  }
  const rows: Cell[][] = [
    [{ text: 'acknowledged' }, { text: placeText(acknowledged, record.last_type) }],
    [{ text: 'sound' }, { text: placeText(kept, null) }],
  ];
  if (record.bytes_behind > 0)
    rows.push([{ text: 'behind it' }, { text: `${record.bytes_behind} bytes that do not hold` }]);
  const lines = [
    `${paint.red(symbols.cross)}  the record of ${run_id} is not whole`,
    `   ${visibleLine(problem)}`,
    ...table(rows, layoutFor(terminal)),
    '',
    'Nothing of this run is executed, approved or changed. A backup may have what is missing.',
  ];
  if (kept !== null && kept.seq > 0) {
    const command = commandLine(suggestions, 'recover', run_id, '--accept-loss', '--reason', 'TEXT');
    lines.push(
      `To go on from event ${kept.seq} without it, and decide again about what has not started:`,
      `  ${paint.cyan(command)}`,
    );
  }
  return `${lines.join('\n')}\n`;
}

function placeText(place: RecordState['kept'], type: string | null): string {
  if (place === null) return 'unknown';
  if (place.seq === 0) return 'no event';
  return `event ${place.seq}${type === null ? '' : ` (${visibleLine(type)})`}, hash ${place.hash.slice(0, 12)}`;
}

export function pruneView(result: PruneResult, dryRun: boolean, terminal: Terminal): string {
  const verb = dryRun ? 'Would remove' : 'Removed';
  const mib = (result.bytes / 1024 / 1024).toFixed(1);
  const lines = [
    `${verb} ${counted(result.clones.length, 'clone')} and ${counted(result.runs.length, 'run')}, ${mib} MiB.`,
    ...result.runs.map((run) => `  run    ${visibleLine(run)}`),
    ...result.clones.map((clone) => `  clone  ${visibleLine(clone)}`),
    ...result.kept.map(({ run_id, reason }) => `  kept   ${visibleLine(run_id)}: ${visibleLine(reason)}`),
  ];
  if (result.runs.length > 0 && !dryRun)
    lines.push(terminal.paint.dim('A tombstone keeps the head of each record.'));
  return `${lines.join('\n')}\n`;
}

export function settingsView(rows: readonly SettingRow[], terminal: Terminal): string {
  const { paint, symbols } = terminal;
  const cells = rows.map((row): Cell[] => [
    { text: visibleLine(row.key) },
    { text: cut(valueText(row.value), maxColumns, symbols.ellipsis) },
    {
      text: visibleLine(`${row.source}  ${row.where}`),
      paint: row.source === 'default' ? paint.dim : paint.cyan,
    },
  ]);
  const header = ['setting', 'value', 'from'].map((text): Cell => ({ text, paint: paint.dim }));
  return `${table([header, ...cells], { indent: 0, gap: 2, width: terminal.width, ellipsis: symbols.ellipsis }).join('\n')}\n`;
}

/** A list of roles is long; --json shows it whole. */
const maxColumns = 60;

function valueText(value: unknown): string {
  return visibleLine(typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set'));
}

/** The recovery manifest; its `restore` lines last, ready to type. */
export function recoveryView(manifest: Readonly<Record<string, unknown>>, terminal: Terminal): string {
  const { restore, operations, ...facts } = manifest;
  const cells = Object.entries(facts).map(([name, value]): Cell[] => [
    { text: visibleLine(name), paint: terminal.paint.dim },
    { text: visibleLine(typeof value === 'string' ? value : JSON.stringify(value)) },
  ]);
  const lines = table(cells, { ...layoutFor(terminal), indent: 0, width: Number.POSITIVE_INFINITY });
  if (Array.isArray(operations) && operations.length > 0)
    lines.push(`${terminal.paint.dim('operations')}  ${operations.length} recorded (--json shows them)`);
  if (Array.isArray(restore) && restore.length > 0) {
    lines.push('', 'To restore by hand:');
    for (const line of restore) lines.push(`  ${terminal.paint.cyan(visibleLine(String(line)))}`);
  }
  return `${lines.join('\n')}\n`;
}

function layoutFor(terminal: Terminal) {
  return { indent: 2, gap: 2, width: terminal.width, ellipsis: terminal.symbols.ellipsis };
}

function counted(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}
