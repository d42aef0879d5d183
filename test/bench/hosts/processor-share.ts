import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Gives a process, with all its threads, a part of one processor, as if it were alone on a small machine. */
export interface ProcessorShare {
  limit(pid: number): void;
  /** After the processes have ended. */
  end(): void;
}

const periodUs = 50_000;
const root = '/sys/fs/cgroup';

/** By the kernel's control groups. @returns null where this machine has none, or this user may make none */
export function processorShare(part: number): ProcessorShare | null {
  const quotaUs = Math.round(part * periodUs);
  const made: string[] = [];
  const unified = existsSync(join(root, 'cgroup.controllers'));
  const parent = unified ? root : join(root, 'cpu');

  function makeGroup(name: string): string {
    const group = join(parent, `core-bench-${name}`);
    mkdirSync(group);
    made.push(group);
    if (unified) {
      writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${periodUs}`);
    } else {
      writeFileSync(join(group, 'cpu.cfs_period_us'), String(periodUs));
      writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs));
    }
    return group;
  }

  function end(): void {
    for (const group of made.splice(0)) rmdirSync(group);
  }

  try {
    if (unified) writeFileSync(join(root, 'cgroup.subtree_control'), '+cpu');
    makeGroup(`trial-${process.pid}`);
  } catch {
    return null;
  } finally {
    end();
  }
  return {
    limit: (pid) => writeFileSync(join(makeGroup(String(pid)), 'cgroup.procs'), String(pid)),
    end,
  };
}
