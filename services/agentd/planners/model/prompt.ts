import type { ChatMessage } from '../../planning/model.ts';
import type { PlanningInput } from '../../planning/planner.ts';
import { issueData, maxCommentsLength, maxContextLength, trustRules } from '../issue-data.ts';

const rules = `You prepare a proposal for one issue of a code repository. People approve or reject it afterwards; nothing you do here leaves the scratch copy.

How to work:
- Look before you decide: list, search and read what bears on the issue.
- Tools are the only way to do anything. An answer without a tool call ends nothing.
- End with submit_plan, or with ask when the issue cannot be solved without an answer. Each stands alone in its answer.

${trustRules('The next message', 'every tool result (file contents, validation output)')}`;

/**
 * @param maxBytes that the messages may have: passages of context are left out first, then older comments. What does not fit then is
 * given as it is.
 */
export function openingMessages(
  input: PlanningInput,
  toolNames: readonly string[],
  maxBytes = Number.POSITIVE_INFINITY,
): ChatMessage[] {
  const system = systemText(input, toolNames);
  const room = maxBytes - Buffer.byteLength(system);
  let context = Math.min(maxContextLength, room);
  let comments = Math.min(maxCommentsLength, room);
  for (;;) {
    const user = `${issueData(input, Math.floor(context), Math.floor(comments))} Begin.`;
    if (Buffer.byteLength(user) <= room || comments < 100) {
      return [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ];
    }
    if (context >= 100) context /= 2;
    else comments /= 2;
  }
}

function systemText({ role }: PlanningInput, toolNames: readonly string[]): string {
  return [
    rules,
    `Your role: ${role.name} (${role.purpose}).\n${role.prompt}`,
    `Your tools: ${toolNames.join(', ')}.${toolNames.includes('submit_plan') ? '' : ' You propose no change in this role: end with ask.'}`,
  ].join('\n\n');
}
