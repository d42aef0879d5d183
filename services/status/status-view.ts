import { createColors } from 'picocolors';
import type { Display } from '#kit/cli/display.ts';
import { fitted } from '#kit/cli/fit-text.ts';
import { age } from '#kit/cli/moments.ts';
import { type Column, tableLines } from '#kit/cli/table.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import type { StatusReport } from '#kit/contracts/status.ts';
import { subjectOf } from '#kit/repository-name.ts';
import { nameOfPart, summaryOf } from './summary.ts';

export interface ViewOptions {
  readonly display: Display;
  readonly color: boolean;
  readonly now: Date;
  /** A text of Core with its own names as they are here. */
  named(text: string): string;
}

type Word =
  | 'ok'
  | 'standby'
  | 'degraded'
  | 'off'
  | 'away'
  | 'silent'
  | 'starting'
  | 'waiting'
  | 'stopped'
  | 'failed';

/** The report for people: a line for each part, the newest runs, and last what is not well and what to do. */
export function statusView(report: StatusReport, { display, color, now, named }: ViewOptions): string {
  const { green, yellow, red, dim } = createColors(color);
  const paints: Readonly<Record<Word, (text: string) => string>> = {
    ok: green,
    standby: green,
    degraded: yellow,
    off: dim,
    away: red,
    silent: red,
    starting: yellow,
    waiting: yellow,
    stopped: red,
    failed: red,
  };
  const names = new Set([...Object.keys(report.services), ...Object.keys(report.http)]);
  const parts = [...names].flatMap((name) => [
    { name, ...partOf(name, report) },
    ...(isApart(name, report)
      ? [{ name: `${name} here`, ...partOf(name, { ...report, http: report.here }) }]
      : []),
  ]);
  // The line of a degraded service says why it is.
  const degraded = parts.filter(({ word }) => word === 'degraded').map(({ name }) => name);
  const warnings = report.warnings.filter(
    ({ part, fix }) => fix !== null || !degraded.includes(nameOfPart(part)),
  );
  const rows = parts.map(({ name, word, detail }) => [
    name,
    { text: word, paint: paints[word] },
    named(detail),
  ]);
  const lines = [
    ...tableLines(partColumns, rows, display),
    ...(rows.length === 0 ? [] : ['']),
    ...runLines(report, display, now),
    '',
    ...named(summaryOf({ ...report, warnings })).split('\n'),
  ];
  return fitted(lines.join('\n'), display);
}

const partColumns: readonly Column[] = [
  { title: '' },
  { title: '' },
  { title: '', gives: { turn: 1, to: 20 }, excess: 'wrap' },
];

const runColumns: readonly Column[] = [
  { title: '' },
  { title: '' },
  { title: '', gives: { turn: 2, to: 14 }, excess: 'cutStart' },
  { title: '', gives: { turn: 3, to: 'gone' } },
  { title: '', gives: { turn: 1, to: 12 } },
];

/** Whether the service of this host needs a line of its own, as what clients reach says nothing of it. */
function isApart(name: string, { services, http, here }: StatusReport): boolean {
  const unit = services[name];
  if (name in here) return true;
  return http[name]?.ok === true && unit?.required === true && !unit.ok;
}

function partOf(
  name: string,
  { services, http }: Pick<StatusReport, 'services' | 'http'>,
): {
  word: Word;
  detail: string;
} {
  const unit = services[name];
  const endpoint = http[name];
  if (unit?.state === 'left_out') return { word: 'off', detail: unit.detail };
  if (endpoint?.ok === true) {
    const status = endpoint.health?.status ?? 'ok';
    if (status === 'ok') return { word: 'ok', detail: placeOf(endpoint.url) };
    return status === 'standby'
      ? { word: 'standby', detail: endpoint.detail.replace(/^standby; active: /, '') }
      : { word: 'degraded', detail: endpoint.detail.replace(/^degraded; /, '') };
  }
  const required = endpoint?.required ?? unit?.required ?? false;
  const hasProblem = unit !== undefined && !unit.ok && unit.state !== 'unknown';
  const detail = hasProblem ? unit.detail : (endpoint?.detail ?? unit?.detail ?? '');
  if (!required) return { word: 'off', detail };
  switch (unit?.state) {
    case 'starting':
    case 'waiting':
    case 'stopped':
    case 'failed':
      return { word: unit.state, detail };
    case 'running':
      if (endpoint === undefined) return { word: 'ok', detail };
      return { word: endpoint.status === null ? 'silent' : 'failed', detail: endpoint.detail };
    default:
      return { word: 'away', detail };
  }
}

function placeOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function runLines({ storage, latest_runs }: StatusReport, display: Display, now: Date): string[] {
  const { runs_count, detail } = storage;
  if (runs_count === null) return [`runs  unknown: ${visibleLine(detail)}`];
  const source = detail.startsWith('readable') ? detail.slice('readable'.length) : `; ${detail}`;
  const newest =
    latest_runs.length === runs_count || runs_count === 0 ? '' : `, the newest ${latest_runs.length}`;
  const rows = latest_runs.map(({ run_id, status, waits_for, updated_at, title, ...subject }) => [
    run_id.slice(0, 'run_'.length + 13),
    waits_for === null ? status : `${waits_for} waits`,
    subjectOf(subject),
    age(updated_at, now),
    title ?? '',
  ]);
  return [
    `runs  ${runs_count}${newest}${visibleLine(source)}`,
    ...tableLines(runColumns, rows, display, { indent: 2 }),
  ];
}
