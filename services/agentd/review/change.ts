import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Run } from '../runs/run.ts';
import { type Diff, type DiffPlace, type DiffView, openDiff } from './diff/diffs.ts';
import { type Html, html, nothing } from './html.ts';
import { htmlReply, pageRoute, type Visit } from './page.ts';
import type { ReviewParts } from './review-parts.ts';
import { shownText } from './visible-text.ts';

/** The change of a run: its patch exactly as it would be applied. */

const View = t.union([t.literal('unified'), t.literal('split')]);
export const viewParameter = {
  view: {
    description: 'One column, or both sides beside each other',
    schema: { enum: ['unified', 'split'], default: 'unified' },
  },
};

/** Patches are taken apart once while several people read them. */
const maxOpen = 8;

/** Diffs of the runs that were looked at last, by the digest of their patch. */
export class Changes {
  readonly #agent: Pick<CoreAgent, 'diff'>;
  readonly #open = new Map<string, Promise<Diff>>();

  constructor(agent: Pick<CoreAgent, 'diff'>) {
    this.#agent = agent;
  }

  of(run_id: string, digest: string): Promise<Diff> {
    const known = this.#open.get(digest) ?? this.#agent.diff(run_id).then((patch) => openDiff(patch));
    this.#open.delete(digest);
    this.#open.set(digest, known);
    known.catch(() => this.#open.delete(digest));
    for (const old of [...this.#open.keys()].slice(0, -maxOpen)) this.#open.delete(old);
    return known;
  }
}

/** The diff, on the run's page. It stays as it is while other parts of the page change. */
export async function changePart(changes: Changes, { by, request }: Visit, run: Run): Promise<Html> {
  const digest = run.plan?.patch;
  if (digest == null) return nothing;
  const diff = await changes.of(run.run_id, digest);
  const view = viewOf(request.query.view);
  const content = await diff.page(placeOf(run.run_id), view, by.name);
  return html`<h4>The change, exactly as it would be applied</h4>
<div id="change-${digest.slice(0, 12)}" hx-morph-skip>${content}</div>`;
}

/** Parts of the diff that the browser asks for. */
export function changeRoutes(parts: ReviewParts, changes: Changes): Route[] {
  const number = (name: string) => ({ description: `${name}, a number`, schema: { type: 'integer' } });
  const digest = { description: 'sha256 of the patch', schema: { type: 'string' } };
  return [
    part(
      'rows',
      { ...viewParameter, from: number('First row'), end: number('Row behind the last') },
      (diff, place, { view, from, end }) => diff.rows(place, viewOf(view), numberOf(from), numberOf(end)),
    ),
    part(
      'row',
      { ...viewParameter, line: number('Line of the patch') },
      (diff, _, { view, line }) => html`${diff.rowOf(viewOf(view), numberOf(line))}`,
    ),
    part('line', { line: number('Line of the patch') }, (diff, place, { line }) =>
      diff.line(place, numberOf(line)),
    ),
  ];

  function part(
    name: string,
    query: Readonly<Record<string, { description: string; schema: Readonly<Record<string, unknown>> }>>,
    content: (diff: Diff, place: DiffPlace, query: Visit['request']['query']) => Html | Promise<Html>,
  ): Route {
    const facts = {
      path: `/runs/{run_id}/change/${name}`,
      summary: `Part of a run's change: ${name}`,
      query: { ...query, digest },
    };
    return pageRoute(parts, facts, async ({ request }) => {
      const run = await parts.agent.run(request.params.run_id!);
      const patch = run.plan?.patch;
      if (patch == null || request.query.digest !== patch)
        throw new InvalidInput(
          'invalid_input',
          `run ${run.run_id} has no patch ${request.query.digest ?? ''}`,
        );
      const diff = await changes.of(run.run_id, patch);
      return htmlReply(await content(diff, placeOf(run.run_id), request.query), 200, 'part');
    });
  }
}

function placeOf(run_id: string): DiffPlace {
  return {
    address: `/runs/${run_id}/change`,
    viewAddress: (view) => `/runs/${run_id}?view=${view}`,
    patchAddress: `/runs/${run_id}/change`,
  };
}

function viewOf(text: string | undefined): DiffView {
  return decode(View, text ?? 'unified', 'the view');
}

/** @throws InvalidInput */
function numberOf(text: string | undefined): number {
  if (text !== undefined && /^\d{1,9}$/.test(text)) return Number(text);
  throw new InvalidInput('invalid_input', `${JSON.stringify(text ?? '')} is not a number of a row or line`);
}

export function patchLines(patch: Uint8Array): Html {
  const lines = Buffer.from(patch).toString('utf8').replace(/\n$/, '').split('\n');
  return html`${lines.map((line) => html`<span class="${lineClass(line)}">${shownText(line)}\n</span>`)}`;
}

function lineClass(line: string): string {
  if (
    /^(diff |index |--- |\+\+\+ |new file|deleted file|similarity|rename|copy|old mode|new mode)/.test(line)
  )
    return 'meta';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'plus';
  return line.startsWith('-') ? 'minus' : 'same';
}
