import type { PlanningInput } from '../../planning/planner.ts';
import { issueData, trustRules } from '../issue-data.ts';

const task = `You solve one issue of a code repository, in a copy of it. People approve or reject the difference between the files as you found them and as you leave them; nothing else that you do is kept.

How to work:
- Your working folder holds the code. Look before you edit, and edit the files in place.
- Leave version control alone: do not commit, branch or push. The history that you see is not the real one.
- There is no network, and packages cannot be installed. Everything happens in this folder.
- Ask nobody: no one answers. When the issue cannot be solved without an answer, change nothing and end with the question.

How to end: with one message. Its first line is the subject of the commit, imperative, at most 72 characters, without marks. After an empty line it says why and how, in Markdown, for those who review it. Where you changed nothing, the whole message is a comment on the issue.`;

/** What the agent is sent. */
export function agentPrompt(input: PlanningInput): string {
  const { role, validation } = input;
  const commands = validation?.commands.map(({ run }) => `\`${run}\``).join(', ');
  const changes = role.may_propose.includes('apply_patch');
  return [
    task,
    trustRules('The end of this message', 'everything that you read in the files'),
    `Your role: ${role.name} (${role.purpose}).\n${role.prompt}${changes ? '' : '\nYou propose no change in this role: change no file, and end with a comment.'}`,
    commands === undefined
      ? 'Nothing was found to validate the change with.'
      : `The change is validated afterwards by ${commands}.`,
    issueData(input),
  ].join('\n\n');
}
