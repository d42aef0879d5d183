import * as t from 'io-ts';
import { limit } from '#kit/cli/moments.ts';
import { ValidationReport as StoredReport } from '#kit/contracts/stored-texts.ts';
import { optional, Sha256 } from '#kit/decode.ts';
import { ValidationPlan } from '../action.ts';
import { comparisonText, nothingNewFails } from '../validation/base-comparison.ts';
import { untestedTexts } from '../validation/coverage.ts';
import { liveLines } from '../validation/live-lines.ts';
import type { Validation, ValidationReport, ValidationStep } from '../validation/validation.ts';
import type { TreeCopy } from '../validation/work-folder.ts';
import type { ActionExecutor, Effect, ExecutionPorts, RunRecord, Step } from './executor.ts';
import type { ActionType, Definition } from './kind.ts';
import { assess } from './risk.ts';

export const RunValidationParams = t.strict({
  tree: t.string,
  sandbox: t.string,
  plan: ValidationPlan,
  /** Folders outside the system that the commands see read-only and find programs in, in the order of their PATH. */
  tool_paths: optional(t.array(t.string)),
  /** Variables that preparing with network sees in addition, by name: the sha256 of each value, which may be a secret. */
  prepare_environment: optional(t.record(t.string, Sha256)),
  /** True if failures that the base has too do not stop publishing. Missing in plans of older versions, which do not allow it. */
  allow_red_base: optional(t.boolean),
});
type Params = t.TypeOf<typeof RunValidationParams>;
type RunValidation = Definition<'run_validation', Params>;

/** What a sandbox weaker than bubblewrap leaves open, for the person who decides about the validation. */
const openIn: Readonly<Record<string, string>> = {
  'unshare (weak)': 'no system call filter: keyrings, bpf, io_uring and sockets to the host stay open',
  none: 'no sandbox: the commands see your files and the network as you do',
};

/** Runs the approved commands on the approved tree, in the sandbox, and keeps report and logs as artifacts. */
export const runValidation: ActionType<'run_validation', Params> = {
  kind: 'run_validation',
  gate: 'build',
  params: RunValidationParams,
  artifacts: [],

  propose(plan) {
    if (plan.proposes !== 'change' || plan.validation === null || plan.sandbox === null) return null;
    const { validation, sandbox, policy } = plan;
    const extras: [number, string][] = [];
    if (validation.prepare.length > 0 && validation.prepare_network) {
      extras.push([policy.risk.prepare_network, 'preparing uses the network']);
    }
    for (const [at, text] of untestedTexts(plan.change.untested).entries())
      extras.push([at === 0 ? policy.risk.untested_files : 0, text]);
    if (policy.allow_red_base) extras.push([0, 'failures that the base has too do not stop publishing']);
    const open = openIn[sandbox.kind];
    if (open !== undefined) extras.push([0, open]);
    return {
      title: commandsText(validation),
      rationale: [
        `Found in ${validation.found}.`,
        ...programTexts(validation),
        ...submoduleTexts(validation),
        ...lfsTexts(validation),
      ].join(' '),
      params: {
        tree: plan.target.tree!,
        sandbox: sandbox.kind,
        plan: validation,
        tool_paths: [...sandbox.tool_paths],
        prepare_environment: validation.prepare_network ? { ...sandbox.prepare_environment } : {},
        allow_red_base: policy.allow_red_base,
      },
      needs: ['apply_patch'],
      risk: assess(policy.risk.base.run_validation, extras, policy),
    };
  },

  duplicates: ({ params, target }) => [['tree', params.tree, 'target.tree', target.tree]],

  describe: ({ params: { plan, sandbox } }) => ({
    main: commandsText(plan),
    note: `(${conditionsText(plan, sandbox)})`,
  }),
  results: () => [],

  buildStep: null,
  executor,
};

function executor({
  clone,
  record,
  validation,
  redBaseAllowed,
}: ExecutionPorts): ActionExecutor<RunValidation> {
  const none = Promise.resolve(undefined);
  let prepared: Promise<TreeCopy | undefined> = none;
  let removed: Promise<void> | undefined;
  let opening: Promise<Validation> | undefined;

  /** Trying the sandbox takes a while. */
  function opened({ run_id, target, params }: RunValidation): Promise<Validation> {
    opening ??= validation({ run_id, target, ...params });
    return opening;
  }

  async function copyTree(action: RunValidation): Promise<TreeCopy> {
    await clone.ensureTree();
    return (await opened(action)).copy({
      mirror_dir: clone.mirrorDir,
      tree: action.params.tree,
      plan: action.params.plan,
    });
  }

  async function runIn(copy: TreeCopy | undefined, step: Step<RunValidation>): Promise<ValidationReport> {
    const { params, target } = step.action;
    const runner = await opened(step.action);
    const output = liveLines(step.progress);
    try {
      return await runner.run({
        mirror_dir: clone.mirrorDir,
        base_commit: target.base_commit,
        tree: params.tree,
        plan: params.plan,
        signal: step.signal,
        onStep(text) {
          output.flush();
          step.progress(text);
        },
        onOutput: (text) => output.add(text),
        ...(copy === undefined ? {} : { copy }),
      });
    } finally {
      output.flush();
    }
  }

  return {
    prepare({ action }) {
      prepared = copyTree(action).catch(() => undefined);
    },
    async dispose() {
      await Promise.all([removed, prepared.then((copy) => copy?.remove())]);
    },
    async check(step) {
      await clone.ensureTree();
      await opened(step.action);
    },
    render: async () => ({ bytes: {}, forge_time: null, operation_before: null }),
    async perform(step) {
      const copy = await prepared;
      prepared = none;
      let report: ValidationReport;
      try {
        report = await runIn(copy, step);
      } finally {
        // Not awaited: the actions that follow need not wait for it.
        removed = copy?.remove();
      }
      const stored = await storeReport(record, report);
      await record.addMasked(report.masked);
      return effectOf(report, stored, step.action.params.allow_red_base === true && redBaseAllowed);
    },
    reconcile: async () => ({ kind: 'again' }),
    undoing: async () => ({ effect: 'nothing', message: 'ran in a copy that is gone' }),
  };
}

/** For example `Runs node v24.21.0, as package.json asks.` */
function programTexts({ programs }: ValidationPlan): string[] {
  return (programs ?? [])
    .filter(({ fits }) => fits === true)
    .map(({ name, version, from }) => `Runs ${name} ${version}, as ${from} asks.`);
}

/** For example `Provides vendor/lib: demo/lib at 0123456789ab.` */
function submoduleTexts({ submodules }: ValidationPlan): string[] {
  return (submodules?.provided ?? []).map(
    ({ path, owner, repo, commit, url }) =>
      `Provides ${path}: ${url ?? `${owner}/${repo}`} at ${commit.slice(0, 12)}.`,
  );
}

/** For example `Provides 3 objects of Git LFS, 12.4 MiB: a.bin, b.bin, c.bin.` */
function lfsTexts({ lfs }: ValidationPlan): string[] {
  const provided = lfs?.provided ?? [];
  if (provided.length === 0) return [];
  const bytes = provided.reduce((sum, { size }) => sum + size, 0);
  const size = bytes < 1024 * 1024 ? `${bytes} bytes` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
  const named = provided.slice(0, 3).map(({ path }) => path);
  const more = provided.length > named.length ? ` and ${provided.length - named.length} more` : '';
  const objects = provided.length === 1 ? '1 object' : `${provided.length} objects`;
  return [`Provides ${objects} of Git LFS, ${size}: ${named.join(', ')}${more}.`];
}

function commandsText({ commands }: ValidationPlan): string {
  return commands.map(({ run }) => run).join(' && ');
}

/** For example `bubblewrap, no network, 10 min; prepared with network`. */
export function conditionsText(plan: ValidationPlan, sandbox: string): string {
  const where = sandbox === 'none' ? 'NO SANDBOX' : `${sandbox}, no network`;
  const network = plan.prepare_network ? 'with network' : 'without network';
  const prepared = plan.prepare.length > 0 ? `; prepared ${network}` : '';
  return `${where}, ${limit(plan.limits.seconds)}${prepared}`;
}

interface StoredDigests {
  readonly report: string;
  readonly logs: Readonly<Record<string, string>>;
}

type Stored = Omit<ValidationStep, 'log'> & { readonly log: string };

async function storeReport(record: RunRecord, report: ValidationReport): Promise<StoredDigests> {
  const logs: Record<string, string> = {};
  const store = async (steps: readonly ValidationStep[], prefix = '') => {
    const stored: Stored[] = [];
    for (const { log, ...facts } of steps) {
      const digest = await record.putArtifact(log);
      logs[`${prefix}${facts.phase}-${facts.name}`] = digest;
      stored.push({ ...facts, log: digest });
    }
    return stored;
  };
  const steps = await store(report.steps);
  const { base } = report;
  const compared =
    base === undefined
      ? undefined
      : {
          ...base,
          new_failures: [...base.new_failures],
          undecided: [...base.undecided],
          steps: await store(base.steps, 'base-'),
        };
  const stored = StoredReport.encode({ ...report, steps, base: compared });
  return { report: await record.putArtifact(`${JSON.stringify(stored, null, 2)}\n`), logs };
}

function effectOf(
  report: ValidationReport,
  { report: digest, logs }: StoredDigests,
  redBaseAllowed: boolean,
): Effect {
  const facts = { passed: report.passed, report: digest, logs, tree: report.tree, sandbox: report.sandbox };
  const seconds = (report.duration_ms / 1000).toFixed(1);
  const where = report.sandbox === 'none' ? 'without a sandbox' : `in ${report.sandbox}`;
  if (report.passed) {
    const names = report.steps.filter(({ phase }) => phase === 'run').map(({ run }) => run);
    return {
      succeeded: true,
      message: `${names.join(' && ')} passed in ${seconds} s (${where})`,
      facts,
      vcs: null,
    };
  }
  const failed = report.steps.find(({ exit_code, ended_by }) => exit_code !== 0 || ended_by !== 'exit');
  const what = failed?.phase === 'prepare' ? 'preparing failed: ' : '';
  const how = failed === undefined ? 'nothing ran' : `${what}${failed.run} ${howItEnded(failed)}`;
  const compared = report.base === undefined ? '' : comparisonText(report.base);
  const ended = `${how} after ${seconds} s (${where})`;
  if (redBaseAllowed && report.base !== undefined && nothingNewFails(report.base)) {
    // First what decides: a pull request shows only the beginning of a long line.
    const message = `failed as the base does (${compared}; allow_red_base of policy.json lets the run go on): ${ended}`;
    return { succeeded: true, message, facts, vcs: null };
  }
  const message = compared === '' ? ended : `${ended}; ${compared}`;
  return { succeeded: false, code: 'validation_failed', message, facts, vcs: null };
}

function howItEnded({ ended_by, exit_code }: { ended_by: string; exit_code: number | null }): string {
  switch (ended_by) {
    case 'timeout':
      return 'ran out of time';
    case 'memory':
      return 'ran out of memory';
    case 'signal':
      return 'was ended by a signal';
    case 'cancelled':
      return 'was cancelled';
    default:
      return `ended with exit status ${exit_code}`;
  }
}
