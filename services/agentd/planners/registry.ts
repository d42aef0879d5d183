import { plannerKinds } from '#kit/contracts/vocabulary.ts';
import { decode } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { PlannedRun, Planner, PlannerServices, PlannerType } from '../planning/planner.ts';
import { PlannerKind, type Role } from '../planning/roles.ts';
import { agent } from './agent/agent-planner.ts';
import { model } from './model/model-planner.ts';
import { patch } from './patch/patch-planner.ts';

const planners: Readonly<Record<PlannerKind, PlannerType>> = { patch, model, agent };

/** Who plans a run. */
export interface PlannerChoice {
  readonly planner: PlannerKind;
  /** Name of the agent; null for other planners. */
  readonly agent: string | null;
}

/**
 * The planner that was asked for, else the configured one; `auto` is the model where one is configured, else the patch, and `agent`
 * the only agent there is.
 * @param asked a kind of planner, or the name of an agent
 * @throws Refused (`model_not_configured`, `agent_not_configured`), InvalidInput (`planner_unknown`, `agent_ambiguous`)
 */
export function plannerFor(services: PlannerServices, asked?: string): PlannerChoice {
  const preset = asked ?? services.agents.planner.default;
  const name = preset !== 'auto' ? preset : planners.model.missing(services) === null ? 'model' : 'patch';
  const agents = Object.keys(services.agents.agents);
  if (agents.includes(name)) return { planner: 'agent', agent: name };
  const kind = plannerKinds.find((known) => known === name);
  if (kind === undefined) {
    throw new InvalidInput(
      'planner_unknown',
      `planner ${JSON.stringify(name)} is neither a kind of planner nor an agent of agents.json: it must be one of ${[...plannerKinds, ...agents].join(', ')}`,
      { hint: './core agent add configures an agent' },
    );
  }
  const problem = planners[kind].missing(services);
  if (problem !== null) throw problem;
  if (kind !== 'agent') return { planner: kind, agent: null };
  if (agents.length === 1) return { planner: kind, agent: agents[0]! };
  throw new InvalidInput(
    'agent_ambiguous',
    `planner "agent" can be one of several: ${agents.join(', ')}; plan with --planner NAME`,
  );
}

/** The planner that a run records. */
export function createPlanner(services: PlannerServices, role: Role, run: PlannedRun): Planner {
  return planners[decode(PlannerKind, run.request.planner, 'planner')].create(services, role, run);
}

/** Every planner, and the reason of those that cannot plan here. */
export function plannersHere(services: PlannerServices) {
  return plannerKinds.map((name) => {
    const problem = planners[name].missing(services);
    return { name, works: problem === null, reason: problem?.message ?? null };
  });
}
