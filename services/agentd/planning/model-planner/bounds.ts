import { Refused } from '#kit/errors.ts';
import type { Turn } from '../planner.ts';
import type { PlannerBounds } from '../roles.ts';

export type BoundName = keyof PlannerBounds;

/** What a planning used so far. Turns of an interrupted one count; its time does not. */
export interface Used {
  readonly steps: number;
  readonly tokens: number;
  /** US dollars; 0 where no price is configured. */
  readonly money: number;
}

export function usedBy(turns: readonly Turn[]): Used {
  let tokens = 0;
  let money = 0;
  for (const { usage } of turns) {
    tokens += usage.input_tokens + usage.output_tokens;
    money += usage.cost ?? 0;
  }
  return { steps: turns.length, tokens, money };
}

/** @throws Refused `planner_bound_reached` before a step that is not allowed any more */
export function checkBounds(used: Used, bounds: PlannerBounds): void {
  for (const name of ['steps', 'tokens', 'money'] as const) {
    if (used[name] >= bounds[name]) throw boundReached(name, used[name], bounds);
  }
}

export function boundReached(name: BoundName, value: number, bounds: PlannerBounds): Refused {
  const setting = `planner.bounds.${name}`;
  const rounded = Math.round(value * 10_000) / 10_000;
  return new Refused(
    'planner_bound_reached',
    `planning stopped at its bound of ${bounds[name]} ${units[name]} (used: ${rounded}); nothing is proposed`,
    {
      facts: { bound: name, value, limit: bounds[name], setting },
      hint: `raise ${setting} in config/agents.json, or make the issue smaller`,
    },
  );
}

const units: Readonly<Record<BoundName, string>> = {
  steps: 'steps',
  tokens: 'tokens',
  seconds: 'seconds',
  money: 'US dollars',
};
