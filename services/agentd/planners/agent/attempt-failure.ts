import { Failed } from '#kit/errors.ts';
import { oneLine } from '../../actions/published-texts.ts';
import type { AgentExit } from '../../planning/agent-room.ts';
import type { Agent } from './agent.ts';

type Named = Pick<Agent, 'name' | 'protocol'>;

/** Of an agent whose process ended before its work did (`agent_failed`). @param standardError its end */
export function diedFailure(
  { name, protocol }: Named,
  { exit_code, ended_by, note }: AgentExit,
  standardError: string,
): Failed {
  const how =
    note !== null
      ? `was ${note}`
      : exit_code === null
        ? `was ended by ${ended_by === 'exit' ? 'a signal' : ended_by}`
        : `ended with status ${exit_code}${protocol === 'acp' ? ' before it had answered' : ''}`;
  const said = standardError.trim();
  return new Failed(
    'agent_failed',
    `agent ${name} ${how}${said === '' ? '' : `: ${oneLine(said.slice(-500), 500)}`}`,
    {
      hint: `./core agent check ${name} tries it step by step; ./core show RUN --prompt prints what it did`,
    },
  );
}

/** Of an agent that said that it stopped for another reason than being done (`agent_failed`). */
export function earlyStop({ name }: Named, reason: string | null, lastMessage: string): Failed {
  const said = lastMessage.trim();
  return new Failed(
    'agent_failed',
    `agent ${name} stopped before it was done (${oneLine(reason ?? 'no reason')})${said === '' ? '' : `: ${oneLine(said, 500)}`}`,
    { hint: './core show RUN --prompt prints what it did' },
  );
}
