/** What is told at once: of output that comes faster only the newest lines are, the log has the rest. */
const mostLines = 200;
const longestLine = 1_000;
const betweenMs = 100;
/** A line without an end is told when nothing has followed for so long, for example the dots of a test runner. */
const patienceMs = 1_000;

/** Output of a command as it comes, told in whole lines and not too often for those who watch. */
export class LiveLines {
  readonly #tell: (lines: string) => void;
  #lines: string[] = [];
  #leftOut = 0;
  #rest = '';
  #toldAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #patience: NodeJS.Timeout | undefined;

  /** @param tell gets one line or several, `\n` between them */
  constructor(tell: (lines: string) => void) {
    this.#tell = tell;
  }

  add(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop()!.slice(-longestLine);
    for (const part of parts) this.#push(part);
    clearTimeout(this.#patience);
    if (this.#rest !== '') this.#patience = setTimeout(() => this.#endLine(), patienceMs).unref();
    this.#tellSoon();
  }

  /** Tells at once what is left: a command has ended. */
  flush(): void {
    clearTimeout(this.#patience);
    this.#endLine();
    this.#tellNow();
  }

  #endLine(): void {
    if (this.#rest !== '') this.#push(this.#rest);
    this.#rest = '';
    this.#tellSoon();
  }

  #push(line: string): void {
    const text = line.replace(/\r$/, '');
    this.#lines.push(text.length > longestLine ? `${text.slice(0, longestLine)}…` : text);
    if (this.#lines.length <= mostLines) return;
    this.#lines.shift();
    this.#leftOut++;
  }

  #tellSoon(): void {
    if (this.#lines.length === 0 || this.#timer !== undefined) return;
    const wait = this.#toldAt + betweenMs - performance.now();
    if (wait <= 0) this.#tellNow();
    else this.#timer = setTimeout(() => this.#tellNow(), wait);
  }

  #tellNow(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    const gap = this.#leftOut === 0 ? [] : [`[${this.#leftOut} lines that came too fast are in the log]`];
    this.#toldAt = performance.now();
    this.#tell([...gap, ...this.#lines].join('\n'));
    this.#lines = [];
    this.#leftOut = 0;
  }
}
