import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writePages } from './generate/write-pages.ts';

/** `npm run site -- [serve|build|preview] [--port N]`: installs what is missing, generates, and hands over to VitePress. */
const folder = fileURLToPath(new URL('.', import.meta.url));
const vitepress = `${folder}node_modules/vitepress/bin/vitepress.js`;
const modes = { serve: 'dev', build: 'build', preview: 'preview' } as const;

process.exitCode = await main();

async function main(): Promise<number> {
  const { positionals, port } = argumentsOf();
  const [mode = 'serve', ...rest] = positionals;
  if (!Object.hasOwn(modes, mode) || rest.length > 0) {
    return wrongUsage(`'${positionals.join(' ')}' is not one of ${Object.keys(modes).join(', ')}`);
  }
  if (port !== undefined && (!/^\d+$/.test(port) || Number(port) > 65_535)) {
    return wrongUsage(`--port is '${port}': must be an integer from 0 to 65535`);
  }
  if (!existsSync(vitepress)) {
    say('installing what the site is built with, once');
    const installed = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
    if (installed !== 0) return installed;
  }
  if (mode !== 'preview') say(`generated ${await writePages(folder)} files from the source`);
  const where =
    mode === 'build' ? [] : ['--host', '127.0.0.1', ...(port === undefined ? [] : ['--port', port])];
  return run(process.execPath, [vitepress, modes[mode as keyof typeof modes], folder, ...where]);
}

function argumentsOf(): { readonly positionals: string[]; readonly port: string | undefined } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    strict: false,
    options: { port: { type: 'string' } },
  });
  return { positionals, port: values.port === undefined ? undefined : String(values.port) };
}

function wrongUsage(message: string): number {
  process.stderr.write(`error  ${message}\n`);
  return 2;
}

function say(message: string): void {
  process.stderr.write(`site: ${message}\n`);
}

/** Ctrl-C reaches the child as well; its end is ours. */
function run(program: string, args: readonly string[]): Promise<number> {
  process.once('SIGINT', () => {});
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: folder, stdio: 'inherit' });
    process.once('SIGTERM', () => child.kill('SIGTERM'));
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}
