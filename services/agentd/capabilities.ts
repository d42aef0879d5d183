import { CoreError } from '#kit/errors.ts';
import { actionKinds, type SandboxTerms } from './action.ts';
import type { ConfiguredForge } from './forges/configured-forge.ts';
import type { AgentAdmin } from './planners/agent/agent-admin.ts';
import { whyNone } from './planners/agent/agent-list.ts';
import { plannersHere } from './planners/registry.ts';
import type { PlannerServices } from './planning/planner.ts';
import { vcsAdapters } from './vcs/registry.ts';

export interface CapabilityParts {
  readonly planners: PlannerServices;
  readonly forges: ReadonlyMap<string, ConfiguredForge>;
  readonly agents: Pick<AgentAdmin, 'standing'>;
  sandboxTerms(): Promise<{ readonly terms: SandboxTerms | null; readonly reason: string }>;
}

/** What this installation can do, and for what it cannot, why. */
export async function capabilitiesOf({
  planners,
  forges,
  agents,
  sandboxTerms,
}: CapabilityParts): Promise<Readonly<Record<string, unknown>>> {
  const standing = await agents.standing();
  const noAgent = whyNone(standing);
  return {
    action_kinds: actionKinds,
    forges: [...forges.values()].map((forge) => {
      const missing = forge.missing();
      return { name: forge.name, kind: forge.kind, works: missing === null, reason: missing };
    }),
    vcs: await Promise.all(
      Object.values(vcsAdapters).map(async (open) => ({
        kind: open().kind,
        ...(await works(() => open().version())),
      })),
    ),
    sandbox: await sandboxTerms().then(({ terms, reason }) => ({
      kind: terms?.kind ?? null,
      works: terms !== null,
      reason: reason || null,
    })),
    planners: plannersHere(planners).map((planner) =>
      planner.name === 'agent' && noAgent !== null ? { ...planner, works: false, reason: noAgent } : planner,
    ),
    agents: standing.map(({ name, model, works: can, obstacle }) => ({
      name,
      model,
      works: can,
      reason: obstacle?.message ?? null,
    })),
    roles: planners.agents.roles.map(({ name, key, purpose, may_propose }) => ({
      name,
      key,
      purpose,
      may_propose,
    })),
  };
}

async function works<T extends object>(check: () => Promise<T>): Promise<object> {
  try {
    return { works: true, reason: null, ...(await check()) };
  } catch (error) {
    if (!(error instanceof CoreError)) throw error;
    return { works: false, reason: error.message };
  }
}
