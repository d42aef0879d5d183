import { Cron } from 'croner';
import { messageOf } from '#kit/errors.ts';
import { TriggerRefused } from '../triggers/trigger.ts';

/** When something is due, by the wall clock. */
export interface Expression {
  /** Milliseconds since 1970 of the first tick after that time; null when there is none any more. */
  next(after: number): number | null;
}

/** Lists and ranges of longer ones take long to unfold. */
const longest = 200;

/**
 * Six fields, seconds first, and perhaps a seventh for the year; days of the week count from Sunday, 1. Or a name such as `@daily`.
 * @param zone IANA name; the protocol knows none, so that UTC is the default
 * @throws TriggerRefused
 */
export function parseExpression(text: unknown, zone: unknown): Expression {
  if (typeof text !== 'string')
    throw new TriggerRefused(
      'expression is required for cron triggers: six fields, for example "0 */5 * * * *"',
    );
  if (text.length > longest)
    throw new TriggerRefused(
      `cron expression ${JSON.stringify(text.slice(0, 40))}… has ${text.length} characters: must have at most ${longest}`,
    );
  if (typeof zone === 'string' && zone.length > longest)
    throw new TriggerRefused(`timezone has ${zone.length} characters: must have at most ${longest}`);
  if (zone !== undefined && zone !== null && typeof zone !== 'string')
    throw new TriggerRefused('timezone must be the name of a time zone, for example Europe/Zurich');
  try {
    const mode = text.startsWith('@') ? 'auto' : '6-or-7-parts';
    const cron = new Cron(text, { mode, alternativeWeekdays: true, timezone: zone ?? 'UTC' });
    const expression: Expression = { next: (after) => cron.nextRun(new Date(after))?.getTime() ?? null };
    if (expression.next(0) === null) throw new RangeError('there is no such time');
    return expression;
  } catch (error) {
    const where = zone == null ? '' : ` in the time zone ${JSON.stringify(zone)}`;
    throw new TriggerRefused(
      `cron expression ${JSON.stringify(text.slice(0, 100))}${where}: ${messageOf(error)}`,
    );
  }
}
