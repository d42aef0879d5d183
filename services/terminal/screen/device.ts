import type { ReadStream, WriteStream } from 'node:tty';
import { type Input, KeyDecoder } from './keys.ts';
import type { Size } from './writer.ts';

export interface DeviceListener {
  input(input: Input): void;
  resized(): void;
  /** The terminal is gone. */
  lost(): void;
}

/** The terminal itself: its own screen, raw keys, mouse and size, and everything put back at the end. */
export interface Device {
  size(): Size;
  write(text: string): void;
  /** Leaves the terminal as it was found. May be called twice. */
  close(): void;
}

/** After an escape, in milliseconds: what comes later is another key. */
const escapeMs = 40;

const enter = '\x1b[?1049h\x1b[?25l\x1b[?1000h\x1b[?1006h\x1b[?2004h\x1b[2J';
const leave = '\x1b[?2004l\x1b[?1006l\x1b[?1000l\x1b[0m\x1b[?25h\x1b[?1049l';

export function openDevice(stdin: ReadStream, stdout: WriteStream, listener: DeviceListener): Device {
  const decoder = new KeyDecoder();
  let timer: NodeJS.Timeout | undefined;
  let open = true;

  function take(bytes: Buffer): void {
    clearTimeout(timer);
    for (const input of decoder.decode(bytes)) listener.input(input);
    if (!decoder.waits) return;
    timer = setTimeout(() => {
      for (const input of decoder.flush()) listener.input(input);
    }, escapeMs);
  }
  const resized = () => listener.resized();
  const lost = () => listener.lost();
  const close = () => {
    if (!open) return;
    open = false;
    clearTimeout(timer);
    stdin.off('data', take).off('end', lost).off('error', lost);
    stdout.off('resize', resized);
    process.off('exit', close);
    stdout.write(leave);
    stdin.setRawMode(false);
    stdin.pause();
  };

  stdin.setRawMode(true);
  stdin.on('data', take).on('end', lost).on('error', lost);
  stdout.on('resize', resized);
  process.once('exit', close);
  stdout.write(enter);
  return {
    size: () => ({ columns: stdout.columns ?? 80, rows: stdout.rows ?? 24 }),
    write: (text) => void (open && stdout.write(text)),
    close,
  };
}
