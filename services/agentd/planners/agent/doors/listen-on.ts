import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { Failed, messageOf } from '#kit/errors.ts';

/** Listens on a Unix socket, in place of one that a process left there. @throws Failed (`door_failed`) */
export async function listenOn(server: Server, socket: string): Promise<void> {
  await rm(socket, { force: true });
  server.listen(socket);
  try {
    await once(server, 'listening');
  } catch (cause) {
    throw new Failed('door_failed', `the door ${socket} cannot be opened: ${messageOf(cause)}`, { cause });
  }
}
