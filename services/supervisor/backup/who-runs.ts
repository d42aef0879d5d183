import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runningService } from '#kit/config/running-service.ts';
import { platformServices } from '#kit/contracts/platform-services.ts';
import { StackNote, stackFolder, stackNoteName } from '#kit/contracts/stack-note.ts';
import { decodeJson } from '#kit/decode.ts';
import { isRunning } from '#kit/storage/process-identity.ts';

/** Who works with a state folder, as far as this process can see; null when nobody does. */
export function whoRunsIn(state: string): string | null {
  const stack = readStack(join(state, stackFolder, stackNoteName));
  if (stack !== null && isRunning(stack.holder) === true) {
    return `core up, process ${stack.holder.pid} on ${stack.holder.host}`;
  }
  for (const name of platformServices) {
    const running = runningService(name, { state });
    if (running !== null) return `${name} at ${running.url}`;
  }
  return null;
}

function readStack(path: string): StackNote | null {
  try {
    return decodeJson(StackNote, readFileSync(path, 'utf8'), path);
  } catch {
    return null;
  }
}
