import * as t from 'io-ts';
import { decodeJson, nullable } from '#kit/decode.ts';
import type { Run } from '../runs/run.ts';
import type { RunStore } from '../runs/run-store.ts';
import type { ChatMessage } from './model.ts';
import type { Conversation, Planner, Turn } from './planner.ts';
import type { SecretFinder } from './secrets.ts';

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
 * The planner's conversation, kept turn by turn as artifacts of the run, secrets masked. Where that hits an edit, an interrupted
 * planning is refused and not continued with other bytes.
 */
export async function storedConversation(
  store: RunStore,
  run: Run,
  planner: Planner,
  secrets: SecretFinder,
): Promise<Conversation> {
  const stored: Turn[] = [];
  for (const { content } of run.turns) {
    const text = Buffer.from(await store.artifact(run.run_id, content)).toString('utf8');
    const turn = decodeJson(StoredTurn, text, `planner turn ${content}`);
    stored.push({ ...turn, messages: turn.messages as unknown as ChatMessage[] });
  }
  return {
    stored,
    async store(turn) {
      const masked = JSON.stringify(
        turn,
        (_, value) => (typeof value === 'string' ? secrets.mask(value) : value),
        2,
      );
      const content = await store.putArtifact(run.run_id, `${masked}\n`);
      const tool_calls = turn.messages.flatMap((message) =>
        message.role === 'assistant' ? (message.tool_calls ?? []).map((call) => call.function.name) : [],
      );
      const usage = {
        provider: planner.model?.provider ?? 'none',
        tier: planner.model?.tier ?? 'none',
        ...turn.usage,
        model: turn.model,
      };
      await store.append(run.run_id, () => [{ type: 'planner_turn', data: { content, usage, tool_calls } }]);
    },
  };
}
