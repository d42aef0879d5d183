import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { expect } from 'chai';
import { Settings } from '#kit/config/settings.ts';
import { environment } from '#kit/environment.ts';
import { type ActionKind, actionKinds } from '../../services/agentd/action.ts';
import { ActionDefinition, actionDigest, actions } from '../../services/agentd/actions/registry.ts';
import { ForgesConfig } from '../../services/agentd/forges/registry.ts';
import { Policy } from '../../services/agentd/policy.ts';
import { ValidationConfig } from '../../services/agentd/validation/configuration.ts';
import { attacks } from '../fixtures/approved/attacks.ts';
import { memberPaths } from '../fixtures/approved/member-paths.ts';
import {
  configurationRules,
  definitionRules,
  environmentRules,
  otherConfiguration,
  otherRules,
  paramsRules,
  type Rule,
  ruleOf,
} from '../fixtures/approved/reaching.ts';
import { sampleAction } from './run-store.sample.ts';

const configuration = { policy: Policy, validation: ValidationConfig, forges: ForgesConfig, core: Settings };

/** Members that the table does not name, and names in it that no codec has. */
function mismatches(members: readonly string[], rules: Readonly<Record<string, Rule>>) {
  return {
    unnamed: members.filter((path) => ruleOf(rules, path) === undefined),
    unknown: Object.keys(rules).filter(
      (name) => !members.some((path) => ruleOf({ [name]: rules[name]! }, path)),
    ),
  };
}

const none = { unnamed: [], unknown: [] };

describe('The table of what reaches an effect', () => {
  for (const kind of actionKinds) {
    it(`names every member of the params of ${kind}`, () => {
      expect(mismatches(memberPaths(actions[kind].params), paramsRules[kind])).to.deep.equal(none);
    });
  }

  it('names every member that each definition has', () => {
    const members = memberPaths(ActionDefinition).filter(
      (path) => path !== 'digest' && path !== 'params' && !path.startsWith('params.'),
    );
    const known = { ...definitionRules };
    const { unnamed, unknown } = mismatches(members, known);
    expect({ unnamed, unknown: unknown.filter((name) => name !== 'kind') }).to.deep.equal(none);
  });

  for (const [name, codec] of Object.entries(configuration)) {
    it(`names every member of config/${name}.json`, () => {
      const rules = configurationRules[name as keyof typeof configuration];
      expect(mismatches(memberPaths(codec), rules)).to.deep.equal(none);
    });
  }

  it('names every file of the configuration and every variable that Core reads', () => {
    const shipped = readdirSync(new URL('../../config', import.meta.url)).filter((name) =>
      name.endsWith('.json'),
    );
    expect(shipped.map((name) => basename(name, '.json')).sort()).to.deep.equal(
      [...Object.keys(configuration), ...otherConfiguration].sort(),
    );
    expect(Object.keys(environmentRules).sort()).to.deep.equal(Object.keys(environment).sort());
  });

  it('has an attack on all that could make an effect other than approved', () => {
    const attackable: readonly Rule[] = ['before', 'stricter', 'refused', 'slot'];
    const names = [
      ...Object.entries(configurationRules).flatMap(([file, rules]) =>
        Object.entries<Rule>(rules).map(([name, rule]): [string, Rule] => [`${file} ${name}`, rule]),
      ),
      ...Object.entries(otherRules),
    ];
    const changed = new Set(attacks.flatMap(({ changes }) => changes));
    const without = names.filter(([name, rule]) => attackable.includes(rule) && !changed.has(name));
    // Risk explains an action, and is fixed in its definition.
    expect(without.map(([name]) => name)).to.deep.equal(['policy risk.*']);
  });
});

describe('The digest of an action', () => {
  for (const kind of actionKinds) {
    it(`changes with every approved member of ${kind}, and with nothing that only explains`, () => {
      const action = sampleAction('run_x', 1, kind);
      const digest = actionDigest(action);
      for (const [path, rule] of Object.entries({ ...paramsOf(kind), ...definitionRules })) {
        const changed = withChanged(action, path);
        if (rule === 'approved') expect(actionDigest(changed), path).to.not.equal(digest);
        else expect(actionDigest(changed), path).to.equal(digest);
      }
    });
  }

  function paramsOf(kind: ActionKind): Record<string, Rule> {
    return Object.fromEntries(
      Object.entries(paramsRules[kind]).map(([path, rule]) => [`params.${path}`, rule]),
    );
  }

  /** A copy in which the member has another value; lists and records on the way get their first entry. */
  function withChanged(action: ActionDefinition, path: string): ActionDefinition {
    const copy = structuredClone(action) as unknown as Record<string, unknown>;
    const steps = path.split('.').flatMap((part) => part.replace(/(\[\]|\{\})/g, '.$1').split('.'));
    let place = copy;
    for (const [index, step] of steps.entries()) {
      const key = step === '[]' ? '0' : step === '{}' ? 'name' : step;
      if (index === steps.length - 1) place[key] = `not ${JSON.stringify(place[key])}`;
      else {
        const empty = steps[index + 1] === '[]' ? [] : {};
        place[key] = typeof place[key] === 'object' && place[key] !== null ? place[key] : empty;
        place = place[key] as Record<string, unknown>;
      }
    }
    return copy as unknown as ActionDefinition;
  }
});
