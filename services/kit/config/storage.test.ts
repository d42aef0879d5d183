import { expect } from 'chai';
import * as t from 'io-ts';
import { failure } from '../../../test/fixtures/failure.ts';
import { decode } from '../decode.ts';
import { Storage } from './storage.ts';

const Url = t.type({ url: Storage.type.props.url });

describe('the address of the database', () => {
  it('names one host', () => {
    for (const url of ['postgres://core@db:5432/core', 'postgres://core@db/core?host=/run/postgresql'])
      expect(decode(Url, { url }, 'storage').url).to.equal(url);
  });

  for (const url of [
    'postgres://core@a,b/core',
    'postgres://core@a:5432,b:5432/core',
    'postgres://core@/core?host=a,b',
    'postgres://core@db/core?target_session_attrs=read-write',
  ]) {
    it(`is refused as ${url}, and what finds the primary is said`, async () => {
      const error = await failure((async () => decode(Url, { url }, 'storage'))());
      expect(String(error)).to.contain('of one host').and.contain('a proxy finds the primary');
    });
  }
});
