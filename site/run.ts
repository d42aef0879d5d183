import { spawn } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { writePages } from './generate/write-pages.ts';

/**
 * `npm run site -- [serve|build|preview] [--port N]`: installs what is missing, generates, and hands over to VitePress.
 * `npm run site -- pictures` takes the pictures of the terminal and of the review page again.
 */
const folder = fileURLToPath(new URL('.', import.meta.url));
const vitepress = `${folder}node_modules/vitepress/bin/vitepress.js`;
const vitepressModes = { serve: 'dev', build: 'build', preview: 'preview' } as const;
const modes = [...Object.keys(vitepressModes), 'pictures'];

process.exitCode = await main();

async function main(): Promise<number> {
  const { mode, port, problem } = argumentsOf();
  if (problem !== null) {
    process.stderr.write(`error  ${problem}\n`);
    return 2;
  }
  if (mode === 'pictures') {
    const { takePictures } = await import('./pictures/pictures.ts');
    for (const { name, svg } of await takePictures()) {
      writeFileSync(`${folder}public/${name}`, svg);
      say(`site/public/${name}`);
    }
    const { takeScreenshots } = await import('./pictures/review-pages.ts');
    for (const { name, png } of await takeScreenshots()) {
      writeFileSync(`${folder}public/${name}`, png);
      say(`site/public/${name}`);
    }
    return 0;
  }
  if (!existsSync(vitepress)) {
    say('installing what the site is built with, once');
    const installed = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund']);
    if (installed !== 0) return installed;
  }
  if (mode !== 'preview') say(`generated ${await writePages(folder)} files from the source`);
  const where = mode === 'build' ? [] : ['--host', '127.0.0.1', ...(port === null ? [] : ['--port', port])];
  return run(process.execPath, [vitepress, vitepressModes[mode], folder, ...where]);
}

type Mode = keyof typeof vitepressModes | 'pictures';

interface Arguments {
  readonly mode: Mode;
  readonly port: string | null;
  /** What is wrong with them. */
  readonly problem: string | null;
}

function argumentsOf(): Arguments {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { port: { type: 'string' } },
    });
    const [mode = 'serve', ...rest] = positionals;
    const port = values.port ?? null;
    if (!modes.includes(mode) || rest.length > 0)
      return wrong(`'${positionals.join(' ')}' must be one of ${modes.join(', ')}`);
    if (port !== null && (!/^\d+$/.test(port) || Number(port) > 65_535))
      return wrong(`--port is '${port}': must be an integer from 0 to 65535`);
    return { mode: mode as Mode, port, problem: null };
  } catch (error) {
    return wrong(error instanceof Error ? error.message : String(error));
  }
}

function wrong(problem: string): Arguments {
  return { mode: 'serve', port: null, problem };
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
