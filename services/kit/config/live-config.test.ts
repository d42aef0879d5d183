import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import * as t from 'io-ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { readConcernPart } from './concern.ts';
import { LiveConfig } from './live-config.ts';

const Retries = t.type({ retries: t.number });

describe('configuration that is followed while a service runs', () => {
  function open() {
    const folders = { config: join(temporaryFolder(), 'config') };
    mkdirSync(folders.config);
    const path = join(folders.config, 'models.json');
    let reads = 0;
    const live = new LiveConfig({
      names: ['models', 'agents'],
      folders,
      read() {
        reads += 1;
        return readConcernPart(Retries, 'models', folders).retries;
      },
    });
    const said: string[] = [];
    live.report({ info: (text) => said.push(`info ${text}`), warn: (text) => said.push(`warn ${text}`) });
    return { live, path, said, reads: () => reads, write: (text: string) => writeFileSync(path, text) };
  }

  it('is read again when the file was written, made or taken away, and not otherwise', () => {
    const { live, path, said, reads, write } = open();
    const shipped = live.current;
    expect(live.current).to.equal(shipped);
    expect(reads()).to.equal(1);
    write('{"retries": 7}');
    expect(live.current).to.equal(7);
    write('{"retries": 8}');
    expect(live.current).to.equal(8);
    expect(reads()).to.equal(3);
    rmSync(path);
    expect(live.current).to.equal(shipped);
    expect(said).to.deep.equal(Array(3).fill('info models.json changed and is in force'));
  });

  it('stays as it was where the file cannot be used, and says so once', () => {
    const { live, said, write } = open();
    write('{"retries": 7}');
    expect(live.current).to.equal(7);
    write('{"retries": "many"}');
    expect(live.current).to.equal(7);
    expect(live.current).to.equal(7);
    expect(said.at(-1)).to.match(/^warn models\.json changed and cannot be used, .*\/retries is "many"/);
    expect(said).to.have.length(2);
    expect(live.health()).to.include({ status: 'degraded' });
    expect(live.health().detail).to.contain('/retries is "many"');
    write('{"retries": 9}');
    expect(live.health()).to.deep.equal({ status: 'ok', detail: 'as in models.json, agents.json' });
    expect(live.current).to.equal(9);
  });

  it('is not begun with a file that cannot be used', () => {
    const folders = { config: temporaryFolder() };
    writeFileSync(join(folders.config, 'models.json'), '{"retries": "many"}');
    const read = () => readConcernPart(Retries, 'models', folders);
    expect(() => new LiveConfig({ names: ['models'], folders, read })).to.throw('/retries is "many"');
  });
});
