import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../../test/fixtures/repositories/temporary-folder.ts';
import { busAddress } from './bus-url.ts';
import { announceService } from './running-service.ts';

describe('where clients find the bus', () => {
  let folders: { config: string; state: string };

  beforeEach(() => {
    const home = temporaryFolder();
    folders = { config: join(home, 'config'), state: join(home, 'state') };
    mkdirSync(folders.config);
  });

  const configure = (bus: object) => writeFileSync(join(folders.config, 'bus.json'), JSON.stringify(bus));

  it('is our own engine by default, which gets the token', () => {
    expect(busAddress({ folders, environment: {} })).to.include({
      url: 'ws://127.0.0.1:49134',
      own: true,
      wants_token: true,
      certificate_file: null,
    });
    configure({ port: 5, tls: { certificate_file: '/c.pem', key_file: '/k.pem' } });
    expect(busAddress({ folders, environment: {} })).to.include({
      url: 'wss://127.0.0.1:5',
      wants_token: true,
      certificate_file: '/c.pem',
    });
  });

  it('is where an engine of this state folder runs, unless the environment names a place', () => {
    const running = { url: 'http://127.0.0.1:4321', host: '127.0.0.1', port: 4321 };
    const { withdraw } = announceService('core-bus-engine', folders, running);
    expect(busAddress({ folders, environment: {} }).url).to.equal('ws://127.0.0.1:4321');
    const named = busAddress({ folders, environment: { CORE_BUS_HOST: 'engine', CORE_BUS_PORT: '7' } });
    expect(named).to.include({ url: 'ws://engine:7', wants_token: true, where: 'CORE_BUS_HOST' });
    withdraw();
    expect(busAddress({ folders, environment: {} }).url).to.equal('ws://127.0.0.1:49134');
  });

  it('is another bus if a file or the environment names one, which gets no token', () => {
    configure({ url: 'ws://iii:49134' });
    expect(busAddress({ folders, environment: {} })).to.deep.include({
      url: 'ws://iii:49134',
      wants_token: false,
      where: join(folders.config, 'bus.json'),
    });
    const environment = { CORE_BUS_URL: 'wss://elsewhere' };
    expect(busAddress({ folders, environment })).to.include({
      url: 'wss://elsewhere',
      own: false,
      wants_token: false,
      where: 'CORE_BUS_URL',
    });
  });

  it('gets a token elsewhere only if the file says so', () => {
    configure({ url: 'wss://bus.example', url_wants_token: true });
    expect(busAddress({ folders, environment: {} })).to.include({ own: false, wants_token: true });
  });

  it('has to be a websocket', () => {
    for (const url of ['http://127.0.0.1:49134', 'ws://user:word@bus', 'ws://bus?x=1', 'bus'])
      expect(() => busAddress({ folders, environment: { CORE_BUS_URL: url } }))
        .to.throw(/CORE_BUS_URL.*must be a ws or wss address/)
        .with.property('code', 'config_invalid');
  });
});
