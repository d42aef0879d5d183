import * as t from 'io-ts';
import { plannerKinds } from '#kit/contracts/vocabulary.ts';
import { integerBetween, NonEmptyString, oneOf } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import { ActionKind } from '../action.ts';
import { AgentsByName, checkAgents } from './agent-settings.ts';

/** `config/agents.json`: who plans, with which prompt and model, within which bounds. */

const PositiveNumber = typeThat(
  'PositiveNumber',
  'be a number above 0',
  (u): u is number => typeof u === 'number' && Number.isFinite(u) && u > 0,
);
/** Model endpoints were once configured here; a file that still has one is rejected, not ignored. */
const NoEndpoint = typeThat(
  'NoEndpoint',
  'be left out: core-model-gateway asks the models; ./core model add configures one',
  (u): u is null | undefined => u === null || u === undefined,
);

/** What ends a planning that does not end by itself. */
export const PlannerBounds = t.strict({
  /** Answers of the model. */
  steps: integerBetween(1, 10_000),
  /** Input and output tokens together. */
  tokens: integerBetween(1, 1_000_000_000),
  /** Wall time of one process; it counts from zero when a planning is resumed. */
  seconds: PositiveNumber,
  /** US dollars. */
  money: PositiveNumber,
});
export type PlannerBounds = t.TypeOf<typeof PlannerBounds>;

export const PlannerKind = oneOf(plannerKinds);
export type PlannerKind = t.TypeOf<typeof PlannerKind>;

export const Role = t.strict({
  /** For example `Depute`. */
  name: NonEmptyString,
  /** What task dashboards call it, for example `default`. */
  key: NonEmptyString,
  /** For people. */
  purpose: NonEmptyString,
  /** The model's instructions for this role. */
  prompt: NonEmptyString,
  /** Which model plans: the one that serves this tier. */
  tier: NonEmptyString,
  /** With an empty list it cannot plan. */
  may_propose: t.array(ActionKind),
});
export type Role = t.TypeOf<typeof Role>;

export const AgentsConfig = t.strict({
  /** Who plans; `--role` takes a name or a key. */
  roles: t.array(Role),
  planner: t.strict({
    /** auto: model where one is configured, else patch. A kind of planner, or the name of an agent. */
    default: NonEmptyString,
    /** No longer supported: `./core model add` configures models. */
    endpoint: NoEndpoint,
    /** What ends a planning that does not end by itself. */
    bounds: PlannerBounds,
  }),
  /** Coding agents by name; `--planner` takes it. */
  agents: AgentsByName,
});
export type AgentsConfig = t.TypeOf<typeof AgentsConfig>;

/**
 * Checks what the shape alone cannot say, and gives the configuration back.
 * @throws InvalidInput (`role_ambiguous`, `config_invalid`)
 */
export function checkAgentsConfig(config: AgentsConfig, what = 'config/agents.json'): AgentsConfig {
  const taken = new Map<string, number>();
  for (const [index, role] of config.roles.entries()) {
    for (const word of new Set([role.name.toLowerCase(), role.key.toLowerCase()])) {
      const other = taken.get(word);
      if (other !== undefined) {
        throw new InvalidInput(
          'role_ambiguous',
          `${what}: /roles/${other} and /roles/${index} both answer to "${word}"; names and keys must differ`,
        );
      }
      taken.set(word, index);
    }
  }
  checkAgents(config.agents, what);
  const { default: preset } = config.planner;
  const choices = ['auto', ...plannerKinds, ...Object.keys(config.agents)];
  if (choices.includes(preset)) return config;
  throw new InvalidInput(
    'config_invalid',
    `${what}: /planner/default is ${JSON.stringify(preset)}: must be one of ${choices.join(', ')}`,
  );
}

/** A role by its name or its dashboard key, in any case. */
export function roleNamed(config: AgentsConfig, nameOrKey: string): Role {
  const wanted = nameOrKey.toLowerCase();
  const role = config.roles.find(
    ({ name, key }) => name.toLowerCase() === wanted || key.toLowerCase() === wanted,
  );
  if (role !== undefined) return role;
  const choices = config.roles.map(({ name, key }) => `${name} (${key})`).join(', ');
  throw new InvalidInput(
    'role_unknown',
    `role ${JSON.stringify(nameOrKey)} is neither a role's name nor its key; config/agents.json has ${choices || 'none'}`,
  );
}

/** A role that may propose something. @throws InvalidInput (`role_unknown`, `role_does_not_plan`) */
export function planningRole(config: AgentsConfig, nameOrKey: string): Role {
  const role = roleNamed(config, nameOrKey);
  if (role.may_propose.length > 0) return role;
  const choices = config.roles.filter(({ may_propose }) => may_propose.length > 0).map(({ name }) => name);
  throw new InvalidInput(
    'role_does_not_plan',
    `role ${role.name} may propose no action by config/agents.json, so it cannot plan; ${choices.join(', ')} can`,
  );
}

/** Of the first role that plans. */
export function planningTier({ roles }: Pick<AgentsConfig, 'roles'>): string {
  return roles.find(({ may_propose }) => may_propose.length > 0)?.tier ?? 'large';
}

function typeThat<A>(name: string, rule: string, is: (u: unknown) => u is A): t.Type<A> {
  const validate: t.Validate<unknown, A> = (u, context) =>
    is(u) ? t.success(u) : t.failure(u, context, `must ${rule}`);
  return new t.Type(name, is, validate, t.identity);
}
