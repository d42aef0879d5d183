import type { Command } from 'commander';
import { exitCodes } from '#kit/errors.ts';
import type { Run } from '../command.ts';

/** Core as tools of another agent or editor, which starts this command and speaks with it. */
export function mcp(program: Command, run: Run): void {
  program
    .command('mcp')
    .description(
      'tools for another agent or editor, by the Model Context Protocol on standard input and output',
    )
    .action(
      run(async ({ services, signal }) => {
        const by = await services.person();
        const [{ coreServer }, { serveOverStdio }, { mcpParts }, { BackgroundWork }] = await Promise.all([
          import('../../mcp/core-server.ts'),
          import('../../mcp/over-stdio.ts'),
          import('../../http/mcp.ts'),
          import('../../http/background-work.ts'),
        ]);
        const [{ createLogger }, { Redactor }, { ownVersion }] = await Promise.all([
          import('#kit/log.ts'),
          import('#kit/redaction/redactor.ts'),
          import('#kit/program.ts'),
        ]);
        const redactor = new Redactor();
        // Standard output is the protocol's; what goes wrong is said on standard error.
        const logger = createLogger({
          service: 'core mcp',
          level: 'warn',
          format: 'text',
          redactor,
          stream: process.stderr,
        });
        const work = new BackgroundWork(logger);
        const parts = mcpParts({ agent: services.agent, work, redactor }, by, process.cwd());
        const onError = (error: unknown) => logger.error('a tool failed', { error });
        try {
          await serveOverStdio(coreServer(parts, { version: ownVersion(), onError }), signal);
        } finally {
          await work.close();
        }
        return exitCodes.done;
      }),
    );
}
