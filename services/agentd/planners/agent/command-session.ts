import type { Readable, Writable } from 'node:stream';
import { guarded } from '#kit/callbacks.ts';

/** The prompt lies in this file of the home too; `{prompt_file}` stands for its path in the command. */
export const promptFile = 'core-prompt.md';

/** Gives any program the prompt on its standard input, and hands on what it prints. Its end is the answer. */
export function commandSession(
  { stdin, stdout }: { readonly stdin: Writable; readonly stdout: Readable },
  prompt: string,
  onOutput: (text: string) => void,
): void {
  const decoder = new TextDecoder();
  stdin.on('error', () => {});
  stdout.on('error', () => {});
  stdout.on(
    'data',
    guarded('a coding agent', (chunk: Uint8Array) => onOutput(decoder.decode(chunk, { stream: true }))),
  );
  stdin.end(prompt);
}
