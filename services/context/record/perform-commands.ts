import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Commands } from './calls.ts';
import { openForWriting } from './connection.ts';
import { GroupCommit } from './group-commit.ts';
import type { CallMessage } from './thread.ts';

const maxTogether = 256;
const minTogether = 16;

/** What the thread of a `SingleWriter` does. */
export function performCommands(commands: Commands): void {
  const { path } = workerData as { readonly path: string };
  const port = parentPort!;
  const db = openForWriting(path);
  const group = new GroupCommit(db, commands);

  port.on('message', (first: readonly CallMessage[]) => {
    const waiting = [...first];
    while (waiting.length > 0) {
      takeWaiting(waiting);
      const close = waiting.findIndex(({ name }) => name === 'close');
      const calls = close === -1 ? waiting : waiting.slice(0, close);
      if (calls.length === 0) return end(waiting[close]!);
      const answers = group.commitSome(calls.slice(0, share(calls.length)));
      port.postMessage(answers);
      waiting.splice(0, answers.length);
    }
  });

  /** Half of many: who asked for those is answered, and asks for more, while the others are committed. */
  function share(waiting: number): number {
    return Math.max(minTogether, Math.ceil(waiting / 2));
  }

  /** What was asked meanwhile is committed together. */
  function takeWaiting(waiting: CallMessage[]): void {
    while (waiting.length < maxTogether) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) return;
      waiting.push(...(next.message as readonly CallMessage[]));
    }
  }

  function end({ id }: CallMessage): void {
    db.close();
    port.postMessage([{ id, value: null }]);
  }
}
