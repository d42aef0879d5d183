import * as t from 'io-ts';
import { decodeJson, nullable } from '#kit/decode.ts';
import type { MaskTally } from '#kit/redaction/secret-finder.ts';
import { maskedEvents, type Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { ChatMessage } from './model.ts';
import type { Conversation, Planner, Turn } from './planner.ts';

const StoredPrompt = t.strict({ messages: t.array(t.UnknownRecord), tools: t.array(t.UnknownRecord) });

const StoredTurn = t.strict({
  messages: t.array(t.UnknownRecord),
  usage: t.strict({
    input_tokens: t.number,
    output_tokens: t.number,
    cached_tokens: t.number,
    cost: nullable(t.number),
  }),
  model: t.string,
});

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
  const stored: Turn[] = [];
  for (const { content } of run.turns) {
    const text = Buffer.from(await store.artifact(run.run_id, content)).toString('utf8');
    const turn = decodeJson(StoredTurn, text, `planner turn ${content}`);
    stored.push({ ...turn, messages: turn.messages as unknown as ChatMessage[] });
  }
  return {
    stored,
    async open(prompt) {
      if (run.prompt !== null) {
        const text = Buffer.from(await store.artifact(run.run_id, run.prompt)).toString('utf8');
        return decodeJson(StoredPrompt, text, `prompt ${run.prompt}`).messages as unknown as ChatMessage[];
      }
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
        provider: planner.model?.provider ?? 'none',
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
