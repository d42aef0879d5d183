import { subjectOf } from '#kit/repository-name.ts';
import type { JudgedAction, JudgedRun } from '../runs/run.ts';
import { isLapsed, isUnread } from '../runs/what-is-open.ts';
import { type Html, html, nothing } from './html.ts';
import { plainLine } from './visible-text.ts';

/** The execution graph as a picture: what led to the run, the run, its actions in their order, and what came of each. */

interface Node {
  readonly id: string;
  readonly kind: 'issue' | 'memory' | 'file' | 'run' | 'action' | 'outcome';
  readonly title: string;
  readonly note: string;
  readonly tone: string;
  readonly column: number;
}

type Edge = readonly [from: string, to: string];

const size = { width: 210, height: 46, across: 254, down: 66, margin: 16 };
const maxSources = 8;
/** Wide letters are cut off at the edge of the box besides. */
const maxTitle = 22;
const maxNote = 30;

export function graphPart(run: JudgedRun): Html {
  const nodes = nodesOf(run);
  const edges = edgesOf(run, nodes);
  const places = layOut(nodes);
  const width =
    Math.max(...nodes.map(({ column }) => column + 1)) * size.across -
    (size.across - size.width) +
    2 * size.margin;
  const height = Math.max(...[...places.values()].map(({ y }) => y)) + size.height + size.margin;
  return html`<p class="faint">What led to the run, its actions with what each builds on, and what came of them.</p>
<div class="graph" tabindex="0" role="region" aria-label="The execution graph">
<svg width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="graph-title">
<title id="graph-title">${nodes.length} nodes; the list below says the same</title>
${edges.map(([from, to]) => edgePath(places.get(from)!, places.get(to)!))}
${nodes.map((node) => nodeBox(node, places.get(node.id)!))}
</svg></div>
<details><summary>The same as a list</summary><ul>${edges.map(([from, to]) => {
    const name = (id: string) => plainLine(nodes.find((node) => node.id === id)!.title);
    return html`<li>${name(from)} → ${name(to)}</li>`;
  })}</ul></details>`;
}

function nodesOf(run: JudgedRun): Node[] {
  const context = run.plan?.context ?? [];
  const memories = context.filter(({ layer }) => layer !== 'graph');
  const files = context.filter(({ layer }) => layer === 'graph');
  return [
    {
      id: 'issue',
      kind: 'issue',
      title: subjectOf(run.request),
      note: run.issue?.title ?? 'not read yet',
      tone: 'plain',
      column: 0,
    },
    ...sources('memory', memories),
    ...sources('file', files),
    {
      id: 'run',
      kind: 'run',
      title: run.run_id.slice(0, 17),
      note: run.status.replaceAll('_', ' '),
      tone: run.status === 'completed' ? 'good' : run.status === 'failed' ? 'bad' : 'plain',
      column: 1,
    },
    ...run.actions.map(actionNode),
    ...run.actions.flatMap(outcomeNode),
  ];
}

function sources(
  kind: 'memory' | 'file',
  used: NonNullable<NonNullable<JudgedRun['plan']>['context']>,
): Node[] {
  const shown = used.slice(0, maxSources).map(
    ({ source, title, layer }, index): Node => ({
      id: `${kind}-${index}`,
      kind,
      title: title === '' ? source : title,
      note: kind === 'file' ? 'file' : `${layer} memory`,
      tone: 'dim',
      column: 0,
    }),
  );
  const more = used.length - shown.length;
  if (more <= 0) return shown;
  return [...shown, { id: `${kind}-more`, kind, title: `${more} more`, note: '', tone: 'dim', column: 0 }];
}

function approvalWord(action: JudgedAction): string {
  if (isLapsed(action, new Date())) return 'approval lapsed';
  return isUnread(action) ? 'approval unknown' : action.approval;
}

function actionNode(action: JudgedAction): Node {
  const { action_id, ordinal, kind } = action.definition;
  const tones: Readonly<Record<string, string>> = {
    succeeded: 'good',
    failed: 'bad',
    running: 'live',
    unknown: 'warn',
  };
  return {
    id: action_id,
    kind: 'action',
    title: `${ordinal} ${kind}`,
    note: action.state === 'pending' ? approvalWord(action) : action.state,
    tone: action.approval === 'rejected' ? 'bad' : (tones[action.state] ?? 'plain'),
    column: 2,
  };
}

function outcomeNode({ definition, outcome, state }: JudgedAction): Node[] {
  if (outcome === null || state === 'pending') return [];
  return [
    {
      id: `${definition.action_id}-outcome`,
      kind: 'outcome',
      title: outcome.message.split('\n')[0]!,
      note: outcome.code ?? state,
      tone: state === 'succeeded' ? 'good' : state === 'failed' ? 'bad' : 'warn',
      column: 3,
    },
  ];
}

/** Only between nodes that are there; an action without a predecessor comes from the run. */
function edgesOf(run: JudgedRun, nodes: readonly Node[]): Edge[] {
  const known = new Set(nodes.map(({ id }) => id));
  const led = nodes.filter(({ column }) => column === 0).map(({ id }): Edge => [id, 'run']);
  const built = run.actions.flatMap(({ definition: { action_id, depends_on } }): Edge[] => {
    const direct = depends_on.filter((id) => known.has(id) && !isReachedOtherwise(id, depends_on, run));
    return direct.length === 0 ? [['run', action_id]] : direct.map((id): Edge => [id, action_id]);
  });
  const ended = run.actions
    .map(({ definition: { action_id } }): Edge => [action_id, `${action_id}-outcome`])
    .filter(([, to]) => known.has(to));
  return [...led, ...built, ...ended];
}

/** Whether another of these builds on it already, so that a line of its own says nothing. */
function isReachedOtherwise(id: string, others: readonly string[], run: JudgedRun): boolean {
  return run.actions.some(
    ({ definition }) => others.includes(definition.action_id) && definition.depends_on.includes(id),
  );
}

interface Place {
  readonly x: number;
  readonly y: number;
}

/** Columns from left to right; within one, from top to bottom. An outcome stands beside its action. */
function layOut(nodes: readonly Node[]): Map<string, Place> {
  const places = new Map<string, Place>();
  const rows = new Map<number, number>();
  for (const { id, column } of nodes) {
    const beside = places.get(id.replace(/-outcome$/, ''));
    const row = rows.get(column) ?? 0;
    rows.set(column, row + 1);
    places.set(id, { x: size.margin + column * size.across, y: beside?.y ?? size.margin + row * size.down });
  }
  return places;
}

function nodeBox({ kind, title, note, tone }: Node, { x, y }: Place): Html {
  const shown = plainLine(title);
  const cut = shown.length > maxTitle ? `${shown.slice(0, maxTitle - 1)}…` : shown;
  const shownNote = plainLine(note);
  return html`<g class="node ${kind} ${tone}"><title>${shown}${shownNote === '' ? nothing : html`: ${shownNote}`}</title>
<rect x="${x}" y="${y}" width="${size.width}" height="${size.height}" rx="8"/>
<svg x="${x}" y="${y}" width="${size.width - 6}" height="${size.height}"><text x="12" y="20">${cut}</text>
<text class="note" x="12" y="36">${shownNote.length > maxNote ? `${shownNote.slice(0, maxNote - 1)}…` : shownNote}</text></svg></g>`;
}

/** To the right, or within a column: straight down to the next, around what stands between. */
function edgePath(from: Place, to: Place): Html {
  if (from.x !== to.x) {
    const start = { x: from.x + size.width, y: from.y + size.height / 2 };
    const end = { x: to.x, y: to.y + size.height / 2 };
    const middle = (start.x + end.x) / 2;
    return html`<path class="edge" d="M${start.x} ${start.y}C${middle} ${start.y} ${middle} ${end.y} ${end.x} ${end.y}"/>`;
  }
  const x = from.x + 24;
  if (to.y - from.y <= size.down) return html`<path class="edge" d="M${x} ${from.y + size.height}V${to.y}"/>`;
  const side = from.x + size.width;
  const [begin, end] = [from.y + size.height / 2, to.y + size.height / 2];
  return html`<path class="edge" d="M${side} ${begin}C${side + 36} ${begin} ${side + 36} ${end} ${side} ${end}"/>`;
}
