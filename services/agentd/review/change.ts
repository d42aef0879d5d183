import type { CoreAgent } from '../core-agent.ts';
import type { Run } from '../runs/run.ts';
import { type Html, html, nothing } from './html.ts';
import { shownText } from './visible-text.ts';

/** Bytes of a patch that stand on the run's page; of a longer one the page has a link. */
const maxBytes = 400_000;

/** The patch of a run, exactly as it would be applied. */
export async function changePart(agent: Pick<CoreAgent, 'diff'>, run: Run): Promise<Html> {
  if (run.plan?.patch == null) return nothing;
  const patch = await agent.diff(run.run_id);
  const link = html`<a href="/runs/${run.run_id}/change">the whole of it, as plain text</a>`;
  if (patch.length > maxBytes)
    return html`<h4>The change</h4><p>${Math.round(patch.length / 1024)} KiB: ${link}</p>`;
  return html`<h4>The change, exactly as it would be applied</h4>
<pre class="text change" tabindex="0" aria-label="The change" id="change-${run.plan.patch.slice(0, 12)}" hx-morph-skip>${patchLines(patch)}</pre>`;
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
