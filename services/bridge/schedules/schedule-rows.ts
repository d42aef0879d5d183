import type { ScheduleResult } from '#kit/contracts/bridge/schedules.ts';

/** How far a schedule has come. Times are milliseconds since 1970, by the clock of the store. */
export interface ScheduleRow {
  readonly evaluated_until: number;
  readonly result: ScheduleResult | null;
}

export interface SchedulesNow {
  readonly now: number;
  /** When the bus last called; null before the first time. */
  readonly lastTick: number | null;
  readonly rows: ReadonlyMap<string, ScheduleRow>;
}

/** A schedule that nobody else looks at meanwhile. */
export interface HeldSchedule extends ScheduleRow {
  readonly now: number;
  /**
   * Everything due up to `until` is done; `result` is left out where nothing was due.
   * @throws Conflict (`lease_lost`) where another host took it over meanwhile
   */
  passed(until: number, result?: ScheduleResult): Promise<void>;
  /** It is due still. @throws as `passed` */
  failed(result: ScheduleResult): Promise<void>;
}

export interface ScheduleRows {
  /** A schedule that was not there before begins now: what was due earlier is not made up for. */
  begin(names: readonly string[]): Promise<void>;
  /** The bus called. */
  ticked(): Promise<void>;
  read(): Promise<SchedulesNow>;
  /** @returns false where another host looks at it, and nothing was done */
  alone(name: string, work: (held: HeldSchedule) => Promise<void>): Promise<boolean>;
}
