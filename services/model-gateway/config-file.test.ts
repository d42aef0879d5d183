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
      const check = watchConfigFile(folders);
      expect(check()).to.deep.equal({ status: 'ok', detail: 'as in models.json' });
      write('{"retries": 1}');
      expect(check()).to.include({ status: 'ok' }).and.have.property('detail').that.contains('was changed');
      write('{"retries": "many"}');
      const invalid = check();
      expect(invalid.status).to.equal('degraded');
      expect(invalid.detail).to.contain('/retries is "many"');
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
