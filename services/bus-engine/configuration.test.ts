import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { temporaryFolder } from '../../test/fixtures/repositories/temporary-folder.ts';
import { readBusConfig } from './configuration.ts';

describe('the configuration of the bus', () => {
  const read = (user: unknown, flags = {}, environment = {}) => {
    const config = temporaryFolder();
    writeFileSync(join(config, 'bus.json'), JSON.stringify(user));
    return readBusConfig({ folders: { config }, flags, environment });
  };

  it('is safe as shipped', () => {
    const config = read({});
    expect(config).to.include({ host: '127.0.0.1', port: 49134, http_port: 3111, require_token: true });
    expect(config.owners.map(({ prefix }) => prefix)).to.deep.equal(['core.schedules.', 'core.']);
    expect(config.limits.call_seconds).to.be.at.least(1_200 + 300);
  });

  it('takes flags before variables before files', () => {
    expect(read({ http_port: 1 }).http_port).to.equal(1);
    expect(read({ http_port: 1 }, {}, { CORE_BUS_HTTP_PORT: '2' }).http_port).to.equal(2);
    expect(read({}, { httpPort: '3' }, { CORE_BUS_HTTP_PORT: '2' }).http_port).to.equal(3);
    expect(read({}, { port: '4' }).port).to.equal(4);
  });

  it('says what is wrong', () => {
    const wrongs: [() => unknown, RegExp][] = [
      [() => read({ allowed_origins: ['http://a/b'] }), /allowed_origins.*must be the origin of a page/],
      [
        () => read({ limits: { frame_bytes: 5 } }),
        /\/limits\/frame_bytes is 5: must be an integer from 1024/,
      ],
      [() => read({ url: 'http://x' }), /\/url.*must be a ws or wss address/],
      [() => read({ surprise: 1 }), /\/surprise/],
      [() => read({}, { httpPort: 'x' }), /--http-port.*must be an integer/],
      [() => read({}, {}, { CORE_BUS_HTTP_PORT: '70000' }), /CORE_BUS_HTTP_PORT.*70000/],
    ];
    for (const [reading, message] of wrongs) expect(reading).to.throw(message);
  });
});
