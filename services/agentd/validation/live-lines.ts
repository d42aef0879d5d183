import { guarded } from '#kit/callbacks.ts';

/** Lines in one report; of output that comes faster only the newest are shown, the log has the rest. */
const maxLines = 200;
const maxLineLength = 1_000;
const betweenMs = 100;

/**
 * Reports output of a command live, in whole lines and not too often.
 * @param report gets one line or several, `\n` between them
 */
export function liveLines(report: (lines: string) => void) {
  let lines: string[] = [];
  let leftOut = 0;
  let rest = '';
  let timer: NodeJS.Timeout | undefined;

  function push(line: string): void {
    const text = line.replace(/\r$/, '');
    lines.push(text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text);
    if (lines.length <= maxLines) return;
    lines.shift();
    leftOut++;
  }

  function reportNow(): void {
    clearTimeout(timer);
    timer = undefined;
    if (lines.length === 0) return;
    const gap = leftOut === 0 ? [] : [`[${leftOut} lines that came too fast are in the log]`];
    report([...gap, ...lines].join('\n'));
    lines = [];
    leftOut = 0;
  }

  return {
    add(text: string): void {
      const parts = (rest + text).split('\n');
      rest = parts.pop()!.slice(-maxLineLength);
      for (const part of parts) push(part);
      timer ??= setTimeout(guarded('the live output', reportNow), betweenMs);
    },
    /** Reports what is left when a command has ended. */
    flush(): void {
      if (rest !== '') push(rest);
      rest = '';
      reportNow();
    },
  };
}
