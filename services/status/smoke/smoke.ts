import type { SmokeReport } from '#kit/contracts/status.ts';
import type { Folders } from '#kit/folders.ts';
import type { Places } from '../places.ts';
export async function runSmoke(_: { folders: Folders; places: Places }): Promise<SmokeReport> {
  throw new Error('todo');
}
