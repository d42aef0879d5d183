import type { OutcomeRecord } from '#kit/contracts/context/execution.ts';
import { counted } from '#kit/counted.ts';
import { subjectOf } from '#kit/repository-name.ts';
import type { RunEvent } from '../runs/event.ts';
import type { Run } from '../runs/run.ts';
import { wireLine, wireText } from './run-records.ts';

type Episode = OutcomeRecord['episodes'][number];

const itself = 'core';

/** What happened to a run, one sentence for each event that people care about. Nothing of what outsiders wrote is in it. */
export function episodesOf(run: Run, events: readonly RunEvent[]): Episode[] {
  return byDecision(events).flatMap((together): Episode[] => {
    const event = together[0]!;
    const said = sentence(run, event, together);
    if (said === null) return [];
    const speaker = wireLine(said.by) || itself;
    return [{ seq: event.seq, at: event.at, speaker, text: wireText(said.text, 9_000) }];
  });
}

/** Events alone, but what one person decided at one moment for one reason together. */
function byDecision(events: readonly RunEvent[]): RunEvent[][] {
  const groups: RunEvent[][] = [];
  for (const event of events) {
    const last = groups.at(-1);
    if (last !== undefined && decisionOf(event) !== null && decisionOf(event) === decisionOf(last[0]!))
      last.push(event);
    else groups.push([event]);
  }
  return groups;
}

function decisionOf(event: RunEvent): string | null {
  if (event.type !== 'approval_recorded') return null;
  const { approver, at, decision, reason } = event.data.approval;
  return JSON.stringify([approver, at, decision, reason]);
}

function sentence(
  run: Run,
  event: RunEvent,
  together: readonly RunEvent[],
): { readonly by: string; readonly text: string } | null {
  const core = (text: string) => ({ by: itself, text });
  const action = (actionId: string): string => {
    const found = run.actions.find(({ definition }) => definition.action_id === actionId)?.definition;
    return found === undefined ? actionId : `${found.ordinal} ${found.kind}`;
  };
  const subject = subjectOf(run.request);
  switch (event.type) {
    case 'source_read': {
      const { base_branch, base_commit } = event.data;
      return core(`read ${subject}; base ${base_branch} at ${base_commit.slice(0, 12)}`);
    }
    case 'plan_sealed': {
      const kinds = run.actions.map(({ definition }) => definition.kind).join(', ');
      return core(`planned ${subject} as ${run.request.role}: ${kinds}`);
    }
    case 'planning_failed':
      return core(`planning failed: ${event.data.message}`);
    case 'approval_recorded': {
      const { approval } = event.data;
      const what = together.flatMap(({ type, data }) =>
        type === 'approval_recorded' ? [action(data.action_id)] : [],
      );
      const did = approval.decision === 'approve' ? 'approved' : 'rejected';
      const why = approval.reason === null ? '' : `: ${approval.reason}`;
      return { by: approval.approver, text: `${did} ${what.join(', ')}${why}` };
    }
    case 'execution_started': {
      const { by, kind, dry_run, selected } = event.data;
      const what = dry_run ? 'made a dry run of' : kind === 'resume' ? 'resumed' : 'executed';
      return { by, text: `${what} ${counted(selected.length, 'action')}` };
    }
    case 'action_refused':
      return core(`${action(event.data.action_id)} was ${event.data.state}: ${event.data.outcome.message}`);
    case 'action_result': {
      const { action_id, state, rehearsal, outcome } = event.data;
      return core(`${action(action_id)} ${state}${rehearsal ? ' in a dry run' : ''}: ${outcome.message}`);
    }
    case 'execution_finished':
      return core(`execution ended: ${event.data.message}`);
    case 'cancel_requested': {
      const { by, reason } = event.data;
      return { by, text: `asked to cancel${reason === null ? '' : `: ${reason}`}` };
    }
    case 'run_cancelled':
      return core(`cancelled: ${event.data.message}`);
    case 'run_superseded':
      return core(`run ${event.data.by_run} takes its place`);
    case 'undo_started':
      return { by: event.data.by, text: 'began to undo the run' };
    case 'undo_result':
      return core(`undo of ${action(event.data.action_id)}: ${event.data.state}, ${event.data.message}`);
    case 'undo_finished':
      return core(`undo ended: ${event.data.message}`);
    case 'pull_request_seen': {
      const { number: pull, state, checks, failed_checks } = event.data;
      const failed = failed_checks.length === 0 ? '' : ` (${failed_checks.join(', ')})`;
      return core(
        `pull request #${pull} is ${state}${checks === 'none' ? '' : `, checks ${checks}${failed}`}`,
      );
    }
    default:
      return null;
  }
}
