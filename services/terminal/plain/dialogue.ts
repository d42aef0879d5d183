import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { visibleLine } from '#kit/cli/terminal-text.ts';

/** Questions and answers, line by line. */
export interface Dialogue {
  say(...lines: readonly string[]): void;
  /** The next line, trimmed; null at the end of input. */
  ask(question: string): Promise<string | null>;
  close(): void;
}

export function openDialogue(stdin: Readable, stdout: Writable): Dialogue {
  const lines: string[] = [];
  const waiting: ((line: string | null) => void)[] = [];
  let ended = false;
  const input: Interface = createInterface({ input: stdin, crlfDelay: Number.POSITIVE_INFINITY });
  input.on('line', (line) => {
    const next = waiting.shift();
    if (next === undefined) lines.push(line);
    else next(line.trim());
  });
  input.on('close', () => {
    ended = true;
    for (const next of waiting.splice(0)) next(null);
  });
  return {
    say: (...said) => void stdout.write(said.map((line) => `${visibleLine(line)}\n`).join('')),
    ask(question) {
      stdout.write(`${visibleLine(question)} `);
      const line = lines.shift();
      if (line !== undefined) return Promise.resolve(line.trim());
      if (ended) return Promise.resolve(null);
      return new Promise((resolve) => waiting.push(resolve));
    },
    close: () => input.close(),
  };
}
