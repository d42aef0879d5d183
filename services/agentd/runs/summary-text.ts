import { recoveryManifest } from './recovery-manifest.ts';
import type { Run } from './run.ts';

/** `summary.md`: the run on one page. */
export function summaryText(run: Run): string {
  const { owner, repo, number, role } = run.request;
  const { pull_request, commit, branch } = recoveryManifest(run);
  const facts: [string, string | null][] = [
    ['Status', run.status.replaceAll('_', ' ')],
    ['Role', role],
    ['Base', run.source === null ? null : `${run.source.base_branch} at ${run.source.base_commit}`],
    ['Branch', branch],
    ['Commit', commit],
    [
      'Pull request',
      pull_request === null ? null : `#${pull_request.number} ${pull_request.url ?? ''}`.trim(),
    ],
    ['Failure', run.failure === null ? null : `${run.failure.message} (${run.failure.code})`],
  ];
  const lines = [
    `# ${owner}/${repo}#${number} ${inline(run.issue?.title ?? '')}`.trimEnd(),
    '',
    ...facts.filter(([, value]) => value !== null).map(([name, value]) => `- ${name}: ${inline(value!)}`),
    '',
  ];
  if (run.actions.length > 0) {
    lines.push('| # | Action | Risk | Approval | State | Outcome |', '|---|---|---|---|---|---|');
    for (const { definition, approval, decision, state, outcome } of run.actions) {
      const by = decision === null ? approval : `${approval} by ${decision.approver}`;
      const cells = [
        `${definition.ordinal}`,
        `${definition.kind}: ${definition.title}`,
        `${definition.risk} ${definition.risk_score}`,
        by,
        state,
        outcome?.message ?? '',
      ];
      lines.push(`| ${cells.map(inline).join(' | ')} |`);
    }
    lines.push('');
  }
  lines.push(`${run.run_id}, as of event ${run.head.seq} (${run.head.hash}), ${run.updated_at}.`, '');
  return lines.join('\n');
}

/** Text from outside stays on its line and in its cell. */
function inline(text: string): string {
  return text.replace(/\s+/g, ' ').replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
