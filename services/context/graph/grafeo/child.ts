/**
 * The process that runs callers' Cypher: `node child.ts <folder>`. It holds the disposable projection and nothing else, and is ended
 * by SIGKILL whenever its parent wants. Messages come and go by the channel of `child_process.fork`.
 */

import { guarded } from '#kit/callbacks.ts';
import { CoreError } from '#kit/errors.ts';
import { copyOf, type ErrorCopy } from '../../record/error-copy.ts';
import type { AnswerMessage } from '../../record/thread.ts';
import { type CallMessage, type CallName, type Calls, engineFailure } from './engine-process.ts';
import { ProjectionFolder } from './projection-versions.ts';
import { runText } from './run-text.ts';

const projection = new ProjectionFolder(process.argv[2]!);

const handlers: { [N in CallName]: (input: Calls[N]['input']) => Promise<Calls[N]['output']> } = {
  open: async ({ beside }) => ({ position: await projection.open(beside) }),
  begin: async ({ fresh, until }) => projection.begin(fresh, until).then(() => null),
  apply: async ({ changes }) => projection.apply(changes).then(() => null),
  commit: async ({ position }) => projection.commit(position).then(() => null),
  drop: async () => projection.drop().then(() => null),
  run: (input) => projection.use((snapshot) => runText(snapshot, input)),
  digests: () => projection.use((snapshot) => snapshot.digests()),
};

process.on(
  'message',
  guarded('the graph copy', async ({ id, name, input }: CallMessage) => {
    const handle = handlers[name] as (input: unknown) => Promise<unknown>;
    try {
      send({ id, value: await handle(input) });
    } catch (error) {
      send({ id, error: error instanceof CoreError ? copyOf(error) : failureOf(error) });
    }
  }),
);
process.on('disconnect', () => {
  // An exit would wait for a query that runs in a native thread.
  process.kill(process.pid, 'SIGKILL');
});

function send(answer: AnswerMessage): void {
  process.send!(answer);
}

function failureOf(error: unknown): ErrorCopy {
  const status = error instanceof Error && 'gqlStatus' in error ? String(error.gqlStatus) : undefined;
  return { ...copyOf(error), kind: engineFailure, code: status };
}
