import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { environment } from '#kit/environment.ts';
import { resolveFolders } from '#kit/folders.ts';
import { ensureTokens, openTokens } from '#kit/tokens/tokens.ts';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { deployedTokens, publishedPlaces } from './places.ts';
import { createTokenShower } from './token-shower.ts';

describe('A deployment that is asked from the host', () => {
  const own = {
    ...environment,
    CORE_AGENTD_URL: undefined,
    CORE_BRIDGE_URL: undefined,
    CORE_BUS_URL: undefined,
  };
  const here = {
    ...own,
    CORE_MODELS_URL: undefined,
    CORE_CONTEXT_URL: undefined,
    CORE_TOKENS_DIR: undefined,
  };
  const published = new Map(
    [7817, 8090, 8092, 8093, 3111, 49_134].map((port) => [port, `127.0.0.1:${port + 1}`]),
  );

  it('is found at the ports that it publishes, and shown a token of its own project there alone', () => {
    const folder = temporaryFolder();
    const project = { tokens: join(folder, 'secrets/tokens'), registry: join(folder, 'secrets/registry') };
    mkdirSync(join(folder, 'secrets'), { mode: 0o700 });
    ensureTokens(project);
    const folders = resolveFolders({ home: temporaryFolder() }, environment);
    const deployment = { published, folder };
    const { places, origins } = publishedPlaces(deployment, folders, here);
    expect([places.agentd, places.bridge]).to.deep.equal(['http://127.0.0.1:7818', 'http://127.0.0.1:8094']);
    expect(places.endpoints.map(({ service, url }) => `${service} ${url}`)).to.have.members([
      'core-bus-engine http://127.0.0.1:3112',
      'core-context http://127.0.0.1:8091',
      'core-model-gateway http://127.0.0.1:8093',
      'core-agentd http://127.0.0.1:7818',
      'core-bridge http://127.0.0.1:8094',
    ]);
    expect(places.bus).to.deep.equal({ url: 'ws://127.0.0.1:49135', wants_token: true, ca: null });

    const tokens = deployedTokens(deployment, folders, here);
    expect(tokens).to.deep.equal(project);
    const shower = createTokenShower({ ...folders, ...tokens }, origins);
    const text = shower.mustText('core-agentd', places.agentd);
    expect(openTokens(project).authenticate(text)?.name).to.equal('bridge');
    expect(shower.text('core-bus-engine', places.bus.url)).to.equal(text);
    expect(shower.text('core-agentd', 'http://127.0.0.1:7817')).to.equal(null);
  });

  it('is asked where the environment says, with the tokens that it names', () => {
    const folders = resolveFolders({ home: temporaryFolder() }, environment);
    const named = { ...here, CORE_AGENTD_URL: 'http://127.0.0.1:9', CORE_BUS_URL: 'ws://127.0.0.1:8' };
    const { places, origins } = publishedPlaces({ published, folder: null }, folders, named);
    expect([places.agentd, places.bus.url]).to.deep.equal(['http://127.0.0.1:9', 'ws://127.0.0.1:8']);
    expect(origins).to.not.include.members(['http://127.0.0.1:9', 'http://127.0.0.1:7818']);
    expect(deployedTokens({ published, folder: null }, folders, here)).to.equal(folders);
  });
});
