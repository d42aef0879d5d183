import type { Command } from 'commander';
import { choice } from '#kit/cli/choice.ts';
import { confirm } from '#kit/cli/confirm.ts';
import { visibleLine } from '#kit/cli/terminal-text.ts';
import { exitCodes, Interrupted, InvalidInput, Refused } from '#kit/errors.ts';
import type { AgentCheck } from '../../planners/agent/check-agent.ts';
import type { NewAgent } from '../../planners/agent/new-agent.ts';
import { agentDialects, agentPresets, agentProtocols } from '../../planning/agent-settings.ts';
import { answer, type CommandContext, type Run, show } from '../command.ts';
import { commandLine } from '../suggestions.ts';
import { agentsView, proposalView, stepLines } from '../views/agents-view.ts';

/** Coding agents: what is installed, what is configured, and whether each works. */
export function agent(program: Command, run: Run): void {
  const group = program.command('agent').description('coding agents that plan');
  group
    .command('list')
    .description('agents of agents.json and on this machine: version, model, whether each works')
    .action(
      run(async (context) => {
        const { services, terminal, suggestions } = context;
        const found = await (await services.agents()).list(process.cwd());
        return answer(context, found, () => agentsView(found, terminal, suggestions));
      }),
    );
  group
    .command('add')
    .description('configure an agent: find its program, show the entry, then write it into agents.json')
    .argument('<name>', 'what it is called here; a preset of that name is taken')
    .addOption(choice('--preset <name>', 'what it is', agentPresets))
    .option('--command <line>', 'program and arguments; {prompt_file} stands for the file with the prompt')
    .addOption(choice('--protocol <name>', 'how it is spoken to', agentProtocols))
    .addOption(choice('--dialect <name>', 'what it speaks with its model', [...agentDialects, 'none']))
    .option('--model <name>', 'of models.json; default is the one of the tier of its role')
    .option('--env <NAME=VALUE...>', 'variables; {address}, {model} and {key} stand for those of the model')
    .option('--programs <paths>', 'files and folders that it is run from, with commas between them')
    .option('--hosts [names]', 'it may reach these on port 443; without names those of its login')
    .option('--credentials [files]', 'it gets copies of these, from ~/ on; without files those of its login')
    .option('--replace', 'in place of an agent that is configured')
    .option('--yes', 'ask nothing')
    .action(run(add));
  group
    .command('check')
    .description('run one small prompt through sandbox, door and gateway, and print each step')
    .argument('[name]', 'which one; default is every configured agent')
    .action(run(check));
}

interface AddFlags extends Omit<NewAgent, 'name'> {
  readonly replace?: boolean;
  readonly yes?: boolean;
}

async function add(context: CommandContext, name: string, flags: AddFlags): Promise<number> {
  const { services, terminal, json, suggestions } = context;
  const { replace = false, yes = false, ...given } = flags;
  const admin = await services.agents();
  const proposed = await admin.proposed({ name, ...given }, process.cwd(), replace);
  if (!json) show(terminal, `${proposalView(name, proposed)}\n`);
  if (!yes) await confirmed(context);
  const path = admin.add(name, proposed.settings, replace);
  const next = commandLine(suggestions, 'agent', 'check', name);
  return answer(context, { name, path, entry: proposed.settings, risks: proposed.risks }, () =>
    [`${visibleLine(name)} is in ${path}`, `try it: ${next}`, ''].join('\n'),
  );
}

/** @throws InvalidInput (`no_terminal`), Interrupted (`interrupted`) */
async function confirmed({ json, terminal }: CommandContext): Promise<void> {
  const nothing = 'nothing was written';
  if (json || process.stdin.isTTY !== true || !terminal.errIsTerminal) {
    throw new InvalidInput(
      'no_terminal',
      `agent add asks before it writes, and nobody can be asked here; ${nothing}`,
      {
        hint: '--yes writes it without asking',
      },
    );
  }
  const stopped = (cause?: unknown) =>
    new Interrupted('interrupted', `stopped by you; ${nothing}`, { cause });
  const { symbols } = terminal;
  const question = { message: 'Write it?', default: true, symbols, output: process.stderr };
  const wanted = await confirm(question).catch((cause) => {
    throw stopped(cause);
  });
  if (!wanted) throw stopped();
}

/** The exit code is that of the first agent that failed. */
async function check(context: CommandContext, name: string | undefined): Promise<number> {
  const { services, terminal, json, signal } = context;
  const admin = await services.agents();
  const names = name === undefined ? admin.names : [name];
  if (names.length === 0) {
    throw new Refused('agent_not_configured', 'no coding agent is in agents.json', {
      hint: './core agent list shows what is installed; ./core agent add configures one',
    });
  }
  const checks: AgentCheck[] = [];
  for (const [index, one] of names.entries()) {
    const say = (text: string) => (json ? undefined : show(terminal, text));
    if (names.length > 1) say(`${index === 0 ? '' : '\n'}${visibleLine(one)}\n`);
    const result = await admin.check(one, (step) => say(`${stepLines(step, terminal).join('\n')}\n`), signal);
    const { ok, obstacle } = result;
    if (obstacle?.hint != null) say(`  do  ${obstacle.hint}\n`);
    if (ok) say(`${visibleLine(one)} works\n`);
    checks.push(result);
  }
  const exitCode = checks.find(({ ok }) => !ok)?.exit_code ?? exitCodes.done;
  if (!json) return exitCode;
  return answer(context, { ok: exitCode === exitCodes.done, checks }, () => '', exitCode);
}
