import { statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '#kit/errors.ts';
import type { Folders } from '#kit/folders.ts';
import { readGatewayConfig } from './configuration.ts';

/** What has become of models.json since the gateway read it. */
export type ConfigFileState =
  | { readonly state: 'same' | 'changed' }
  | { readonly state: 'invalid'; readonly why: string };

/** From now on; a gateway goes on with what it read at its start. */
export function watchConfigFile(folders: Pick<Folders, 'config'>): () => ConfigFileState {
  const path = join(folders.config, 'models.json');
  const began = versionOf(path);
  return () => {
    if (versionOf(path) === began) return { state: 'same' };
    try {
      readGatewayConfig({ folders, environment: {} });
      return { state: 'changed' };
    } catch (error) {
      return { state: 'invalid', why: messageOf(error) };
    }
  };
}

function versionOf(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.ino} ${stats.size} ${stats.mtimeMs}`;
}
