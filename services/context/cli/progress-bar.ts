import cliProgress from 'cli-progress';
import type { RefreshStatus } from '#kit/contracts/context/status.ts';
import { short } from './output.ts';

type Progress = NonNullable<RefreshStatus['progress']>;

export interface ProgressBar {
  show(progress: Progress): void;
  end(): void;
}

/** Milliseconds between two lines where nobody sees a bar move. */
const lineEveryMs = 5_000;

/** A bar on a terminal, now and then a line elsewhere. */
export function createProgressBar(stream: NodeJS.WriteStream): ProgressBar {
  return stream.isTTY === true ? moving(stream) : lines(stream);
}

function moving(stream: NodeJS.WriteStream): ProgressBar {
  let bar: cliProgress.SingleBar | null = null;
  let what: string | null = null;
  const end = () => {
    bar?.stop();
    bar = null;
  };
  return {
    show(progress) {
      if (progress.what !== what) {
        end();
        what = progress.what;
        bar = new cliProgress.SingleBar({
          stream,
          format: '{what}  {bar}  {value}/{total}  {path}',
          barsize: 24,
          hideCursor: true,
          clearOnComplete: true,
        });
        bar.start(progress.total, progress.done, payload(progress));
      }
      bar?.setTotal(progress.total);
      bar?.update(progress.done, payload(progress));
    },
    end,
  };
}

function payload({ what, path }: Progress): { what: string; path: string } {
  return { what: short(what, 40), path: short(path ?? '', 60) };
}

function lines(stream: NodeJS.WriteStream): ProgressBar {
  let last = performance.now();
  return {
    show({ what, done, total }) {
      if (performance.now() - last < lineEveryMs) return;
      last = performance.now();
      stream.write(`${short(what, 80)}: ${done} of ${total}\n`);
    },
    end() {},
  };
}
