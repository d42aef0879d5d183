import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { resolveFolders } from '#kit/folders.ts';
import { watchConfigFile } from './health.ts';

describe('models.json of a gateway that runs', () => {
  it('is watched for changes, and for those that the next start would fail of', () => {
    const home = mkdtempSync(join(tmpdir(), 'core-models-file-'));
    try {
      const folders = resolveFolders({ home }, {} as never);
      mkdirSync(folders.config, { recursive: true });
      const write = (text: string) => writeFileSync(join(folders.config, 'models.json'), text);
      const state = watchConfigFile(folders);
      expect(state()).to.deep.equal({ state: 'same' });
      write('{"retries": 1}');
      expect(state()).to.deep.equal({ state: 'changed' });
      write('{"retries": "many"}');
      const invalid = state();
      expect(invalid).to.have.property('why').that.contains('/retries is "many"');
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
