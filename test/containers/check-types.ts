import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { environment } from '../../services/kit/environment.ts';
import { has, provides } from '../needs.ts';

/** A part of `npm run check`: these tests have packages of their own, without which their types cannot be known. */
if (has('testcontainers')) {
  const compiler = fileURLToPath(import.meta.resolve('typescript/bin/tsc'));
  const project = fileURLToPath(new URL('.', import.meta.url));
  process.exitCode = spawnSync(process.execPath, [compiler, '-p', project], { stdio: 'inherit' }).status ?? 1;
} else {
  process.stderr.write(
    `types of test/containers are not checked, which needs ${provides('testcontainers')}\n`,
  );
  process.exitCode = environment.CI === 'true' ? 1 : 0;
}
