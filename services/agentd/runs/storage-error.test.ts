import { expect } from 'chai';
import type { CoreError } from '#kit/errors.ts';
import { gitFailure } from '#kit/git/git-failure.ts';
import { diskError, storageError } from './storage-error.ts';

describe('a full disk', () => {
  const full = Object.assign(new Error('no space left on device, write'), { code: 'ENOSPC' });

  it('is a failure after which the same can be tried again, whoever met it', () => {
    for (const error of [
      diskError(full),
      storageError(full, '/state'),
      gitFailure(['fetch'], 128, 'fatal: write error: No space left on device', true),
    ])
      expect(error as CoreError).to.include({ code: 'disk_full', status: 500, retryable: true });
  });
});
