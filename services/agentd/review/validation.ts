import { duration } from '#kit/cli/moments.ts';
import { ValidationReport } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf } from '#kit/errors.ts';
import type { Artifacts } from '../runs/conversation.ts';
import { actionOfKind, type Run } from '../runs/run.ts';
import { badge } from './badges.ts';
import { type Html, html, nothing } from './html.ts';
import { shownLine, shownText } from './visible-text.ts';

/** Characters of the end of a failed step's log that stand on the run's page. */
const logEnd = 6_000;

/** The steps of the validation with their results; while it runs, the place where its output comes. */
export async function validationPart(artifacts: Artifacts, run: Run): Promise<Html> {
  const action = actionOfKind(run, 'run_validation');
  if (action === undefined) return nothing;
  if (action.state === 'running')
    return html`<h4>What it says</h4><pre class="text output" data-output hx-morph-skip id="output" tabindex="0" aria-label="Output of the validation"></pre>`;
  const report = action.outcome?.facts.report;
  if (typeof report !== 'string') return nothing;
  try {
    const read = async (digest: string) =>
      Buffer.from(await artifacts.artifact(run.run_id, digest)).toString('utf8');
    const { steps, sandbox, duration_ms } = decodeJson(
      ValidationReport,
      await read(report),
      `validation report ${report}`,
    );
    const failed = steps.find((step) => !succeeded(step));
    const log = failed === undefined ? null : await read(failed.log);
    return html`<h4>What it said</h4>
<div class="table-scroll" tabindex="0"><table class="steps"><thead><tr><th>Step</th><th>Result</th><th>Time</th><th>Log</th></tr></thead><tbody>${steps.map(
      (step) =>
        html`<tr><td><code>${shownLine(step.run)}</code></td><td>${result(step)}</td><td>${duration(step.duration_ms)}</td><td><a href="/runs/${run.run_id}/logs/${step.log}">log<span class="visually-hidden"> of ${shownLine(step.name)}</span></a></td></tr>`,
    )}</tbody></table></div>
<p class="faint">in ${sandbox}, ${duration(duration_ms)} altogether</p>
${log === null ? nothing : html`<pre class="text output from-end" tabindex="0" aria-label="End of the log"><span>${shownText(endOf(log))}</span></pre>`}`;
  } catch (error) {
    if (codeOf(error) !== 'artifact_not_found') throw error;
    return html`<p class="faint">Its report was deleted.</p>`;
  }
}

/** From the beginning of a line. */
function endOf(log: string): string {
  if (log.length <= logEnd) return log;
  const end = log.slice(-logEnd);
  return end.slice(end.indexOf('\n') + 1);
}

type Step = ValidationReport['steps'][number];

function succeeded({ exit_code, ended_by }: Step): boolean {
  return exit_code === 0 && ended_by === 'exit';
}

function result(step: Step): Html {
  if (succeeded(step)) return badge('good', 'passed');
  return badge('bad', step.ended_by === 'exit' ? `exit ${step.exit_code}` : step.ended_by);
}
