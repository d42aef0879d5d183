import { visibleLine } from '#kit/cli/terminal-text.ts';
import { exitCodes } from '#kit/errors.ts';
import type { CommandContext } from '../command-context.ts';
import { writeJson } from '../json-output.ts';
import type { ForgeReport } from '../services.ts';

/** Exit 5 when one did not answer, 1 when one does not take its token. */
export async function forges({ services, terminal, json }: CommandContext): Promise<number> {
  const reports = await services.forges();
  if (json) writeJson(terminal, { forges: reports });
  else {
    const width = Math.max(...reports.map(({ forge }) => forge.length));
    const { paint } = terminal;
    for (const { forge, state, detail, fix } of reports) {
      const painted = state === 'works' ? paint.green : state === 'unused' ? paint.dim : paint.yellow;
      terminal.out(`${forge.padEnd(width)}  ${painted(state.padEnd(11))}  ${visibleLine(detail)}\n`);
      if (fix !== null) terminal.out(`${' '.repeat(width + 15)}${paint.dim(`do  ${visibleLine(fix)}`)}\n`);
    }
  }
  const is = (...states: ForgeReport['state'][]) => reports.some(({ state }) => states.includes(state));
  if (is('silent', 'unreachable')) return exitCodes.unavailable;
  return is('refused') ? exitCodes.failed : exitCodes.done;
}
