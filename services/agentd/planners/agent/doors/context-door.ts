import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from '#kit/http/node-http.ts';
import type { ContextPassage } from '../../../planning/passage.ts';
import { listenOn } from './listen-on.ts';
import type { Door } from './model-door.ts';

export type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Answers the MCP requests of an agent about one repository, and hands on every passage that it shows. */
export type ContextListener = (
  repository: string,
  onRead: (passages: readonly ContextPassage[]) => void,
) => Listener;

/** Each may hold the body of a question. */
const maxConnections = 16;

export interface ContextDoor extends Door {
  /** What the agent was shown: each file, memory and thing once, without its text. */
  passages(): readonly ContextPassage[];
}

export async function openContextDoor(
  socket: string,
  repository: string,
  listener: ContextListener,
): Promise<ContextDoor> {
  const shown = new Map<string, ContextPassage>();
  const answer = listener(repository, (passages) => {
    for (const passage of passages) shown.set(passage.path ?? passage.id, { ...passage, text: '' });
  });
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.maxConnections = maxConnections;
  await listenOn(server, socket);
  return {
    passages: () => [...shown.values()],
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
