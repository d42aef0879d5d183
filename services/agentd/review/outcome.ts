import type { ActionState } from '../runs/run.ts';
import { type Html, html, nothing } from './html.ts';
import { shownLine, shownText } from './visible-text.ts';

/** What came of an action, and a link to what it made. */
export function outcomeOf({ outcome, state, definition, approval }: ActionState): Html {
  const waits = state === 'refused' && approval === 'required' && outcome?.code === 'approval_required';
  if (outcome === null || waits) return nothing;
  const tone = state === 'succeeded' ? 'good' : state === 'undone' ? 'warn' : 'bad';
  const url = outcome.facts.url;
  return html`<div class="notice ${tone}">
<p class="multi">${shownText(outcome.message)}</p>
${typeof url === 'string' && isWebAddress(url) ? html`<p><a href="${url}" rel="noopener noreferrer nofollow" target="_blank" data-result="${definition.kind}">${shownLine(url)}</a></p>` : nothing}
${outcome.code === undefined ? nothing : html`<p class="faint">${outcome.code}</p>`}
</div>`;
}

export function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}
