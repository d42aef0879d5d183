import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { Commands } from './calls.ts';
import { openForWriting } from './connection.ts';
import { GroupCommit } from './group-commit.ts';
import type { CallMessage } from './thread.ts';

const maxGroup = 256;

/** What the thread of a `SingleWriter` does: what was asked meanwhile is committed together. */
export function performCommands(commands: Commands): void {
  const { path } = workerData as { readonly path: string };
  const port = parentPort!;
  const db = openForWriting(path);
  const group = new GroupCommit(db, commands);

  port.on('message', (first: CallMessage) => {
    const waiting = [first];
    while (waiting.length > 0) {
      takeWaiting(waiting);
      const close = waiting.findIndex(({ name }) => name === 'close');
      const calls = close === -1 ? waiting : waiting.slice(0, close);
      if (calls.length === 0) {
        db.close();
        port.postMessage([{ id: waiting[close]!.id, value: null }]);
        return;
      }
      const answers = group.commitSome(calls);
      port.postMessage(answers);
      waiting.splice(0, answers.length);
    }
  });

  function takeWaiting(waiting: CallMessage[]): void {
    while (waiting.length < maxGroup) {
      const next = receiveMessageOnPort(port);
      if (next === undefined) return;
      waiting.push(next.message as CallMessage);
    }
  }
}
