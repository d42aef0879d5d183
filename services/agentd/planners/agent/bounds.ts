import { counted } from '#kit/counted.ts';
import { Refused } from '#kit/errors.ts';
import type { RunUsage } from '../../planning/run-key.ts';
import type { AgentWork } from '../../runs/run.ts';
import { dollars } from '../amounts.ts';
import type { Agent, AgentBounds } from './agent.ts';

export type BoundName = keyof AgentBounds;

/** What a planning used, in all its attempts. */
export interface Used {
  readonly seconds: number;
  /** null where the agent asks no model of ours. */
  readonly usage: RunUsage | null;
}

/** What is left for the next attempt. */
export function boundsLeft(
  { bounds }: Agent,
  earlier: AgentWork | null,
  usage: RunUsage | null,
): AgentBounds {
  const seconds = (earlier?.seconds_before ?? 0) + (earlier?.seconds ?? 0);
  return {
    money: bounds.money - (usage?.cost ?? 0),
    seconds: bounds.seconds - seconds,
    turns: bounds.turns - (usage?.calls ?? 0),
  };
}

export function boundReached(agent: Agent, bound: BoundName, used: Used, draft: boolean): Refused {
  const { name, bounds } = agent;
  const spent = [...(used.usage === null ? [] : [...amounts(used.usage)]), `${Math.round(used.seconds)} s`];
  const kept = draft
    ? 'what it did so far is kept as a draft, and nothing is proposed'
    : 'it changed nothing, and nothing is proposed';
  return new Refused(
    'planner_bound_reached',
    `planning stopped at its bound of ${inUnits[bound](bounds[bound])}: agent ${name} used ${spent.join(', ')}; ${kept}`,
    {
      facts: { bound, limit: bounds[bound], setting: `agents.${name}.bounds.${bound}`, used },
      hint: `${draft ? './core diff RUN --draft shows it; ' : ''}raise agents.${name}.bounds.${bound} in agents.json, or make the issue smaller`,
    },
  );
}

/** What was used so far, in words. */
export function amounts({ calls, input_tokens, output_tokens, cost }: RunUsage): string[] {
  return [
    counted(calls, 'model call'),
    counted(input_tokens + output_tokens, 'token'),
    ...(cost === 0 ? [] : [dollars(cost)]),
  ];
}

const inUnits: Readonly<Record<BoundName, (value: number) => string>> = {
  money: dollars,
  seconds: (value) => counted(value, 'second'),
  turns: (value) => counted(value, 'model call'),
};
