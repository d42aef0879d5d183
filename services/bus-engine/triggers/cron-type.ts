import type { CronClock } from '../cron/cron-clock.ts';
import { conditionOf, configOf, type TriggerType } from './trigger.ts';

/** `cron` {expression, timezone?, condition_function_id?}. */
export function cronType(clock: CronClock): TriggerType {
  return {
    id: 'cron',
    description: 'Calls a function at times that an expression of six fields gives, seconds first',
    register(trigger) {
      conditionOf(trigger);
      const { id, type, functionId, metadata, token, owner } = trigger;
      clock.add({
        id,
        type,
        functionId,
        config: configOf(trigger),
        metadata,
        token,
        durable: owner === null,
      });
    },
    unregister({ id }, why) {
      if (why === 'left') clock.left(id);
      else clock.remove(id);
    },
  };
}
