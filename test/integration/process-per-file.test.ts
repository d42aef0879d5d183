import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const program = fileURLToPath(new URL('../../node_modules/mocha/bin/mocha.js', import.meta.url));
const support = new URL('../support/process-per-file.ts', import.meta.url).href;
const three = ['test/1.mjs', 'test/2.mjs', 'test/3.mjs'];

/** Each title is the process that the file ran in. */
const passing = "describe('a file', () => it(String(process.pid), () => {}));\n";
const failing = `${passing}it('fails', () => Promise.reject(new Error('as it should')));\n`;

describe('tests that run in parallel', () => {
  it('have a process for each file', async () => {
    const { stats, titles } = await mocha(passing);
    expect(stats).to.include({ passes: three.length, failures: 0 });
    expect(new Set(titles)).to.have.property('size', three.length);
  });

  it('share the processes where they test units, two of which run at once', async () => {
    const units = Array.from({ length: 8 }, (_, index) => `services/${index}.mjs`);
    const { stats, titles } = await mocha(passing, { files: [...units, ...three] });
    expect(stats).to.include({ passes: units.length + three.length, failures: 0 });
    expect(new Set(titles).size).to.be.within(1 + three.length, 2 + three.length);
  });

  it('report the failures of each file', async () => {
    const { stats } = await mocha(failing);
    expect(stats).to.include({ passes: three.length, failures: three.length });
  });

  it('stop at the first failure where they are asked to', async () => {
    const { stats } = await mocha(failing, { options: ['--bail'] });
    expect(stats).to.include({ failures: 1 });
  });
});

async function mocha(
  text: string,
  { files = three, options = [] }: { files?: readonly string[]; options?: readonly string[] } = {},
) {
  const cwd = temporaryFolder();
  for (const file of files) {
    mkdirSync(dirname(join(cwd, file)), { recursive: true });
    writeFileSync(join(cwd, file), text);
  }
  // mocha splits its options at commas, and the path of the checkout may have one.
  writeFileSync(join(cwd, 'support.mjs'), `export * from ${JSON.stringify(support)};\n`);
  const args = ['--no-config', '--parallel', '--jobs', '2', '--reporter', 'json', ...options];
  const { stdout } = await execa(
    process.execPath,
    [program, ...args, '--require', './support.mjs', ...files],
    {
      cwd,
      reject: false,
    },
  );
  const { stats, passes } = JSON.parse(stdout) as {
    stats: { passes: number; failures: number };
    passes: { title: string }[];
  };
  return { stats, titles: passes.map(({ title }) => title) };
}
