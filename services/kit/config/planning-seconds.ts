import * as t from 'io-ts';
import { nullable, optional } from '../decode.ts';
import type { Folders } from '../folders.ts';
import { readConcernPart } from './concern.ts';

const Bounds = t.strict({ seconds: optional(nullable(t.number)) });
const Agents = t.strict({
  planner: t.strict({ bounds: t.strict({ seconds: t.number }) }),
  agents: optional(t.record(t.string, t.strict({ bounds: optional(nullable(Bounds)) }))),
});

/** Seconds that a planning may take, whoever plans: the most that the planner or an agent has. @throws InvalidInput (`config_invalid`) */
export function planningSeconds(folders: Pick<Folders, 'config'>): number {
  const { planner, agents = {} } = readConcernPart(Agents, 'agents', folders);
  const own = Object.values(agents).map(({ bounds }) => bounds?.seconds ?? 0);
  return Math.max(planner.bounds.seconds, ...own);
}
