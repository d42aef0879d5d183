import { environment } from './environment.ts';

const [target, occurrence = '1', signal = 'SIGKILL'] = (environment.CORE_CRASH_AT ?? '').split(':');
let remaining = Number(occurrence);

/**
 * A named place between two lines where a crash must not lose anything. Tests set `CORE_CRASH_AT` to a name
 * (`name:2` for its second passing) and the process ends there by SIGKILL, as at a power cut, or is stopped there
 * until SIGCONT, as a machine that is paused (`name:1:SIGSTOP`).
 */
export function crashPoint(name: string): void {
  if (target !== name || --remaining !== 0) return;
  process.kill(process.pid, signal);
}
