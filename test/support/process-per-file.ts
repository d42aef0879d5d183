import { createRequire, enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';
import { FairSemaphore } from '#kit/jobs/fair-semaphore.ts';

// Mocha gives one process file after file: it grows to many hundred megabytes, and the kernel copies its page tables for each
// program that a test starts. Here each file gets a process of its own; mocha loads this before the tests.

interface WorkerPool {
  readonly options: { readonly maxWorkers: number };
  run(file: string, options: unknown): Promise<unknown>;
  terminate(force?: boolean): Promise<void>;
}

interface WorkerPoolClass {
  new (options: { readonly maxWorkers: number; readonly workerTerminateTimeout: number }): WorkerPool;
  readonly prototype: WorkerPool;
}

/** Milliseconds for what a process does at its end, as removing its temporary folders, before it is killed. */
const endMs = 60_000;
const longestWait = 2 ** 31 - 1;

// Where `core` keeps compiled code too: each process would compile the same files again.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/core', import.meta.url)));

const { BufferedWorkerPool } = createRequire(import.meta.url)(
  'mocha/lib/nodejs/buffered-worker-pool.cjs',
) as { BufferedWorkerPool: WorkerPoolClass };
const { run, terminate } = BufferedWorkerPool.prototype;
const refused = () => new Error('the run of the tests has ended');

let places: FairSemaphore | undefined;
let ended = false;
const running = new Set<WorkerPool>();

BufferedWorkerPool.prototype.run = function (file, options) {
  const { maxWorkers } = this.options;
  places ??= new FairSemaphore({ concurrency: maxWorkers, maxPending: Number.POSITIVE_INFINITY }, refused);
  return places.run('files', longestWait, async () => {
    if (ended) throw refused();
    const own = new BufferedWorkerPool({ maxWorkers: 1, workerTerminateTimeout: endMs });
    running.add(own);
    try {
      return await run.call(own, file, options);
    } finally {
      running.delete(own);
      await terminate.call(own);
    }
  });
};

BufferedWorkerPool.prototype.terminate = async function (force) {
  ended = true;
  if (force) await Promise.all([...running].map((pool) => terminate.call(pool, true)));
  await terminate.call(this, force);
};
