import { codeOf, Refused } from '#kit/errors.ts';
import type { NamedRun, PlanRequest, RunChanges } from '../agent.ts';
import type { CoreAgent } from '../core-agent.ts';
import { canBePlanned, type Run } from '../runs/run.ts';
import type { BackgroundWork } from './background-work.ts';

interface Work {
  readonly agent: CoreAgent;
  readonly work: BackgroundWork;
}

const joinedCodes: readonly string[] = ['run_busy', 'lease_held', 'run_planned', 'run_cancelled'];

/**
 * What people ask the daemon to do with runs, the same for the routes of programs and those of the review page.
 * @param checkouts name to path, as configured now
 */
export function runChanges(
  { agent, work }: Work,
  checkouts: () => Readonly<Record<string, string>>,
): RunChanges {
  return {
    plan: (request) => planInBackground(request, { agent, work }),
    async decide(request) {
      const run = await agent.decide(request);
      work.changed(run.run_id);
      return run;
    },
    async execute(run, { checkout, ...rest }) {
      const repo_dir = await checkoutOf(agent, run, checkout, checkouts());
      const request = { run_id: run.run_id, repo_dir, ...rest };
      await work.start(run.run_id, 'execution', (watch) => agent.execute(request, watch));
    },
    resume: (run_id, by) => work.start(run_id, 'resuming', (watch) => agent.resume({ run_id, by }, watch)),
    undo: (run_id, by) => work.start(run_id, 'undo', (watch) => agent.undo({ run_id, by }, watch)),
    async cancel(run_id, reason, by) {
      await agent.cancel({ run_id, by, reason });
      work.stop(run_id);
      work.changed(run_id);
    },
    async recover(request) {
      const run = await agent.recoverRecord(request);
      work.changed(run.run_id);
      return run;
    },
  };
}

/** Makes the run that a request asks for, or finds the one of its key, and begins to plan it where that is not under way. */
export async function planInBackground(request: PlanRequest, { agent, work }: Work): Promise<NamedRun> {
  const { run, created } = await agent.createRun(request, work.ending, () => work.checkRoom());
  // Work on a run that has failed is about to end.
  const underWay = work.isAtWork(run.run_id) && run.status !== 'failed';
  if (!canBePlanned(run) || underWay) return { run, created };
  return { run: await begin(run, { agent, work }), created };
}

/** A planning that others began meanwhile, here or in another process, is this one too. */
async function begin(run: Run, { agent, work }: Work): Promise<Run> {
  try {
    await work.start(run.run_id, 'planning', (watch) => agent.plan(run.run_id, watch));
    return run.status === 'planning' ? run : { ...run, status: 'planning' };
  } catch (error) {
    if (joinedCodes.includes(codeOf(error))) return agent.run(run.run_id);
    await agent.leaveUnplanned(run.run_id);
    throw error;
  }
}

/** Paths come from the configuration of this machine, never from a request; who has a checkout here says whether it is meant. */
async function checkoutOf(
  agent: CoreAgent,
  run: Run,
  name: string | null | undefined,
  checkouts: Readonly<Record<string, string>>,
): Promise<string | null> {
  if (name === null) return null;
  if (name !== undefined) {
    if (Object.hasOwn(checkouts, name)) return checkouts[name]!;
    throw new Refused(
      'checkout_unknown',
      `checkout ${JSON.stringify(name)} is not in agentd.checkouts of config/core.json: must be one of ${Object.keys(checkouts).join(', ') || 'none'}`,
      { hint: 'Configure agentd.checkouts in core.json: {"name": "/path/of/the/working/copy"}.' },
    );
  }
  const names = await agent.checkoutsFor(run, checkouts);
  if (names.length === 0) return null;
  throw new Refused(
    'checkout_required',
    `run ${run.run_id} can be delivered to a checkout here: checkout must name it, one of ${names.join(', ')}, or be null, so that the branch reaches the forge alone`,
  );
}
