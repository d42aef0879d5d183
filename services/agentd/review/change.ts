import * as t from 'io-ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import { draftOf, type Run } from '../runs/run.ts';
import { type Diff, type DiffPlace, type DiffView, openDiff } from './diff/diffs.ts';
import { type Html, html, nothing } from './html.ts';
import { htmlReply, pageRoute, type Visit } from './page.ts';
import type { ReviewParts } from './review-parts.ts';

/** The change of a run: its patch exactly as it would be applied. */

const View = t.union([t.literal('unified'), t.literal('split')]);
export const viewParameter = {
  view: {
    description: 'One column, or both sides beside each other',
    schema: { type: 'string', enum: ['unified', 'split'], default: 'unified' },
  },
};

/** Bytes of all patches together that stay taken apart while people read them; the last one stays whatever its size. */
const maxOpenBytes = 32 * 1024 * 1024;

/** Diffs of the runs that were looked at last, by the digest of their patch. */
export class Changes {
  readonly #read: (runId: string, digest: string) => Promise<Uint8Array>;
  readonly #maxBytes: number;
  readonly #open = new Map<string, { readonly diff: Promise<Diff>; bytes: number }>();

  constructor(
    agent: { artifact(runId: string, digest: string): Promise<Uint8Array> },
    maxBytes = maxOpenBytes,
  ) {
    this.#read = (runId, digest) => agent.artifact(runId, digest);
    this.#maxBytes = maxBytes;
  }

  of(run_id: string, digest: string): Promise<Diff> {
    const known = this.#open.get(digest) ?? this.#opened(run_id, digest);
    this.#open.delete(digest);
    this.#open.set(digest, known);
    return known.diff;
  }

  /** Patches that are taken apart, the one that was read last at the end. */
  get open(): readonly string[] {
    return [...this.#open.keys()];
  }

  #opened(run_id: string, digest: string) {
    const entry = { diff: this.#read(run_id, digest).then((patch) => open(patch)), bytes: 0 };
    const open = (patch: Uint8Array): Diff => {
      entry.bytes = patch.byteLength;
      this.#close();
      return openDiff(patch);
    };
    entry.diff.catch(() => this.#open.delete(digest));
    return entry;
  }

  #close(): void {
    let bytes = [...this.#open.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const [digest, entry] of [...this.#open].slice(0, -1)) {
      if (bytes <= this.#maxBytes) return;
      this.#open.delete(digest);
      bytes -= entry.bytes;
    }
  }
}

/** The diff, on the run's page. It stays as it is while other parts of the page change. */
export async function changePart(changes: Changes, { by, request }: Visit, run: Run): Promise<Html> {
  const digest = run.plan?.patch;
  if (digest == null) return nothing;
  const diff = await changes.of(run.run_id, digest);
  const view = viewOf(request.query.view);
  const content = await diff.page(placeOf(run, ''), view, by.name);
  return html`<h4>The change, exactly as it would be applied</h4>
<div id="change-${digest.slice(0, 12)}" hx-morph-skip>${content}</div>`;
}

/** The same diff of what a stopped agent left. @throws NotFound (`no_draft`) */
export async function draftPart(
  { agent }: Pick<ReviewParts, 'agent'>,
  changes: Changes,
  { by, request }: Visit,
  run: Run,
): Promise<Html> {
  const digest = draftOf(run);
  // Throws, with the reason why there is none.
  if (digest === null) await agent.draft(run.run_id);
  const diff = await changes.of(run.run_id, digest!);
  const content = await diff.page(placeOf(run, '/draft'), viewOf(request.query.view), by.name);
  return html`<h2>Draft: not proposed</h2>
${content}`;
}

/** Parts of the diff that the browser asks for. */
export function changeRoutes(parts: ReviewParts, changes: Changes): Route[] {
  const number = (name: string) => ({ description: `${name}, a number`, schema: { type: 'integer' } });
  const digest = { description: 'sha256 of the patch', schema: { type: 'string' } };
  const baseFile = (run: Run) => (path: string) => parts.agent.baseFile(run.run_id, path);
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
    part(
      'find',
      { ...viewParameter, text: { description: 'What is searched for', schema: { type: 'string' } } },
      (diff, _, { view, text = '' }) => html`${diff.find(viewOf(view), text).join(' ')}`,
    ),
    part('line', { line: number('Line of the patch') }, (diff, place, { line }) =>
      diff.line(place, numberOf(line)),
    ),
    part(
      'base',
      {
        ...viewParameter,
        file: number('File of the patch'),
        from: number('First line before the change'),
        end: number('Line behind the last; left out: the end of the file'),
      },
      (diff, place, { view, file, from, end }, run) => {
        const gap = {
          file: numberOf(file),
          from: numberOf(from),
          end: end === undefined ? null : numberOf(end),
        };
        return diff.base(place, viewOf(view), gap, baseFile(run));
      },
    ),
  ];

  function part(
    name: string,
    query: Readonly<Record<string, { description: string; schema: Readonly<Record<string, unknown>> }>>,
    content: (
      diff: Diff,
      place: DiffPlace,
      query: Visit['request']['query'],
      run: Run,
    ) => Html | Promise<Html>,
  ): Route {
    const facts = {
      path: `/runs/{run_id}/change/${name}`,
      summary: `Part of a run's change: ${name}`,
      query: { ...query, digest },
    };
    return pageRoute(parts, facts, async ({ request }) => {
      const run = await parts.agent.run(request.params.run_id!);
      const patch = run.plan?.patch ?? draftOf(run);
      if (patch === null || request.query.digest !== patch)
        throw new InvalidInput(
          'invalid_input',
          `run ${run.run_id} has no patch ${request.query.digest ?? ''}`,
        );
      const diff = await changes.of(run.run_id, patch);
      return htmlReply(await content(diff, placeOf(run, ''), request.query, run), 200, 'part');
    });
  }
}

/** @param page where it is shown, below the run */
function placeOf({ run_id, plan }: Run, page: '' | '/draft'): DiffPlace {
  return {
    hasBase: plan !== null,
    address: `/runs/${run_id}/change`,
    viewAddress: (view) => `/runs/${run_id}${page}?view=${view}`,
    patchAddress: page === '' ? `/runs/${run_id}/change` : `/runs/${run_id}/draft/patch`,
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
