import * as t from 'io-ts';
import type { BusFunction, BusTrigger } from '#kit/bus/bus.ts';
import { TickResult } from '#kit/contracts/bridge/schedules.ts';
import { jsonSchema } from '#kit/json-schema.ts';
import type { Schedules } from './schedules.ts';

export const tickFunctionId = 'core.schedules.tick';

/** What the bus calls each minute; which schedules are due is found out here, where time zones are known. */
export function tickFunction(schedules: Pick<Schedules, 'tick'>): BusFunction {
  return {
    id: tickFunctionId,
    description: 'Finds the schedules that are due, and makes events of their issues',
    request: jsonSchema(t.strict({})),
    response: jsonSchema(TickResult),
    handle: () => schedules.tick(),
  };
}

/** Seconds first, as iii has it. */
export const everyMinute: BusTrigger = {
  type: 'cron',
  function_id: tickFunctionId,
  config: { expression: '0 * * * * *' },
};
