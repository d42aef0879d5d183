import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { presets } from './presets.ts';

describe('the presets of coding agents', () => {
  for (const [name, { title, page, command, install }] of Object.entries(presets)) {
    it(`have a page that says how ${name} is installed and started`, () => {
      const text = readFileSync(new URL(`../../../../site/${page}.md`, import.meta.url), 'utf8');
      expect(text).to.contain(`# ${title}`).and.contain(install).and.contain(command.join(' '));
    });
  }
});
