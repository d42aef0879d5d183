import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { KnownModel } from '#kit/config/known-models.ts';
import { decode } from '#kit/decode.ts';
import { AgentSettings } from '../planning/agent-settings.ts';
import type { PlannerServices } from '../planning/planner.ts';
import { AgentsConfig } from '../planning/roles.ts';
import { plannerFor, plannersHere } from './registry.ts';

const shipped = decode(
  AgentsConfig,
  JSON.parse(readFileSync(new URL('../../../config/agents.json', import.meta.url), 'utf8')),
  'config/agents.json',
);
const chat: KnownModel = {
  name: 'chat',
  kind: 'chat',
  tier: null,
  context_tokens: null,
  output_tokens: null,
  price: null,
  upstream_kinds: ['openai'],
  most_output_price: 0,
};

function services(
  models: readonly KnownModel[],
  preset = shipped.planner.default,
  named: AgentsConfig['agents'] = {},
): PlannerServices {
  const agents = { ...shipped, planner: { ...shipped.planner, default: preset }, agents: named };
  const never = () => expect.fail('nothing is opened');
  return {
    agents,
    models: () => models,
    openModel: never,
    openRunKey: never,
    rooms: { open: never, sandbox: never, sweep: never },
  };
}

const agentOf = (settings: object) => decode(AgentSettings, settings, 'an agent');
const one = { claude: agentOf({ preset: 'claude' }) };
const two = { ...one, mine: agentOf({ command: ['aider'] }) };

describe('choice of the planner', () => {
  it('is patch without a model and model with one, when nobody chose', () => {
    expect(plannerFor(services([]))).to.deep.equal({ planner: 'patch', agent: null });
    expect(plannerFor(services([chat]))).to.deep.equal({ planner: 'model', agent: null });
  });

  it('follows what was asked for, then what is configured', () => {
    expect(plannerFor(services([chat]), 'patch').planner).to.equal('patch');
    expect(plannerFor(services([chat], 'patch')).planner).to.equal('patch');
    expect(plannerFor(services([chat], 'claude', one))).to.deep.equal({ planner: 'agent', agent: 'claude' });
  });

  it('takes an agent by its name, and the only one by its kind', () => {
    expect(plannerFor(services([], 'auto', two), 'mine')).to.deep.equal({ planner: 'agent', agent: 'mine' });
    expect(plannerFor(services([], 'auto', one), 'agent')).to.deep.equal({
      planner: 'agent',
      agent: 'claude',
    });
  });

  it('refuses a name that is neither, and a kind that several agents have, with the choices', () => {
    expect(() => plannerFor(services([], 'auto', two), 'cursor'))
      .to.throw(/"cursor" .*one of patch, model, agent, claude, mine/)
      .with.property('code', 'planner_unknown');
    expect(() => plannerFor(services([], 'auto', two), 'agent'))
      .to.throw(/one of several: claude, mine/)
      .with.property('code', 'agent_ambiguous');
  });

  it('refuses the planners that lack a model or an agent, and says how to configure one', () => {
    expect(() => plannerFor(services([]), 'model'))
      .to.throw(/none for chat is configured in models\.json/)
      .with.property('exitCode', 3);
    expect(() => plannerFor(services([]), 'agent'))
      .to.throw(/agents\.json has none/)
      .with.property('code', 'agent_not_configured');
    expect(plannersHere(services([])).map(({ name, works }) => ({ name, works }))).to.deep.equal([
      { name: 'patch', works: true },
      { name: 'model', works: false },
      { name: 'agent', works: false },
    ]);
  });
});
