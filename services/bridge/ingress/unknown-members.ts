import { unknownKeys } from '#kit/config/unknown-keys.ts';
import { DashboardEvent, ForgeIssue } from '#kit/contracts/bridge/dashboard-event.ts';

const shape = DashboardEvent.type.props;
const ofEvent = new Set(Object.keys(shape));
const ofIssue = new Set(Object.keys(shape.issue.type.props));
const ofForge = new Set(Object.keys(ForgeIssue.type.props));
const ofActor = new Set(['name']);

/**
 * Members of an event that nobody looks at, as JSON pointers. Events mostly have none, which is told without walking the codec.
 * @param event what `DashboardEvent` accepts, as it came
 */
export function unknownMembers(event: unknown): string[] {
  const { issue, actor } = event as { issue: { forge?: unknown }; actor?: unknown };
  const known =
    hasOnly(event, ofEvent) &&
    hasOnly(issue, ofIssue) &&
    hasOnly(issue.forge, ofForge) &&
    hasOnly(actor, ofActor);
  return known ? [] : unknownKeys(DashboardEvent, event).map(({ pointer }) => pointer);
}

function hasOnly(value: unknown, members: ReadonlySet<string>): boolean {
  if (typeof value !== 'object' || value === null) return true;
  for (const key in value) if (!members.has(key)) return false;
  return true;
}
