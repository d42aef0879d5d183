import { createRequire, enableCompileCache } from 'node:module';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FairSemaphore } from '#kit/jobs/fair-semaphore.ts';

// Mocha gives one process file after file: it grows to many hundred megabytes, and the kernel copies its page tables for each
// program that a test starts. Here each file gets a process of its own, and tests of one unit, which are small and start few
// programs, share one for a while; mocha loads this before the tests.

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

// Where `core` keeps compiled code too: each process would compile the same files again, as would the programs that it starts.
process.env.NODE_COMPILE_CACHE ??= fileURLToPath(new URL('../../node_modules/.cache/core', import.meta.url));
enableCompileCache(process.env.NODE_COMPILE_CACHE);

const { BufferedWorkerPool } = createRequire(import.meta.url)(
  'mocha/lib/nodejs/buffered-worker-pool.cjs',
) as { BufferedWorkerPool: WorkerPoolClass };
const { run, terminate } = BufferedWorkerPool.prototype;
const refused = () => new Error('the run of the tests has ended');

/** Unit tests that one process runs before it ends. */
const maxShared = 16;

/** Places for files. Tests of containers take one at most, because each of them fills the memory of a small machine. */
let places: Record<'containers' | 'all', FairSemaphore> | undefined;
let ended = false;
const running = new Set<WorkerPool>();
/** Processes of unit tests between two files, with how many files each has run. */
const idle: { readonly pool: WorkerPool; readonly files: number }[] = [];

const isBelow = (folder: string, file: string) => relative(process.cwd(), file).startsWith(folder);
const isUnitTest = (file: string) => isBelow('services/', file);

function placesOf(concurrency: number): FairSemaphore {
  return new FairSemaphore({ concurrency, maxPending: Number.POSITIVE_INFINITY }, refused);
}

BufferedWorkerPool.prototype.run = function (file, options) {
  const { maxWorkers } = this.options;
  places ??= { containers: placesOf(1), all: placesOf(maxWorkers) };
  const { containers, all } = places;
  const inTurn = (kind: string) => all.run(kind, longestWait, () => runFile(file, options));
  if (!isBelow('test/containers/', file)) return inTurn('others');
  return containers.run('files', longestWait, () => inTurn('containers'));
};

async function runFile(file: string, options: unknown): Promise<unknown> {
  if (ended) throw refused();
  const shared = isUnitTest(file) ? idle.pop() : undefined;
  const pool = shared?.pool ?? new BufferedWorkerPool({ maxWorkers: 1, workerTerminateTimeout: endMs });
  const files = (shared?.files ?? 0) + 1;
  running.add(pool);
  try {
    return await run.call(pool, file, options);
  } finally {
    running.delete(pool);
    if (isUnitTest(file) && files < maxShared && !ended) idle.push({ pool, files });
    else await terminate.call(pool);
  }
}

BufferedWorkerPool.prototype.terminate = async function (force) {
  ended = true;
  const idlePools = idle.splice(0).map(({ pool }) => terminate.call(pool, force));
  const runningPools = force ? [...running].map((pool) => terminate.call(pool, true)) : [];
  await Promise.all([...idlePools, ...runningPools]);
  await terminate.call(this, force);
};
