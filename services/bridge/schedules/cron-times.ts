import { Cron } from 'croner';

/** The times of a cron expression of five parts in a time zone, to the minute. */
export interface CronTimes {
  /** The first time after `time`; null where there is none. Milliseconds since 1970. */
  after(time: number): number | null;
}

export function cronTimes(cron: string, zone: string): CronTimes {
  const times = new Cron(cron, { timezone: zone, paused: true, mode: '5-part' });
  return { after: (time) => times.nextRun(new Date(time))?.getTime() ?? null };
}

/** Why a text is no cron expression of five parts; null where it is one. */
export function cronProblem(text: string): string | null {
  if (text.trim().split(/\s+/).length !== 5) return 'it has not five parts';
  try {
    const first = new Cron(text, { timezone: 'UTC', paused: true, mode: '5-part' }).nextRun();
    return first === null ? 'no time ever fits it' : null;
  } catch (error) {
    return (error as Error).message.replace(/^CronPattern: /, '');
  }
}

export function isZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text });
    return !/^[+-]/.test(text);
  } catch {
    return false;
  }
}
