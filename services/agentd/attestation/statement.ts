import { ValidationReport } from '#kit/contracts/stored-texts.ts';
import { decodeJson } from '#kit/decode.ts';
import { canonicalJson, sha256 } from '#kit/digest.ts';
import { Conflict, InvalidInput } from '#kit/errors.ts';
import { fold } from '../runs/log/fold.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { recoveryManifest } from '../runs/views/recovery-manifest.ts';

/** The in-toto attestation framework's Statement, version 1, with a predicate of ours. */
export const statementType = 'https://in-toto.io/Statement/v1';
export const predicateType = 'urn:x-core:run:v1';

type StatementStore = Pick<RunStore, 'events' | 'artifact'>;

/**
 * What was planned, approved, validated and published, as the record said with its event `seq`; the newest without one. The same
 * record always gives the same bytes: canonical JSON.
 * @throws Conflict (`nothing_to_attest`) while there is no commit, InvalidInput (`invalid_option`)
 */
export async function statementOf(store: StatementStore, runId: string, seq?: number): Promise<string> {
  const events = await store.events(runId);
  if (seq !== undefined && (seq < 1 || seq > events.length))
    throw new InvalidInput(
      'invalid_option',
      `--at ${seq} is no event of run ${runId}: it has 1 to ${events.length}`,
    );
  const run = fold(runId, seq === undefined ? events : events.slice(0, seq));
  const { commit, tree, pushed, pull_request } = recoveryManifest(run);
  if (commit === null || run.plan === null)
    throw new Conflict(
      'nothing_to_attest',
      `run ${runId} has no commit${seq === undefined ? '' : ` with event ${seq}`}: there is nothing to attest yet`,
    );
  const { owner, repo } = run.request;
  return canonicalJson({
    _type: statementType,
    subject: [{ name: `${owner}/${repo}`, digest: { gitCommit: commit } }],
    predicateType,
    predicate: {
      run_id: runId,
      as_of: run.head,
      planned: planned(run),
      approved: approved(run),
      validated: await validated(store, run),
      published: { commit, tree, pushed, pull_request },
    },
  });
}

/** sha256 of the statement's bytes. */
export async function statementDigest(store: StatementStore, runId: string, seq: number): Promise<string> {
  return sha256(await statementOf(store, runId, seq));
}

function planned({ request, plan, issue, usage, actions }: Run) {
  const { forge, owner, repo, number, role, requested_by, agent = null } = request;
  const { planner, title, target, patch } = plan!;
  return {
    requested_by,
    issue: { forge, owner, repo, number, author: issue?.author ?? null, content: issue?.content ?? null },
    role,
    planner,
    agent,
    model: usage === null ? null : { provider: usage.provider, name: usage.model },
    title,
    base: { branch: target.base_branch, commit: target.base_commit },
    patch,
    tree: target.tree,
    actions: actions.map(({ definition, state }) => {
      const { action_id, ordinal, kind, digest, risk, risk_score, influences } = definition;
      const untrusted = influences.some(({ trusted }) => !trusted);
      return { action_id, ordinal, kind, digest, risk, risk_score, untrusted, state };
    }),
  };
}

/** The decision in force about each action; where rules count people, the last one of each. */
function approved({ actions }: Run) {
  return actions.flatMap(({ definition, decision, decisions, terms }) => {
    if (decision === null) return [];
    const { action_id } = definition;
    const counted = terms === null ? [decision] : decisions;
    return counted.map(({ decision: what, approver, digest, at, expires_at, signature = null }) => {
      return { action_id, decision: what, approver, digest, at, expires_at, signature };
    });
  });
}

/** The validation that passed or failed last; null where none ran. */
async function validated(store: StatementStore, run: Run) {
  const { facts } = run.actions.find(({ definition }) => definition.kind === 'run_validation')?.outcome ?? {};
  if (typeof facts?.report !== 'string') return null;
  const bytes = await store.artifact(run.run_id, facts.report);
  const report = decodeJson(ValidationReport, Buffer.from(bytes).toString(), 'validation report');
  const { passed, tree, sandbox, steps } = report;
  const commands = steps.map(({ phase, name, run: command, exit_code, ended_by, log }) => ({
    phase,
    name,
    run: command,
    exit_code,
    ended_by,
    log,
  }));
  return { report: facts.report, passed, tree, sandbox, commands };
}
