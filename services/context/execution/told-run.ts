import type { OutcomeRecord, PlanRecord } from '#kit/contracts/context/execution.ts';
import { type FieldError, InvalidInput } from '#kit/errors.ts';
import { Redactor } from '#kit/redaction.ts';

const redactor = new Redactor();

/**
 * A plan as it is kept: secrets are masked.
 * @throws InvalidInput with a pointer to each action whose id or place another one has
 */
export function toldPlan(plan: PlanRecord): PlanRecord {
  refuse('the plan', [
    ...repeated(plan.actions, 'action_id', ({ action_id }) => action_id),
    ...repeated(plan.actions, 'ordinal', ({ ordinal }) => ordinal),
  ]);
  return redactor.redactDeep(plan);
}

/**
 * An outcome as it is kept: secrets are masked.
 * @throws InvalidInput with a pointer to each action that is told twice
 */
export function toldOutcome(outcome: OutcomeRecord): OutcomeRecord {
  refuse(
    'the outcome',
    repeated(outcome.actions, 'action_id', ({ action_id }) => action_id),
  );
  return redactor.redactDeep(outcome);
}

function repeated<A>(
  actions: readonly A[],
  member: string,
  of: (action: A) => string | number,
): FieldError[] {
  const first = new Map<string | number, number>();
  return actions.flatMap((action, index): FieldError[] => {
    const value = of(action);
    const before = first.get(value);
    if (before === undefined) {
      first.set(value, index);
      return [];
    }
    const detail = `is ${JSON.stringify(value)}, as in /actions/${before}: must be one action's alone`;
    return [{ pointer: `/actions/${index}/${member}`, detail }];
  });
}

function refuse(what: string, errors: readonly FieldError[]): void {
  const [first] = errors;
  if (first === undefined) return;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  throw new InvalidInput('invalid_input', `${what}: ${first.pointer} ${first.detail}${more}`, { errors });
}
