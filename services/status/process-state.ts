import { readFileSync } from 'node:fs';

/** By `/proc` (proc(5): T is stopped, Z and X have ended); elsewhere only whether there is such a process. */
export function processState(pid: number): 'running' | 'stopped' | 'gone' {
  if (process.platform !== 'linux') return exists(pid) ? 'running' : 'gone';
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const state = stat.slice(stat.lastIndexOf(')') + 2, stat.lastIndexOf(')') + 3);
    if (state === 'Z' || state === 'X') return 'gone';
    return state === 'T' || state === 't' ? 'stopped' : 'running';
  } catch {
    return 'gone';
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
