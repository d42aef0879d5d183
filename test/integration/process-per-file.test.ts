import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { execa } from 'execa';
import { temporaryFolder } from '../fixtures/repositories/temporary-folder.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const names = ['one', 'two', 'three'];

/** Each title is the process that the file ran in. */
const passing = "describe('a file', () => it(String(process.pid), () => {}));\n";
const failing = `${passing}it('fails', () => Promise.reject(new Error('as it should')));\n`;

describe('tests that run in parallel', () => {
  it('have a process for each file', async () => {
    const { stats, titles } = await mocha(passing);
    expect(stats).to.include({ passes: names.length, failures: 0 });
    expect(new Set(titles)).to.have.property('size', names.length);
  });

  it('report the failures of each file', async () => {
    const { stats } = await mocha(failing);
    expect(stats).to.include({ passes: names.length, failures: names.length });
  });

  it('stop at the first failure where they are asked to', async () => {
    const { stats } = await mocha(failing, '--bail');
    expect(stats).to.include({ failures: 1 });
  });
});

async function mocha(text: string, ...options: string[]) {
  const folder = temporaryFolder();
  const files = names.map((name) => join(folder, `${name}.mjs`));
  for (const file of files) writeFileSync(file, text);
  const args = ['--no-config', '--parallel', '--jobs', '2', '--reporter', 'json', ...options];
  const { stdout } = await execa(
    process.execPath,
    ['node_modules/mocha/bin/mocha.js', ...args, '--require', './test/support/process-per-file.ts', ...files],
    { cwd: root, reject: false },
  );
  const { stats, passes } = JSON.parse(stdout) as {
    stats: { passes: number; failures: number };
    passes: { title: string }[];
  };
  return { stats, titles: passes.map(({ title }) => title) };
}
