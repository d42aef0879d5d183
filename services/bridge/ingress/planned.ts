import type { NewEvent, Reason } from '../queue/stored-event.ts';
import type { RoleChoice } from '../targets/role-map.ts';
import type { FoundTarget } from '../targets/target.ts';

/** An event with what was found out about it; without a target, or a role that plans, it is one to skip. */
export function planned({
  found,
  choice,
  skip = null,
  ...event
}: Omit<NewEvent, 'target' | 'role' | 'skip' | 'notes'> & {
  readonly found: FoundTarget;
  readonly choice: RoleChoice;
  /** Why else not. */
  readonly skip?: Reason | null;
}): NewEvent {
  const { role, plans, note } = choice;
  const noTarget = found.target === null ? { code: found.code, message: found.message } : null;
  const noPlan = plans
    ? null
    : { code: 'role_does_not_plan', message: `role ${role.name} may propose nothing, so it plans nothing` };
  return {
    ...event,
    target: found.target,
    role,
    skip: noTarget ?? noPlan ?? skip,
    notes: note === null ? [] : [note],
  };
}
