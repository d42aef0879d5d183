import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { decode } from '#kit/decode.ts';
import { AgentsConfig, checkAgentsConfig, roleNamed } from './roles.ts';

const shipped = decode(
  AgentsConfig,
  JSON.parse(readFileSync(new URL('../../../config/agents.json', import.meta.url), 'utf8')),
  'config/agents.json',
);
function withPlanner(change: object): AgentsConfig {
  const value = { ...shipped, planner: { ...shipped.planner, ...change } };
  return checkAgentsConfig(decode(AgentsConfig, value, 'agents.json'), 'agents.json');
}

function withAgents(agents: object, preset = 'auto'): AgentsConfig {
  const value = { ...shipped, agents, planner: { ...shipped.planner, default: preset } };
  return checkAgentsConfig(decode(AgentsConfig, value, 'agents.json'), 'agents.json');
}

describe('roles', () => {
  it('ship as the seven of the specification, each with its dashboard key', () => {
    expect(shipped.roles.map(({ name, key }) => `${name} ${key}`)).to.deep.equal([
      'Purveyour architect',
      'Depute default',
      'Assayour review',
      'Avisour triage',
      'Steward ops',
      'Baillif executor',
      'Factour release',
    ]);
    expect(checkAgentsConfig(shipped)).to.equal(shipped);
  });

  it('let Avisour comment and nothing else, Depute change code, and Baillif plan nothing', () => {
    expect(roleNamed(shipped, 'Avisour').may_propose).to.deep.equal(['comment_issue']);
    expect(roleNamed(shipped, 'Depute').may_propose).to.include.members(['apply_patch', 'push_branch']);
    expect(roleNamed(shipped, 'Baillif').may_propose).to.deep.equal([]);
  });

  it('are found by name or key in any case', () => {
    expect(roleNamed(shipped, 'TRIAGE').name).to.equal('Avisour');
    expect(roleNamed(shipped, 'steward').name).to.equal('Steward');
  });

  it('that are unknown are answered with every name and key', () => {
    expect(() => roleNamed(shipped, 'boss'))
      .to.throw(/role "boss" .*Depute \(default\).*Factour \(release\)/)
      .with.property('code', 'role_unknown');
  });

  it('that share a name are refused', () => {
    const [first] = shipped.roles;
    const roles = [first!, { ...first!, name: 'Default', key: 'ARCHITECT' }];
    expect(() => checkAgentsConfig({ ...shipped, roles })).to.throw(/\/roles\/0 and \/roles\/1.*"architect"/);
  });
});

describe('the configuration of planners', () => {
  it('rejects bad values with pointer and rule', () => {
    const bounds = { ...shipped.planner.bounds, money: 0 };
    expect(() => withPlanner({ bounds })).to.throw(/\/planner\/bounds\/money is 0: must be a number above 0/);
  });

  it('takes coding agents by name, with a preset or a command', () => {
    const agents = { claude: { preset: 'claude' }, mine: { command: ['aider', '--yes'] } };
    expect(withAgents(agents).agents).to.have.keys('claude', 'mine');
    expect(withAgents(agents, 'mine').planner.default).to.equal('mine');
  });

  for (const [why, agents, rule] of [
    ['is called as a planner', { model: { preset: 'codex' } }, /\/agents\/model is the name of a planner/],
    ['has a name in capitals', { Claude: { preset: 'claude' } }, /\/agents\/Claude must be named by/],
    ['has neither preset nor command', { mine: {} }, /\/agents\/mine needs a command, or a preset: claude/],
    ['has an unknown preset', { mine: { preset: 'cursor' } }, /preset is "cursor": must be one of claude/],
    ['sets no variable', { mine: { command: ['x'], environment: { 'A B': '1' } } }, /sets "A B"/],
    [
      'reaches an address',
      { mine: { command: ['x'], network: { hosts: ['127.0.0.1'] } } },
      /hosts\/0 .*host/,
    ],
    ['reaches a port', { mine: { command: ['x'], network: { hosts: ['a.example:22'] } } }, /hosts\/0 .*host/],
    ['takes files from elsewhere', { mine: { command: ['x'], credentials: ['~/../root/key'] } }, /your home/],
    ['is run from a relative path', { mine: { command: ['x'], programs: ['bin'] } }, /absolute path/],
  ] as const) {
    it(`refuses an agent that ${why}`, () => {
      expect(() => withAgents(agents)).to.throw(rule);
    });
  }

  it('refuses a default that is no planner and no agent, with the choices', () => {
    expect(() => withAgents({ claude: { preset: 'claude' } }, 'cursor')).to.throw(
      /\/planner\/default is "cursor": must be one of auto, patch, model, agent, claude/,
    );
  });

  it('says how models are configured now if the file still has an endpoint', () => {
    const endpoint = { base_url: 'http://127.0.0.1:8092/v1', credential_file: null, tiers: {} };
    expect(() => withPlanner({ endpoint })).to.throw(
      /\/planner\/endpoint .*must be left out: .*\.\/core model add/,
    );
    expect(withPlanner({ endpoint: null }).planner.default).to.equal('auto');
  });
});
