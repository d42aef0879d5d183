import * as t from 'io-ts';
import { decodeJson } from '#kit/decode.ts';
import { codeOf, NotFound } from '#kit/errors.ts';
import type { Run } from './run.ts';

const StoredMessages = t.strict({ messages: t.array(t.UnknownRecord) });
const StoredEntry = t.UnknownRecord;

/** What reads the artifacts of runs. */
export interface Artifacts {
  artifact(runId: string, digest: string): Promise<Uint8Array>;
}

/** One artifact of a conversation; `messages` is null where the artifact was deleted. */
export interface ConversationPart {
  readonly digest: string;
  readonly messages: readonly Readonly<Record<string, unknown>>[] | null;
}

/** The messages to the model and its answers, as they are stored. @throws NotFound (`no_prompt`) where no model was asked */
export async function conversationOf(artifacts: Artifacts, run: Run): Promise<ConversationPart[]> {
  if (run.prompt === null) {
    throw new NotFound(
      'no_prompt',
      `run ${run.run_id} asked no model; its planner is '${run.request.planner}'`,
    );
  }
  return Promise.all(
    contentDigests(run).map(async (digest) => {
      const bytes = await artifacts.artifact(run.run_id, digest).catch((error) => {
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
export async function deletedContents(artifacts: Artifacts, run: Run): Promise<number> {
  const read = contentDigests(run).map((digest) => artifacts.artifact(run.run_id, digest));
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

/** For people, not safe to print: the role of a message; of an entry of an agent's transcript its time and kind. */
export function messageHead({ role, seconds, type, ...facts }: Readonly<Record<string, unknown>>): string {
  if (role !== undefined) return String(role);
  const { title, status, action, path, allowed, why } = facts;
  const answer = allowed === undefined ? undefined : `${allowed === true ? 'allowed' : 'refused'}: ${why}`;
  const parts = [title, status, action, path, answer].filter((part) => part != null);
  return [`${seconds} s`, String(type).replaceAll('_', ' '), ...parts.map(String)].join('  ');
}

export function messageTexts({ content, text, tool_calls }: Readonly<Record<string, unknown>>): string[] {
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return [
    ...(typeof content === 'string' ? [content] : []),
    ...(typeof text === 'string' ? [text] : []),
    ...calls.map((call) => `${call?.function?.name} ${call?.function?.arguments}`),
  ];
}
