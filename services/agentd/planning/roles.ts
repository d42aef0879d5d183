import * as t from 'io-ts';
import { plannerKinds } from '#kit/contracts/vocabulary.ts';
import { integerBetween, NonEmptyString, oneOf } from '#kit/decode.ts';
import { InvalidInput, Refused } from '#kit/errors.ts';
import { ActionKind } from '../action.ts';
import type { Role } from './planner.ts';

/** `config/agents.json`: who plans, with which prompt and model, within which bounds. */

const PositiveNumber = numberThat('PositiveNumber', 'a number above 0', (number) => number > 0);
/** It was once configured here where models are asked; a file that still says so is told, and not ignored. */
const NoEndpoint = new t.Type<null | undefined>(
  'NoEndpoint',
  (u): u is null | undefined => u === null || u === undefined,
  (u, context) =>
    u === null || u === undefined
      ? t.success(u)
      : t.failure(
          u,
          context,
          'must be left out: core-model-gateway asks the models; ./core model add configures one',
        ),
  t.identity,
);

/** What ends a planning that does not end by itself. */
export const PlannerBounds = t.strict({
  /** Answers of the model. */
  steps: integerBetween(1, 10_000),
  /** Input and output tokens together. */
  tokens: integerBetween(1, 1_000_000_000),
  /** Wall time of one process; a resumed planning starts it anew. */
  seconds: PositiveNumber,
  /** US dollars. */
  money: PositiveNumber,
});
export type PlannerBounds = t.TypeOf<typeof PlannerBounds>;

export const PlannerKind = oneOf(plannerKinds);
export type PlannerKind = t.TypeOf<typeof PlannerKind>;

export const AgentsConfig = t.strict({
  /** Who plans; `--role` takes a name or a key. */
  roles: t.array(
    t.strict({
      name: NonEmptyString,
      /** What task dashboards call it. */
      key: NonEmptyString,
      /** For people. */
      purpose: NonEmptyString,
      /** What the model is told of its task. */
      prompt: NonEmptyString,
      /** Which model plans: the one that serves this tier. */
      tier: NonEmptyString,
      /** With an empty list it cannot plan. */
      may_propose: t.array(ActionKind),
    }),
  ),
  planner: t.strict({
    /** auto: model where one is configured, else patch. */
    default: oneOf(['auto', ...plannerKinds]),
    /** Gone: `./core model add` configures models. */
    endpoint: NoEndpoint,
    /** What ends a planning that does not end by itself. */
    bounds: PlannerBounds,
  }),
});
export type AgentsConfig = t.TypeOf<typeof AgentsConfig>;

/**
 * Checks what the shape alone cannot say, and gives the configuration back.
 * @throws InvalidInput (`role_ambiguous`)
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
  return config;
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
    `role ${JSON.stringify(nameOrKey)} is neither a role's name nor its key; there are ${choices || 'none'}`,
  );
}

/** A role that may propose something. @throws InvalidInput (`role_unknown`, `role_does_not_plan`) */
export function planningRole(config: AgentsConfig, nameOrKey: string): Role {
  const role = roleNamed(config, nameOrKey);
  if (role.may_propose.length > 0) return role;
  const choices = config.roles.filter(({ may_propose }) => may_propose.length > 0).map(({ name }) => name);
  throw new InvalidInput(
    'role_does_not_plan',
    `role ${role.name} may propose no action, so it cannot plan; ${choices.join(', ')} can`,
  );
}

/**
 * Which planner plans: the one asked for, else the configured default.
 * @param hasModel whether the gateway has a model for planning
 * @throws Refused (`model_not_configured`)
 */
export function plannerFor(config: AgentsConfig, hasModel: () => boolean, asked?: PlannerKind): PlannerKind {
  const { default: preset } = config.planner;
  const name = asked ?? (preset === 'auto' ? (hasModel() ? 'model' : 'patch') : preset);
  const problem = missing[name](hasModel);
  if (problem !== null) throw problem;
  return name;
}

/** Why a planner cannot work here; null where it can. */
const missing: Readonly<Record<PlannerKind, (hasModel: () => boolean) => Refused | null>> = {
  patch: () => null,
  model: (hasModel) => (hasModel() ? null : noModelConfigured()),
};

export function noModelConfigured(): Refused {
  return new Refused(
    'model_not_configured',
    'planner "model" needs a model, and none for chat is configured in models.json; the other planner is "patch"',
    { hint: './core model add configures one; or plan with --planner patch' },
  );
}

function numberThat(name: string, rule: string, test: (number: number) => boolean): t.Type<number> {
  const is = (u: unknown): u is number => typeof u === 'number' && Number.isFinite(u) && test(u);
  return new t.Type(
    name,
    is,
    (u, context) => (is(u) ? t.success(u) : t.failure(u, context, `must be ${rule}`)),
    t.identity,
  );
}
