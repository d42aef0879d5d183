import { plannerKinds } from '#kit/contracts/vocabulary.ts';
import { decode } from '#kit/decode.ts';
import type { Planner, PlannerServices, PlannerType } from '../planning/planner.ts';
import { PlannerKind, type Role } from '../planning/roles.ts';
import { model } from './model/model-planner.ts';
import { patch } from './patch/patch-planner.ts';

const planners: Readonly<Record<PlannerKind, PlannerType>> = { patch, model };

/**
 * The planner that was asked for, else the configured one; `auto` is the model where one is configured, else the patch.
 * @throws Refused (`model_not_configured`)
 */
export function plannerFor(services: PlannerServices, asked?: PlannerKind): PlannerKind {
  const preset = asked ?? services.agents.planner.default;
  const kind = preset !== 'auto' ? preset : planners.model.missing(services) === null ? 'model' : 'patch';
  const problem = planners[kind].missing(services);
  if (problem !== null) throw problem;
  return kind;
}

/** @param name as recorded in a run */
export function createPlanner(services: PlannerServices, name: string, role: Role, runId: string): Planner {
  return planners[decode(PlannerKind, name, 'planner')].create(services, role, runId);
}

/** Every planner, and the reason of those that cannot plan here. */
export function plannersHere(services: PlannerServices) {
  return plannerKinds.map((name) => {
    const problem = planners[name].missing(services);
    return { name, works: problem === null, reason: problem?.message ?? null };
  });
}
