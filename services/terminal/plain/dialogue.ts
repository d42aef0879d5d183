import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { visibleLine } from '#kit/cli/terminal-text.ts';

/** Questions and answers, line by line. */
export interface Dialogue {
  say(...lines: readonly string[]): void;
  /** The next line, trimmed; null at the end of input, and when nobody reads what is said any more. */
  ask(question: string): Promise<string | null>;
  /** As `ask`, of what cannot be taken back: lines that were typed before the question was there do not answer it. */
  decide(question: string): Promise<string | null>;
  close(): void;
}

/** Milliseconds in which what was typed ahead arrives. */
const typedAheadMs = 150;

/** Only people type ahead: from a pipe every line is an answer. */
export function openDialogue(stdin: Readable & { readonly isTTY?: boolean }, stdout: Writable): Dialogue {
  const lines: string[] = [];
  const waiting: ((line: string | null) => void)[] = [];
  let ended = false;
  let heard = true;
  const input: Interface = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  const end = () => {
    ended = true;
    for (const next of waiting.splice(0)) next(null);
  };
  const unheard = () => {
    heard = false;
    end();
  };
  input.on('line', (line) => {
    const next = waiting.shift();
    if (next === undefined) lines.push(line);
    else next(line.trim());
  });
  input.on('close', end);
  stdout.on('error', unheard);
  stdout.on('close', unheard);

  function write(text: string): void {
    if (stdout.writable) stdout.write(text);
    else unheard();
  }
  function ask(question: string): Promise<string | null> {
    write(`${visibleLine(question)} `);
    const line = lines.shift();
    if (line !== undefined && heard) return Promise.resolve(line.trim());
    if (ended) return Promise.resolve(null);
    return new Promise((resolve) => waiting.push(resolve));
  }
  return {
    say: (...said) => write(said.map((line) => `${visibleLine(line)}\n`).join('')),
    ask,
    async decide(question) {
      if (stdin.isTTY === true) {
        await setTimeout(typedAheadMs);
        lines.length = 0;
      }
      return ask(question);
    },
    close() {
      stdout.off('error', unheard);
      stdout.off('close', unheard);
      input.close();
    },
  };
}
