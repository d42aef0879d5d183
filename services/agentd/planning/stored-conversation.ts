import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import { maskedEvents, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { Conversation, Planner, Prompt, Turn } from './planner.ts';

/**
 * The planner's conversation as the model has it, without secrets, kept prompt by turn as artifacts of the run. Where a mask hits an
 * edit, an interrupted planning is refused and not continued with other bytes.
 */
export async function storedConversation(
  store: RunStore,
  run: Run,
  planner: Planner,
  secrets: MaskTally,
): Promise<Conversation> {
  async function read(digest: string): Promise<unknown> {
    return JSON.parse(Buffer.from(await store.artifact(run.run_id, digest)).toString('utf8'));
  }
  const stored: Turn[] = [];
  for (const { content } of run.turns) stored.push((await read(content)) as Turn);
  return {
    stored,
    async open(prompt) {
      if (run.prompt !== null) return ((await read(run.prompt)) as Prompt).messages;
      const { messages, tools } = secrets.maskDeep(prompt, 'the prompt');
      const text = JSON.stringify({ messages, tools }, null, 2);
      const content = await store.putArtifact(run.run_id, `${text}\n`);
      await store.append(run.run_id, (now) => [
        ...maskedEvents(now, secrets.found),
        { type: 'planner_prompt', data: { content } },
      ]);
      return messages;
    },
    async store(said) {
      const turn = secrets.maskDeep(said, 'an answer of the model');
      const content = await store.putArtifact(run.run_id, `${JSON.stringify(turn, null, 2)}\n`);
      const tool_calls = turn.messages.flatMap((message) =>
        message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.function.name) : [],
      );
      const usage = {
        provider: turn.provider ?? 'none',
        tier: planner.model?.tier ?? 'none',
        ...turn.usage,
        model: turn.model,
      };
      await store.append(run.run_id, (now) => [
        ...maskedEvents(now, secrets.found),
        { type: 'planner_turn', data: { content, usage, tool_calls } },
      ]);
      return turn;
    },
  };
}
