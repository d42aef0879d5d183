import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Settings } from '#kit/config/settings.ts';
import type { Folders } from '#kit/folders.ts';
import type { Validations } from './compose-validation.ts';
import { openMirror } from './git/mirror.ts';
import { createPlanner } from './planners/registry.ts';
import { PlanIssue, type PlanningPorts } from './planning/plan-issue.ts';
import type { PlannerServices } from './planning/planner.ts';
import { roleNamed } from './planning/roles.ts';
import { createScratchCopy } from './planning/scratch-copy.ts';
import { comparisonText } from './validation/base-comparison.ts';
import type { ValidationConfig } from './validation/configuration.ts';
import { planValidation } from './validation/detect.ts';
import { filesOf } from './validation/ecosystems/project.ts';
import { choosePrograms, wantedPrograms, withPrograms } from './validation/wanted-programs.ts';
import { chooseVcs } from './vcs/registry.ts';

type SharedPorts = 'store' | 'policy' | 'approvals' | 'secrets' | 'context' | 'deliverEarlier' | 'forge';

export interface PlanningParts extends Pick<PlanningPorts, SharedPorts> {
  readonly folders: Folders;
  readonly planners: PlannerServices;
  readonly settings: Pick<Settings, 'vcs' | 'agentd'>;
  readonly validationConfig: ValidationConfig;
  readonly validations: Validations;
}

/** Puts planning together; executing what was approved needs none of it. */
export function composePlanning(parts: PlanningParts): PlanIssue {
  const { folders, planners, settings, validationConfig, validations, ...ports } = parts;

  const scratchFolder = (runId: string) => join(folders.state, 'scratch', runId);
  return new PlanIssue({
    ...ports,
    mirror: (forge, { owner, repo }) => openMirror({ stateDir: folders.state, forge, owner, repo }),
    scratch: (mirror, run, base_commit) =>
      createScratchCopy({ gitDir: mirror.dir, base_commit, folder: scratchFolder(run.run_id) }),
    discardScratch: (runId) => rm(scratchFolder(runId), { recursive: true, force: true }),
    planner: (run, role) => createPlanner(planners, role, run),
    role: (name) => roleNamed(planners.agents, name),
    sandbox: validations.sandboxTerms,
    missingPrograms: ({ prepare, commands }, terms) =>
      validations.missingIn(
        [...prepare, ...commands].map(({ run }) => run),
        terms,
      ),
    checkouts: Object.values(settings.agentd.checkouts),
    vcs: async (mirror, base_commit) => (await chooseVcs(settings.vcs, mirror.dir, base_commit)).kind,
    async findValidation(sources, forge, signal) {
      const { base: tree, repository } = sources;
      const bare = await planValidation(tree, validationConfig, repository);
      if (bare === null) return null;
      const plan = await validations.withFetched(bare, sources, forge, signal);
      if ((await validations.sandboxTerms()).terms === null) return plan;
      const files = await filesOf(tree);
      const wanted = await wantedPrograms(files);
      if (wanted.length === 0) return plan;
      const names = ['rust-toolchain.toml', 'rust-toolchain'].filter(files.has);
      const texts = await Promise.all(names.map(async (name) => [name, await files.text(name)] as const));
      const found = await (await validations.open()).programs(Object.fromEntries(texts), signal);
      return withPrograms(plan, choosePrograms(plan, wanted, found), found);
    },
    async prepare(mirror_dir, base_commit, plan, watch) {
      return (await validations.open()).prepare({ mirror_dir, base_commit, plan, ...watch });
    },
    async validate(gitDir, base_commit, tree, plan, signal) {
      const report = await (await validations.open()).run({
        mirror_dir: gitDir,
        base_commit,
        tree,
        plan,
        signal,
      });
      const output = report.steps.map(
        ({ run, exit_code, log }) =>
          `$ ${run}\n${Buffer.from(log).toString('utf8')}\n(exit status ${exit_code})`,
      );
      if (report.base !== undefined) output.push(`compared with the base: ${comparisonText(report.base)}`);
      return { passed: report.passed, output: output.join('\n'), masked: report.masked };
    },
  });
}
