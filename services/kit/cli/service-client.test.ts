import { expect } from 'chai';
import * as t from 'io-ts';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { environment } from '../environment.ts';
import { CoreError } from '../errors.ts';
import { resolveFolders } from '../folders.ts';
import { askService } from './service-client.ts';

describe('A command that asks a service', () => {
  const hintFor = async (program: string, home?: string) => {
    const folders = resolveFolders({ home: temporaryFolder() }, environment);
    // Nothing listens on the port of tcpmux.
    const service = { name: 'core-agentd', baseUrl: 'http://127.0.0.1:1' } as const;
    const asked = askService({ program, home }, { folders, service }, (client) => client.get('/', t.unknown));
    const error = await asked.catch((error: unknown) => error);
    return error instanceof CoreError ? error.hint : undefined;
  };

  it('says how to start it: with core up, where people use core', async () => {
    expect(await hintFor('./core')).to.equal('Start it: ./core up');
    expect(await hintFor('core bridge', '/tmp/a b')).to.equal("Start it: core up --home '/tmp/a b'");
    expect(await hintFor("'/opt/my core/core' context")).to.equal("Start it: '/opt/my core/core' up");
  });

  it('says how to start the service alone, where people use its own command', async () => {
    expect(await hintFor('core-agentd')).to.equal('Start it: core-agentd serve');
  });
});
