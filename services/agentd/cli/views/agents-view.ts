import type { Cell } from '#kit/cli/table.ts';
import type { AgentList, AgentStanding, PresetStanding } from '../../planners/agent/agent-list.ts';
import type { CheckedStep } from '../../planners/agent/check-agent.ts';
import type { AgentDialect, AgentSettings } from '../../planning/agent-settings.ts';
import { table, wrapping } from '../layout.ts';
import { commandLine, type Suggestions } from '../suggestions.ts';
import type { Terminal } from '../terminal.ts';

const agentColumns = [
  { title: 'agent' },
  { title: 'version', gives: { turn: 3, to: 'gone' } },
  { title: 'speaks', gives: { turn: 4, to: 'gone' } },
  { title: 'model', gives: { turn: 2, to: 12 } },
  { title: '', gives: { turn: 1, to: 24 }, excess: 'wrap' },
] as const;

const places = { PATH: 'on PATH', folder: 'in node_modules', global: 'npm, global' } as const;

/** Configured agents, then what is installed besides, then what could be. */
export function agentsView({ agents, presets }: AgentList, terminal: Terminal, by: Suggestions): string {
  const used = new Set(agents.map(({ preset }) => preset));
  const free = presets.filter(({ preset }) => !used.has(preset));
  const installed = free.filter((one) => one.installed !== null);
  const absent = free.filter((one) => one.installed === null);
  const parts = [
    agents.length === 0
      ? ['no agent is configured']
      : [
          'configured',
          ...table(
            agentColumns,
            agents.flatMap((one) => agentRows(one, terminal)),
            terminal,
          ),
        ],
    installed.length === 0
      ? []
      : [
          'installed, not configured',
          ...table(
            agentColumns,
            installed.flatMap((one) => installedRows(one, terminal, by)),
            terminal,
          ),
        ],
    absent.length === 0
      ? []
      : [
          'not installed',
          ...table(
            ['', '', wrapping],
            absent.map(({ preset, title, install }): Cell[] => [
              preset,
              title,
              { text: install, paint: terminal.paint.dim },
            ]),
            terminal,
          ),
        ],
  ];
  return `${parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`;
}

function agentRows(agent: AgentStanding, { paint }: Terminal): Cell[][] {
  const { name, version, dialect, model, obstacle, protocol, hosts } = agent;
  const reaches = hosts.length === 0 ? '' : `, reaches ${hosts.join(', ')}`;
  const state: Cell =
    obstacle === null
      ? { text: `works${reaches}`, paint: paint.green }
      : { text: obstacle.message, paint: paint.yellow };
  const row: Cell[] = [name, version ?? '', spoken(dialect, protocol), served(dialect, model), state];
  if (obstacle?.hint == null) return [row];
  return [row, ['', '', '', '', { text: `do  ${obstacle.hint}`, paint: paint.dim }]];
}

function installedRows(
  { preset, installed, dialect, model }: PresetStanding,
  { paint }: Terminal,
  by: Suggestions,
): Cell[][] {
  const { version, where } = installed!;
  return [
    [preset, version ?? '', spoken(dialect, 'acp'), served(dialect, model), places[where]],
    ['', '', '', '', { text: `do  ${commandLine(by, 'agent', 'add', preset)}`, paint: paint.dim }],
  ];
}

function spoken(dialect: AgentDialect | null, protocol: AgentStanding['protocol']): string {
  return dialect ?? (protocol === 'acp' ? 'ACP' : 'command');
}

/** The model that serves an agent; one that asks none of ours has its own. */
function served(dialect: AgentDialect | null, model: string | null): string {
  return model ?? (dialect === null ? 'its own' : 'none');
}

/** What would be written, and what it means. */
export function proposalView(
  name: string,
  { settings, risks, path }: { settings: AgentSettings; risks: readonly string[]; path: string },
): string {
  const entry = JSON.stringify({ [name]: settings }, null, 2)
    .split('\n')
    .slice(1, -1);
  return [
    `to be written below "agents" in ${path}:`,
    '',
    ...entry,
    ...(risks.length > 0 ? ['', ...risks] : []),
    '',
  ].join('\n');
}

/** One line as a step of a check ends. */
export function stepLines({ step, ok, detail, seconds }: CheckedStep, terminal: Terminal): string[] {
  const { paint } = terminal;
  const state = ok ? { text: 'ok    ', paint: paint.green } : { text: 'failed', paint: paint.red };
  const row = [state, step.padEnd(9), `${seconds.toFixed(2)} s`.padStart(8), detail];
  return table(['', '', '', wrapping], [row], terminal);
}
