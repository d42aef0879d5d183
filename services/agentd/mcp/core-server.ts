import type { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { type CoreToolParts, coreTools } from './core-tools.ts';
import { mcpServer } from './server.ts';

/** Core for other agents and editors. @returns a server for one client */
export function coreServer(
  parts: CoreToolParts,
  { version, onError }: { readonly version: string; readonly onError: (error: unknown) => void },
): Server {
  return mcpServer({
    name: 'core',
    version,
    instructions:
      'Core turns an issue into a pull request that a person approved action by action. Plan here; only people approve, execute and undo, with Core itself.',
    tools: coreTools(parts),
    onError,
  });
}
