import cliProgress from 'cli-progress';

/** Tells how far a long work has come, in bytes. */
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
