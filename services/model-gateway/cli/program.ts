import { type ProgramStart, runServiceProgram } from '#kit/cli/program.ts';
import * as check from './commands/check.ts';
import * as models from './commands/models.ts';
import * as serve from './commands/serve.ts';
import * as usage from './commands/usage.ts';

const description = `Models behind one OpenAI-compatible interface, each credential in this one process, with budgets that bind.
usage asks the running service, ./core up starts it; the others need none.`;

export function runGatewayProgram(start: ProgramStart): Promise<number> {
  return runServiceProgram(start, { description, groups: [serve, models, check, usage] });
}
