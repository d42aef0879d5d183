import type { ReadStream, WriteStream } from 'node:tty';
import { askBackground, KeyDecoder, type Read } from './keys.ts';
import type { Size } from './writer.ts';

export interface DeviceListener {
  /** What one read brought. */
  input(inputs: readonly Read[]): void;
  resized(): void;
  /** The terminal is gone. */
  lost(): void;
}

/** The terminal itself: its own screen, raw keys, mouse and size, and everything put back at the end. */
export interface Device {
  size(): Size;
  write(text: string): void;
  /** Runs something else on the terminal, as it was found, and takes it back afterwards. */
  lend<A>(work: () => Promise<A>): Promise<A>;
  /** Leaves the terminal as it was found. May be called twice. */
  close(): void;
}

/** After an escape, in milliseconds: what comes later is another key. */
const escapeMs = 40;
/** Signals that end the program, with its exit status; whichever comes, the terminal is put back first. */
const endings: Readonly<Record<string, number>> = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 };

/** Without wrapping a row that a terminal draws wider than it was laid out never runs over the next one. */
const enter = '\x1b[?1049h\x1b[?7l\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[2J';
const leave = '\x1b[?2004l\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?7h\x1b[?1049l';

export function openDevice(
  stdin: ReadStream,
  stdout: WriteStream,
  listener: DeviceListener,
  asksBackground: boolean,
): Device {
  const decoder = new KeyDecoder();
  let timer: NodeJS.Timeout | undefined;
  let open = true;
  let lent = false;

  function take(bytes: Buffer): void {
    clearTimeout(timer);
    listener.input(decoder.decode(bytes));
    if (!decoder.waits) return;
    timer = setTimeout(() => listener.input(decoder.flush()), escapeMs);
  }
  const resized = () => listener.resized();
  const lost = () => listener.lost();

  function close(): void {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    stdin.off('data', take).off('end', lost).off('error', lost);
    stdout.off('resize', resized).off('error', lost);
    process.off('exit', close);
    for (const signal of Object.keys(endings)) process.off(signal, end);
    stdout.write(leave);
    try {
      stdin.setRawMode(false);
    } catch {
      // A terminal that is gone has no mode.
    }
    stdin.pause();
  }
  function end(signal: NodeJS.Signals): void {
    // Ctrl-C is meant for what the terminal is lent to.
    if (lent && signal === 'SIGINT') return;
    close();
    process.exit(endings[signal]);
  }

  stdin.on('data', take).on('end', lost).on('error', lost);
  stdout.on('resize', resized).on('error', lost);
  process.once('exit', close);
  for (const signal of Object.keys(endings)) process.on(signal, end);
  stdin.setRawMode(true);
  stdout.write(asksBackground ? `${enter}${askBackground}` : enter);
  return {
    size: () => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }),
    write: (text) => void (open && !lent && stdout.write(text)),
    async lend<A>(work: () => Promise<A>): Promise<A> {
      lent = true;
      stdout.write(leave);
      stdin.off('data', take);
      stdin.setRawMode(false);
      stdin.pause();
      try {
        return await work();
      } finally {
        lent = false;
        if (open) {
          stdin.setRawMode(true);
          stdin.on('data', take).resume();
          stdout.write(enter);
        }
      }
    },
    close,
  };
}
