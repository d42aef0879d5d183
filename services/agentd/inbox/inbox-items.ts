import type { InboxItem, InboxKind } from '#kit/contracts/inbox.ts';
import { patchAuthorText } from '#kit/contracts/patch-author.ts';
import type { Scope } from '#kit/tokens/token.ts';
import type { ApprovalsNow } from '../approval/current.ts';
import { personOf } from '../approval/people.ts';
import { approvalEnd, whyOfNoUse } from '../approval/progress.ts';
import { draftOf, type JudgedAction, type JudgedRun, summaryOf } from '../runs/run.ts';
import { whatIsOpen } from '../runs/what-is-open.ts';

/** Scope that a token needs to handle an item. */
export const neededScope: Readonly<Record<InboxKind, Scope>> = {
  approval: 'approve',
  lapsed: 'approve',
  execution: 'execute',
  validation: 'plan',
  outcome: 'execute',
  interrupted: 'execute',
  draft: 'plan',
  planning: 'plan',
};

/** Items of a run that wait for people: at most one task and one decision. */
export function inboxItems(
  run: JudgedRun,
  current: Omit<ApprovalsNow, 'signatures'>,
  now: Date,
): InboxItem[] {
  const { run_id, forge, owner, repo, number, title, highest_risk, status, updated_at } = summaryOf(run);
  const about = { run_id, status, forge, owner, repo, number, title, highest_risk, since: updated_at };
  const item = (
    kind: InboxKind,
    moment: string | null | undefined,
    text: string,
    ...command: string[]
  ): InboxItem => ({
    ...about,
    id: [run_id, kind, moment ?? ''].join(' ').trim(),
    kind,
    gate: null,
    text,
    people: null,
    command,
  });
  if (['planning', 'executing', 'cancelled', 'rejected', 'superseded', 'completed'].includes(status))
    return [];
  if (run.undo !== null)
    return run.undo.complete
      ? []
      : [
          item(
            'outcome',
            `undo ${run.undo.undo_id}`,
            'its undo did not take back everything',
            'undo',
            run_id,
          ),
        ];
  if (status === 'interrupted')
    return [
      item(
        'interrupted',
        updated_at,
        `was cut off while ${run.plan === null ? 'planning' : 'executing'}`,
        'resume',
        run_id,
      ),
    ];
  if (run.plan === null)
    return draftOf(run) === null
      ? [
          item(
            'planning',
            updated_at,
            `planning failed: ${run.failure?.message ?? 'nobody knows why'}`,
            'show',
            run_id,
          ),
        ]
      : [item('draft', updated_at, 'an agent was stopped and left a draft', 'diff', run_id, '--draft')];

  const { ready, stuck, waiting } = whatIsOpen(run, now);
  const done = [...toBeDone(run, ready, stuck, item)];
  const decided = waiting.filter(
    // Actions of later gates are decided after the execution.
    ({ definition }) => ready.length === 0 || ready.some((one) => one.definition.gate === definition.gate),
  );
  const [first] = decided;
  if (first === undefined) return done;
  const { gate } = first.definition;
  const ofGate = decided.filter(({ definition }) => definition.gate === gate);
  const lapsed = ofGate.every(({ approval }) => approval === 'approved');
  const kind = lapsed ? 'lapsed' : 'approval';
  const at = now.toISOString() > updated_at ? now.toISOString() : updated_at;
  const texts = [...new Set(ofGate.flatMap((one) => one.progress?.text ?? []))];
  const why = [...new Set(ofGate.flatMap((one) => one.approval_problem?.message ?? []))];
  const by = patchAuthorText(run.plan);
  const end = approvalEnd(first);
  // An approval that no longer counts for another reason ended before its expiry.
  const since = lapsed && end !== null && end <= at ? end : updated_at;
  const text = `${ofGate.length} ${ofGate.length === 1 ? 'action' : 'actions'} of the ${gate} gate${[...texts, ...why].length === 0 ? '' : `: ${[...texts, ...why].join('; ')}`}${by === null ? '' : `; ${by}`}`;
  return [
    ...done,
    {
      ...item(kind, lapsed ? `${gate} ${since}` : gate, text, 'approve', run_id, '--gate', gate),
      gate,
      since,
      people: whoMayDecide(ofGate, current, at),
    },
  ];
}

function* toBeDone(
  { run_id, actions }: JudgedRun,
  ready: readonly JudgedAction[],
  stuck: readonly JudgedAction[],
  item: (kind: InboxKind, moment: string | null | undefined, text: string, ...command: string[]) => InboxItem,
): Generator<InboxItem> {
  const named = ({ definition: { ordinal, kind } }: JudgedAction) => `${ordinal} ${kind}`;
  const failed = actions.find(({ outcome }) => outcome?.code === 'validation_failed');
  const open = ready.find(({ state }) => ['failed', 'unknown', 'refused'].includes(state)) ?? stuck[0];
  if (failed !== undefined)
    yield item(
      'validation',
      failed.finished_at,
      `${named(failed)} failed: ${failed.outcome!.message}`,
      'show',
      run_id,
    );
  else if (open !== undefined) {
    const state = open.state === 'unknown' ? 'ended with an unknown outcome' : `was ${open.state}`;
    const how = open.state === 'failed' ? 'failed' : state;
    const moment = `${named(open)} ${open.finished_at ?? open.started_at}`;
    yield item(
      'outcome',
      moment,
      `${named(open)} ${how}: ${open.outcome?.message ?? 'cut off'}`,
      'show',
      run_id,
    );
  } else if (ready.length > 0) {
    const count = `${ready.length} approved ${ready.length === 1 ? 'action' : 'actions'}`;
    yield item('execution', null, `${count} not executed`, 'execute-approved', '--run-id', run_id);
  }
}

/** People whose approval counts for any of these actions; null if an action has no rules. */
function whoMayDecide(
  actions: readonly JudgedAction[],
  current: Omit<ApprovalsNow, 'signatures'>,
  at: string,
): string[] | null {
  const { people } = current.policy;
  if (actions.some(({ terms }) => terms === null)) return null;
  return Object.keys(people).filter((name) => {
    const somebody = personOf(people, name);
    return (
      somebody !== null &&
      actions.some(
        ({ terms, definition: { digest }, counted }) =>
          terms !== null &&
          whyOfNoUse({ terms, digest }, counted, at, { ...somebody, signed: true }) === null,
      )
    );
  });
}
