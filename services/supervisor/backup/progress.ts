import cliProgress from 'cli-progress';
import { Interrupted } from '#kit/errors.ts';

export interface Progress {
  begin(what: string, total: number): void;
  add(bytes: number): void;
  end(): void;
}

const mebibyte = 1024 * 1024;

/** A bar on a terminal; nothing elsewhere, where the result is enough. */
export function createProgress(stream: NodeJS.WriteStream): Progress {
  if (stream.isTTY !== true) return { begin() {}, add() {}, end() {} };
  let bar: cliProgress.SingleBar | null = null;
  let done = 0;
  const end = () => {
    bar?.stop();
    bar = null;
  };
  return {
    begin(what, total) {
      end();
      done = 0;
      bar = new cliProgress.SingleBar({
        stream,
        format: `${what}  {bar}  {value}/{total} MiB`,
        barsize: 24,
        hideCursor: true,
        clearOnComplete: true,
      });
      bar.start(Math.ceil(total / mebibyte), 0);
    },
    add(bytes) {
      done += bytes;
      const shown = Math.round(done / mebibyte);
      if (bar !== null && shown > bar.getTotal()) bar.setTotal(shown);
      bar?.update(shown);
    },
    end,
  };
}

/** Does work that a signal ends in order: what it has begun is taken back. */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) =>
    controller.abort(new Interrupted('interrupted', `interrupted by ${name}; nothing of it is left`));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const name of signals) process.once(name, stop);
  try {
    return await work(controller.signal);
  } catch (error) {
    controller.signal.throwIfAborted();
    throw error;
  } finally {
    for (const name of signals) process.off(name, stop);
  }
}
