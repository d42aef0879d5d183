import * as t from 'io-ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { LiveConfig } from '#kit/config/live-config.ts';
import { planningSeconds } from '#kit/config/planning-seconds.ts';
import type { AgentMap, EventRole } from '#kit/contracts/bridge/events.ts';
import { NonEmptyString } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';

/** The part of config/agents.json that the bridge needs; the daemon checks the rest. */
const Agents = t.strict({
  roles: t.array(
    t.strict({
      name: NonEmptyString,
      key: NonEmptyString,
      purpose: NonEmptyString,
      may_propose: t.array(t.string),
    }),
  ),
});

/** The role of events that name none, by its key. */
const defaultKey = 'default';

export interface RoleChoice {
  readonly role: EventRole;
  readonly plans: boolean;
  /** A note about the choice; null where it was asked for. */
  readonly note: string | null;
}

interface RoleFacts {
  readonly view: AgentMap;
  /** Seconds that a planning may take. */
  readonly planningSeconds: number;
}

/** Which role works for which word of a dashboard, as agents.json says now. */
export class RoleMap {
  readonly #facts: Pick<LiveConfig<RoleFacts>, 'current' | 'report'>;

  constructor(facts: Pick<LiveConfig<RoleFacts>, 'current' | 'report'>) {
    this.#facts = facts;
  }

  get view(): AgentMap {
    return this.#facts.current.view;
  }

  get planningSeconds(): number {
    return this.#facts.current.planningSeconds;
  }

  /** Reports changes of the file in a log. */
  report(logger: Parameters<LiveConfig<RoleFacts>['report']>[0]): void {
    this.#facts.report(logger);
  }

  /** A role by its key or name, in any case; null where there is none. */
  find(word: string): RoleChoice | null {
    const wanted = word.trim().toLowerCase();
    const found = this.view.roles.find(
      ({ name, key }) => name.toLowerCase() === wanted || key.toLowerCase() === wanted,
    );
    if (found === undefined) return null;
    return { role: { key: found.key, name: found.name }, plans: found.plans, note: null };
  }

  /** What an event asks for, else what its labels choose, else the default. A word that is no role is noted, not followed. */
  choose(word: string | null, labels: readonly string[], labelPrefix: string | null): RoleChoice {
    const asked = word === null || word.trim() === '' ? null : this.find(word);
    if (asked !== null) return asked;
    for (const label of labelPrefix === null ? [] : labels) {
      const byLabel = label.startsWith(labelPrefix!) ? this.find(label.slice(labelPrefix!.length)) : null;
      if (byLabel !== null) return { ...byLabel, note: `role ${byLabel.role.name} by its label` };
    }
    const preset = this.find(this.view.default_role)!;
    if (word === null || word.trim() === '') return preset;
    const known = this.view.roles.map(({ key }) => key).join(', ');
    const said = `role ${JSON.stringify(word.slice(0, 100))} is in no map (known are ${known}): ${preset.role.name} works`;
    return { ...preset, note: said };
  }
}

/** @throws InvalidInput (`config_invalid`) */
export function readRoleMap(folders: Pick<Folders, 'config'>): RoleMap {
  return new RoleMap(new LiveConfig({ names: ['agents'], folders, read: () => readRoles(folders) }));
}

function readRoles(folders: Pick<Folders, 'config'>): RoleFacts {
  const { roles } = readConcernPart(Agents, 'agents', folders);
  const facts = roles.map(({ name, key, purpose, may_propose }) => ({
    key,
    name,
    purpose,
    plans: may_propose.length > 0,
  }));
  const preset = facts.find(({ key }) => key === defaultKey) ?? facts[0];
  if (preset === undefined)
    throw new InvalidInput('config_invalid', 'config/agents.json: /roles is []: must name a role');
  return {
    view: { roles: facts, default_role: preset.name },
    planningSeconds: planningSeconds(folders),
  };
}
