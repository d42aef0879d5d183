/** Lines in one report; of output that comes faster only the newest are shown, the log has the rest. */
const maxLines = 200;
const maxLineLength = 1_000;
const betweenMs = 100;
/** A line without an end is reported after so long a pause, for example the dots of a test runner. */
const openLineMs = 1_000;

/** Reports output of a command live, in whole lines and not too often. */
export class LiveLines {
  readonly #report: (lines: string) => void;
  #lines: string[] = [];
  #leftOut = 0;
  #rest = '';
  #reportedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #openLine: NodeJS.Timeout | undefined;

  /** @param report gets one line or several, `\n` between them */
  constructor(report: (lines: string) => void) {
    this.#report = report;
  }

  add(text: string): void {
    const parts = (this.#rest + text).split('\n');
    this.#rest = parts.pop()!.slice(-maxLineLength);
    for (const part of parts) this.#push(part);
    clearTimeout(this.#openLine);
    if (this.#rest !== '') this.#openLine = setTimeout(() => this.#endLine(), openLineMs).unref();
    this.#reportSoon();
  }

  /** Reports what is left when a command has ended. */
  flush(): void {
    clearTimeout(this.#openLine);
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
    this.#report([...gap, ...this.#lines].join('\n'));
    this.#lines = [];
    this.#leftOut = 0;
  }
}
