import type { CoreAgent } from '../core-agent.ts';
import type { Run } from '../runs/run.ts';
import { type Html, html, nothing } from './html.ts';
import { shownLine, shownText } from './visible-text.ts';

/** Where the change lies, and how to take it back by hand. */
export async function recoveryPart(agent: Pick<CoreAgent, 'recovery'>, run: Run): Promise<Html> {
  const { restore, ...manifest } = await agent.recovery(run.run_id);
  const lines = Array.isArray(restore) ? restore.map(String) : [];
  return html`<p>Where what this run made lies. It is also in the run's folder as <code>branch-recovery.json</code>.</p>
<dl class="facts">${Object.entries(manifest).map(
    ([name, value]) => html`<div><dt>${name.replaceAll('_', ' ')}</dt><dd>${manifestValue(value)}</dd></div>`,
  )}</dl>
${
  lines.length === 0
    ? nothing
    : html`<h2>To take it back by hand</h2>
<p>From the outside in; each refuses when the thing is not as the run left it. <em>Undo</em> does the same.</p>
<pre class="text" tabindex="0">${shownText(lines.join('\n'))}</pre>`
}`;
}

function manifestValue(value: unknown): Html {
  if (value === null || value === '' || (Array.isArray(value) && value.length === 0))
    return html`<span class="faint">none</span>`;
  if (Array.isArray(value))
    return html`<ul class="parts">${value.map((one) => html`<li>${manifestValue(one)}</li>`)}</ul>`;
  if (typeof value === 'object')
    return html`${Object.entries(value as object).map(([name, one]) => html`<span>${name.replaceAll('_', ' ')} ${manifestValue(one)}</span> `)}`;
  return html`<code>${shownLine(String(value))}</code>`;
}
