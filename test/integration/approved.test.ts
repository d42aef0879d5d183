import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import fc from 'fast-check';
import { codeOf, messageOf } from '#kit/errors.ts';
import type { Services } from '../../services/agentd/cli/services.ts';
import { openServices } from '../../services/agentd/main.ts';
import type { Run } from '../../services/agentd/runs/run.ts';
import { type Attack, attacks } from '../fixtures/approved/attacks.ts';
import { otherThanApproved } from '../fixtures/approved/effects.ts';
import { copyFolder, temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';
import { everybody, helloFiles, makeWorld, quiet, type World } from '../fixtures/world/world.ts';
import { has, isQuick, itWith } from '../needs.ts';

const registry = 'https://registry.example.org';

/** Its validation prints what it sees: the search path, and what preparing saw of the registry. */
const files = {
  ...helloFiles,
  '.core.json': JSON.stringify({
    validation: {
      prepare: [{ name: 'deps', run: 'mkdir deps; echo "$npm_config_registry" >deps/registry' }],
      prepared_paths: ['deps'],
      commands: [
        { name: 'check', run: `echo "PATH=$PATH"; cat deps/registry; grep -q stranger src/greet.js` },
      ],
    },
  }),
};

interface Attacked {
  readonly run: Run;
  /** Why it was refused; null when every action succeeded. */
  readonly refusal: { readonly code: string; readonly message: string } | null;
}

describe('What was approved is what runs', () => {
  let world: World;
  let approved: Run;
  let saved: string;
  let services: Services;

  before(async () => {
    const planned = await makeWorld({ vcs: has('jj') ? 'jj' : 'git', files });
    const validation = {
      sandbox: has('bubblewrap') ? 'bubblewrap' : 'none',
      allow_unsandboxed: true,
      prepare_environment: { npm_config_registry: registry },
    };
    writeFileSync(join(planned.home, 'config/validation.json'), JSON.stringify(validation));
    approved = await planned.plannedAndApproved();
    await planned.close();
    saved = temporaryFolder();
    for (const [path, name] of placesOf(planned)) copyFolder(path, join(saved, name));
    world = planned;
  });
  beforeEach(begin);
  afterEach(end);

  /** What an attack or an execution can change: the configuration, the record, the forge, and the checkout. */
  function placesOf({ home, checkout }: World): [string, string][] {
    return [
      [home, 'home'],
      [checkout.gitDir, 'checkout'],
    ];
  }

  /** Puts everything back to where the run was approved, and opens it as a process that was there before the attack. */
  async function begin(): Promise<void> {
    for (const [path, name] of placesOf(world)) {
      rmSync(path, { recursive: true, force: true });
      copyFolder(join(saved, name), path);
    }
    services = await openServices({ home: world.home });
    world = { ...world, agent: services.agent, forgeAdmin: await services.localForge() };
  }

  function end(): Promise<void> {
    return services.close();
  }

  async function attacked(...chosen: readonly Attack[]): Promise<Attacked> {
    const env = Object.assign({}, ...chosen.map((attack) => attack.apply(world, approved)));
    const error = await execute(approved, env);
    const done = await world.agent.run(approved.run_id);
    const refused = done.actions.find(({ state }) => state !== 'succeeded')?.outcome;
    if (refused != null)
      return { run: done, refusal: { code: refused.code ?? '', message: refused.message } };
    return { run: done, refusal: done.status === 'completed' ? null : error };
  }

  /** As a process that starts after the attack. */
  async function execute(run: Run, env: Readonly<Record<string, string>>): Promise<Attacked['refusal']> {
    const { run_id } = run;
    if (Object.keys(env).length > 0) {
      const args = ['execute-approved', '--repo-dir', world.checkout.dir, '--run-id', run_id];
      const { stderr } = await world.command(args, env);
      return { code: 'command', message: stderr };
    }
    const later = await openServices({ home: world.home });
    try {
      const { agent } = later;
      const request = { run_id, repo_dir: world.checkout.dir, actions: null, dry_run: false, by: everybody };
      await agent.execute(request, quiet);
      return null;
    } catch (error) {
      return { code: codeOf(error), message: messageOf(error) };
    } finally {
      await later.close();
    }
  }

  function named(name: string): Attack {
    return attacks.find((attack) => attack.name === name)!;
  }

  it('as it stands, without any change', async () => {
    const { run, refusal } = await attacked();
    expect(refusal).to.equal(null);
    expect(await otherThanApproved(world, run)).to.deep.equal([]);
  });

  /** Attacks that must be refused, with what the refusal says. */
  const refusals: Readonly<Record<string, { code: string; says: readonly string[] }>> = {
    'forges.json: the forge lies elsewhere': { code: 'forge_moved', says: ['forge-of-mallory', '/forge.'] },
    'forges.json: somebody else acts': { code: 'account_changed', says: ['core', 'mallory'] },
    'forges.json: the name is that of a server': { code: 'forge_moved', says: ['127.0.0.1:9', '/forge.'] },
    'validation.json: another registry': {
      code: 'prepare_environment_changed',
      says: ['npm_config_registry is sha256', 'approved was sha256'],
    },
    'validation.json: no network to prepare with': {
      code: 'prepare_network_refused',
      says: ['prepare_network false', 'approved was to prepare with the network'],
    },
    'policy.json: only signed approvals count': {
      code: 'signature_required',
      says: ['tester', 'approval.require_signature'],
    },
    'policy.json: our branches are protected': { code: 'branch_protected', says: ['core/**'] },
    'forge: our branches are protected': { code: 'branch_protected', says: ['core/*'] },
    'forge: a branch of that name is there': { code: 'branch_exists', says: ['not ours'] },
    'checkout: its remote is another one': {
      code: 'remote_mismatch',
      says: ['elsewhere.git', 'repository.git'],
    },
  };

  /** `npm test` changes two things of each place. */
  const places = Object.values(Object.groupBy(attacks, ({ name }) => name.split(':')[0]!));
  for (const attack of places.flatMap((some) => (isQuick ? some!.slice(0, 2) : some!))) {
    it(`or nothing does: ${attack.name}`, async () => {
      const { run, refusal } = await attacked(attack);
      expect(await otherThanApproved(world, run)).to.deep.equal([]);
      const wanted = refusals[attack.name];
      if (wanted === undefined) return;
      expect(refusal).to.include({ code: wanted.code });
      for (const text of wanted.says) expect(refusal!.message).to.contain(text);
    });
  }

  itWith(['time'], 'or nothing does, whatever is changed together', async () => {
    const some = fc.subarray([...attacks], { minLength: 2, maxLength: 5 });
    const property = fc.asyncProperty(some, async (chosen) => {
      const { run } = await attacked(...chosen);
      expect(await otherThanApproved(world, run)).to.deep.equal([]);
    });
    await fc.assert(
      property.afterEach(() => end().then(begin)),
      { numRuns: 6, endOnFailure: true },
    );
  });

  itWith(
    ['bubblewrap'],
    'in the sandbox that was approved, though the configuration allows none by now',
    async () => {
      const { run, refusal } = await attacked(named('validation.json: sandbox none, allowed'));
      expect(refusal).to.equal(null);
      expect(run.actions[2]!.outcome!.facts.sandbox).to.equal('bubblewrap');
    },
  );

  it('on the branch that was approved, though branches have another prefix by now', async () => {
    const { run, refusal } = await attacked(named('policy.json: branches have another prefix'));
    expect(refusal).to.equal(null);
    expect(run.plan!.target.branch).to.match(/^core\/1-/);
    expect(world.checkout.git('branch', '--list', 'core/*', 'evil/*').trim()).to.equal(
      run.plan!.target.branch,
    );
  });

  it('by the author who was approved, though the policy names another by now', async () => {
    const { run, refusal } = await attacked(named('policy.json: somebody else commits'));
    expect(refusal).to.equal(null);
    const { deliver_ref } = run.actions[3]!.definition.params as { deliver_ref: string };
    expect(world.checkout.git('log', '-1', '--format=%an %ce', deliver_ref)).to.equal('Core core@localhost');
  });
});
