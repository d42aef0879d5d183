import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf, NotFound } from '#kit/errors.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Run } from '../runs/run.ts';
import type { ConversationPart } from './views/reports.ts';

const StoredMessages = t.strict({ messages: t.array(t.UnknownRecord) });

/** @throws NotFound (`no_prompt`) where no model was asked */
export async function conversationOf(agent: CoreAgent, run: Run): Promise<ConversationPart[]> {
  if (run.prompt === null) {
    throw new NotFound(
      'no_prompt',
      `run ${run.run_id} asked no model; its planner is '${run.request.planner}'`,
    );
  }
  return Promise.all(
    contentDigests(run).map(async (digest) => {
      const bytes = await agent.artifact(run.run_id, digest).catch((error) => {
        if (codeOf(error) === 'artifact_not_found') return null;
        throw error;
      });
      if (bytes === null) return { digest, messages: null };
      const text = Buffer.from(bytes).toString('utf8');
      return { digest, ...decodeJson(StoredMessages, text, `artifact ${digest}`) };
    }),
  );
}

/** How many artifacts of prompt and turns are gone; one that was changed is there. */
export async function deletedContents(agent: CoreAgent, run: Run): Promise<number> {
  const read = contentDigests(run).map((digest) => agent.artifact(run.run_id, digest));
  const results = await Promise.allSettled(read);
  return results.filter((one) => one.status === 'rejected' && codeOf(one.reason) === 'artifact_not_found')
    .length;
}

/** Of the prompt and every turn. */
function contentDigests({ prompt, turns }: Run): string[] {
  return prompt === null ? [] : [prompt, ...turns.map(({ content }) => content)];
}
