import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { unguardedCallbacks } from '../fixtures/unguarded-callbacks.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** Programs of one person: they end with a message, and no other work ends with them. */
const isInteractive = (file: string) => file.startsWith('services/terminal/') || file.includes('/cli/');

describe('The callbacks of timers, events and streams in the services', () => {
  it('are guarded, or call only what cannot throw', () => {
    const files = globSync('services/**/*.ts', { cwd: root }).filter(
      (file) => !file.endsWith('.test.ts') && !isInteractive(file),
    );
    expect(files.length).to.be.greaterThan(500);
    const found = files.flatMap((file) =>
      unguardedCallbacks(`${root}${file}`).map(({ line, call }) => `${file}:${line} ${call}`),
    );
    expect(found, "wrap them in guarded('…', …) of kit/callbacks.ts").to.deep.equal([]);
  });

  it('are no promises that nobody looks at: what one rejects with ends the process', () => {
    const files = globSync('services/**/*.ts', { cwd: root }).filter(
      (file) => !file.endsWith('.test.ts') && !isInteractive(file),
    );
    const floating = files.flatMap((file) =>
      readFileSync(`${root}${file}`, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          /^\s*(?:if \(.*\) )?void (?!.*\.catch\().*\(/.test(line)
            ? [`${file}:${index + 1} ${line.trim()}`]
            : [],
        ),
    );
    expect(floating, "start them with inBackground('…', …) of kit/callbacks.ts").to.deep.equal([]);
  });

  for (const [text, calls] of [
    ['setTimeout(() => statfsSync(folder), 5)', ['setTimeout']],
    ['setInterval(look, 5); function look() { readFileSync(path); }', ['setInterval']],
    ["process.nextTick(() => { throw new Error('late'); })", ['nextTick']],
    ["child.on('exit', async () => await tidy())", ["on('exit')"]],
    ["signal.addEventListener('abort', stop); const stop = () => save()", ["addEventListener('abort')"]],
    ["setTimeout(guarded('a test', () => statfsSync(folder)), 5)", []],
    ["const stop = guarded('a test', () => save()); signal.addEventListener('abort', stop)", []],
    ["stream.on('error', () => {}); stream.once('close', () => clearTimeout(timer))", []],
    ["import { setTimeout } from 'node:timers/promises'; await setTimeout(5)", []],
    ["new Promise((resolve) => child.once('close', resolve))", []],
  ] as const) {
    it(`${calls.length === 0 ? 'may be' : 'may not be'} ${text}`, () => {
      expect(unguardedCallbacks('sample.ts', text).map(({ call }) => call)).to.deep.equal(calls);
    });
  }
});
