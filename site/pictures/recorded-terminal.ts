import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import xterm from '@xterm/headless';
import type { Run, Row, Tone } from './row.ts';

const columns = 80;
const screenRows = 40;
const patienceMs = 120_000;
/** The colours of ANSI that our programs use. */
const tones: Readonly<Record<number, Tone>> = { 1: 'red', 2: 'green', 3: 'yellow', 4: 'blue', 6: 'cyan' };

/** A shell in a real terminal of 80 columns (`script`), drawn by xterm: what it shows can be read with its colours. */
export class RecordedTerminal {
  readonly #shell: ChildProcessWithoutNullStreams;
  readonly #screen = new xterm.Terminal({
    allowProposedApi: true,
    cols: columns,
    rows: screenRows,
    scrollback: 2_000,
  });

  constructor(options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv }) {
    const shell = `stty cols ${columns} rows ${screenRows}; exec bash --norc --noprofile`;
    this.#shell = spawn('script', ['--quiet', '--flush', '--return', '--command', shell, '/dev/null'], {
      ...options,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#shell.stdout.on('data', (piece: Buffer) => this.#screen.write(piece));
    this.#screen.onData((answer) => this.#shell.stdin.write(answer));
  }

  type(text: string): void {
    this.#shell.stdin.write(text);
  }

  /** Waits until a line contains the text and nothing more comes, and returns all rows. */
  async shows(text: string): Promise<Row[]> {
    await this.#until(`'${text}'`, (lines) => lines.some((line) => line.includes(text)));
    return this.#quiet();
  }

  /** Waits until a line contains the text and the command has ended: the shell shows its prompt again. */
  async ends(text: string): Promise<Row[]> {
    return this.#until(
      `'${text}' and the prompt`,
      (lines) => lines.at(-1) === '$' && lines.some((line) => line.includes(text)),
    );
  }

  async close(): Promise<void> {
    const closed = once(this.#shell, 'close');
    this.#shell.kill('SIGTERM');
    await closed;
    this.#screen.dispose();
  }

  async #until(what: string, isThere: (lines: readonly string[]) => boolean): Promise<Row[]> {
    const end = performance.now() + patienceMs;
    for (;;) {
      const rows = this.#rows();
      const lines = rows.map(plain);
      if (isThere(lines)) return rows;
      if (performance.now() > end) throw new Error(`the terminal never showed ${what}:\n${lines.join('\n')}`);
      await pause(20);
    }
  }

  /** The rows once nothing more comes: a prompt is drawn in several writes. */
  async #quiet(): Promise<Row[]> {
    for (let before = ''; ; ) {
      await pause(300);
      const rows = this.#rows();
      const now = rows.map(plain).join('\n');
      if (now === before) return rows;
      before = now;
    }
  }

  #rows(): Row[] {
    const { active } = this.#screen.buffer;
    const rows: Row[] = [];
    for (let y = 0; y < active.length; y += 1) rows.push(rowOf(active, y));
    while (rows.at(-1)?.length === 0) rows.pop();
    return rows;
  }
}

export function plain(row: Row): string {
  return row.reduce((text, run) => `${text.padEnd(run.column)}${run.text}`, '');
}

type Buffer_ = xterm.Terminal['buffer']['active'];

/** The runs of one row: neighbours of one style joined, spaces left out where they show nothing. */
function rowOf(buffer: Buffer_, y: number): Row {
  const line = buffer.getLine(y)!;
  const runs: Run[] = [];
  for (let column = 0; column < columns; column += 1) {
    const cell = line.getCell(column)!;
    const text = cell.getWidth() === 0 ? '' : cell.getChars() || ' ';
    const style = {
      tone: cell.isFgPalette() ? (tones[cell.getFgColor() % 8] ?? null) : null,
      bold: cell.isBold() !== 0,
      dim: cell.isDim() !== 0,
      inverse: cell.isInverse() !== 0,
    };
    const last = runs.at(-1);
    const same =
      last !== undefined &&
      last.tone === style.tone &&
      last.bold === style.bold &&
      last.dim === style.dim &&
      last.inverse === style.inverse;
    if (same) runs[runs.length - 1] = { ...last, text: last.text + text };
    else runs.push({ column, text, ...style });
  }
  return runs
    .map((run) => (run.inverse ? run : trimmed(run)))
    .filter(({ text }) => text !== '');
}

function trimmed(run: Run): Run {
  const text = run.text.trimStart();
  return { ...run, column: run.column + run.text.length - text.length, text: text.trimEnd() };
}
