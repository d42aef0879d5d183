/** What is told at once: of output that comes faster only the newest lines are, the log has the rest. */
const maxLines = 200;
const maxLineLength = 1_000;
const betweenMs = 100;
/** A line without an end is told when nothing has followed for so long, for example the dots of a test runner. */
const patienceMs = 1_000;

/** Output of a command as it comes, told in whole lines and not too often for those who watch. */
export class LiveLines {
  readonly #tell: (lines: string) => void;
  #lines: string[] = [];
  #leftOut = 0;
  #rest = '';
  #reportedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #patience: NodeJS.Timeout | undefined;

  /** @param tell gets one line or several, `\n` between them */
  constructor(tell: (lines: string) => void) {
    this.#tell = tell;
  }

  add(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop()!.slice(-maxLineLength);
    for (const part of parts) this.#push(part);
    clearTimeout(this.#patience);
    if (this.#rest !== '') this.#patience = setTimeout(() => this.#endLine(), patienceMs).unref();
    this.#reportSoon();
  }

  /** Tells at once what is left: a command has ended. */
  flush(): void {
    clearTimeout(this.#patience);
    this.#endLine();
    this.#reportNow();
  }

  #endLine(): void {
    if (this.#rest !== '') this.#push(this.#rest);
    this.#rest = '';
    this.#reportSoon();
  }

  #push(line: string): void {
    const text = line.replace(/\r$/, '');
    this.#lines.push(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text);
    if (this.#lines.length <= maxLines) return;
    this.#lines.shift();
    this.#leftOut++;
  }

  #reportSoon(): void {
    if (this.#lines.length === 0 || this.#timer !== undefined) return;
    const wait = this.#reportedAt + betweenMs - performance.now();
    if (wait <= 0) this.#reportNow();
    else this.#timer = setTimeout(() => this.#reportNow(), wait);
  }

  #reportNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const gap = this.#leftOut === 0 ? [] : [`[${this.#leftOut} lines that came too fast are in the log]`];
    this.#reportedAt = performance.now();
    this.#tell([...gap, ...this.#lines].join('\n'));
    this.#lines = [];
    this.#leftOut = 0;
  }
}
