import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf, NotFound } from '#kit/errors.ts';
import type { CoreAgent } from '../core-agent.ts';
import type { Run } from '../runs/run.ts';
import type { ConversationPart } from './views/reports.ts';

const StoredMessages = t.strict({ messages: t.array(t.UnknownRecord) });
const StoredEntry = t.UnknownRecord;

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
      return { digest, messages: messagesIn(text, digest, run) };
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

/** Of the prompt, every turn, and what an agent did and said. */
function contentDigests({ prompt, turns, agent }: Run): string[] {
  if (prompt === null) return [];
  return [prompt, ...turns.map(({ content }) => content), ...(agent?.transcript ?? [])];
}

/** Entries of a transcript are distinguished from messages by the run that names them. */
function messagesIn(text: string, digest: string, run: Run): ConversationPart['messages'] {
  if (run.agent?.transcript.includes(digest) !== true)
    return decodeJson(StoredMessages, text, `artifact ${digest}`).messages;
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => decodeJson(StoredEntry, line, `artifact ${digest}`));
}
