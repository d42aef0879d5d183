import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Failed } from '#kit/errors.ts';
import type { Logger } from '#kit/log.ts';
import type { Redactor } from '#kit/redaction/redactor.ts';
import type { Upstream } from '../providers/upstream.ts';
import { Recorder } from './recorder.ts';
import { Replay } from './replay.ts';

export interface ModeOptions {
  readonly mode: 'live' | 'record' | 'replay';
  /** null is a folder in the state folder. */
  readonly recordings: string | null;
  readonly state: string;
  readonly redactor: Redactor;
  readonly logger: Logger;
}

/** Gives, for each upstream as it would be live, the one for the mode; the live one is not even made in a replay. */
export function upstreamsInMode(options: ModeOptions): (name: string, live: () => Upstream) => Upstream {
  const { mode, state, redactor, logger } = options;
  if (mode === 'live') return (_, live) => live();
  const folder = options.recordings ?? join(state, 'model-gateway', 'recordings');
  if (mode === 'record') {
    const recorder = new Recorder({ folder, redactor, warn: (message) => logger.warn(message) });
    logger.info('conversations with models are recorded', { folder });
    return (_, live) => recorder.around(live());
  }
  if (!existsSync(folder)) {
    throw new Failed(
      'recordings_unusable',
      `mode is replay, and the folder of recordings ${folder} is not there`,
      {
        hint: 'set recordings in config/models.json to a folder with recordings, or record some with mode record',
      },
    );
  }
  const replay = new Replay(folder, redactor);
  for (const { file, why } of replay.skipped) logger.warn('a recording is skipped', { file, why });
  logger.info('models answer from recordings, without any network', { folder, recordings: replay.size });
  return (name) => replay.upstream(name);
}
