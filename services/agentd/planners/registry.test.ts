import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { KnownModel } from '#kit/config/known-models.ts';
import { decode } from '#kit/decode.ts';
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
  most_output_price: 0,
};

function services(models: readonly KnownModel[], preset = shipped.planner.default): PlannerServices {
  const agents = { ...shipped, planner: { ...shipped.planner, default: preset } };
  return { agents, models: () => models, openModel: () => expect.fail('no model is opened') };
}

describe('choice of the planner', () => {
  it('is patch without a model and model with one, when nobody chose', () => {
    expect(plannerFor(services([]))).to.equal('patch');
    expect(plannerFor(services([chat]))).to.equal('model');
  });

  it('follows what was asked for, then what is configured', () => {
    expect(plannerFor(services([chat]), 'patch')).to.equal('patch');
    expect(plannerFor(services([chat], 'patch'))).to.equal('patch');
  });

  it('refuses the model planner where no model is configured, and says how to configure one', () => {
    expect(() => plannerFor(services([]), 'model'))
      .to.throw(/none for chat is configured in models\.json/)
      .with.property('exitCode', 3);
    expect(plannersHere(services([])).map(({ name, works }) => ({ name, works }))).to.deep.equal([
      { name: 'patch', works: true },
      { name: 'model', works: false },
    ]);
  });
});
