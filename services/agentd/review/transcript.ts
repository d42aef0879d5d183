import { codeOf } from '#kit/errors.ts';
import { type Artifacts, conversationOf, messageHead, messageTexts } from '../runs/conversation.ts';
import type { Run } from '../runs/run.ts';
import { type Html, html, nothing } from './html.ts';
import { shownLine, shownText } from './visible-text.ts';

/** What the planner was sent and answered, and what it cost. */
export async function transcriptPart(artifacts: Artifacts, run: Run): Promise<Html> {
  const conversation = await conversationOf(artifacts, run).catch((error) => {
    if (codeOf(error) === 'no_prompt') return null;
    throw error;
  });
  if (conversation === null)
    return html`<p class="empty">No model was asked: the planner ${run.request.planner} needs none.</p>`;
  return html`${costs(run)}${conversation.map(({ digest, messages }) =>
    messages === null
      ? html`<p class="faint">Artifact ${digest.slice(0, 12)} was deleted.</p>`
      : messages.map(
          (message) =>
            html`<details class="message" ${message.role === 'system' ? nothing : html`open`}><summary>${shownLine(messageHead(message))}</summary>${messageTexts(
              message,
            ).map((text) => html`<pre class="text" tabindex="0">${shownText(text)}</pre>`)}</details>`,
        ),
  )}`;
}

function costs({ usage, turns, agent }: Run): Html {
  const rows: [string, Html][] = [
    ...(usage === null
      ? []
      : [
          ['model', html`${shownLine(usage.model)} of ${shownLine(usage.provider)}`] as [string, Html],
          [
            'tokens',
            html`${usage.input_tokens} in, ${usage.cached_tokens} of them cached, ${usage.output_tokens} out`,
          ] as [string, Html],
          ['cost', html`${usage.cost === null ? 'unknown' : `$${usage.cost.toFixed(4)}`}`] as [string, Html],
        ]),
    ['turns', html`${agent?.turns ?? turns.length}`],
    ...(agent === null
      ? []
      : [
          [
            'agent',
            html`${shownLine(agent.started.agent)}, ${Math.round(agent.seconds_before + agent.seconds)} s`,
          ] as [string, Html],
        ]),
  ];
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`;
}
