import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import { changesBetween } from '../git/tree.ts';
import { maskedEvents, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import { requireNoSecrets } from './change-checks.ts';
import { type DraftPorts, requireSmall } from './draft-plan.ts';
import type { AgentRecord } from './planner.ts';
import type { GitScratchCopy } from './scratch-copy.ts';

/** The work of a coding agent in the run's record: what it did, said and used as events, texts and patches as artifacts. */
export function storedAgentWork(
  store: RunStore,
  run: Run,
  { scratch, base_commit }: { readonly scratch: GitScratchCopy; readonly base_commit: string },
  { policy, secrets }: Pick<DraftPorts, 'policy' | 'secrets'>,
  tally: MaskTally,
): AgentRecord {
  return {
    earlier: run.agent,
    append: async (event) => {
      await store.append(run.run_id, (now) => [...maskedEvents(now, tally.found), event]);
    },
    keep: (text) => store.putArtifact(run.run_id, text),
    read: (digest) => store.artifact(run.run_id, digest),
    async keepPatch() {
      const { tree, patch } = await scratch.diff();
      const files = await changesBetween(scratch.gitDir, base_commit, tree);
      if (files.length === 0) return null;
      requireSmall(files.length, patch.length, policy);
      await requireNoSecrets(scratch.gitDir, base_commit, tree, secrets);
      return store.putArtifact(run.run_id, patch);
    },
  };
}
