import { basename } from 'node:path';
import type { Cell, Column } from '#kit/cli/table.ts';
import { visibleLine, visibleLines } from '#kit/cli/terminal-text.ts';
import type { SettingRow } from '#kit/config/settings.ts';
import type { RecordState } from '#kit/contracts/run.ts';
import { counted } from '#kit/counted.ts';
import type { PruneResult, UndoStep, Verification } from '../../agent.ts';
import { type ConversationPart, messageHead, messageTexts } from '../../runs/conversation.ts';
import type { JudgedRun } from '../../runs/run.ts';
import { labelled, table, wrapping } from '../layout.ts';
import { commandLine, commandLines, type Suggestions } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';
import { runName } from './next-steps.ts';

const stepColumns = ['', '', wrapping];

/** What `undo` would take back, in its order, and what it cannot. */
export function undoPlanView(run: JudgedRun, steps: readonly UndoStep[], terminal: Terminal): string {
  const { paint } = terminal;
  const words = {
    undo: { text: 'undo', paint: paint.yellow },
    keep: { text: 'stays', paint: paint.red },
    nothing: { text: 'nothing', paint: paint.dim },
  };
  const rows = steps.map(({ effect, kind, message }): Cell[] => [words[effect], kind, message]);
  const lines = [runName(run), ...table(stepColumns, rows, terminal)];
  if (steps.length === 0) lines.push('  There is nothing to take back.');
  return `${lines.join('\n')}\n`;
}

/**
 * The outcome of each step of an undo, and what is left to a person.
 * @param steps as the undo was planned: what had nothing to take back took nothing back
 */
export function undoResultView(run: JudgedRun, steps: readonly UndoStep[], terminal: Terminal): string {
  const { paint } = terminal;
  const words = {
    undone: { text: 'undone', paint: paint.green },
    kept: { text: 'stays', paint: paint.yellow },
    failed: { text: 'failed', paint: paint.red },
    nothing: { text: 'nothing', paint: paint.dim },
  };
  const idle = new Set(steps.filter(({ effect }) => effect === 'nothing').map(({ action_id }) => action_id));
  const rows = (run.undo?.results ?? []).map(({ state, action_id, message }): Cell[] => {
    const action = run.actions.find(({ definition }) => definition.action_id === action_id);
    const word = state === 'undone' && idle.has(action_id) ? 'nothing' : state;
    return [words[word], action?.definition.kind ?? action_id, message];
  });
  return `${[runName(run), ...table(stepColumns, rows, terminal), undoneText(run)].join('\n')}\n`;
}

function undoneText({ status, undo }: JudgedRun): string {
  if (status === 'undone') return 'The run is undone.';
  if (undo?.complete !== true) return `Not everything was taken back; the run is ${status}.`;
  return `What stays is left for the reason beside it; the rest was taken back. The run is ${status}.`;
}

/** @param alone where a database may know more of the run than what was checked */
export function verificationView(
  found: Verification,
  terminal: Terminal,
  alone: string | null = null,
): string {
  const { paint, symbols } = terminal;
  const facts = `${found.events} events, ${found.artifacts} artifacts, head ${found.head.slice(0, 12)}`;
  if (found.problems.length === 0) {
    const head = `${paint.green(symbols.tick)}  ${found.run_id} holds: ${facts}`;
    const lines = [
      head,
      '   chain, sealed definitions, approvals and artifacts agree',
      ...(alone === null ? [] : [`   ${alone}`]),
      ...signatureLines(found, terminal),
    ];
    return `${lines.join('\n')}\n`;
  }
  const rows = found.problems.map(({ where, what }): Cell[] => [{ text: where, paint: paint.yellow }, what]);
  const count = counted(found.problems.length, 'problem');
  const head = `${paint.red(symbols.cross)}  ${found.run_id} does not hold: ${count} in ${facts}`;
  const lines = [head, ...table(['', wrapping], rows, terminal), ...signatureLines(found, terminal)];
  return `${lines.join('\n')}\n`;
}

/** Each decision with its signer; nothing where none is signed. */
function signatureLines({ approvals }: Verification, terminal: Terminal): string[] {
  if (approvals.every(({ signature }) => signature === null)) return [];
  const { paint, symbols } = terminal;
  const rows = approvals.map(({ action_id, decision, approver, signature, problem }): Cell[] => {
    const what = `${decision === 'approve' ? 'approved' : 'rejected'} by ${approver}`;
    if (signature === null)
      return [{ text: symbols.dot, paint: paint.dim }, action_id, `${what}, not signed`];
    const { principal, key } = signature;
    const mark =
      problem === null
        ? { text: symbols.tick, paint: paint.green }
        : { text: symbols.cross, paint: paint.red };
    return [mark, action_id, `${what}, signed by ${principal} with ${key}`];
  });
  return ['', ...table(['', '', wrapping], rows, terminal)];
}

/** State of a record, compared with its newest acknowledged event, and the next steps. */
export function recordView(record: RecordState, terminal: Terminal, suggestions: Suggestions): string {
  const { paint, symbols } = terminal;
  const { run_id, acknowledged, kept, problem, recovered } = record;
  if (problem === null && recovered === null)
    return `${paint.green(symbols.tick)}  the record of ${run_id} is whole\n`;
  if (problem === null) {
    const { seq, at, by } = recovered!;
    return [
      `${paint.yellow(symbols.cross)}  the record of ${run_id} lost events`,
      `   ${visibleLine(by)} accepted that at ${at} (event ${seq}), and the run has gone on since. ${commandLine(suggestions, 'verify')} always names the loss.`,
      '',
    ].join('\n');
  }
  const rows: [string, string][] = [
    ['acknowledged', placeText(acknowledged, record.last_type)],
    ['sound', placeText(kept, null)],
  ];
  if (record.bytes_behind > 0) rows.push(['behind it', `${record.bytes_behind} bytes that do not hold`]);
  const lines = [
    `${paint.red(symbols.cross)}  the record of ${run_id} is not whole`,
    `   ${visibleLine(problem)}`,
    ...labelled(rows, terminal),
    '',
    'Nothing of this run is executed, approved or changed. A backup may have what is missing.',
  ];
  if (record.restorable) {
    const command = commandLine(suggestions, 'recover', run_id, '--from-mirror');
    lines.push('To put back what the mirror on this host has of it:', ...commandLines(command, 2, terminal));
  }
  if (kept !== null && kept.seq > 0) {
    const command = commandLine(suggestions, 'recover', run_id, '--accept-loss', '--reason', 'TEXT');
    lines.push(
      `To go on from event ${kept.seq} without it, and decide again about what has not started:`,
      ...commandLines(command, 2, terminal),
    );
  }
  return `${lines.join('\n')}\n`;
}

function placeText(place: RecordState['kept'], type: string | null): string {
  if (place === null) return 'unknown';
  if (place.seq === 0) return 'no event';
  return `event ${place.seq}${type === null ? '' : ` (${type})`}, hash ${place.hash.slice(0, 12)}`;
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

const settingColumns: readonly Column[] = [
  { title: 'setting' },
  { title: 'from' },
  {
    title: '',
    gives: [
      { turn: 1, to: 'brief' },
      { turn: 3, to: 'gone' },
    ],
  },
  // Last: in a pipe, where nothing is wrapped, a long list moves no other column.
  { title: 'value', gives: { turn: 2, to: 24 }, excess: 'wrap' },
];

export function settingsView(rows: readonly SettingRow[], terminal: Terminal): string {
  const { paint } = terminal;
  const cells = rows.map(({ key, value, source, where }): Cell[] => [
    key,
    { text: source, paint: source === 'default' ? paint.dim : paint.cyan },
    { text: where, brief: basename(where), paint: source === 'default' ? paint.dim : paint.cyan },
    settingText(value),
  ]);
  return `${table(settingColumns, cells, terminal, 0).join('\n')}\n`;
}

/** A list as its entries, each of them by its name where it has one; --json shows all of it. */
function settingText(value: unknown): string {
  if (!Array.isArray(value) || value.length === 0) return valueText(value);
  return value.map((entry) => (hasName(entry) ? entry.name : valueText(entry))).join(', ');
}

function hasName(value: unknown): value is { readonly name: string } {
  return typeof value === 'object' && value !== null && 'name' in value && typeof value.name === 'string';
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'not set');
}

/** What is known of it, by name. */
function factText(value: unknown): string {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return valueText(value);
  const known = Object.entries(value).filter(([, part]) => part !== null);
  return known.map(([name, part]) => `${name} ${valueText(part)}`).join(', ');
}

/** The recovery manifest; its `restore` lines last, ready to type. */
export function recoveryView(manifest: Readonly<Record<string, unknown>>, terminal: Terminal): string {
  const { restore, operations, ...facts } = manifest;
  const known = Object.entries(facts).filter(([, value]) => value !== null);
  const rows = known.map(([name, value]) => [name, factText(value)] as const);
  if (Array.isArray(operations) && operations.length > 0)
    rows.push(['operations', `${operations.length} recorded (--json shows them)`]);
  const lines = labelled(rows, terminal, 0);
  if (Array.isArray(restore) && restore.length === 0) lines.push('', 'Nothing is there to restore by hand.');
  if (Array.isArray(restore) && restore.length > 0) {
    lines.push('', 'To restore by hand:');
    for (const line of restore) lines.push(...commandLines(String(line), 2, terminal));
  }
  return `${lines.join('\n')}\n`;
}

export function conversationView(parts: readonly ConversationPart[], { paint }: Terminal): string {
  const lines = parts.flatMap(({ digest, messages }) =>
    messages === null
      ? [paint.dim(`--- artifact ${digest} is gone`), '']
      : messages.flatMap((message) => [
          paint.bold(`--- ${visibleLine(messageHead(message))}`),
          ...messageTexts(message).map(visibleLines),
          '',
        ]),
  );
  return `${lines.join('\n')}\n`;
}
