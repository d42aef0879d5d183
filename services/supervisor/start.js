import { enableCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Plain JavaScript: Node takes longer to load what strips types than to start, and needs it only for code that is not in this
// cache yet. It lies beside the packages, so that nothing outside the project folder is written.
enableCompileCache(fileURLToPath(new URL('../../node_modules/.cache/core', import.meta.url)));
const [{ runProgramFile }, { dispatch }] = await Promise.all([
  import('../kit/program.ts'),
  import('./core.ts'),
]);
await runProgramFile('core', ({ args }) => dispatch(args));
