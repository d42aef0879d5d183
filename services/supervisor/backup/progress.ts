import cliProgress from 'cli-progress';
import { Interrupted } from '#kit/errors.ts';

export interface Progress {
  begin(what: string, total: number): void;
  add(amount: number): void;
  end(): void;
}

const mebibyte = 1024 * 1024;

/** What a bar counts: how many of what is added make one, and its name. */
interface ProgressUnit {
  readonly size: number;
  readonly name: string;
}

const mebibytes: ProgressUnit = { size: mebibyte, name: ' MiB' };
export const entries: ProgressUnit = { size: 1, name: '' };

/** A bar on a terminal; nothing elsewhere, where the result is enough. */
export function createProgress(stream: NodeJS.WriteStream, unit: ProgressUnit = mebibytes): Progress {
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
        format: `${what}  {bar}  {value}/{total}${unit.name}`,
        barsize: 24,
        hideCursor: true,
        clearOnComplete: true,
      });
      bar.start(Math.ceil(total / unit.size), 0);
    },
    add(amount) {
      done += amount;
      const shown = Math.round(done / unit.size);
      if (bar !== null && shown > bar.getTotal()) bar.setTotal(shown);
      bar?.update(shown);
    },
    end,
  };
}

/** Does work that a signal ends in order. @param left what became of what it had begun */
export async function untilSignal<T>(
  work: (signal: AbortSignal) => Promise<T>,
  left = 'nothing of it is left',
): Promise<T> {
  const controller = new AbortController();
  const stop = (name: NodeJS.Signals) =>
    controller.abort(new Interrupted('interrupted', `interrupted by ${name}; ${left}`));
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
