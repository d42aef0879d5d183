import { Cron } from 'croner';
import type { QuietHours } from './configuration.ts';

/** When the quiet hours end that it is in; null outside of them. */
export function quietUntil({ from, to, zone }: QuietHours, now: Date): Date | null {
  const clock = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  }).format(now);
  const isQuiet = from < to ? clock >= from && clock < to : clock >= from || clock < to;
  if (!isQuiet) return null;
  const [hour, minute] = to.split(':').map(Number);
  return new Cron(`${minute} ${hour} * * *`, { timezone: zone }).nextRun(now);
}
