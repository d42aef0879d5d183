import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type RepositoryContext, repositoryTools } from './context-tools.ts';
import { mcpServer } from './server.ts';

/** An agent's way to what is known of the repository that it works on. @returns a server for one client */
export function readOnlyContextServer(
  context: RepositoryContext,
  { version, onError }: { readonly version: string; readonly onError: (error: unknown) => void },
): Server {
  return mcpServer({
    name: 'core-context',
    version,
    instructions: `What Core knows of ${context.repository}. Ask before you look through many files.`,
    tools: repositoryTools(context),
    onError,
  });
}
