import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const core = fileURLToPath(new URL('../../core', import.meta.url));

/** Milliseconds from starting a program to its end. @throws Error with what it said when it fails */
export function timed(program: string, args: readonly string[], cwd?: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const started = performance.now();
    const child = spawn(program, [...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        said += chunk;
      });
    }
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const took = performance.now() - started;
      if (code === 0) return resolve(took);
      reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}: ${said}`));
    });
  });
}
